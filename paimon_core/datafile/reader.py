"""Reader: one data file as batches of the columns that the reading schema wants (format 2.4, 7).

Batches come in file order, at most ``batch_rows`` rows each, decoded as they are asked for; memory is the decoder's.
The file is untrusted: it has the rows that its manifest entry counts, or CorruptTable names its path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

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
    use_threads: bool = True,
    verify_checksums: bool = True,
    encoded: Collection[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The rows of the file at ``path`` that its manifest entry ``file`` describes, as ``read_fields`` in their order.

    ``file_schema`` is the schema that the file was written with. ``batch_bytes``: batches are to hold no more, as far
    as the file tells before it is read. ``filters`` is an expression over the names of ``read_fields``; rows for which
    it is not true are left out. ``row_groups``: only these are read, where the format has some. ``encoded``: text
    columns that may come as dictionaries, in all batches of a file or in none. Raises CorruptTable for a file that is
    missing or not what its entry and schema say, UnsupportedFeature for a cast that is not built, StorageError when the
    store fails.
    """
    with opened(storage, path) as source:
        _expect(path, "bytes", source.size(), file.file_size)
        held = open_file(source, path, file_schema.options)
        if held.row_count is not None:
            _expect(path, "rows", held.row_count, file.row_count)
        columns = match_columns(file_schema, read_fields, held.schema, path)
        wanted = {c.column: c.stored for c in columns if c.column is not None}
        groups = row_groups
        if groups is None and filters is not None and all(_is_as_stored(c, held.schema) for c in columns):
            groups = held.matching(filters)
        schema = pa.schema([f.arrow for f in read_fields])
        decoded = 0
        for rows, arrays in held.batches(
            wanted,
            groups,
            batch_rows=batch_rows if batch_bytes is None else min(batch_rows, held.rows_of(batch_bytes, wanted)),
            use_threads=use_threads,
            verify_checksums=verify_checksums,
        ):
            decoded += rows
            converted = [_column(c, arrays, rows, path, encoded) for c in columns]
            batch = pa.RecordBatch.from_arrays(converted, schema=_as_held(schema, converted) if encoded else schema)
            if filters is not None:
                batch = _filtered(batch, filters)
            if len(batch):
                yield batch
        if groups is None:
            _expect(path, "rows in its body", decoded, file.row_count)


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


def _expect(path: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise CorruptTable(f"data file {path} has {found} {what}, not {expected}", path=path)


def _column(source: Source, arrays: Mapping[str, pa.Array], rows: int, path: str, encoded: Collection[str]) -> pa.Array:
    if source.column is None:
        return pa.nulls(rows, source.wanted.type.to_arrow())
    return source.convert(arrays[source.column], path, encoded=source.wanted.name in encoded)


def _as_held(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.Schema:
    """The schema with the types that the columns have."""
    return pa.schema([f.with_type(a.type) for f, a in zip(schema, arrays, strict=True)])


# -- filters -----------------------------------------------------------------------------------------------------------


def _is_as_stored(source: Source, found: pa.Schema) -> bool:
    """Whether an expression means the same in the file's own columns, whose statistics prune row groups."""
    if source.column != source.wanted.name:
        return False
    return bool(found.field(source.column).type == source.wanted.type.to_arrow())


def _filtered(batch: pa.RecordBatch, filters: pc.Expression) -> pa.RecordBatch:
    """The matching rows, in order, which Arrow promises without threads only."""
    import pyarrow.acero as acero

    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))),
        acero.Declaration("filter", acero.FilterNodeOptions(filters)),
    ]
    kept = acero.Declaration.from_sequence(steps).to_table(use_threads=False).combine_chunks()
    return kept.to_batches()[0] if len(kept) else batch.slice(0, 0)
