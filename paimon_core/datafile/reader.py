"""Reader: reads one data file as batches of the columns that the reading schema needs (format 2.4, 7).

Batches are in file order, have at most ``batch_rows`` rows and are decoded lazily; only the decoder's memory is used.
The file is untrusted: if its row count differs from its manifest entry, CorruptTable names its path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.arrays import Mask, Positions
from paimon_core.datafile.chosen_rows import ChosenRows
from paimon_core.datafile.evolution import Source, match_columns
from paimon_core.datafile.formats import open_file
from paimon_core.errors import CorruptTable, PaimonError, StorageError
from paimon_core.metadata.data_file import DataFile
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
    batch_bytes: int | None = None,
    filters: pc.Expression | None = None,
    row_groups: list[int] | None = None,
    rows: Mask | None = None,
    use_threads: bool = True,
    verify_checksums: bool = True,
    encoded: Collection[str] = (),
    deleted: Positions | None = None,
    position: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the file at ``path``, whose manifest entry is ``file``, as batches of ``read_fields``.

    ``file_schema`` is the schema that the file was written with. ``batch_bytes`` limits the bytes of a batch in memory,
    as estimated before reading. ``filters`` is an expression over the names of ``read_fields``; rows for which it is
    not true are left out. ``row_groups``: only these are read, if the format has row groups. ``rows``: the rows of the
    file to return, instead of ``row_groups``; row groups without any of them are not decoded. ``encoded``: text columns
    that may be returned as dictionary arrays, in all batches of a file or in none. ``deleted``: the sorted positions in
    the file of rows to leave out, all of them below its row count. ``position``: the name of an additional column with
    the position of each row in the file. Raises CorruptTable for a file that is missing or does not match its entry and
    schema, UnsupportedFeature for an unsupported cast, StorageError when the store fails.
    """
    with opened(storage, path) as source:
        _expect(path, "bytes", source.size(), file.file_size)
        held = open_file(source, path, file_schema.options)
        if held.row_count is not None:
            _expect(path, "rows", held.row_count, file.row_count)
        columns = match_columns(file_schema, read_fields, held.schema, path)
        wanted = {c.column: c.stored for c in columns if c.column is not None}
        if rows is None and row_groups is None and filters is not None:
            row_groups = held.matching(filters) if all(_is_as_stored(c, held.schema) for c in columns) else None
        chosen = ChosenRows.of(held.row_group_rows if wanted else (), row_groups, rows, deleted, position)
        schema = pa.schema([f.arrow for f in read_fields])
        decoded = 0
        for count, arrays in held.batches(
            wanted,
            chosen.groups,
            batch_rows=batch_rows if batch_bytes is None else min(batch_rows, held.rows_of(batch_bytes, wanted)),
            use_threads=use_threads,
            verify_checksums=verify_checksums,
        ):
            decoded += count
            converted = [_column(c, arrays, count, path, encoded) for c in columns]
            batch = pa.RecordBatch.from_arrays(converted, schema=_with_types(schema, converted) if encoded else schema)
            batch = chosen.select(batch, decoded - count)
            if filters is not None:
                batch = _filtered(batch, filters)
            if len(batch):
                yield batch
        if chosen.groups is None:
            _expect(path, "rows in its body", decoded, file.row_count)
        elif wanted and chosen.group_rows:
            _expect(path, "rows in the row groups that were read", decoded, chosen.row_count)


@contextlib.contextmanager
def opened(storage: Storage, path: str) -> Iterator[pa.NativeFile]:
    """Open the file for a ``with`` block; decoding errors become CorruptTable, storage errors StorageError."""
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


def _expect(path: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise CorruptTable(f"data file {path} has {found} {what}, not {expected}", path=path)


def _column(source: Source, arrays: Mapping[str, pa.Array], rows: int, path: str, encoded: Collection[str]) -> pa.Array:
    if source.column is None:
        return pa.nulls(rows, source.wanted.type.to_arrow())
    return source.convert(arrays[source.column], path, encoded=source.wanted.name in encoded)


def _with_types(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.Schema:
    """Return the schema with the types of ``arrays``."""
    return pa.schema([f.with_type(a.type) for f, a in zip(schema, arrays, strict=True)])


# -- filters -----------------------------------------------------------------------------------------------------------


def _is_as_stored(source: Source, found: pa.Schema) -> bool:
    """Whether an expression can be applied to the file's own column, whose statistics then prune row groups."""
    if source.column != source.wanted.name or source.cast is not None:
        return False
    return bool(found.field(source.column).type == source.wanted.type.to_arrow())


def _filtered(batch: pa.RecordBatch, filters: pc.Expression) -> pa.RecordBatch:
    """Return the matching rows in order; Arrow guarantees the order only without threads."""
    import pyarrow.acero as acero

    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))),
        acero.Declaration("filter", acero.FilterNodeOptions(filters)),
    ]
    kept = acero.Declaration.from_sequence(steps).to_table(use_threads=False).combine_chunks()
    return kept.to_batches()[0] if len(kept) else batch.slice(0, 0)
