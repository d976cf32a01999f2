import pyarrow as pa
import pytest

from paimon_core.datafile.evolution.nested_arrays import (
    has_required,
    rebuilt,
    with_inherited_nulls,
    without_hidden_nulls,
)


def cast(array, wanted):
    return array.cast(wanted)


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize(
    ("values", "found", "wanted"),
    [
        ([1, None, 3], pa.int32(), pa.int64()),
        ([[1], None, [None, 2]], pa.list_(pa.int32()), pa.list_(pa.int64())),
        ([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int32())]), pa.struct([("a", pa.int64())])),
        ([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64())),
        (
            [[[("a", [1])]], None, [None, []]],
            pa.list_(pa.map_(pa.string(), pa.list_(pa.int32()))),
            pa.list_(pa.map_(pa.string(), pa.list_(pa.int64()))),
        ),
    ],
)
def test_other_leaves(values, found, wanted, start):
    built = rebuilt(pa.array(values, found).slice(start), wanted, cast)
    built.validate(full=True)
    assert built.equals(pa.array(values, wanted).slice(start))


def test_pairs_become_a_map_and_a_map_pairs():
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))
    a_map = pa.map_(pa.string(), pa.int32())
    listed = pa.array([[{"key": "a", "value": 1}], None, []], pairs)
    mapped = pa.array([[("a", 1)], None, []], a_map)
    assert rebuilt(listed, a_map, cast).equals(mapped)
    assert rebuilt(mapped, pairs, cast).equals(listed)


def test_a_key_of_a_map_is_not_null():
    pairs = pa.array([[{"key": None, "value": 1}]], pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())])))
    with pytest.raises(pa.ArrowInvalid):
        rebuilt(pairs, pa.map_(pa.string(), pa.int32()), cast).validate(full=True)


REQUIRED = pa.field("n", pa.int32(), nullable=False)
INNER = pa.field("i", pa.struct([REQUIRED, pa.field("t", pa.list_(pa.string()), nullable=False)]), nullable=False)


def rows_with_hidden_nulls(kind):
    """A row and a null whose members are all null too, as Spark creates them."""
    values = {"n": 1, "i": {"n": 2, "t": ["x"]}}
    members = [pa.concat_arrays([pa.array([values[f.name]], f.type), pa.nulls(1, f.type)]) for f in kind]
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=pa.array([False, True]))


@pytest.mark.parametrize("start", [0, 1])
def test_nulls_of_required_members_below_a_null(start):
    kind = pa.struct([REQUIRED, INNER])
    rows = rows_with_hidden_nulls(kind)
    listed = pa.ListArray.from_arrays(pa.array([0, 2, 2], pa.int32()), rows, type=pa.list_(pa.field("element", kind)))
    of_map = pa.map_(pa.string(), pa.field("value", kind))
    mapped = pa.MapArray.from_arrays(pa.array([0, 2, 2], pa.int32()), pa.array(["a", "b"]), rows, type=of_map)
    for array in (rows, listed, mapped):
        shown = without_hidden_nulls(array.slice(start))
        assert shown.type == array.type
        assert shown.to_pylist() == array.slice(start).to_pylist()
    filled = without_hidden_nulls(rows)
    assert [filled.field(0).null_count, filled.field(1).null_count] == [0, 0]
    assert filled.field(1).field(1).null_count == 0


def test_what_has_required_members():
    assert not has_required(pa.map_(pa.string(), pa.list_(pa.struct([("n", pa.int32())]))))
    assert has_required(pa.map_(pa.string(), pa.list_(pa.struct([REQUIRED]))))
    assert has_required(pa.list_(REQUIRED))


def test_members_of_a_null_row_are_null():
    inner = pa.struct([("n", pa.int32()), ("t", pa.list_(pa.string()))])
    hidden = pa.array([{"n": 1, "t": ["x"]}, {"n": 2, "t": ["y"]}, {"n": 3, "t": None}], inner)
    masked = pa.StructArray.from_arrays(hidden.flatten(), fields=list(inner), mask=pa.array([False, True, False]))
    array = pa.StructArray.from_arrays([masked], names=["i"])
    for start in range(3):
        shown = with_inherited_nulls(array.slice(start))
        assert shown.equals(array.slice(start))
        members = shown.field(0)
        assert members.field(0).to_pylist() == [1, None, 3][start:]
        assert members.field(1).to_pylist() == [["x"], None, None][start:]
