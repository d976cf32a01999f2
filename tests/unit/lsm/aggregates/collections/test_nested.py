import math

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.lsm.aggregates.collections.nested import NO_LIMIT, NestedAppend, NestedUpsert, nested_update
from paimon_core.lsm.aggregates.collections.nested_key import NestedKey
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.options import FieldOptions
from tests.support.collection_columns import Back, field_of, folded

ROW = pa.struct([("k", pa.string()), ("s", pa.float64()), ("v", pa.int32())])
ROWS = pa.list_(pa.field("element", ROW))


def rows(*values):
    return [None if v is None else dict(zip(("k", "s", "v"), v, strict=True)) for v in values]


def left(made, *history):
    """Return the rows of one group, as tuples."""
    (found,) = folded(made, ROWS, history)
    return None if found is None else [tuple(row.values()) for row in found]


A, B, C, D = ("a", 1.0, 1), ("b", 1.0, 2), ("c", None, 3), ("d", 0.0, 4)
BY_KEY = NestedUpsert(NestedKey("v", ("k",)))


def test_rows_are_added_and_null_elements_are_not():
    assert left(NestedAppend(), rows(A, None), None, rows(None, A, B)) == [A, A, B]
    assert left(NestedAppend(), rows(None)) == []
    assert left(NestedAppend(), None, None) is None


def test_no_more_rows_than_the_limit():
    assert left(NestedAppend(limit=2), rows(A, B, C)) == [A, B]
    assert left(NestedAppend(limit=2), rows(None, A), rows(B, C)) == [A, B]


def test_a_retract_removes_all_equal_rows():
    assert left(NestedAppend(), rows(A, B, A), Back(rows(A, None, D)), rows(C)) == [B, C]
    assert left(NestedAppend(), rows(A), Back(rows(A))) == []
    assert left(NestedAppend(), Back(rows(A)), Back(None)) is None


def test_rows_with_a_nan_equal_nothing_and_zeros_equal_each_other():
    odd = [("a", math.nan, 1), ("a", 0.0, 1), ("a", -0.0, 1)]
    assert str(left(NestedAppend(), rows(*odd), Back(rows(*odd[::2])))) == "[('a', nan, 1)]"


def test_a_retract_makes_room_below_the_limit():
    assert left(NestedAppend(limit=2), rows(A, B, C), Back(rows(A)), rows(C, D)) == [B, C]


def test_the_limit_holds_for_groups_with_and_without_retracts():
    found = folded(NestedAppend(limit=1), ROWS, [rows(A, B)], [rows(A, B), Back(rows(A)), rows(C)], [Back(rows(A))])
    assert found == [rows(A), rows(C), None]


def test_the_last_row_of_a_key_stays():
    newer = ("a", 0.0, 9)
    assert left(BY_KEY, rows(A, B), None, rows(C, newer, None)) == [newer, B, C]


def test_a_retract_removes_keys():
    assert left(BY_KEY, rows(A, B), Back(rows(("a", 7.0, 7), None))) == [B]
    assert left(BY_KEY, rows(A), Back(rows(A))) == []
    assert left(BY_KEY, Back(rows(A)), Back(rows(B))) is None
    assert left(BY_KEY, rows(A, B), Back(rows(A)), rows(A)) == [B, A]


def test_the_greatest_sequence_stays_and_the_later_of_two_equal_ones():
    made = NestedUpsert(NestedKey("v", ("k",)), ("s",))
    assert left(made, rows(("a", 2.0, 1)), rows(("a", 1.0, 2)), rows(("a", 2.0, 3))) == [("a", 2.0, 3)]
    assert left(made, rows(("a", None, 1), ("a", -1.0, 2)), rows(("a", None, 3))) == [("a", -1.0, 2)]
    assert left(made, rows(("a", 0.0, 1)), rows(("a", -0.0, 2))) == [("a", 0.0, 2)]
    # A retracted row leaves nothing behind, not even its sequence.
    assert left(made, rows(("a", 9.0, 1)), Back(rows(("a", 0.0, 1))), rows(("a", 1.0, 2))) == [("a", 1.0, 2)]


def test_no_more_keys_than_the_limit_but_those_there_change():
    made = NestedUpsert(NestedKey("v", ("k",)), (), 2)
    assert left(made, rows(A, B, C), rows(("a", 5.0, 5), C)) == [("a", 5.0, 5), B]
    assert left(made, rows(A, B), Back(rows(A)), rows(C, D), rows(("b", 5.0, 5))) == [("b", 5.0, 5), C]


def test_keys_with_nulls():
    lone = (None, 1.0, 1)
    assert left(BY_KEY, rows(lone, A), rows((None, 2.0, 2))) == [(None, 2.0, 2), A]
    ignoring = NestedUpsert(NestedKey("v", ("k",), "ignore"))
    assert left(ignoring, rows(lone, A), Back(rows(lone))) == [A]
    strict = NestedUpsert(NestedKey("v", ("k",), "error"))
    assert left(strict, rows(A, None), rows(B)) == [A, B]
    assert left(strict, Back(rows(lone)), rows(B)) == [B]
    with pytest.raises(InvalidRequest, match="column 'v': a row has a null in its nested key k, and option"):
        left(strict, rows(lone))
    with pytest.raises(InvalidRequest, match="nested-key-null-strategy is error"):
        left(strict, rows(A), Back(rows(lone)))


def test_the_options():
    field = field_of(ROWS)
    assert nested_update(field, FieldOptions()) == NestedAppend(NO_LIMIT)
    assert nested_update(field, FieldOptions(count_limit=3)) == NestedAppend(3)
    options = FieldOptions(
        nested_key=("k", "v"), nested_sequence_field=("s",), nested_key_null_strategy="error", count_limit=2
    )
    assert nested_update(field, options) == NestedUpsert(NestedKey("v", ("k", "v"), "error"), ("s",), 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (FieldOptions(nested_key=("k", "x")), "nested-key = 'k,x' is refused: the row has no field 'x', only k, s, v"),
        (FieldOptions(nested_key=("k",), nested_sequence_field=("x",)), "nested-sequence-field = 'x' is refused"),
        (FieldOptions(nested_sequence_field=("s",)), "nested-sequence-field = 's' is refused: it needs"),
        (FieldOptions(nested_key_null_strategy="error"), "nested-key-null-strategy = 'error' is refused: it needs"),
        (FieldOptions(distinct=True), "distinct = True is refused"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(InvalidOption, match=f"column 'v': option fields.v.{message}"):
        nested_update(field_of(ROWS), options)


@pytest.mark.parametrize("kind", ["INT", pa.list_(pa.int32()), ROW])
def test_only_arrays_of_rows(kind):
    with pytest.raises(InvalidOption, match="column 'v': aggregate function 'nested_update' takes ARRAY of ROW, not"):
        aggregate("nested_update", field_of(kind), FieldOptions())
