"""Shredded VARIANTs: the examples of Parquet's rules, every type of a column, and values that break the rules."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core import UnsupportedFeature, Variant
from paimon_core.datafile.evolution.stored_types import from_stored, is_stored_as
from paimon_core.datafile.shredded_variant import is_shredded, unshredded
from paimon_core.types import parse_type
from paimon_core.types.variant_encoding import encoded_value

NAMES = Variant.of({"z": 0, "a": 1, "other": 2, "é": 3}).metadata
NULL = b"\x00"


def field(typed):
    return pa.struct([("value", pa.binary()), ("typed_value", typed)])


def column(typed, rows):
    kind = pa.struct([("metadata", pa.binary()), *field(typed)])
    return pa.array([None if row is None else {"metadata": NAMES, **row} for row in rows], kind)


def read(array):
    return [None if v is None else Variant.read(v).to_python() for v in unshredded(array).to_pylist()]


def part(value):
    """The encoded value, for metadata NAMES."""
    return encoded_value(value, {"z": 0, "a": 1, "other": 2, "é": 3})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.bool_(), True),
        (pa.int8(), -5),
        (pa.int16(), 300),
        (pa.int32(), -70_000),
        (pa.int64(), 2**40),
        (pa.float32(), 1.5),
        (pa.float64(), -0.1),
        (pa.decimal128(9, 2), Decimal("-1.25")),
        (pa.decimal128(18, 2), Decimal("123456789012.25")),
        (pa.decimal128(38, 10), Decimal("-1.0000000001")),
        (pa.date32(), datetime.date(1969, 12, 31)),
        (pa.time64("us"), datetime.time(1, 2, 3, 4)),
        (pa.timestamp("us"), datetime.datetime(1960, 1, 1, 0, 0, 0, 1)),
        (pa.timestamp("ms", "UTC"), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
        (pa.binary(), b"\x00\x01"),
        (pa.string(), "é" * 31),
        (pa.string(), "x" * 64),
        (pa.string(), ""),
    ],
    ids=str,
)
def test_scalars(kind, value):
    rows = [{"typed_value": value}, {"value": part({"a": [1]})}, None, {"value": NULL}, {}]
    expected = [value, {"a": [1]}, None, None, None]
    array = column(kind, rows)
    assert read(array) == expected
    assert read(array.slice(1)) == expected[1:]
    assert unshredded(array).null_count == 1


OBJECT = pa.struct(
    {"z": field(pa.int32()), "é": pa.struct({"typed_value": pa.string()}), "a": field(pa.list_(field(pa.int64())))}
)


def test_objects_whole_in_part_and_missing():
    z, items = {"typed_value": 5}, [{"typed_value": 1}, {"value": NULL}, {"value": part("x")}]
    rows = [
        {"typed_value": {"z": z, "é": {"typed_value": "t"}, "a": {"typed_value": items}}},
        {"typed_value": {"z": {"value": NULL}, "é": {}, "a": {"typed_value": []}}},
        {"typed_value": {"z": {}, "é": {}, "a": {}}},
        {"typed_value": {"z": z, "é": {}, "a": {}}, "value": part({"other": {"z": [1]}})},
        {"value": part("not an object")},
        None,
    ]
    expected = [
        {"a": [1, None, "x"], "z": 5, "é": "t"},
        {"a": [], "z": None},
        {},
        {"other": {"z": [1]}, "z": 5},
        "not an object",
        None,
    ]
    found = read(column(OBJECT, rows))
    assert found == expected
    assert [list(v) for v in found[:4]] == [["a", "z", "é"], ["a", "z"], [], ["other", "z"]]
    assert read(column(OBJECT, rows).slice(2)) == expected[2:]


def test_rows_have_their_own_names_and_any_number():
    kind = pa.struct([("metadata", pa.binary()), *field(pa.struct({"n": field(pa.list_(field(pa.int64())))}))])
    metadata = [Variant.of({f"m{n}": 0 for n in range(k)} | {"n": 0}).metadata for k in range(3)]
    items = [[n] * (400 if n == 150 else n % 3) for n in range(9_000)]  # more rows than one step
    rows = [
        {"metadata": metadata[n % 3], "typed_value": {"n": {"typed_value": [{"typed_value": i} for i in held]}}}
        for n, held in enumerate(items)
    ]
    assert read(pa.array(rows, kind).slice(100)) == [{"n": held} for held in items[100:]]


@pytest.mark.parametrize(
    ("typed", "row", "why"),
    [
        (pa.int64(), {"typed_value": 1, "value": NULL}, "with and without a type"),
        (
            pa.struct({"q": field(pa.int64())}),
            {"typed_value": {"q": {"typed_value": 1}}},
            "name that its metadata lack",
        ),
        (pa.struct({"z": field(pa.int64())}), {"typed_value": {"z": None}}, "null group"),
        (pa.struct({"z": field(pa.int64())}), {"typed_value": {"z": {}}, "value": NULL}, "not an object"),
        (pa.struct({"z": field(pa.int64())}), {"typed_value": {"z": {}}, "value": part({"z": 1})}, "both in a column"),
        (pa.int64(), {"metadata": None, "typed_value": 1}, "no metadata"),
        (pa.int64(), {"metadata": b"\x02\x00\x00", "typed_value": 1}, "version 2"),
    ],
)
def test_values_that_break_the_rules(typed, row, why):
    with pytest.raises(pa.ArrowInvalid, match=why):
        unshredded(column(typed, [row]))


@pytest.mark.parametrize(
    "typed",
    [pa.map_(pa.string(), pa.int64()), pa.timestamp("ns"), pa.uint8(), pa.binary(16), pa.list_(pa.int64())],
    ids=str,
)
def test_types_that_are_refused_by_name(typed):
    with pytest.raises(UnsupportedFeature, match="a shredded VARIANT has a"):
        is_shredded(pa.struct([("metadata", pa.binary()), *field(typed)]))


def test_variants_in_rows_are_put_together_and_those_in_arrays_refused():
    kind = parse_type("ROW<a INT, v VARIANT>")
    stored = pa.struct([("a", pa.int32()), ("v", pa.struct([("metadata", pa.binary()), *field(pa.string())]))])
    assert is_stored_as(stored, kind)
    array = pa.array([{"a": 1, "v": {"metadata": NAMES, "typed_value": "x"}}, None, {"a": 2, "v": None}], stored)
    found = from_stored(array, kind)
    assert found.type == kind.to_arrow()
    one = dict(zip(("value", "metadata"), (part("x"), NAMES), strict=True))
    assert found.to_pylist() == [{"a": 1, "v": one}, None, {"a": 2, "v": None}]
    with pytest.raises(UnsupportedFeature, match="inside of a ARRAY"):
        is_stored_as(pa.list_(stored), parse_type("ARRAY<ROW<a INT, v VARIANT>>"))
