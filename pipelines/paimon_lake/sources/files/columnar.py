"""Columnar: read Parquet, ORC and Avro files as rows of a table.

A reader holds one batch of about ``block_bytes``; for Parquet in addition one page of each column, for ORC up to 32
batches. A page or length that would unpack to more memory is refused before the memory is allocated. The ``line`` of a
reject is the number of the row in the file, and its ``raw`` text is the row as JSON.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.codec.orc import length_checks
from paimon_core.codec.orc.metadata_checks import check_metadata
from paimon_core.codec.parquet.page_checks import rows_within
from paimon_core.codec.parquet.raw_footer import check_raw_footer, read_raw_footer
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.avro_rows import avro_batches
from paimon_lake.sources.files.columns import ALLOW_MISSING, exact_type, extra_columns, match_columns, missing_columns
from paimon_lake.sources.files.rejects import Parsed, Reject, no_rejects, reject_batch, shown
from paimon_lake.sources.files.row_builder import RowBuilder, batch_of
from paimon_lake.sources.files.text.blocks import TextFile
from paimon_lake.sources.files.typed_values import check_castable, convert_typed, extra_members, missing_members

_BATCH_ROWS = 65_536
_UNPACKED_BYTES = 64 << 20
"""The largest size of a batch in bytes; a batch may exceed ``block_bytes``, which bounds only an estimate."""
_ORC_RATIO = 3
"""The approximate ratio of bytes in memory to bytes in an ORC file."""


@dataclass(frozen=True)
class Columnar:
    """An open file: ``schema`` has its columns, and ``batches(names)`` yields the rows with these columns."""

    schema: pa.Schema
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    rows: int | None = None
    """The number of rows that the metadata of the file states; None for Avro, whose metadata does not state it."""


def read_columnar(file: TextFile, schema: pa.Schema, required: Collection[str]) -> Iterator[Parsed]:
    """Yield the rows and rejects of each batch of a file."""
    with file.open() as stream:
        opened = guarded(file.path, lambda: open_columnar(file, stream))
        names = list(opened.schema.names)
        form = file.file_format
        ignore_extra, allow_missing = form.ignore_extra_columns, form.allow_missing_columns
        matched = match_columns(
            file.path, names, schema, required, ignore_extra=ignore_extra, allow_missing=allow_missing
        )
        positions, ignored = matched.positions, list(matched.extra)
        kinds = [exact_type(column) for column in schema]
        for kind, at in zip(kinds, positions, strict=True):
            if at is not None:
                found = opened.schema.field(at)
                check_castable(found.type, kind, found.name, file.path)
                lacking = missing_members(found.type, kind, found.name)
                if lacking and not allow_missing:
                    raise missing_columns(file.path, lacking, names, (), "", ALLOW_MISSING)
                extra = extra_members(found.type, kind, found.name)
                if extra and not ignore_extra:
                    raise extra_columns(file.path, extra, schema)
                ignored += extra
        used = [names[at] for at in positions if at is not None]
        rows = 0
        for batch in _guarded_batches(file.path, opened.batches(used)):
            builder = RowBuilder(schema, required, len(batch))
            for kind, at in zip(kinds, positions, strict=True):
                if at is None:
                    builder.add(pa.nulls(len(batch), kind.to_arrow()), None, str)
                    continue
                column = batch.column(batch.schema.get_field_index(names[at]))
                values, bad = convert_typed(column, kind, names[at])
                builder.add(values, bad, functools.partial(reason_of, column, str(kind)))
            rejects = _rejects(file.path, builder.rejects, batch, rows)
            yield Parsed(builder.rows(), rejects, len(batch), tuple(ignored))
            rows += len(batch)
        if opened.rows is not None and opened.rows != rows:  # missing rows count as read, not as written
            yield Parsed(batch_of([pa.array([], f.type) for f in schema], schema), no_rejects(), opened.rows - rows)


def open_columnar(file: TextFile, stream: pa.NativeFile) -> Columnar:
    """Open a Parquet, ORC or Avro file; errors of Arrow and fastavro are raised unchanged."""
    match file.file_format.kind:
        case "parquet":
            return _parquet(file, stream)
        case "orc":
            return _orc(file, stream)
        case _:
            schema, batches = avro_batches(file.path, stream, file.block_bytes)
            return Columnar(schema, batches)


def _parquet(file: TextFile, stream: pa.NativeFile) -> Columnar:
    import pyarrow.parquet as pq

    # Check the footer first: Arrow crashes on some invalid footers.
    _, checked = check_raw_footer(*read_raw_footer(stream), statistics=False)
    opened = pq.ParquetFile(stream, pre_buffer=False)
    groups = [opened.metadata.row_group(at) for at in range(opened.metadata.num_row_groups)]
    width = max([group.total_byte_size // max(1, group.num_rows) for group in groups], default=1)
    estimated = max(1, min(_BATCH_ROWS, file.block_bytes // max(1, width)))

    def batches(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        tops = [name.partition(".")[0] for name in names]
        rows = min(estimated, rows_within(stream, checked, tops, _UNPACKED_BYTES))
        yield from opened.iter_batches(batch_size=rows, columns=list(names), use_threads=False)

    return Columnar(opened.schema_arrow, batches, opened.metadata.num_rows)


def _orc(file: TextFile, stream: pa.NativeFile) -> Columnar:
    from pyarrow import dataset, orc

    metadata = check_metadata(stream)
    opened = orc.ORCFile(stream)

    def batches(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = max(1, min(_BATCH_ROWS, file.block_bytes * opened.nrows // max(1, _ORC_RATIO * stream.size())))
        if metadata is not None:
            rows = min(rows, length_checks.rows_within(stream, metadata, names, _UNPACKED_BYTES))
        fragment = dataset.OrcFileFormat().make_fragment(stream)
        yield from fragment.scanner(
            columns=list(names), batch_size=rows, use_threads=False, batch_readahead=1
        ).to_batches()

    return Columnar(opened.schema, batches, opened.nrows)


def guarded(path: str, call: Callable[[], Any]) -> Any:
    """Return the result of a call; any error of a library becomes a PipelineError that names the file."""
    try:
        return call()
    except PipelineError:
        raise
    except Exception as error:  # fastavro and ORC raise many types of errors for invalid files
        raise PipelineError(f"file {path} cannot be read: {' '.join(str(error).split())[:300]}") from error


def _guarded_batches(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    while (batch := guarded(path, lambda: next(batches, None))) is not None:
        yield batch


def _rejects(path: str, rejects: Sequence[Reject], batch: pa.RecordBatch, rows_before: int) -> pa.RecordBatch:
    if not rejects:
        return no_rejects()
    rejects = sorted(rejects, key=lambda reject: reject.row)
    lines = [rows_before + reject.row + 1 for reject in rejects]
    return reject_batch(path, rejects, lines, [row_text(batch, reject.row) for reject in rejects])


def row_text(batch: pa.RecordBatch, row: int) -> str:
    """Return one row as a JSON object; binaries are base64, and other values without a JSON form become texts."""
    values = {name: _plain_value(column[row]) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    return json.dumps(values, default=_text, ensure_ascii=False)


def _plain_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return (
            scalar.cast(pa.binary()).as_py().decode("utf-8", "backslashreplace")
            if _is_plain(scalar)
            else str(scalar.type)
        )
    except (ValueError, OverflowError):  # a time that Python cannot represent
        return str(scalar.cast(pa.string()).as_py()) if _is_plain(scalar) else str(scalar.type)


def _is_plain(scalar: pa.Scalar) -> bool:
    return not pa.types.is_nested(scalar.type)


def _text(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def reason_of(column: pa.Array, kind: str, row: int) -> str:
    """Return why a value of a column does not fit a type."""
    value = _plain_value(column[row])
    nested = isinstance(value, dict | list)
    return f"{shown(json.dumps(value, default=_text) if nested else value)} is not valid for {kind}"
