"""Play histories of layouts on two tables, each step here on one and in Java on the other, and compare all reads.

After every step both sides read both tables, whole and with a filter, and each key must have the same bucket in both.
So each side reads what the other has written, deleted and compacted.
"""

from __future__ import annotations

import operator
import random
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import paimon_core as paimon
from paimon_core import col
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.types import TypeRoot
from tests.differential.layouts import Layout
from tests.differential.play import arrow_of, canonical, field_types
from tests.support.java_rows import json_rows
from tests.support.oracle import Oracle

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def layout_differences(one: Layout, oracle: Oracle, warehouse: str) -> str | None:
    """Return what differs, or None; the tables ``y.a<seed>`` and ``y.b<seed>`` are created in ``warehouse``."""
    draw = random.Random(f"sides/{one.seed}")
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("y", ignore_if_exists=True)
    names = [f"y.a{one.seed}", f"y.b{one.seed}"]
    at, problem = -1, None
    try:
        _create(one, catalog, names)
        for at, step in enumerate(one.steps):
            here, java = names if draw.random() < 0.5 else names[::-1]
            problem = _after(one, catalog, oracle, warehouse, draw, (here, java), step)
            if problem is not None:
                return f"{one}\n  after step {at} (here: {here}): {problem}"
        for name in names:
            errors = catalog.table(name).maintenance.check(deep=True).errors
            if errors:
                return f"{one}\n  {name}: {errors[:3]}"
    except Exception:
        return f"{one}\n  in step {at}: {traceback.format_exc()}"
    return None


def _create(one: Layout, catalog: Any, names: Sequence[str]) -> None:
    schema, types = field_types(one)
    for name in names:
        catalog.create_table(
            name, schema, primary_key=one.key, partition_by=one.partition_by, options=one.options, types=types
        )


def _after(
    one: Layout,
    catalog: Any,
    oracle: Oracle,
    warehouse: str,
    draw: random.Random,
    sides: tuple[str, str],
    step: tuple[str, Any],
) -> str | None:
    """Play one step on both tables and return what differs."""
    here, java = sides
    _play(one, catalog.table(here), step)
    script = _java_steps(one, catalog.table(java), java, step)
    if script is None:
        _play(one, catalog.table(java), step)
    names = sorted(sides)
    tables = [catalog.table(name) for name in names]
    where = _drawn_filter(draw, one, tables[0])
    script = [*(script or []), *({"op": "dump", "table": name} for name in names)]
    if where is not None:
        script += [{"op": "dump", "table": name, "filter": [where[0]]} for name in names]
    results = oracle.run(warehouse, script, allow_errors=True)
    # The handles are opened again, since Java may have committed after the filter was drawn.
    return _difference(one, [catalog.table(name) for name in names], results, where, step[0])


# -- steps


def _play(one: Layout, table: Any, step: tuple[str, Any]) -> None:
    name, data = step
    match name:
        case "write":
            table.write(arrow_of(data, one), kinds=[row[0] for row in data] if one.key else None)
        case "hide":
            table.with_options({"write-only": "true"}).write(arrow_of(data, one), kinds=[row[0] for row in data])
        case "overwrite":
            table.overwrite(arrow_of(data, one))
        case "delete":
            table.delete(col("k").is_in(data))
        case "update":
            table.update(col("k").is_in(data), {"k": "updated"})
        case "spread":
            table.compact()
        case _:
            table.compact(full=name == "full")


def _java_steps(one: Layout, table: Any, name: str, step: tuple[str, Any]) -> list[dict[str, Any]] | None:
    """Return the script of a step for Java; None when the oracle has no such step, so that it is played here."""
    what, data = step
    write = {"op": "write", "table": name, "rows": data}
    if one.assigners is not None:
        write["assigners"] = one.assigners
    match what:
        case "write":
            return [write]
        case "hide":
            return [write | {"options": {"write-only": "true"}}]
        case "overwrite":
            return [write | {"overwrite": {}, "rows": [["+I", *row[1:]] for row in data]}]
        case "delete" if "deletion-vectors.enabled" in one.options:
            return [{"op": "deleteRows", "table": name, "files": _positions(table, data)}]
        case "full" | "minor" if one.key and one.layout != "postpone":
            return [{"op": "compact", "table": name, "full": what == "full"}]
        case "full" if "bucket" in one.options and one.layout != "postpone":
            return [{"op": "compact", "table": name, "full": True}]
        case "minor" if not one.key and "bucket" not in one.options:
            return [{"op": "pack", "table": name}]
    return None


def _positions(table: Any, keys: Sequence[str]) -> dict[str, list[int]]:
    """The positions of the rows with these keys in each data file, also of those that are deleted already."""
    fields, found = table.schema.select(["k"]), {}
    for split in table.scan().plan.splits:
        reader = BucketReader(table.context, split.partition, split.bucket, False, vectors={})
        for file in split.files:
            read = [key for batch in reader.file(file, fields) for key in batch.column(0).to_pylist()]
            found[file.file_name] = [at for at, key in enumerate(read) if key in keys]
    return {name: positions for name, positions in found.items() if positions}


# -- reads


def _drawn_filter(draw: random.Random, one: Layout, table: Any) -> tuple[list[Any], Any, Callable[[Any], bool]] | None:
    """Return a filter in the form of the oracle, in ours, and as a function of the value of its column."""
    rows = table.scan().to_arrow()
    scalars = [f for f in table.schema.fields if not f.type.children]
    chosen = draw.choice(scalars)
    values = [v for v in rows[chosen.name].to_pylist() if v is not None]
    if 0.0 in values and chosen.type.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE):
        return None  # -0.0 equals 0.0 here, and not in filters of Java
    if draw.random() < 0.15 or not values:
        return [chosen.name, "isNull"], col(chosen.name).is_null(), lambda v: v is None
    name = draw.choice(["=", "=", *OPERATORS])
    at = draw.randrange(len(values))
    value = values[at]
    encoded = json_rows(rows.filter(rows[chosen.name].is_valid()).slice(at, 1), table.schema.fields)[0]
    cell = encoded[1 + [f.name for f in table.schema.fields].index(chosen.name)]
    test = OPERATORS[name]
    return [chosen.name, name, cell], test(col(chosen.name), value), lambda v: v is not None and test(v, value)


def _difference(one: Layout, tables: Sequence[Any], results: Sequence[Any], where: Any, step: str) -> str | None:
    for result in results:
        if "error" in result:
            return f"Java failed: {result['error']}"
    dumps = [r["rows"] for r in results if "rows" in r]
    reads = []
    for table, java in zip(tables, dumps[:2], strict=True):
        reads += [_rows(one, table.scan().to_arrow(), table), canonical(java, one, kinds=False)]
    if problem := _unequal(reads):
        return f"rows differ: {problem}"
    if where is not None:
        _, ours, keeps = where
        rows = tables[0].scan().to_arrow()
        kept = rows.filter(pa.array([keeps(v) for v in rows[where[0][0]].to_pylist()], pa.bool_()))
        reads = [_rows(one, kept, tables[0])]
        for table, java in zip(tables, dumps[2:], strict=True):
            reads += [_rows(one, table.scan(where=ours).to_arrow(), table), canonical(java, one, kinds=False)]
        if problem := _unequal(reads):
            return f"filter {where[0]}: {problem}"
    return _place_problem(one, tables, step)


def _rows(one: Layout, rows: pa.Table, table: Any) -> list[str]:
    return canonical(json_rows(rows, table.schema.fields), one, kinds=False)


def _unequal(reads: Sequence[list[str]]) -> str | None:
    for at, read in enumerate(reads):
        if read != reads[0]:
            more, less = list(read), []
            for row in reads[0]:
                more.remove(row) if row in more else less.append(row)
            return f"read {at} of {len(reads)} has {more} too much and lacks {less}"
    return None


def _place_problem(one: Layout, tables: Sequence[Any], step: str) -> str | None:
    if not one.key:
        return None
    found = [_places(one, table) for table in tables]
    for name, buckets in zip("ab", found, strict=True):
        twice = [key for key, where in buckets.items() if len(where) > 1]
        if twice:
            return f"table {name}: key {twice[0]} is in {buckets[twice[0]]}"
    if one.places and found[0] != found[1]:
        keys = [key for key in found[0] | found[1] if found[0].get(key) != found[1].get(key)]
        return f"places of {len(keys)} keys differ: {[(k, found[0].get(k), found[1].get(k)) for k in keys[:5]]}"
    if step == "full" and one.places and one.layout != "postpone":
        levels = [sorted(set(zip(*(t.inspect.files()[c].to_pylist() for c in LEVEL), strict=True))) for t in tables]
        if levels[0] != levels[1]:
            return f"levels after a full compaction differ: {levels}"
    return None


LEVEL = ("partition", "bucket", "level")


def _places(one: Layout, table: Any) -> dict[tuple[Any, ...], list[tuple[bytes, int]]]:
    """The buckets of each key."""
    found: dict[tuple[Any, ...], list[tuple[bytes, int]]] = {}
    for split in table.scan().plan.splits:
        for batch in read_split(table.context, split, ReadRequest(one.key)):
            for row in batch.to_pylist():
                found.setdefault(tuple(row.values()), []).append((split.partition, split.bucket))
    return found
