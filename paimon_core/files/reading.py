"""Reading: reads one split of a file as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.errors import InvalidRequest, PaimonError, SchemaMismatch, StorageError
from paimon_core.files.columnar import read_orc, read_parquet
from paimon_core.files.columns import Piece, selection
from paimon_core.files.csv_rows import read_csv
from paimon_core.files.file_format import FileFormat
from paimon_core.files.json_rows import read_json
from paimon_core.files.splits import FileSplit
from paimon_core.files.text import TextSplit
from paimon_core.predicate import Predicate
from paimon_core.predicate.row_mask import row_mask
from paimon_core.schema import DataField
from paimon_core.write.default_values import conform_with_defaults


@dataclass(frozen=True)
class FileRules:
    """How files become rows of a table: their format, the columns that are written, and the filter."""

    file_format: FileFormat
    fields: Sequence[DataField]
    """The columns of the table that are read from the files."""
    all_fields: Sequence[DataField]
    """The columns of the table."""
    is_exact: bool
    """Whether a column of a file that is not in ``fields`` is an error."""
    where: Predicate | None = None


def read_split(split: FileSplit, rules: FileRules) -> Iterator[pa.Table]:
    """Yield the rows of a split with all columns of the table, in the order of the file.

    Raises SchemaMismatch, which names the file and the row, when a row does not fit the table; InvalidRequest when the
    file cannot be read; StorageError when the store fails or the file was changed after it was listed.
    """
    where = None if rules.where is None else rules.where.bind(rules.all_fields)
    path = split.file.path
    for piece in _guarded(path, lambda: _pieces(split, rules)):
        try:
            rows = conform_with_defaults(piece.rows, rules.all_fields)
        except SchemaMismatch as error:
            raise _located(error, path, piece) from None
        if where is not None:
            rows = rows.filter(pa.array(row_mask(where, rows)))
        if len(rows):
            yield rows


def _located(error: SchemaMismatch, path: str, piece: Piece) -> SchemaMismatch:
    """Return the error with the name of the file, and with the row's place in the file instead of its number in
    ``piece``.
    """
    head, found, value = error.message.partition("; the first such row is ")
    place = f", {piece.place(error.facts['row'])}" if found else ""
    shown = f"; the value is {value.partition(': ')[2]}" if found else ""
    return SchemaMismatch(f"file {path}{place}: {head}{shown}", column=error.facts.get("column"))


def _pieces(split: FileSplit, rules: FileRules) -> Iterator[Piece]:
    form, path = rules.file_format, split.file.path
    select = selection(path, rules.fields, is_exact=rules.is_exact)
    if form.is_text:
        text = TextSplit(split, form, lambda: _opened(split, form.compression(path)))
        if form.kind == "csv":
            yield from read_csv(text, select, rules.fields)
        else:
            yield from read_json(text, rules.fields, ignores=not rules.is_exact)
        return
    read = read_parquet if form.kind == "parquet" else read_orc
    with _opened(split, None) as stream:
        for first, batch in read(stream, split, select):
            yield Piece.numbered(pa.Table.from_batches([batch]), first)


@contextmanager
def _opened(split: FileSplit, compression: str | None) -> Iterator[pa.NativeFile]:
    with split.file.storage.open_version(split.file.path, split.file.version) as stream:
        yield stream if compression is None else pa.CompressedInputStream(stream, compression)


def _guarded(path: str, begin: Callable[[], Iterator[Piece]]) -> Iterator[Piece]:
    """Yield the pieces; an error of a parser becomes InvalidRequest, which names the file."""
    pieces = begin()
    while True:
        try:
            piece = next(pieces, None)
        except FileNotFoundError:
            raise StorageError(f"file {path} was deleted after the job had listed it", path=path) from None
        except (PaimonError, MemoryError):
            raise
        except (pa.ArrowException, ValueError, OSError, EOFError, RecursionError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InvalidRequest(f"file {path} cannot be read: {reason}", path=path) from error
        if piece is None:
            return
        yield piece
