"""Play histories of alterations on two tables, each step here on one and in Java on the other, and compare all reads.

After every step, both sides read both tables. All four reads must give the same rows, and both tables must have the
same schema. So each side reads what the other has altered, written and compacted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter.rest_changes import rest_changes
from paimon_core.types import TypeRoot
from tests.differential.evolution import Evolution
from tests.support.java_rows import arrow_rows, as_set, json_rows
from tests.support.oracle import Oracle


def evolution_differences(one: Evolution, oracle: Oracle, warehouse: str) -> str | None:
    """Return what differs, or None; the tables ``x.a<seed>`` and ``x.b<seed>`` are created in ``warehouse``."""
    draw = random.Random(f"sides/{one.seed}")
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("x", ignore_if_exists=True)
    names = [f"x.a{one.seed}", f"x.b{one.seed}"]
    for name in names:
        catalog.create_table(
            name,
            one.schema.arrow,
            primary_key=one.schema.primary_keys,
            options=dict(one.schema.options),
            types={f.name: f.type.sql for f in one.schema.fields if not f.type.children},
        )
    for at, step in enumerate(one.steps):
        here, java = names if draw.random() < 0.5 else names[::-1]
        script: list[dict[str, Any]] = [{"op": "dump", "table": name} for name in names]
        _play(catalog.table(here), step)
        if step == "full" and not one.schema.primary_keys:  # the oracle does not compact tables of appends
            _play(catalog.table(java), step)
        else:
            script = [_java_step(java, step), *script]
        results = oracle.run(warehouse, script, allow_errors=True)
        found = _difference([catalog.table(name) for name in names], results, draw)
        if found is not None:
            return f"{one}\n  after step {at} (here: {here}): {found}"
    for name in names:
        findings = catalog.table(name).maintenance.check(deep=True).findings
        if findings:
            return f"{one}\n  {name}: {findings[:3]}"
    return None


def _play(table: Any, step: Any) -> None:
    if step == "full":
        table.compact(full=True)
    elif isinstance(step[0], list):
        table.write(arrow_rows(step, table.schema.fields))
    else:
        table.alter(*step)


def _java_step(name: str, step: Any) -> dict[str, Any]:
    if step == "full":
        return {"op": "compact", "table": name, "full": True}
    if isinstance(step[0], list):
        return {"op": "write", "table": name, "rows": step}
    return {"op": "alter", "table": name, "changes": rest_changes(step)}


def _difference(tables: Sequence[Any], results: Sequence[Any], draw: random.Random) -> str | None:
    for result in results:
        if "error" in result:
            return f"Java failed: {result['error']}"
    members = [_members(table) for table in tables]
    if members[0] != members[1]:
        return f"the schemas differ: {members[0]} and {members[1]}"
    reads = []
    for table, result in zip(tables, results[-2:], strict=True):
        try:
            rows = table.scan().to_arrow()
        except paimon.PaimonError as error:
            return f"cannot read {table.name} here: {error}"
        fields = table.schema.fields
        reads += [as_set(json_rows(rows, fields)), as_set(result["rows"])]
        problem = _filter_problem(table, rows, draw)
        if problem:
            return problem
    if all(read == reads[0] for read in reads):
        return None
    labels = ["a here", "a java", "b here", "b java"]
    return "\n    ".join(["rows differ", *(f"{label}: {read}" for label, read in zip(labels, reads, strict=True))])


def _members(table: Any) -> dict[str, Any]:
    found = json.loads(table.schema.to_json())
    del found["timeMillis"], found["id"]  # Java also creates a schema for changes without effect
    return dict(found)


def _filter_problem(table: Any, rows: pa.Table, draw: random.Random) -> str | None:
    """Compare a scan with a filter on one column with the same filter on all rows."""
    scalars = [f for f in table.schema.fields if not f.type.children and f.type.root not in (TypeRoot.TIME,)]
    if not scalars or not len(rows):
        return None
    chosen = draw.choice(scalars)
    value = draw.choice(rows[chosen.name].to_pylist())
    if value is None:
        where, kept = col(chosen.name).is_null(), [v is None for v in rows[chosen.name].to_pylist()]
    else:
        where, kept = col(chosen.name) >= value, [v is not None and v >= value for v in rows[chosen.name].to_pylist()]
    found = table.scan(where=where).to_arrow()
    fields = table.schema.fields
    wanted = as_set([row for row, keep in zip(json_rows(rows, fields), kept, strict=True) if keep])
    got = as_set(json_rows(found, fields))
    return None if got == wanted else f"filter {where} on {table.name}: {got}, not {wanted}"
