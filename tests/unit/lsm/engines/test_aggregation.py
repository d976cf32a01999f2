from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature
from paimon_core.lsm.engines.aggregation import Aggregation
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.key_groups import Groups
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import parse_type

KINDS = ["+I", "-U", "+U", "-D"]
REMOVE = {"aggregation.remove-record-on-delete": "true"}


def engine_of(columns="INT", **functions):
    """Return an engine with the key ``k`` and the columns given by name or text; ``v`` when only a type is given."""
    types = {"k": "INT NOT NULL"} | (columns if isinstance(columns, dict) else {"v": columns})
    fields = tuple(DataField(i, n, parse_type(t)) for i, (n, t) in enumerate(types.items()))
    options = {"merge-engine": "aggregation"} | {name.replace("_", "-"): text for name, text in functions.items()}
    engine = merge_engine(TableSchema(0, fields, len(fields), (), ("k",)), TableOptions.parse(options, creating=True))
    assert isinstance(engine, Aggregation)
    return engine


def v_is(function, columns="INT", **options):
    return engine_of(columns, **{"fields.v.aggregate-function": function} | options)


def result(engine, *keys, kind=None, drop_deletes=False):
    """Return the merged rows of keys 0, 1, ... as (key, kind, sequence number, value) from [(kind, value)] per key."""
    cells = [(key, *cell) for key, rows in enumerate(keys) for cell in rows]
    table = pa.table(
        {
            "k": pa.array([key for key, _, _ in cells], pa.int32()),
            "_SEQUENCE_NUMBER": pa.array(range(len(cells)), pa.int64()),
            "_VALUE_KIND": pa.array([KINDS.index(k) for _, k, _ in cells], pa.int8()),
            "v": pa.array([value for _, _, value in cells], kind or pa.int32()),
        }
    )
    ends = np.cumsum([len(rows) for rows in keys])
    groups = Groups(np.arange(len(cells)), ends - [len(rows) for rows in keys], ends)
    groups = engine.survivors(table, groups, drop_deletes=drop_deletes)
    rows = engine.fold(table, groups, ["k", "_VALUE_KIND", "_SEQUENCE_NUMBER", "v"])
    assert rows.schema == table.select(rows.column_names).schema
    return [(r["k"], KINDS[r["_VALUE_KIND"]], r["_SEQUENCE_NUMBER"], r["v"]) for r in rows.to_pylist()]


def test_several_rows_become_an_insert_with_the_last_sequence_number():
    rows = result(v_is("sum"), [("+I", 1), ("+U", 2), ("-U", 5)], [("+U", 3), ("-D", 3)])
    assert rows == [(0, "+I", 2, -2), (1, "+I", 4, 0)]


def test_a_single_row_stays_as_it_is():
    keys = [[("+U", 1)], [("-D", None)], [("-U", 7)], [("+I", 1), ("+I", 2)]]
    for function in ("sum", "max", "first_value"):
        rows = result(v_is(function), *keys)
        assert rows[:3] == [(0, "+U", 0, 1), (1, "-D", 1, None), (2, "-U", 2, 7)]
        assert [row[0] for row in result(v_is(function), *keys, drop_deletes=True)] == [0, 3]


def test_a_single_retract_is_applied_to_no_value_when_single_rows_are_merged():
    keys = [[("-D", 5)], [("-U", 7)], [("+U", 1)], [("+I", 1), ("-D", 3)]]
    merged = [(0, "+I", 0, -5), (1, "+I", 1, -7), (2, "+I", 2, 1), (3, "+I", 4, -2)]
    engine = replace(v_is("sum"), merges_single_rows=True)
    assert result(engine, *keys) == result(engine, *keys, drop_deletes=True) == merged


def test_a_single_delete_removes_the_record_also_when_single_rows_are_merged():
    engine = replace(v_is("sum", **REMOVE), merges_single_rows=True)
    keys = [[("-D", 5)], [("-U", 7)], [("+I", 1), ("-D", 3)]]
    assert result(engine, *keys) == [(0, "-D", 0, 5), (1, "+I", 1, -7), (2, "-D", 3, 3)]
    assert result(engine, *keys, drop_deletes=True) == [(1, "+I", 1, -7)]


def test_a_column_without_a_function_takes_the_last_value_that_is_not_null():
    assert result(engine_of(), [("+I", 1), ("+I", None)]) == [(0, "+I", 1, 1)]
    other = engine_of(**{"fields.default-aggregate-function": "max"})
    assert result(other, [("+I", 3), ("+I", 2)]) == [(0, "+I", 1, 3)]


def test_nested_columns_are_folded_and_passed_on():
    kind = pa.list_(pa.int32())
    keys = [[("+I", [1]), ("+I", None)], [("+I", [2])], [("+I", None), ("+I", [3, 4])]]
    rows = result(engine_of(), *keys, kind=kind)
    assert [value for *_, value in rows] == [[1], [2], [3, 4]]


def test_a_removing_delete_restarts_the_fold():
    engine = v_is("sum", **REMOVE)
    keys = [
        [("+I", 1), ("-D", 10)],
        [("+I", 1), ("-D", 10), ("+I", 2), ("-U", 5)],
        [("-D", 10), ("-D", None), ("+U", 2)],
        [("+I", 1), ("+I", 2)],
        [("-D", 7)],
    ]
    rows = result(engine, *keys)
    assert [(kind, value) for _, kind, _, value in rows] == [("-D", 10), ("+I", 7), ("+I", 2), ("+I", 3), ("-D", 7)]
    assert [row[0] for row in result(engine, *keys, drop_deletes=True)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "first", "non_null"),
    [
        ([("+I", 1), ("-D", 5), ("+I", 2)], 5, 5),
        ([("-D", 5), ("+I", 2), ("+I", 3)], 2, 2),
        ([("-D", 5), ("+I", None), ("+I", 3)], None, 3),
        ([("+I", None), ("-D", 5), ("+I", 3)], 5, 3),
        ([("-D", 4), ("-D", 5)], 5, 5),
        ([("+I", 1), ("-D", 4), ("-D", None), ("+I", 2)], None, None),
        ([("-D", 5), ("+I", None)], None, 5),
    ],
)
def test_a_first_value_seen_before_a_delete_leaves_the_deleted_rows_value(rows, first, non_null):
    others = [("+I", 8), ("+I", 9)]
    assert [value for *_, value in result(v_is("first_value", **REMOVE), others, rows)] == [8, first]
    assert [value for *_, value in result(v_is("first_non_null_value", **REMOVE), others, rows)] == [8, non_null]


def test_rows_without_kinds_are_all_added():
    table = pa.table({"k": [0, 0], "v": [1, 2]})
    one = Groups(np.arange(2), np.zeros(1, np.int64), np.full(1, 2))
    engine = v_is("sum", **REMOVE)
    assert engine.survivors(table, one, drop_deletes=True) is one
    assert engine.fold(table, one, ["v"]).to_pydict() == {"v": [3]}
    assert engine.fold(table, one.keep(np.zeros(1, np.bool_)), ["v"]).to_pydict() == {"v": []}


def test_a_retract_that_a_function_cannot_take_is_refused():
    with pytest.raises(InvalidRequest, match=r"column 'v'.*fields.v.ignore-retract = true"):
        result(v_is("max"), [("+I", 1), ("-U", 1)])
    assert result(v_is("max", **{"fields.v.ignore-retract": "true"}), [("+I", 1), ("-U", 5)])[0][3] == 1


def test_a_retract_that_empties_a_column_that_is_not_null_is_refused():
    with pytest.raises(InvalidRequest, match="'v' is NOT NULL"):
        result(engine_of("INT NOT NULL"), [("+I", 1), ("-D", 1)])


def test_retracts_are_refused_at_write_when_a_function_cannot_take_them():
    v_is("sum").check_retract({1, 3})
    v_is("max", **REMOVE).check_retract({3})
    v_is("max", **{"fields.v.ignore-retract": "true"}).check_retract({1, 3})
    for engine, kinds in ((v_is("max"), {3}), (v_is("max", **REMOVE), {1, 3}), (engine_of("INT NOT NULL"), {3})):
        with pytest.raises(InvalidRequest, match=r"-U and -D are refused.*column 'v'"):
            engine.check_retract(kinds)
    engine_of("INT NOT NULL", **REMOVE).check_retract({3})


def test_sequence_columns_take_the_last_value():
    engine = engine_of({"v": "INT", "s": "INT"}, **{"sequence.field": "v", "fields.default-aggregate-function": "sum"})
    assert result(engine, [("+I", 1), ("+I", 2)], [("+I", 3), ("+I", None)]) == [(0, "+I", 1, 2), (1, "+I", 3, None)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields.v.aggregate-function": "sum", "sequence.field": "v"}, "fields.v.aggregate-function.*sequence.field"),
        ({"fields.v.ignore-retract": "true"} | REMOVE, "fields.v.ignore-retract.*aggregation.remove-record-on-delete"),
        ({"fields.v.aggregate-function": "bool_or"}, "column 'v'.*bool_or"),
        ({"fields.default-aggregate-function": "bool_or"}, "column 'v'.*bool_or"),
        ({"fields.v.distinct": "true"}, "fields.v.distinct"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises((InvalidOption, UnsupportedFeature), match=message):
        engine_of(**options)


def test_blank_texts_are_refused_for_a_not_null_column_with_listagg():
    for options in ({}, {"fields.v.ignore-retract": "true"}):
        engine = v_is("listagg", "STRING NOT NULL", **options)
        engine.check_rows(pa.table({"k": [1], "v": ["a"]}))
        with pytest.raises(InvalidRequest, match="column 'v' is NOT NULL, but a text to write is blank"):
            engine.check_rows(pa.table({"k": [1, 1], "v": ["a", " "]}))
    v_is("listagg", "STRING").check_rows(pa.table({"k": [1], "v": [" "]}))
