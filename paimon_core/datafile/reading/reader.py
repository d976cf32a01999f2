"""Reader: reads one data file as batches of the columns that the reading schema needs (format 2.4, 7).

Batches are in file order and are decoded lazily. Each has at most ``batch_rows`` rows and about ``batch_bytes`` bytes,
however many rows a row group has and however few bytes they take in the file.
The file is untrusted: if its row count differs from its manifest entry, CorruptTable names its path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.arrow.byte_budget import BATCH_BYTES
from paimon_core.codec.arrays import Mask, Positions
from paimon_core.datafile.evolution.column_mapping import Source, match_columns
from paimon_core.datafile.formats import format_of, open_file
from paimon_core.datafile.reading.chosen_rows import ChosenRows
from paimon_core.datafile.reading.decoding import Decoding, batch_of
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
    batch_rows: int = 65536,
    batch_bytes: int = BATCH_BYTES,
    where: BoundPredicate | None = None,
    row_groups: list[int] | None = None,
    rows: Mask | None = None,
    use_threads: bool = True,
    verify_checksums: bool = True,
    encoded: Collection[str] = (),
    deleted: Positions | None = None,
    position: str | None = None,
    counts: ReadCounts | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the file at ``path``, whose manifest entry is ``file``, as batches of ``read_fields``.

    ``file_schema`` is the schema that the file was written with. ``batch_bytes``: about the bytes of a batch, with its
    dictionary columns decoded; a larger row is alone. ``where`` tests columns of ``read_fields``; rows for which it is
    not true are left out, and the other columns are decoded only where rows are left (``matching_rows``).
    ``row_groups``: only these are read, if the format has row groups. ``rows``: the rows of the file to return, instead
    of ``row_groups``; row groups without any of them are not decoded. ``encoded``: text columns that may be returned as
    dictionary arrays, in all batches of a file or in none. ``deleted``: the sorted positions in the file of rows to
    leave out, all of them below its row count. ``position``: the name of an additional column with the position of each
    row in the file. ``counts`` is told what is opened and decoded. Raises CorruptTable for a file that is missing or
    does not match its entry and schema, UnsupportedFeature for an unsupported cast, StorageError when the store fails.
    """
    with opened(storage, path) as source:
        _expect(path, "bytes", source.size(), file.file_size)
        held = open_file(source, path, file_schema.options)
        if held.row_count is not None:
            _expect(path, "rows", held.row_count, file.row_count)
        columns = match_columns(file_schema, read_fields, held.schema, path, members=held.reads_members)
        wanted = {c.column: c.stored for c in columns if c.column is not None}
        sizes = held.row_group_rows if wanted else ()
        if where is not None:
            rows, row_groups = _narrowed(rows, row_groups, sizes, groups_that_may_match(held, columns, where))
        chosen = ChosenRows.of(sizes, row_groups, rows, deleted, position)
        _count_file(counts, held.row_group_rows, chosen)
        if chosen.groups == [] and sizes:
            return
        schema = pa.schema([f.arrow for f in read_fields])
        decoding = Decoding(held, path, batch_rows, batch_bytes, use_threads, verify_checksums, encoded, counts)
        decoded = 0
        for count, batch in _chosen_batches(decoding, columns, schema, chosen, where):
            decoded += count
            if counts is not None:
                counts.rows_decoded += count
            if batch is not None and len(batch):
                yield batch
        if chosen.groups is None:
            _expect(path, "rows in its body", decoded, file.row_count)
        elif wanted and chosen.group_rows:
            _expect(path, "rows in the row groups that were read", decoded, chosen.row_count)


def file_may_match(
    storage: Storage,
    path: str,
    file: DataFile,
    file_schema: TableSchema,
    fields: Sequence[DataField],
    where: BoundPredicate,
) -> bool:
    """Whether a row group of the file may contain a row that ``where``, over ``fields``, selects; raises CorruptTable.

    True for a file in a format without row groups, which is not opened.
    """
    if format_of(path) != "parquet":
        return True
    with opened(storage, path) as source:
        _expect(path, "bytes", source.size(), file.file_size)
        held = open_file(source, path, file_schema.options)
        return groups_that_may_match(held, match_columns(file_schema, fields, held.schema, path), where) != []


@contextlib.contextmanager
def opened(storage: Storage, path: str) -> Iterator[pa.NativeFile]:
    """Open the file for a ``with`` block; decoding errors become CorruptTable, storage errors StorageError.

    A lack of memory says nothing about the file: it stays a MemoryError, which names the file.
    """
    try:
        with storage.open_input(path) as source:
            yield source
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
    decoding: Decoding, columns: Sequence[Source], schema: pa.Schema, chosen: ChosenRows, where: BoundPredicate | None
) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """Yield the number of rows decoded, and batches of the chosen ones among them that ``where`` selects."""
    if where is not None:
        yield from matching_batches(decoding, columns, schema, chosen, where)
        return
    number = 0
    for count, arrays in decoding.arrays(columns, chosen.groups):
        yield count, chosen.select(batch_of(schema, arrays), number)
        number += count


def _narrowed(
    rows: Mask | None, row_groups: list[int] | None, sizes: Sequence[int], kept: list[int] | None
) -> tuple[Mask | None, list[int] | None]:
    """Return the rows or the row groups to read when only the row groups ``kept`` may contain a wanted row."""
    if kept is None or len(kept) == len(sizes) or not sizes:
        return rows, row_groups
    if rows is None:
        return None, kept if row_groups is None else [at for at in row_groups if at in set(kept)]
    if sum(sizes) != len(rows):
        return rows, None
    return rows & np.repeat(np.isin(np.arange(len(sizes)), kept), sizes), None


def _count_file(counts: ReadCounts | None, sizes: Sequence[int], chosen: ChosenRows) -> None:
    if counts is None:
        return
    read = len(sizes) if chosen.groups is None else len(chosen.groups)
    counts.files_opened += 1
    counts.files_skipped += bool(sizes) and not read
    counts.row_groups += len(sizes)
    counts.row_groups_read += read
