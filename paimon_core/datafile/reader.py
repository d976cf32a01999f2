"""Reader: one data file as batches of the columns that the reading schema wants (format 2.4, 7).

Batches come in file order, at most ``batch_rows`` rows each, decoded as they are asked for; memory is the decoder's.
The file is untrusted: it has the rows that its manifest entry counts, or CorruptTable names its path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from paimon_core.datafile.decoder import decode_columns
from paimon_core.datafile.evolution import Source, match_columns
from paimon_core.errors import CorruptTable, PaimonError, StorageError
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.storage import Storage

LEAST_BATCH_ROWS = 1 << 12
"""Fewer rows a batch cost more time than they save memory."""

_VALUE_BYTES = 8
"""What a value takes in memory at least, about; files store many in less."""


def read_batches(
    storage: Storage,
    path: str,
    *,
    file: DataFile,
    file_schema: TableSchema,
    read_fields: Sequence[DataField],
    batch_rows: int = 65536,
    batch_bytes: int | None = None,
    filters: pc.Expression | None = None,
    row_groups: list[int] | None = None,
    use_threads: bool = True,
    verify_checksums: bool = True,
) -> Iterator[pa.RecordBatch]:
    """The rows of the file at ``path`` that its manifest entry ``file`` describes, as ``read_fields`` in their order.

    ``file_schema`` is the schema that the file was written with. ``batch_bytes``: batches are to hold no more, by the
    sizes that the footer tells, which may be too small for texts that repeat. ``filters`` is an expression over the
    names of ``read_fields``; rows for which it is not true are left out. ``row_groups``: only these are read. Raises
    CorruptTable for a file that is missing or not what its entry and schema say, UnsupportedFeature for a cast that is
    not built, StorageError when the store fails.
    """
    with opened(storage, path) as source:
        _expect(path, "bytes", source.size(), file.file_size)
        footer = pq.read_metadata(source)
        _expect(path, "rows", footer.num_rows, file.row_count)
        found = footer.schema.to_arrow_schema()
        columns = match_columns(file_schema, read_fields, found, path)
        groups = row_groups
        prunes = groups is None and filters is not None and footer.num_row_groups > 1
        if prunes and all(_is_as_stored(c, found) for c in columns):
            groups = _matching_row_groups(source, filters)
        schema = pa.schema([f.arrow for f in read_fields])
        decoded = 0
        for rows, arrays in decode_columns(
            source,
            footer,
            {c.column: c.stored for c in columns if c.column is not None},
            groups,
            batch_rows=batch_rows if batch_bytes is None else min(batch_rows, _rows_of(batch_bytes, footer, columns)),
            use_threads=use_threads,
            verify_checksums=verify_checksums,
        ):
            decoded += rows
            batch = pa.RecordBatch.from_arrays([_column(c, arrays, rows, path) for c in columns], schema=schema)
            if filters is not None:
                batch = _filtered(batch, filters)
            if len(batch):
                yield batch
        if groups is None:
            _expect(path, "rows in its pages", decoded, file.row_count)


@contextlib.contextmanager
def opened(storage: Storage, path: str) -> Iterator[pa.NativeFile]:
    """The open file; what goes wrong in its bytes is CorruptTable, what goes wrong in the store StorageError."""
    try:
        with storage.open_input(path) as source:
            yield source
    except PaimonError:
        raise
    except FileNotFoundError as error:
        raise CorruptTable(f"data file {path} is missing", path=path, missing=True) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(f"cannot read {path}: {error}", path=path) from error
        raise CorruptTable(f"data file {path} does not decode: {error}", path=path) from error


def _rows_of(size: int, footer: pq.FileMetaData, columns: Sequence[Source]) -> int:
    """About how many rows of the wanted columns take ``size`` bytes in memory, but LEAST_BATCH_ROWS at least."""
    if not footer.num_row_groups:
        return LEAST_BATCH_ROWS
    group = footer.row_group(0)
    stored: dict[str, int] = {}
    for chunk in map(group.column, range(group.num_columns)):
        name = chunk.path_in_schema.partition(".")[0]
        stored[name] = stored.get(name, 0) + chunk.total_uncompressed_size
    row: int = sum(
        max(_VALUE_BYTES, stored.get(c.column, 0) // max(1, group.num_rows)) for c in columns if c.column is not None
    )
    return max(LEAST_BATCH_ROWS, size // max(1, row))


def _expect(path: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise CorruptTable(f"data file {path} has {found} {what}, not {expected}", path=path)


def _column(source: Source, arrays: Mapping[str, pa.Array], rows: int, path: str) -> pa.Array:
    if source.column is None:
        return pa.nulls(rows, source.wanted.type.to_arrow())
    return source.convert(arrays[source.column], path)


# -- filters -----------------------------------------------------------------------------------------------------------


def _is_as_stored(source: Source, found: pa.Schema) -> bool:
    """Whether an expression means the same in the file's own columns, whose statistics prune row groups."""
    if source.column != source.wanted.name:
        return False
    return bool(found.field(source.column).type == source.wanted.type.to_arrow())


def _matching_row_groups(source: pa.NativeFile, filters: pc.Expression) -> list[int]:
    fragment = ds.ParquetFileFormat().make_fragment(source)
    return [group.id for group in fragment.subset(filter=filters).row_groups]


def _filtered(batch: pa.RecordBatch, filters: pc.Expression) -> pa.RecordBatch:
    """The matching rows, in order, which Arrow promises without threads only."""
    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))),
        acero.Declaration("filter", acero.FilterNodeOptions(filters)),
    ]
    kept = acero.Declaration.from_sequence(steps).to_table(use_threads=False).combine_chunks()
    return kept.to_batches()[0] if len(kept) else batch.slice(0, 0)
