import math

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption
from paimon_core.lsm.aggregates.collections.maps import MergeMap, MergeMapWithKeyTime, merge_map, merge_map_with_keytime
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.options import FieldOptions
from tests.support.collection_columns import Back, field_of, folded

MAP = pa.map_(pa.string(), pa.field("value", pa.int32()))
ROW = pa.struct([("t", pa.string()), ("v", pa.int32())])
TIMED = pa.map_(pa.string(), ROW)


def test_the_later_value_of_a_key_wins_even_a_null():
    assert folded(MergeMap(), MAP, [[("a", 1), ("b", 1)], None, [("b", None), ("c", 3)]]) == [
        [("a", 1), ("b", None), ("c", 3)]
    ]


def test_no_map_and_an_empty_map():
    assert folded(MergeMap(), MAP, [None, None], [None, []], [[("a", 1)], []]) == [None, [], [("a", 1)]]


def test_a_retract_removes_keys_whatever_their_values():
    assert folded(MergeMap(), MAP, [[("a", 1), ("b", 2)], Back([("a", 9), ("z", 9)])]) == [[("b", 2)]]
    assert folded(MergeMap(), MAP, [[("a", 1)], Back([("a", 1)])], [Back([("a", 1)]), Back(None)]) == [[], None]
    assert folded(MergeMap(), MAP, [[("a", 1), ("b", 1)], Back([("a", 1)]), [("a", 2)]]) == [[("b", 1), ("a", 2)]]


def test_keys_are_equal_as_objects():
    kind = pa.map_(pa.float64(), pa.int8())
    (found,) = folded(MergeMap(), kind, [[(math.nan, 1), (0.0, 1)], [(-0.0, 2), (math.nan, 2)]])
    assert str(found) == "[(nan, 2), (0.0, 1), (-0.0, 2)]"


def test_bytes_as_keys():
    assert folded(MergeMap(), pa.map_(pa.binary(), pa.int8()), [[(b"a", 1)], [(b"a", 2)]]) == [[(b"a", 2)]]


def timed(*rows):
    """Return the merge of maps of keys to (time, value) or None."""
    maps = [
        None if row is None else [(k, None if v is None else {"t": v[0], "v": v[1]}) for k, v in row.items()]
        for row in rows
    ]
    (found,) = folded(MergeMapWithKeyTime("t"), TIMED, maps)
    return None if found is None else {k: v and (v["t"], v["v"]) for k, v in found}


def test_the_greatest_time_wins_and_the_earlier_of_two_equal_ones():
    assert timed({"a": ("2", 1)}, {"a": ("1", 2)}, {"a": ("2", 3)}, {"a": ("3", 4)}, {"a": ("3", 5)}) == {"a": ("3", 4)}


def test_the_first_map_counts_as_it_is():
    assert timed(None, {"a": None, "b": (None, 1)}, {}) == {"a": None, "b": (None, 1)}
    assert timed({"a": None, "b": (None, 1)}, {"a": ("", 2), "b": ("", 2)}) == {"a": ("", 2), "b": ("", 2)}
    assert timed(None, None) is None


def test_later_nulls_remove_keys_and_values_without_a_time_do_not_count():
    assert timed({"a": ("1", 1), "b": ("1", 1)}, {"a": None, "b": (None, 2), "c": (None, 2)}) == {"b": ("1", 1)}
    assert timed({"a": ("9", 1)}, {"a": None}, {"a": ("1", 2)}) == {"a": ("1", 2)}


def test_times_compare_by_utf_16_units():
    assert timed({"a": ("\uffee", 1)}, {"a": ("\U0001f600", 2)}) == {"a": ("\uffee", 1)}
    assert timed({"a": ("\U0001f600", 2)}, {"a": ("\uffee", 1)}) == {"a": ("\uffee", 1)}


def test_the_time_is_the_last_field_or_the_one_that_is_named():
    kind = pa.map_(pa.string(), pa.struct([("v", pa.int8()), ("u", pa.string()), ("t", pa.string())]))
    assert merge_map_with_keytime(field_of(kind), FieldOptions()) == MergeMapWithKeyTime("t")
    assert merge_map_with_keytime(field_of(kind), FieldOptions(ts_field="u")) == MergeMapWithKeyTime("u")
    assert not MergeMapWithKeyTime("t").can_retract


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (MAP, FieldOptions(), "takes MAP to ROW with two fields or more, not MAP"),
        (pa.map_(pa.string(), pa.struct([("t", pa.string())])), FieldOptions(), "takes MAP to ROW with two fields"),
        (TIMED, FieldOptions(), "takes the time as text, but field 'v' is INT"),
        (TIMED, FieldOptions(ts_field="x"), "fields.v.ts-field = 'x' is refused: the row has no field 'x', only t, v"),
        (TIMED, FieldOptions(distinct=True), "fields.v.distinct = True is refused"),
    ],
)
def test_what_merge_map_with_keytime_refuses(kind, options, message):
    with pytest.raises(InvalidOption, match=f"column 'v': .*{message}"):
        merge_map_with_keytime(field_of(kind), options)


def test_what_merge_map_refuses():
    assert merge_map(field_of(MAP), FieldOptions()) == MergeMap()
    with pytest.raises(InvalidOption, match="column 'v': aggregate function 'merge_map' takes MAP, not STRING"):
        aggregate("merge_map", field_of("STRING"), FieldOptions())
    with pytest.raises(InvalidOption, match=r"fields.v.ts-field = 't' is refused"):
        merge_map(field_of(MAP), FieldOptions(ts_field="t"))
