"""Reader: reads one data file as batches of the columns that the reading schema needs (format 2.4, 7).

Batches are in file order and are decoded lazily. A batch has at most the number of rows, and about the number of bytes,
that the request states, whatever sizes the row groups and rows of the file have. The file is untrusted: if its
row count differs from its manifest entry, CorruptTable names its path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.datafile.evolution.column_mapping import Source, known_columns, match_columns
from paimon_core.datafile.file_format import FileInput
from paimon_core.datafile.formats import format_of, open_file
from paimon_core.datafile.parquet.checked_footer import known_footers
from paimon_core.datafile.parquet.parquet_input import SMALL_FILE, ParquetInput
from paimon_core.datafile.reading.chosen_rows import ChosenRows
from paimon_core.datafile.reading.decoding import Decoding, batch_of
from paimon_core.datafile.reading.file_request import ALL_ROWS, FileRequest
from paimon_core.datafile.reading.matching_rows import groups_that_may_match, matching_batches
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.errors import CorruptTable, PaimonError, StorageError
from paimon_core.metadata.data_file import DataFile
from paimon_core.predicate import BoundPredicate
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.storage import Storage


def read_batches(
    storage: Storage,
    path: str,
    *,
    file: DataFile,
    file_schema: TableSchema,
    read_fields: Sequence[DataField],
    request: FileRequest = ALL_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Yield the requested rows of the file at ``path`` as batches of ``read_fields``; ``file`` is its manifest entry.

    ``file_schema`` is the schema that the file was written with. Raises CorruptTable for a file that is missing or does
    not match its entry and schema, UnsupportedFeature for an unsupported cast, StorageError when the store fails.
    """
    with contextlib.ExitStack() as stack:
        if request.held is None:
            source = stack.enter_context(opened(storage, path))
            held = _open_whole(source, path, file, file_schema)
        else:
            stack.enter_context(_naming(path))
            held = request.held
        if held.row_count is not None:
            _expect(path, "rows", held.row_count, file.row_count)
        columns, schema = known_columns(file_schema, read_fields, held.schema, path, members=held.reads_members)
        wanted = {c.column: c.stored for c in columns if c.column is not None}
        sizes = held.row_group_rows if wanted else ()
        kept = None if request.where is None else groups_that_may_match(held, columns, request.where)
        chosen = ChosenRows.of(request, sizes, kept)
        _count_file(request.counts, held.row_group_rows, chosen)
        if chosen.groups == [] and sizes:
            return
        if request.where is not None and isinstance(held, ParquetInput):
            held.will_read(wanted, chosen.groups)
        decoded = 0
        for count, batch in _chosen_batches(Decoding(held, path, request), columns, schema, chosen):
            decoded += count
            if request.counts is not None:
                request.counts.rows_decoded += count
            if batch is not None and len(batch):
                yield batch
        if chosen.groups is None:
            _expect(path, "rows in its body", decoded, file.row_count)
        elif wanted and chosen.group_rows:
            _expect(path, "rows in the row groups that were read", decoded, chosen.row_count)


def read_small(storage: Storage, path: str, file: DataFile) -> bytes | None:
    """Return the bytes of a Parquet file that is decoded from memory; None for another file.

    Raises the errors of ``read_batches``.
    """
    if format_of(path) != "parquet" or file.file_size > SMALL_FILE:
        return None
    with _naming(path), storage.open_input(path) as source:
        _expect(path, "bytes", source.size(), file.file_size)
        return bytes(source.read_at(file.file_size, 0))


def opened_together(files: Sequence[tuple[str, bytes]]) -> list[FileInput | None]:
    """Open small files, given by path and bytes, for the field ``held`` of a request.

    Many files that are read and opened one after the other, and decoded later, take less time than files that are
    opened and decoded in turn. None for a file that does not open: ``read_batches`` raises the error.
    """
    sources = [pa.BufferReader(data) for _, data in files]
    found: list[FileInput | None] = []
    for (path, _), source, known in zip(files, sources, known_footers(sources), strict=True):
        opened_file = None
        with contextlib.suppress(PaimonError), _naming(path):
            opened_file = ParquetInput(source, known)
        found.append(opened_file)
    return found


def _open_whole(source: pa.NativeFile, path: str, file: DataFile, file_schema: TableSchema) -> FileInput:
    _expect(path, "bytes", source.size(), file.file_size)
    return open_file(source, path, file_schema.options)


def file_may_match(
    storage: Storage,
    path: str,
    file: DataFile,
    file_schema: TableSchema,
    fields: Sequence[DataField],
    where: BoundPredicate,
) -> bool:
    """Whether a row group of the file may contain a row that ``where``, over ``fields``, selects.

    True for a file in a format without row groups, which is not opened. Raises CorruptTable for a file that is missing,
    does not decode or has another size than its manifest entry.
    """
    if format_of(path) != "parquet":
        return True
    with opened(storage, path) as source:
        held = _open_whole(source, path, file, file_schema)
        return groups_that_may_match(held, match_columns(file_schema, fields, held.schema, path), where) != []


@contextlib.contextmanager
def opened(storage: Storage, path: str) -> Iterator[pa.NativeFile]:
    """Open the file for a ``with`` block; decoding errors become CorruptTable, storage errors StorageError.

    A MemoryError does not show that the file is damaged, so it stays a MemoryError, and its message names the file.
    """
    with _naming(path), storage.open_input(path) as source:
        yield source


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except PaimonError:
        raise
    except FileNotFoundError as error:
        raise CorruptTable(f"data file {path} is missing", path=path, missing=True) from error
    except MemoryError as error:
        raise MemoryError(f"there is not enough memory to read {path}: {error}") from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(f"cannot read {path}: {error}", path=path) from error
        raise CorruptTable(f"data file {path} does not decode: {error}", path=path) from error


def _expect(path: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise CorruptTable(f"data file {path} has {found} {what}, not {expected}", path=path)


def _chosen_batches(
    decoding: Decoding, columns: Sequence[Source], schema: pa.Schema, chosen: ChosenRows
) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """Yield the number of rows decoded, and batches of the requested rows among them."""
    if decoding.request.where is not None:
        yield from matching_batches(decoding, columns, schema, chosen, decoding.request.where)
        return
    number = 0
    for count, arrays in decoding.arrays(columns, chosen.groups):
        yield count, chosen.select(batch_of(schema, arrays), number)
        number += count


def _count_file(counts: ReadCounts | None, sizes: Sequence[int], chosen: ChosenRows) -> None:
    if counts is None:
        return
    read = len(sizes) if chosen.groups is None else len(chosen.groups)
    counts.files_opened += 1
    counts.files_skipped += bool(sizes) and not read
    counts.row_groups += len(sizes)
    counts.row_groups_read += read
