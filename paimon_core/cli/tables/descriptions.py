"""Descriptions: lists tables, and describes one of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.cells import escaped
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted, utc_time
from paimon_core.cli.tables.listings import table_names
from paimon_core.errors import PaimonError

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table

_LISTED = ("table", "primary_key", "partitioned_by", "snapshot", "committed", "problem")


def ls(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """List the tables of the warehouse or of a database, with keys and latest snapshot; 1 when one cannot be read."""
    rows = [_listed(catalog, name) for name in table_names(catalog, args.database)]
    failed = any(row[-1] for row in rows)
    shown = len(_LISTED) if failed or out.as_json else len(_LISTED) - 1
    out.table(_LISTED[:shown], [row[:shown] for row in rows], "no tables")
    return 1 if failed else 0


def _listed(catalog: Catalog, name: str) -> tuple[object, ...]:
    try:
        table = catalog.table(name)
        latest = table.latest_snapshot()
    except PaimonError as error:
        return name, None, None, None, None, f"{error.kind}: {error}"
    schema = table.schema
    keys = ", ".join(schema.primary_keys) or None, ", ".join(schema.partition_keys) or None
    committed = None if latest is None else utc_time(latest.time_millis)
    return name, *keys, None if latest is None else latest.id, committed, None


def describe(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the columns, keys, options, size, snapshots and health of a table."""
    found = description(table_of(catalog, args))
    if out.as_json:
        out.say("", found)
        return 0
    columns = found["columns"]
    lines = [f"{name:<15} {value}" for name, value in _lines(found)]
    width = max((len(c["name"]) for c in columns), default=0), max((len(c["type"]) for c in columns), default=0)
    lines += ["columns"]
    for column in columns:
        more = [f"default {column['default']}"] if column["default"] is not None else []
        more += [escaped(column["comment"])] if column["comment"] else []
        lines.append(f"  {column['name']:<{width[0]}}  {column['type']:<{width[1]}}  {'; '.join(more)}".rstrip())
    out.say("\n".join(lines), None)
    return 0


def _lines(found: dict[str, Any]) -> list[tuple[str, object]]:
    """Return the parts of a description that have a value, as names and texts."""
    size, health = found["size"], found["health"]
    partitions = size["partitions"] if found["partition_by"] else None
    options = ", ".join(f"{key}={value}" for key, value in found["options"].items())
    texts = {
        "table": found["table"],
        "comment": escaped(found["comment"] or ""),
        "location": found["location"],
        "primary key": ", ".join(found["primary_key"]),
        "partitioned by": ", ".join(found["partition_by"]),
        "options": options,
        "size": f"{counted(size['bytes'], 'byte')} in {counted(size['files'], 'file')}, "
        f"{counted(size['rows_in_files'], 'row')} in files"
        + (f", {counted(partitions, 'partition')}" if partitions else ""),
        "snapshot": "none" if found["snapshot"] is None else f"{found['snapshot']} of {found['committed']}",
        "snapshots": f"{size['snapshots']:,}; tags {size['tags']:,}; branches {size['branches']:,}",
        "health": f"score {health['score']}, {', '.join(health['findings']) or 'no findings'}",
    }
    return [(name, text) for name, text in texts.items() if text]


def description(table: Table) -> dict[str, Any]:
    """Return what a table is, in JSON types; counts of rows in files include older versions of a key."""
    health, schema, latest = table.health(), table.schema, table.latest_snapshot()
    measures = {name: int(value) for name, value in health.measures.items()}
    fields = [(f.name, f.type.sql, f.default, f.description) for f in schema.fields]
    return {
        "table": table.name,
        "branch": table.context.branch,
        "comment": schema.comment or None,
        "location": table.location,
        "primary_key": list(schema.primary_keys),
        "partition_by": list(schema.partition_keys),
        "columns": [dict(zip(("name", "type", "default", "comment"), field, strict=True)) for field in fields],
        "options": dict(sorted(schema.options.items())),
        "snapshot": None if latest is None else latest.id,
        "committed": None if latest is None else utc_time(latest.time_millis),
        "size": {
            "bytes": measures["live_bytes"],
            **{name: measures[name] for name in ("files", "rows_in_files", "partitions", "snapshots")},
            **{name: measures.get(name, 0) for name in ("tags", "branches")},
        },
        "health": {"score": health.score, "findings": [found.name for found in health.findings]},
    }
