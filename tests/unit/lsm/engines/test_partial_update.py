"""Partial update of small literal rows; tests/property/test_partial_update.py checks all rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.key_groups import group
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema

INSERT, BEFORE, AFTER, DELETE = 0, 1, 2, 3
INT = pa.int32()
REMOVE = "partial-update.remove-record-on-sequence-group"


def engine_for(options: dict[str, str], **columns: pa.DataType | pa.Field) -> MergeEngine:
    """Return the engine of a table with the key k and these columns, given as a field if NOT NULL."""
    fields = [pa.field("k", INT, nullable=False)]
    fields += [kind if isinstance(kind, pa.Field) else pa.field(name, kind) for name, kind in columns.items()]
    options = {"merge-engine": "partial-update", "bucket": "1"} | options
    schema = new_schema(pa.schema(fields), primary_key=["k"], options=options)
    return merge_engine(schema, TableOptions.parse(options, creating=True))


def merge(engine: MergeEngine, names: str, *rows: tuple[Any, ...], drop_deletes: bool = False) -> list[tuple[Any, ...]]:
    """Merge rows (kind, k, values...) in order of arrival; results have the same form, plus the last row's number."""
    columns = ["k", *names]
    table = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(len(rows)), pa.int64()),
            "_VALUE_KIND": pa.array([row[0] for row in rows], pa.int8()),
            **{name: pa.array([row[1 + i] for row in rows], INT) for i, name in enumerate(columns)},
        }
    )
    groups = engine.survivors(table, group(np.asarray(table["k"]), None), drop_deletes=drop_deletes)
    folded = engine.fold(table, groups, ["_VALUE_KIND", *columns])
    return [tuple(row.values()) for row in folded.to_pylist()]


PLAIN = engine_for({}, a=INT, b=INT)
REMOVING = engine_for({"partial-update.remove-record-on-delete": "true"}, a=INT, b=INT)
IGNORING = engine_for({"ignore-delete": "true"}, a=INT, b=INT)
GROUPS = engine_for({"fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}, g=INT, a=INT, h=INT, b=INT, c=INT)


def test_values_overwrite_and_nulls_keep():
    rows = [(INSERT, 1, 1, None), (INSERT, 2, None, None), (AFTER, 1, None, 5), (AFTER, 1, 2, None)]
    assert merge(PLAIN, "ab", *rows) == [(INSERT, 1, 2, 5), (INSERT, 2, None, None)]


def test_the_last_value_may_be_many_rows_before_the_end():
    rows = [(INSERT, 1, 7, None)] + [(INSERT, 1, None, number) for number in range(20)]
    assert merge(PLAIN, "ab", *rows) == [(INSERT, 1, 7, 19)]


@pytest.mark.parametrize("kind", [BEFORE, AFTER, DELETE])
def test_a_lone_row_stays_as_it_is(kind):
    for engine in (PLAIN, REMOVING, IGNORING):
        assert merge(engine, "ab", (kind, 1, 1, None)) == [(kind, 1, 1, None)]
    assert merge(GROUPS, "gahbc", (kind, 1, None, 1, 2, 3, 4)) == [(kind, 1, None, 1, 2, 3, 4)]


def test_a_lone_retract_resets_its_groups_when_single_rows_are_merged():
    engine, row = replace(GROUPS, merges_single_rows=True), (DELETE, 1, 2, 7, None, 8, 9)
    assert merge(engine, "gahbc", row) == [(DELETE, 1, 2, None, None, 8, 9)]
    assert merge(engine, "gahbc", row, drop_deletes=True) == []
    # An order of null: the row does not count for the group.
    assert merge(engine, "gahbc", (INSERT, *row[1:]), drop_deletes=True) == [(INSERT, 1, 2, 7, None, None, 9)]


@pytest.mark.parametrize("drop_deletes", [False, True])
def test_a_lone_retract_that_no_option_allows_is_refused_when_single_rows_are_merged(drop_deletes):
    with pytest.raises(InvalidRequest, match="ignore-delete"):
        merge(replace(PLAIN, merges_single_rows=True), "ab", (DELETE, 1, 1, 1), drop_deletes=drop_deletes)


def test_a_retract_that_no_option_allows_is_refused():
    with pytest.raises(InvalidRequest, match=r"ignore-delete.*remove-record-on-delete.*sequence-group"):
        merge(PLAIN, "ab", (INSERT, 1, 1, 1), (DELETE, 1, 1, 1))
    with pytest.raises(InvalidRequest, match="ignore-delete"):
        merge(PLAIN, "ab", (INSERT, 1, 1, 1), (BEFORE, 1, 1, 1), drop_deletes=True)
    with pytest.raises(InvalidRequest, match="ignore-delete"):
        PLAIN.check_retract({BEFORE})


def test_a_delete_removes_the_record_and_adds_go_on_from_its_row():
    rows = [(INSERT, 1, 1, 1), (DELETE, 1, 9, None)]
    assert merge(REMOVING, "ab", *rows) == [(DELETE, 1, 9, None)]
    assert merge(REMOVING, "ab", *rows, drop_deletes=True) == []
    assert merge(REMOVING, "ab", *rows, (INSERT, 1, None, 3)) == [(INSERT, 1, 9, 3)]
    # A -U does not change the row that the delete left, but the delete is then not the last row.
    assert merge(REMOVING, "ab", *rows, (BEFORE, 1, 5, 5)) == [(INSERT, 1, 9, None)]


def test_keys_without_an_add_stay_deletes():
    assert merge(REMOVING, "ab", (BEFORE, 1, 1, None), (BEFORE, 1, 2, 2)) == [(DELETE, 1, 1, None)]
    assert merge(IGNORING, "ab", (DELETE, 1, 1, None), (DELETE, 1, 2, 2)) == [(DELETE, 1, 1, None)]


def test_ignored_deletes_only_matter_as_the_first_row():
    assert merge(IGNORING, "ab", (INSERT, 1, 1, 1), (DELETE, 1, 2, 2)) == [(INSERT, 1, 1, 1)]
    assert merge(IGNORING, "ab", (DELETE, 1, 1, 8), (INSERT, 1, 2, None)) == [(INSERT, 1, 2, 8)]


def test_sequence_numbers():
    table = pa.table({"k": [1, 1, 2, 2, 3], "_SEQUENCE_NUMBER": [10, 11, 20, 21, 30], "_VALUE_KIND": [0, 3, 3, 3, 3]})
    groups = group(np.asarray(table["k"]), None)
    assert REMOVING.fold(table, groups, ["_SEQUENCE_NUMBER"])["_SEQUENCE_NUMBER"].to_pylist() == [11, 21, 30]
    assert IGNORING.fold(table, groups, ["_SEQUENCE_NUMBER"])["_SEQUENCE_NUMBER"].to_pylist() == [10, 0, 30]


def test_sequence_groups_go_by_their_own_order():
    rows = [(INSERT, 1, 2, 20, 5, 50, 500), (INSERT, 1, 3, None, 4, 40, None), (INSERT, 1, None, 99, 6, 60, 600)]
    assert merge(GROUPS, "gahbc", *rows) == [(INSERT, 1, 3, None, 6, 60, 600)]


def test_a_retract_resets_its_groups():
    rows = [(INSERT, 1, 2, 20, 5, 50, 500), (DELETE, 1, 2, 7, 4, 7, 7)]
    assert merge(GROUPS, "gahbc", *rows) == [(INSERT, 1, 2, None, 5, 50, 500)]
    # The values of a late row are ignored; a row with equal order counts as newer.
    assert merge(GROUPS, "gahbc", *rows, (INSERT, 1, 1, 1, 5, 51, None)) == [(INSERT, 1, 2, None, 5, 51, 500)]
    # A retract that is the first row becomes the state, except in the groups that it orders.
    assert merge(GROUPS, "gahbc", (DELETE, 1, 2, 7, None, 8, 9), (INSERT, 1, None, 1, None, 1, None)) == [
        (INSERT, 1, 2, None, None, 8, 9)
    ]


def test_ordering_columns_are_compared_one_after_the_other():
    engine = engine_for({"fields.g,h.sequence-group": "a"}, g=INT, h=INT, a=INT)
    rows = [(INSERT, 1, 1, 9, 1), (INSERT, 1, 2, None, 2), (INSERT, 1, 1, 10, 3), (INSERT, 1, None, 11, 4)]
    assert merge(engine, "gha", *rows) == [(INSERT, 1, 2, None, 2)]
    assert merge(engine, "gha", *rows, (INSERT, 1, 2, 0, None)) == [(INSERT, 1, 2, 0, None)]


def removing_engine(listed: str) -> MergeEngine:
    options = {"fields.g.sequence-group": "a", "fields.h.sequence-group": "b", REMOVE: listed}
    return engine_for(options, g=INT, a=INT, h=INT, b=INT, c=INT)


def test_a_newer_delete_of_a_listed_group_removes_the_record():
    engine = removing_engine("g")
    first = (INSERT, 1, 2, 20, 5, 50, 500)
    assert merge(engine, "gahbc", first, (DELETE, 1, 3, 1, 1, 1, None)) == [(DELETE, 1, 3, 1, 1, 1, None)]
    assert merge(engine, "gahbc", first, (DELETE, 1, 1, 1, 1, 1, 1)) == [first]
    assert merge(engine, "gahbc", first, (BEFORE, 1, 3, 1, 1, 1, 1)) == [(INSERT, 1, 3, None, 5, 50, 500)]
    # The removal lowered the other group's order.
    rows = [first, (DELETE, 1, 3, 1, 1, 1, None), (INSERT, 1, None, 9, 2, 22, None)]
    assert merge(engine, "gahbc", *rows) == [(INSERT, 1, 3, 1, 2, 22, None)]


def test_several_listed_groups_may_lower_each_others_order():
    rows = [(INSERT, 1, 5, 1, 5, 1, 1), (DELETE, 1, 6, 2, 0, 2, 2), (DELETE, 1, 0, 3, 1, 3, 3)]
    # The second delete is newer for h only because the first one lowered h to 0; then g is 0.
    rows += [(INSERT, 1, 1, 4, 0, 4, None)]
    assert merge(removing_engine("g,h"), "gahbc", *rows) == [(INSERT, 1, 1, 4, 1, 3, 3)]
    assert merge(removing_engine("g"), "gahbc", *rows) == [(INSERT, 1, 6, 2, 1, None, 2)]


def functions(name: str, *, ignore_retract: bool = False) -> MergeEngine:
    options = {"fields.g.sequence-group": "a", "fields.a.aggregate-function": name}
    if ignore_retract:
        options["fields.a.ignore-retract"] = "true"
    return engine_for(options, g=INT, a=INT)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("sum", 31),
        ("max", 16),
        ("last_value", 4),
        ("last_non_null_value", 4),
        ("first_value", 8),
        ("first_non_null_value", 8),
    ],
)
def test_late_rows_are_folded_the_other_way_round(name, found):
    rows = [(INSERT, 1, 5, 1), (INSERT, 1, 3, 16), (INSERT, 1, 6, 2), (INSERT, 1, 2, 8), (INSERT, 1, 6, 4)]
    assert merge(functions(name), "ga", *rows) == [(INSERT, 1, 6, found)]


def test_functions_apply_retracts_where_they_arrive():
    rows = [(INSERT, 1, 5, 10), (DELETE, 1, 3, 4), (INSERT, 1, 2, 1)]
    assert merge(functions("sum"), "ga", *rows) == [(INSERT, 1, 5, 7)]
    assert merge(functions("last_value"), "ga", *rows) == [(INSERT, 1, 5, None)]
    # After the retract the state has no value, so the late row sets it.
    assert merge(functions("last_non_null_value"), "ga", *rows) == [(INSERT, 1, 5, 1)]
    assert merge(functions("last_non_null_value", ignore_retract=True), "ga", *rows) == [(INSERT, 1, 5, 10)]
    assert merge(functions("max", ignore_retract=True), "ga", *rows) == [(INSERT, 1, 5, 10)]
    with pytest.raises(InvalidRequest, match=r"'a'.*max.*ignore-retract"):
        merge(functions("max"), "ga", *rows)
    with pytest.raises(InvalidRequest, match=r"'a'.*max.*ignore-retract"):
        functions("max").check_retract({DELETE})


def test_a_late_null_takes_the_place_of_a_first_value():
    rows = [(INSERT, 1, 5, 1), (INSERT, 1, 3, None)]
    assert merge(functions("first_non_null_value"), "ga", *rows) == [(INSERT, 1, 5, None)]
    assert merge(functions("last_non_null_value"), "ga", *rows) == [(INSERT, 1, 5, 1)]


def test_a_not_null_column_is_never_set_to_null():
    required = pa.field("a", INT, nullable=False)
    engine = engine_for({"fields.g.sequence-group": "a"}, g=INT, a=required)
    with pytest.raises(InvalidRequest, match="'a' is NOT NULL"):
        merge(engine, "ga", (INSERT, 1, 1, 1), (DELETE, 1, 2, 1))
    with pytest.raises(InvalidRequest, match="'a' is NOT NULL"):
        engine.check_retract({DELETE})
    removing = engine_for({"fields.g.sequence-group": "a", REMOVE: "g"}, g=INT, a=required)
    removing.check_retract({DELETE})
    with pytest.raises(InvalidRequest, match="'a' is NOT NULL"):
        removing.check_retract({BEFORE, DELETE})
    with pytest.raises(InvalidRequest, match="'a' is NOT NULL"):
        merge(engine_for({}, a=required), "a", (INSERT, 1, 1), (INSERT, 1, None))


def test_inputs_are_the_ordering_columns_and_what_decides_on_removal():
    assert PLAIN.inputs(["b"]) == ("b",)
    assert GROUPS.inputs(["c"]) == ("c",)
    assert GROUPS.inputs(["c", "b"]) == ("c", "b", "h")
    assert GROUPS.inputs(["h"]) == ("h",)
    assert removing_engine("g").inputs(["c", "b"]) == ("c", "b", "g", "h")


def test_rows_outside_of_a_sequence_group_cannot_fill_its_not_null_columns():
    required = pa.field("a", INT, nullable=False)
    engine = engine_for({"fields.g,h.sequence-group": "a"}, g=INT, h=INT, a=required)
    engine.check_rows(pa.table({"g": pa.array([None, 1], INT), "h": pa.array([1, None], INT), "a": [1, 1]}))
    with pytest.raises(InvalidRequest, match=r"column 'a' is NOT NULL, .* null in g, h"):
        engine.check_rows(pa.table({"g": pa.array([None], INT), "h": pa.array([None], INT), "a": [1]}))
    GROUPS.check_rows(pa.table({name: pa.array([None], INT) for name in "gahbc"}))


def test_numbers_below_zero_order_a_group():
    rows = [
        (INSERT, 1, -9, 1, None, None, None),
        (INSERT, 1, -3, 2, None, None, None),
        (INSERT, 1, -5, 3, None, None, None),
    ]
    assert merge(GROUPS, "gahbc", *rows) == [(INSERT, 1, -3, 2, None, None, None)]
