"""Play histories here and in Java, and compare what each commit leaves: the rows of the table, and its changelog."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import paimon_core as paimon
from paimon_core.types import parse_type
from tests.differential.histories import History
from tests.support.java_rows import json_rows
from tests.support.oracle import Oracle

Rows = list[str]
"""Rows as JSON texts, sorted."""
_NESTED: Mapping[str, Any] = {
    "ARRAY<INT>": {"type": "ARRAY", "element": "INT"},
    "MAP<STRING, INT>": {"type": "MAP", "key": "STRING", "value": "INT"},
}


def differences(histories: Sequence[History], oracle: Oracle, warehouse: str) -> list[str]:
    """What differs, one text per history that does; both sides have a database in ``warehouse``."""
    theirs = _in_java(histories, oracle, warehouse)
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("here", ignore_if_exists=True)
    out = []
    for one in histories:
        ours = _here(one, catalog)
        if ours != theirs[one.seed]:
            at = next(i for i, (a, b) in enumerate(zip(ours, theirs[one.seed], strict=True)) if a != b)
            step = f"after step {at}" if at < len(one.steps) else "in the changelog"
            here, java = ours[at], theirs[one.seed][at]
            if isinstance(here, list) and isinstance(java, list):
                here, java = [x for x in here if x not in java], [x for x in java if x not in here]
            out.append(f"{one}\n  {step}\n  here {here}\n  java {java}")
    return out


def _here(one: History, catalog: Any) -> list[Any]:
    table = _table(one, catalog, "here")
    states: list[Any] = []
    for step in one.steps:
        _play(one, table, step)
        states.append(canonical(json_rows(table.scan().to_arrow(), table.schema.fields), one, kinds=False))
    if "changelog-producer" in one.options:
        changes = table.changes(way="changelog").to_arrow()
        rows = json_rows(changes, table.schema.fields, changes["rowkind"].to_pylist())
        states.append(canonical(rows, one))
    return states


def rows_after(one: History, catalog: Any, database: str, compaction: Callable[[str], str | None]) -> Rows:
    """The rows that a history leaves here, with ``compaction`` in place of each of its compactions, None for none."""
    table = _table(one, catalog, database)
    for step in one.steps:
        instead = compaction(step) if isinstance(step, str) else step
        if instead is not None:
            _play(one, table, instead)
    return canonical(json_rows(table.scan().to_arrow(), table.schema.fields), one, kinds=False)


def _table(one: History, catalog: Any, database: str) -> Any:
    schema, types = field_types(one)
    return catalog.create_table(
        f"{database}.h{one.seed}", schema, primary_key=one.key, options=one.options, types=types
    )


def field_types(one: History) -> tuple[pa.Schema, dict[str, str]]:
    """Return the columns, and the types of those that Arrow does not tell."""
    fields = [pa.field(n, parse_type(_type(t)).to_arrow(), nullable=n not in one.key) for n, t in one.columns]
    return pa.schema(fields), {n: t for n, t in one.columns if t not in _NESTED}


def _play(one: History, table: Any, step: Any) -> None:
    if isinstance(step, str):
        table.compact(full=step == "full")
    else:
        table.write(arrow_of(step, one), kinds=[row[0] for row in step])


def _in_java(histories: Sequence[History], oracle: Oracle, warehouse: str) -> dict[int, list[Any]]:
    script: list[dict[str, Any]] = []
    marks: list[tuple[int, int]] = []
    for one in histories:
        name = f"java.h{one.seed}"
        keyed = {n: {"name": n, "type": _NESTED.get(t, t)} for n, t in one.columns}
        for key in one.key:
            keyed[key]["type"] += " NOT NULL"
        create = {"op": "create", "table": name, "fields": list(keyed.values()), "primaryKeys": one.key}
        script.append({**create, "options": one.options})
        for step in one.steps:
            if isinstance(step, str):
                script.append({"op": "compact", "table": name, "full": step == "full"})
            else:
                script.append({"op": "write", "table": name, "rows": step})
            marks.append((one.seed, len(script)))
            script.append({"op": "dump", "table": name})
        if "changelog-producer" in one.options:
            marks.append((one.seed, len(script)))
            script.append({"op": "stream", "table": name, "from": 1, "plans": 50})
    results = oracle.run(warehouse, script, allow_errors=True)
    for step, result in zip(script, results, strict=True):
        assert "error" not in result, f"Java failed at {result['error']}: {json.dumps(step)[:900]}"
    by_seed = {one.seed: one for one in histories}
    states: dict[int, list[Any]] = {one.seed: [] for one in histories}
    for seed, at in marks:
        result = results[at]
        rows = result["rows"] if "rows" in result else [row for plan in result["plans"] for row in plan]
        states[seed].append(canonical(rows, by_seed[seed], kinds="plans" in result))
    return states


def _type(text: str) -> Any:
    return _NESTED.get(text, text)


def canonical(rows: Sequence[Sequence[Any]], one: History, *, kinds: bool = True) -> Rows:
    """Rows as texts that compare: sorted, sets and maps in an order of their own; without ``kinds`` those are dropped.

    A reader may give +I where another gives +U.
    """
    out = []
    for kind, *values in rows:
        cells = []
        for (name, text), value in zip(one.columns, values, strict=True):
            if value is not None and (name in one.unordered or text.startswith("MAP")):
                value = sorted(value, key=json.dumps)
            cells.append(value)
        out.append(json.dumps([kind, *cells] if kinds else cells, ensure_ascii=False))
    return sorted(out)


def arrow_of(rows: Sequence[Sequence[Any]], one: History) -> pa.Table:
    columns = {}
    for at, (name, text) in enumerate(one.columns):
        kind = parse_type(_type(text)).to_arrow()
        columns[name] = pa.array([_value(row[at + 1], text) for row in rows], kind)
    return pa.table(columns)


def _value(value: Any, text: str) -> Any:
    if value is None:
        return None
    if text.startswith("DECIMAL"):
        return decimal.Decimal(value)
    if text.startswith("TIMESTAMP"):
        return datetime.datetime.fromisoformat(value)
    if text == "DATE":
        return datetime.date.fromisoformat(value)
    return [tuple(item) for item in value] if text.startswith("MAP") else value
