"""What the tests of change events share: a file of events read as rows with kinds, rejects and what is skipped."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from paimon_lake.protocol import KIND
from paimon_lake.sources.files import RowRules, file_format, list_files, plan_splits, read_split

PRODUCTS = {"id": "BIGINT", "name": "STRING", "description": "STRING", "weight": "DECIMAL(10,2)"}
"""The table of the documentation of Flink's formats."""


class Read(NamedTuple):
    rows: list[tuple[Any, ...]]
    """The kind and the values of each row."""
    rejects: list[tuple[int, str | None, str]]
    """Line, column and reason."""
    skipped: dict[str, int]
    sources: frozenset[str]


def read_events(
    path: Path,
    lines: list[Any],
    schema: pa.Schema,
    kind: str,
    *,
    key: tuple[str, ...] = ("id",),
    not_null: tuple[str, ...] = (),
    order: tuple[str, ...] = (),
    split_bytes: int = 1 << 20,
    block_bytes: int = 1 << 20,
    **options: Any,
) -> Read:
    """Read lines: texts, or values that are written as JSON without spaces."""
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    path.write_text("\n".join(texts))
    form = file_format(kind, options)
    rows, rejects, skipped, sources = [], [], Counter(), frozenset()
    rules = RowRules((*key, *not_null), key, order)
    for split in plan_splits(list_files(str(path), {}), form, split_bytes):
        for parsed in read_split(split, form, schema, rules, {}, block_bytes=block_bytes):
            assert parsed.rows.schema.names == [*schema.names, KIND]
            parsed.rows.validate(full=True)
            assert parsed.read == len(parsed.rows) + len(parsed.rejects)
            rows += [(row.pop(KIND), *row.values()) for row in parsed.rows.to_pylist()]
            for reject in parsed.rejects.to_pylist():
                assert reject["raw"] == texts[reject["line"] - 1].strip()
                rejects.append((reject["line"], reject["column"], reject["reason"]))
            skipped.update(parsed.skipped)
            sources |= parsed.sources
    return Read(rows, rejects, dict(skipped), sources)


def debezium(op: str, before: Any, after: Any, *, table: str = "products", db: str = "inventory") -> dict[str, Any]:
    source = {"version": "2.7.4.Final", "connector": "mysql", "ts_ms": 1589362330904, "db": db, "table": table}
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1589362330904, "transaction": None}


def envelope(event: Any, **types: dict[str, Any]) -> dict[str, Any]:
    """The event with a schema of Kafka Connect; ``types`` are the members of the schema of each column."""
    fields = [{"field": name, "optional": True, **kind} for name, kind in types.items()]
    image = {"type": "struct", "fields": fields, "optional": True}
    return {
        "schema": {"type": "struct", "fields": [{**image, "field": "before"}, {**image, "field": "after"}]},
        "payload": event,
    }
