from __future__ import annotations

import contextlib
import datetime
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptTable, PaimonError, UnsupportedFeature
from paimon_core.fileindex.builder import IndexBuilder, indexed_fields
from paimon_core.fileindex.container import FileIndex, write_container
from paimon_core.fileindex.evaluate import matching_rows
from paimon_core.options import TableOptions
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.types import parse_type

KINDS = ("bloom-filter", "bitmap", "bsi", "range-bitmap")
FLOATS = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.5])
DAY = datetime.datetime(2024, 1, 15)
VALUES = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "INT": st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), -(2**63) + 2) | st.integers(-3, 3),
    "FLOAT": FLOATS,
    "DOUBLE": FLOATS,
    "DECIMAL(9, 2)": st.integers(-400, 400).map(lambda n: Decimal(n) / 100),
    "DECIMAL(30, 2)": st.sampled_from([Decimal(10) ** 25, Decimal(-7), Decimal("0.01")]),
    "STRING": st.text(max_size=40),
    "BYTES": st.binary(max_size=40),
    "DATE": st.integers(-3, 3).map(lambda n: DAY.date() + datetime.timedelta(days=n)),
    "TIMESTAMP(3)": st.integers(-3, 3).map(lambda n: DAY + datetime.timedelta(milliseconds=n)),
    "TIMESTAMP(6)": st.integers(-3, 3).map(lambda n: DAY + datetime.timedelta(microseconds=n)),
}


def field(kind):
    return DataField(0, "c", parse_type(kind))


def index_of(values, kind, **options):
    """The index of a column by every kind that its type has, and the rows in Arrow."""
    of = field(kind)
    texts = {f"file-index.{k}.columns": "c" for k in KINDS} | options
    indexes = [i for i in TableOptions.parse(texts).file_indexes if _fits(i, of)]
    array = pa.array(values, of.type.to_arrow())
    builder = IndexBuilder(indexed_fields(indexes, {"c": of}))
    half = len(array) // 2
    for part in (array[:half], array[half:]):
        builder.add(pa.table([part], ["c"]))
    return FileIndex.of_bytes(builder.finish(), "x.index"), array


def _fits(index, of):
    try:
        return bool(indexed_fields([index], {"c": of}))
    except PaimonError:
        return False


def rows(index, where, kind, count):
    return matching_rows(index, where.bind([field(kind)]), {"c": ("c", field(kind).type)}, count)


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(sorted(VALUES)))
    values = draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=30))
    literal = draw(VALUES[kind])
    tests = [col("c") == literal, col("c") != literal, col("c").is_in([literal]), ~col("c").is_in([literal])]
    tests += [col("c") < literal, col("c") <= literal, col("c") > literal, col("c") >= literal]
    tests += [col("c").is_null(), col("c").is_not_null()]
    one, other = draw(st.sampled_from(tests)), draw(st.sampled_from(tests))
    return kind, values, draw(st.sampled_from([one, one & other, one | other]))


@settings(deadline=None)
@given(columns())
def test_no_row_that_matches_is_left_out(case):
    kind, values, where = case
    index, array = index_of(values, kind)
    found = rows(index, where, kind, len(array))
    if found is None:
        return
    table = pa.table([array, pa.array(range(len(array)))], ["c", "row"])
    wanted = table.filter(where.bind([field(kind)]).to_arrow())["row"].to_pylist()
    assert set(wanted) <= set(np.flatnonzero(found).tolist())


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (col("c") == 7, [1, 3]),
        (col("c") == 8, []),
        (col("c") != 7, [0, 4]),
        (col("c").is_in([5, 9]), [0, 4]),
        (col("c") < 7, [0]),
        (col("c") >= 7, [1, 3, 4]),
        (col("c").is_null(), [2]),
        (col("c").is_not_null() & (col("c") > 7), [4]),
        ((col("c") == 5) | (col("c") == 9), [0, 4]),
    ],
)
def test_exact_rows_are_selected(where, wanted):
    index, _ = index_of([5, 7, None, 7, 9], "INT")
    assert np.flatnonzero(rows(index, where, "INT", 5)).tolist() == wanted


def test_literals_beyond_64_bits_do_not_change_the_others():
    kind, large = "DECIMAL(30, 0)", Decimal(2**63)
    index, _ = index_of([Decimal(2**53 + 1), Decimal(-1)], kind)
    assert rows(index, ~col("c").is_in([Decimal(2**53), large, Decimal(-7)]), kind, 2).tolist() == [True, True]
    assert rows(index, col("c") < Decimal(10) ** 25, kind, 2).tolist() == [True, True]


@pytest.mark.parametrize("version", ["1", "2"])
def test_each_version_of_bitmaps_is_read(version):
    index, _ = index_of(["a", "b", None, "b"], "STRING", **{"file-index.bitmap.c.version": version})
    assert np.flatnonzero(rows(index, col("c") == "b", "STRING", 4)).tolist() == [1, 3]
    assert np.flatnonzero(rows(index, col("c").is_null(), "STRING", 4)).tolist() == [2]


def test_values_that_a_format_cannot_hold_leave_out_that_index():
    assert set(index_of([-(2**63), 1], "BIGINT")[0].places["c"]) == {"bloom-filter", "bitmap", "range-bitmap"}
    assert set(index_of(["x" * 20_000], "STRING")[0].places["c"]) == {"bloom-filter", "range-bitmap"}
    assert index_of([Decimal(10) ** 25], "DECIMAL(30, 2)")[0].places == {}


def test_an_index_without_values_leaves_only_nulls():
    index = FileIndex.of_bytes(write_container({"c": {"bitmap": None}}), "x.index")
    assert not rows(index, col("c") == 1, "INT", 3).any()
    assert rows(index, col("c").is_null(), "INT", 3) is None


def test_an_unknown_kind_and_a_column_without_index_are_not_tested():
    index = FileIndex.of_bytes(write_container({"c": {"lumina": b"?"}}), "x.index")
    assert rows(index, col("c") == 1, "INT", 3) is None


def test_a_newer_version_is_refused():
    data = bytearray(write_container({}))
    data[11] = 2
    with pytest.raises(UnsupportedFeature, match=r"x\.index has version 2"):
        FileIndex.of_bytes(bytes(data), "x.index")


CORRUPT = ["BIGINT", "STRING", "DOUBLE"]


@pytest.mark.parametrize("kind", CORRUPT)
@pytest.mark.parametrize("index_kind", ["bitmap", "bsi", "range-bitmap"])
def test_a_cut_payload_is_an_error_that_names_the_file(kind, index_kind):
    values = {"BIGINT": [5, 7, None, -7, 9], "STRING": ["a", "b", None, "ccc", "b"], "DOUBLE": [0.5, None, 2.5, 1, 1]}
    index, _ = index_of(values[kind], kind)
    if index_kind not in index.places["c"]:
        return
    payload = index.payload("c", index_kind)
    where = (col("c").is_not_null() if index_kind == "bitmap" else col("c") > (values[kind][0])) & col("c").is_null()
    for size in range(len(payload)):
        cut = FileIndex.of_bytes(write_container({"c": {index_kind: payload[:size]}}), "x.index")
        with pytest.raises(CorruptTable, match=r"x\.index does not decode"):
            rows(cut, where, kind, 5)


@settings(deadline=None)
@given(st.sampled_from(CORRUPT), st.data())
def test_changed_bytes_are_an_error_or_rows_of_the_file(kind, data):
    values = {"BIGINT": [5, 7, None, -7, 9], "STRING": ["a", "b", None, "ccc", "b"], "DOUBLE": [0.5, None, 2.5, 1, 1]}
    index, _ = index_of(values[kind], kind)
    found = {k: bytearray(index.payload("c", k)) for k in index.places["c"] if k != "bloom-filter"}
    whole = bytearray(write_container({"c": {k: bytes(v) for k, v in found.items()}}))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(CorruptTable, UnsupportedFeature):
        found = rows(FileIndex.of_bytes(bytes(whole), "x.index"), col("c") == values[kind][0], kind, 5)
        assert found is None or len(found) == 5
