"""Reading: reads one split of a file as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.errors import InvalidRequest, PaimonError, SchemaMismatch, StorageError
from paimon_core.files.columnar import read_orc, read_parquet, row_count
from paimon_core.files.columns import Piece, selection
from paimon_core.files.csv_rows import read_csv
from paimon_core.files.file_format import FileFormat
from paimon_core.files.json_rows import read_json
from paimon_core.files.rejects import Receiver, fitting_parts, reason_of
from paimon_core.files.splits import FileSplit
from paimon_core.files.text import TextSplit
from paimon_core.predicate import Predicate
from paimon_core.predicate.row_mask import row_mask
from paimon_core.schema import DataField
from paimon_core.write.default_values import conform_with_defaults

Told = Callable[[int], object]


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
    receive: Receiver | None = None
    """Takes the rows that do not fit the table; without it such a row is an error."""


def read_split(split: FileSplit, rules: FileRules, told: Told | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a split with all columns of the table, in the order of the file.

    ``told`` is called with what was read since its last call: rows of a Parquet or ORC file, bytes of a text file.
    Raises SchemaMismatch, which names the file and the row, when a row does not fit the table and ``rules`` have no
    receiver of such rows; InvalidRequest when the file cannot be read; StorageError when the store fails or the file
    was changed after it was listed.
    """
    where = None if rules.where is None else rules.where.bind(rules.all_fields)
    path = split.file.path
    for piece in _guarded(path, lambda: _pieces(split, rules, told or _ignored)):
        for rows in _converted(piece, path, rules):
            kept = rows if where is None else rows.filter(pa.array(row_mask(where, rows)))
            if len(kept):
                yield kept


def _converted(piece: Piece, path: str, rules: FileRules) -> Iterator[pa.Table]:
    """Yield the rows of a piece with all columns of the table: one table, or the parts that fit."""

    def convert(part: Piece) -> pa.Table:
        return conform_with_defaults(part.rows, rules.all_fields)

    if rules.receive is not None:
        yield from fitting_parts(piece, convert, path, rules.receive)
        return
    try:
        yield convert(piece)
    except SchemaMismatch as error:
        place = f", {piece.place(error.facts['row'])}" if "row" in error.facts else ""
        raise SchemaMismatch(f"file {path}{place}: {reason_of(error)}", column=error.facts.get("column")) from None


def rows_of_splits(splits: Sequence[FileSplit], form: FileFormat) -> int | None:
    """Return the number of rows in Parquet or ORC files, from their footers; None when a footer cannot be read."""
    try:
        rows = 0
        for split in splits:
            with _opened(split, None) as stream:
                rows += row_count(stream, form.kind)
    except (PaimonError, pa.ArrowException, ValueError, OSError, EOFError):
        return None  # the read of the rows names the file and the reason
    return rows


def _ignored(_: int) -> None:
    """Take what was read, and do nothing."""


def _pieces(split: FileSplit, rules: FileRules, told: Told) -> Iterator[Piece]:
    form, path = rules.file_format, split.file.path
    select = selection(path, rules.fields, is_exact=rules.is_exact)
    if form.is_text:
        files: list[pa.NativeFile] = []
        text = TextSplit(split, form, lambda: _opened(split, form.compression(path), files), rules.receive)
        if form.kind == "csv":
            yield from _measured(read_csv(text, select, rules.fields), split, files, told)
        else:
            yield from _measured(read_json(text, rules.fields, ignores=not rules.is_exact), split, files, told)
        return
    read = read_parquet if form.kind == "parquet" else read_orc
    with _opened(split, None) as stream:
        for first, batch in read(stream, split, select):
            yield Piece.numbered(pa.Table.from_batches([batch]), first)
            told(len(batch))


def _measured(pieces: Iterator[Piece], split: FileSplit, files: list[pa.NativeFile], told: Told) -> Iterator[Piece]:
    """Yield the pieces, and tell after each how many bytes of the file, as it is stored, were read for it."""
    at = split.start
    for piece in pieces:
        yield piece
        opened = next((file for file in files if not file.closed), None)
        if opened is not None:
            before, at = at, min(max(at, opened.tell()), split.end)
            told(at - before)
    told(split.end - at)


@contextmanager
def _opened(
    split: FileSplit, compression: str | None, opened: list[pa.NativeFile] | None = None
) -> Iterator[pa.NativeFile]:
    with split.file.storage.open_version(split.file.path, split.file.version) as stream:
        if opened is not None:
            opened.append(stream)
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
