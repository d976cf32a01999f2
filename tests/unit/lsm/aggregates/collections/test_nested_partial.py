import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.lsm.aggregates.collections.nested_key import NestedKey
from paimon_core.lsm.aggregates.collections.nested_partial import NestedPartialUpdate, nested_partial_update
from paimon_core.lsm.aggregates.function_choice import aggregate
from paimon_core.options import FieldOptions
from tests.support.collection_columns import field_of, folded

ROWS = pa.list_(
    pa.field("element", pa.struct([pa.field("k", pa.int32(), nullable=False), ("a", pa.string()), ("b", pa.string())]))
)


def rows(*values):
    return [None if v is None else dict(zip(("k", "a", "b"), v, strict=True)) for v in values]


MADE = NestedPartialUpdate(NestedKey("v", ("k",)))


def test_of_each_field_the_last_value_that_is_not_null():
    found = folded(MADE, ROWS, [rows((1, "a", None), (2, None, None)), None, rows((3, "x", "y"), (1, None, "b"), None)])
    assert found == [rows((1, "a", "b"), (2, None, None), (3, "x", "y"))]


def test_groups_do_not_mix_and_one_array_is_merged_as_well():
    assert folded(MADE, ROWS, [rows((1, "a", None), (1, None, "b"))], [rows((1, None, None))], [None], [[]]) == [
        rows((1, "a", "b")),
        rows((1, None, None)),
        None,
        [],
    ]


def test_keys_with_nulls():
    kind = pa.list_(pa.struct([("k", pa.int32()), ("a", pa.string()), ("b", pa.string())]))
    values = [rows((None, "a", None), (1, "a", None)), rows((None, None, "b"))]
    assert folded(MADE, kind, values) == [rows((None, "a", "b"), (1, "a", None))]
    assert folded(NestedPartialUpdate(NestedKey("v", ("k",), "ignore")), kind, values) == [rows((1, "a", None))]
    with pytest.raises(InvalidRequest, match="column 'v': a row has a null in its nested key k"):
        folded(NestedPartialUpdate(NestedKey("v", ("k",), "error")), kind, values)


def test_the_options():
    options = FieldOptions(nested_key=("k",), nested_key_null_strategy="ignore")
    assert nested_partial_update(field_of(ROWS), options) == NestedPartialUpdate(NestedKey("v", ("k",), "ignore"))
    assert not MADE.can_retract


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("INT", FieldOptions(nested_key=("k",)), "takes ARRAY of ROW, not INT"),
        (ROWS, FieldOptions(), "needs option fields.v.nested-key"),
        (ROWS, FieldOptions(nested_key=("x",)), "fields.v.nested-key = 'x' is refused"),
        (ROWS, FieldOptions(nested_key=("k",), count_limit=1), "fields.v.count-limit = 1 is refused"),
        (ROWS, FieldOptions(nested_key=("k",), nested_sequence_field=("a",)), "nested-sequence-field = 'a' is refused"),
    ],
)
def test_what_is_refused(kind, options, message):
    with pytest.raises(InvalidOption, match=f"column 'v': .*{message}"):
        aggregate("nested_partial_update", field_of(kind), options)
