import pyarrow as pa
import pytest

from paimon_core.datafile.nested_arrays import rebuilt


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
