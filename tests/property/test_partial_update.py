"""Partial update over whole columns against the rules row by row: kinds, nulls, sequence groups, functions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.engines.engine_choice import merge_engine
from paimon_core.lsm.key_groups import group
from paimon_core.options import TableOptions
from paimon_core.schema import new_schema
from tests.support.examples import examples
from tests.support.partial_update_model import PartialUpdateModel, Refused

MANY = settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
COLUMNS = {
    "g": pa.int32(),
    "h": pa.int64(),
    "i": pa.string(),
    "a": pa.int32(),
    "b": pa.string(),
    "c": pa.list_(pa.int32()),
    "d": pa.map_(pa.string(), pa.int32()),
}
GROUPS: list[dict[tuple[str, ...], tuple[str, ...]]] = [
    {},
    {("g",): ("a", "b")},
    {("g",): ("a",), ("h",): ("b",)},
    {("g", "i"): ("a", "c"), ("h",): ("b", "d")},
    {("h", "g"): ("a", "b", "c", "d")},
]
FUNCTIONS: dict[str, list[str]] = {
    "a": ["sum", "max", "last_value", "last_non_null_value", "first_value", "first_non_null_value"],
    "b": ["listagg", "last_non_null_value", "last_value", "first_non_null_value", "first_value"],
    "c": ["collect", "last_non_null_value"],
    "d": ["merge_map"],
}
ANY_ORDER = ["sum", "max", "last_value", "collect"]
"""Functions whose result does not depend on the order of merges, also with late rows."""
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "g": st.sampled_from([None, 1, 2, 3]),
    "h": st.sampled_from([None, -(2**62), 0, 2**62]),
    "i": st.sampled_from([None, "", "x"]),
    "a": st.sampled_from([None, 1, 2, 10]),
    "b": st.sampled_from([None, "p", "q"]),
    "c": st.sampled_from([None, [1], [2, 1], [2, 2]]),
    "d": st.sampled_from([None, {"x": 1}, {"x": 2, "y": 3}, {"z": 4}]),
}


@st.composite
def models(draw: st.DrawFn) -> PartialUpdateModel:
    groups = draw(st.sampled_from(GROUPS))
    functions = {}
    for protected in groups.values():
        for column in protected:
            if draw(st.booleans()):
                functions[column] = (draw(st.sampled_from(FUNCTIONS[column])), draw(st.booleans()))
    model = PartialUpdateModel(["k", *COLUMNS], groups, functions)
    rule = draw(st.sampled_from(["none", "none", "ignore", "remove", "remove"]))
    if rule == "ignore":
        model.ignore_delete = True
    elif rule == "remove" and not groups:
        model.remove_on_delete = True
    elif rule == "remove":
        ordering = sorted({c for names in groups for c in names})
        model.removing = frozenset(draw(st.lists(st.sampled_from(ordering), min_size=1, max_size=2)))
    return model


def engine_of(model: PartialUpdateModel):
    options = {"merge-engine": "partial-update", "bucket": "1"}
    options |= {f"fields.{','.join(o)}.sequence-group": ",".join(p) for o, p in model.groups.items()}
    for column, (name, ignore) in model.functions.items():
        options[f"fields.{column}.aggregate-function"] = name
        options[f"fields.{column}.ignore-retract"] = str(ignore).lower()
    options["ignore-delete"] = str(model.ignore_delete).lower()
    options["partial-update.remove-record-on-delete"] = str(model.remove_on_delete).lower()
    if model.removing:
        options["partial-update.remove-record-on-sequence-group"] = ",".join(sorted(model.removing))
    schema = new_schema(pa.schema({"k": pa.int32(), **COLUMNS}), primary_key=["k"], options=options)
    return merge_engine(schema, TableOptions.parse(options, creating=True))


@st.composite
def histories(draw: st.DrawFn, *, retracts: bool = True) -> list[tuple[int, int, dict[str, Any]]]:
    """Rows of up to three keys in order of arrival, with ascending numbers."""
    kinds = st.sampled_from([0, 0, 0, 2, 1, 3, 3] if retracts else [0, 2])
    rows = []
    for number in range(draw(st.integers(0, 12))):
        row = {"k": draw(st.integers(1, 3))} | {name: draw(values) for name, values in VALUES.items()}
        rows.append((draw(kinds), number, row))
    return rows


def table_of(rows: list[tuple[int, int, dict[str, Any]]]) -> pa.Table:
    arrays = {"_KEY_k": pa.array([row["k"] for _, _, row in rows], pa.int32())}
    arrays["_SEQUENCE_NUMBER"] = pa.array([number for _, number, _ in rows], pa.int64())
    arrays["_VALUE_KIND"] = pa.array([kind for kind, _, _ in rows], pa.int8())
    for name, kind in {"k": pa.int32(), **COLUMNS}.items():
        values = [row[name] for _, _, row in rows]
        arrays[name] = pa.array([list(v.items()) if isinstance(v, dict) else v for v in values], kind)
    return pa.table(arrays)


def merged(engine, rows, *, drop_deletes: bool = False, columns: list[str] | None = None):
    table = table_of(rows)
    groups = group(np.asarray(table["_KEY_k"].to_numpy()), None)
    names = columns or table.column_names
    # A fold gets only the columns that it asks for.
    frame = [name for name in table.column_names if name.startswith("_")]
    table = table.select([*frame, *engine.inputs([name for name in names if name not in frame])])
    survivors = engine.survivors(table, groups, drop_deletes=drop_deletes)
    results = engine.fold(table, survivors, names).to_pylist()
    for row in results:
        if row.get("d") is not None:
            row["d"] = dict(row["d"])
    return results


def expected(model: PartialUpdateModel, rows, *, drop_deletes: bool = False):
    keys = sorted({row["k"] for _, _, row in rows})
    results = []
    for key in keys:
        kind, number, row = model.merge([record for record in rows if record[2]["k"] == key])
        if not (drop_deletes and kind in (1, 3)):
            results.append({"_KEY_k": key, "_SEQUENCE_NUMBER": number, "_VALUE_KIND": kind, **row})
    return results


@MANY
@given(models(), histories(), st.booleans())
def test_whole_columns_are_the_rules_row_by_row(model, rows, drop_deletes):
    engine = engine_of(model)
    try:
        wanted = expected(model, rows, drop_deletes=drop_deletes)
    except Refused:
        with pytest.raises(InvalidRequest):
            merged(engine, rows)
        return
    assert merged(engine, rows, drop_deletes=drop_deletes) == wanted


@MANY
@given(models(), histories(), st.lists(st.sampled_from(sorted(COLUMNS)), unique=True))
def test_a_projection_is_the_same_columns(model, rows, names):
    engine = engine_of(model)
    try:
        wanted = expected(model, rows, drop_deletes=True)
    except Refused:
        return
    names = ["k", *names]
    found = merged(engine, rows, drop_deletes=True, columns=names)
    assert found == [{name: row[name] for name in names} for row in wanted]


@st.composite
def orderly(draw: st.DrawFn) -> tuple[PartialUpdateModel, list[tuple[int, int, dict[str, Any]]]]:
    """Options and rows whose result does not depend on when compactions run, in Java neither.

    It does depend on that for: -D rows that are followed by an add (merged with it before it meets older rows, the -D
    is forgotten) or that have values (which are dropped with the delete), -U with remove-record-on-delete, retracts
    with sequence groups, sequence.field, and late rows with functions that are not symmetric (a late row is put before
    those of its own merge only).
    """
    model = draw(models())
    model.removing, model.ignore_delete = frozenset(), False
    rows = draw(histories(retracts=False))
    if model.groups:
        if draw(st.booleans()):
            model.functions = {c: f for c, f in model.functions.items() if f[0] in ANY_ORDER and f != ("collect", True)}
        else:
            for _, number, row in rows:
                counted = row["g"] is not None
                in_order = {"g": number, "h": number, "i": f"{number:02}"}
                row |= {name: value if counted else None for name, value in in_order.items()}
        return model, rows
    model.remove_on_delete = True
    for key in draw(st.sets(st.integers(1, 3))):
        rows.append((3, len(rows), dict.fromkeys(VALUES) | {"k": key}))
    return model, rows


@MANY
@given(orderly(), st.lists(st.integers(0, 12), max_size=3), st.booleans())
def test_the_result_does_not_depend_on_when_compaction_ran(history, cuts, drop_first):
    model, rows = history
    engine = engine_of(model)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [rows[start:end] for start, end in pairwise(bounds)]
    # Deletes may be missing at the last level, because nothing older is below it.
    done = [
        (row["_VALUE_KIND"], row["_SEQUENCE_NUMBER"], {name: row[name] for name in ("k", *COLUMNS)})
        for number, piece in enumerate(pieces)
        for row in merged(engine, piece, drop_deletes=drop_first and number == 0)
    ]
    at_once = expected(model, rows, drop_deletes=True)
    assert [values_of(row) for row in merged(engine, done, drop_deletes=True)] == [values_of(row) for row in at_once]


def values_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS}
