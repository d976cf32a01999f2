"""Exports: writes the rows of a table to a file."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from paimon_core.cli.output.cells import json_value, python_rows
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted
from paimon_core.cli.rows.file_kinds import kind_of
from paimon_core.cli.rows.queries import view_of
from paimon_core.errors import InvalidRequest
from paimon_core.files.file_format import COMPRESSIONS
from paimon_core.progress_meter import meter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paimon_core.catalog.catalog import Catalog
    from paimon_core.query.scan import Scan


def export(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Write the rows of a table to a Parquet, CSV or JSON file; the file appears when it is complete."""
    if args.file == "-" or "://" in args.file:
        raise InvalidRequest(f"export writes a file on this machine, not to {args.file!r:.80}")
    path = Path(args.file)
    kind = args.format or kind_of(args.file)
    if path.name.lower().endswith(tuple(COMPRESSIONS)):
        raise InvalidRequest(f"export does not compress files, as the name {path} would say: export to {path.stem}")
    if kind not in _WRITERS:
        raise InvalidRequest(f"export writes {', '.join(_WRITERS)} files, not {kind}")
    if path.exists() and not args.replace:
        raise InvalidRequest(f"file {path} exists: add --replace to replace it")
    if not path.parent.is_dir():
        raise InvalidRequest(f"cannot write {path}: {path.parent} is no folder that exists")
    scan = view_of(catalog, args).scan(args.columns, args.where)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    rows = 0
    try:
        with _WRITERS[kind](part, scan.schema) as writer:
            for batch in batches_of(scan, "export"):
                writer.write_batch(batch)
                rows += len(batch)
        part.replace(path)
    except (OSError, pa.ArrowException) as error:
        raise InvalidRequest(f"cannot write {path}: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    at = None if scan.snapshot is None else scan.snapshot.id
    text = f"{counted(rows, 'row')} of {args.table} at snapshot {at} written to {path}"
    out.say(text, {"file": str(path), "rows": rows, "snapshot": at})
    return 0


def batches_of(scan: Scan, operation: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a scan and report the progress.

    The total is the number of rows in the files. Every version of a key counts, so that a scan that merges may end
    earlier. With a filter the total is not known.
    """
    progress = meter(operation, "rows", None)
    if progress.report is not None and scan.where is None:
        progress.total = sum(split.row_count for split in scan.splits())
    for batch in scan.to_batches():
        yield batch
        progress.advance(len(batch))
    progress.complete()


class _Writer(Protocol):
    """Writes batches to a file."""

    def __enter__(self) -> _Writer: ...

    def __exit__(self, *error: object) -> object: ...

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""


class _JsonWriter:
    """Writes one JSON object on each line, with the values of ``json_value``."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._names = schema.names
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def __enter__(self) -> _JsonWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows; the objects are made in Python, because Arrow has no writer for JSON."""
        for row in python_rows(batch):
            found = dict(zip(self._names, map(json_value, row), strict=True))
            self._file.write(json.dumps(found, default=str, ensure_ascii=False, allow_nan=False) + "\n")


def _parquet(path: Path, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, schema, compression="zstd")


def _csv(path: Path, schema: pa.Schema) -> Any:
    for field in schema:
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            raise InvalidRequest(
                f"column {field.name!r} of type {field.type} has no form in CSV: export JSON or Parquet"
            )
    import pyarrow.csv as pc_csv

    return pc_csv.CSVWriter(path, schema)


_WRITERS = {"parquet": _parquet, "csv": _csv, "json": _JsonWriter}
