"""What the tests of reading share: columns from type texts, and a file read as plain rows and rejects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_core.types import parse_type
from paimon_lake.sources.files import RowRules, file_format, list_files, plan_splits, read_split
from paimon_lake.sources.files.columns import arrow_field


def columns(**types: str) -> pa.Schema:
    return pa.schema([arrow_field(name, parse_type(text)) for name, text in types.items()])


def read(
    path: Path,
    data: bytes,
    schema: pa.Schema,
    kind: str,
    *,
    split_bytes: int = 1 << 20,
    block_bytes: int = 1 << 20,
    not_null: tuple[str, ...] = (),
    **options: Any,
) -> tuple[list[dict[str, Any]], list[tuple[int, str | None, str, str]]]:
    """The rows, and (line, column, reason, raw) of the rejects, of a file with these bytes."""
    path.write_bytes(data)
    form = file_format(kind, options)
    rows, rejects = [], []
    for split in plan_splits(list_files(str(path), {}), form, split_bytes):
        for parsed in read_split(split, form, schema, RowRules(not_null), {}, block_bytes=block_bytes):
            assert parsed.rows.schema.equals(schema, check_metadata=True)
            parsed.rows.validate(full=True)
            assert parsed.read == len(parsed.rows) + len(parsed.rejects)
            rows += parsed.rows.to_pylist()
            for reject in parsed.rejects.to_pylist():
                assert reject.pop("file") == str(path)
                rejects.append(tuple(reject.values()))
    return rows, rejects
