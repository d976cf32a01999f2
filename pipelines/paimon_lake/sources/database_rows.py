"""Database rows: convert rows of a database to rows of a table, and to rejects.

PostgreSQL has a type for each column, which ``typed_values`` casts exactly; json, uuid, xml, addresses and arrays are
read as texts. SQLite has a type for each value: every value is read as a text together with its type, and converted as
``text_values`` describes. A blob fits BINARY and BYTES only.

A reject has no ``line``, because rows of a database have no order. Its ``file`` is ``Database.name``, and its ``raw``
text is the row as JSON, with all values of SQLite as texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, DataType, TypeRoot
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database_sql import quoted, sqlite_text
from paimon_lake.sources.database_texts import TYPES, arrow_type, unhex, values_of
from paimon_lake.sources.files.columnar import row_text
from paimon_lake.sources.files.columns import exact_type
from paimon_lake.sources.files.rejects import REJECTS, Parsed, Reject, cut, no_rejects, shown
from paimon_lake.sources.files.row_builder import RowBuilder
from paimon_lake.sources.files.text.text_values import TextRules, cast_or_null, convert_text, is_text_type, with_length
from paimon_lake.sources.files.typed_values import check_castable, convert_typed

_INTEGERS = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
_DAYS = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, as days since 1970."""
_DAY = 86_400_000_000
_OUTSIDE = "infinity or a year outside 1 to 9999"


@dataclass(frozen=True)
class DatabaseRows:
    """How the rows of a database are read and converted to rows of a table."""

    name: str
    """The value of the column ``file`` of rejects."""
    schema: pa.Schema
    required: frozenset[str]
    columns: tuple[str, ...]
    """The columns of the database, in the order of the schema."""
    selected: tuple[str, ...]
    """The SQL expressions to select: one expression for each column of PostgreSQL; two for each column of SQLite, for
    the type and for the text.
    """
    is_postgresql: bool
    types: tuple[str, ...] = ()
    """PostgreSQL's names of the types of the columns."""

    def parsed(self, batch: pa.RecordBatch) -> Parsed:
        """Return a batch of the result as rows of the table and rejects."""
        builder = RowBuilder(self.schema, self.required, len(batch))
        seen = []
        for at, field in enumerate(self.schema):
            kind = exact_type(field)
            if self.is_postgresql:
                column, values, bad, unfit = self._of_postgresql(at, batch.column(at), kind)
            else:
                column, values, bad, unfit = _of_sqlite(batch.column(2 * at), batch.column(2 * at + 1), kind)
            seen.append(column)
            builder.add(values, either(bad, unfit), Reason(column, kind))
        return Parsed(builder.rows(), self.rejects(builder.rejects, seen), len(batch))

    def _of_postgresql(
        self, at: int, column: pa.Array, kind: DataType
    ) -> tuple[pa.Array, pa.Array, np.ndarray | None, np.ndarray | None]:
        """Return the column for rejects, the values, and two arrays of flags (None: no flag is set).

        The first flags mark values that cannot be read, such as an infinite date; the second flags mark values that do
        not fit ``kind``.
        """
        if self.types[at].startswith("_"):
            values, bad = values_of(column.cast(pa.binary()), self.types[at])
            return column, *_last(convert_typed(values, kind, self.schema.field(at).name), bad)
        column, bad = _in_range(_storage(column))
        return with_text(column, bad), *_last(convert_typed(column, kind, self.schema.field(at).name), bad)

    def rejects(
        self, found: Sequence[Reject], columns: Sequence[pa.Array], lines: Sequence[int] | None = None
    ) -> pa.RecordBatch:
        """Return the rejects ``found`` as a batch; ``lines``: the line number of each row (None: no line numbers)."""
        if not found:
            return no_rejects()
        found = sorted(found, key=lambda reject: reject.row)
        batch = pa.RecordBatch.from_arrays(list(columns), list(self.columns))
        return pa.RecordBatch.from_pydict(
            {
                "file": [self.name] * len(found),
                "line": [None if lines is None else lines[reject.row] for reject in found],
                "column": [reject.column for reject in found],
                "reason": [reject.reason for reject in found],
                "raw": [cut(row_text(batch, reject.row)) for reject in found],
            },
            REJECTS,
        )


@dataclass(frozen=True)
class Reason:
    """Returns the reason why the value of a row does not fit its column."""

    column: pa.Array
    kind: DataType

    def __call__(self, row: int) -> str:
        """Return the reason for a row."""
        value = self.column[row]
        binary = pa.types.is_binary(value.type)
        return f"{shown(value.as_py().hex() if binary else value.as_py())} is not valid for {self.kind}"


def rows_of_database(
    name: str,
    source_schema: pa.Schema,
    schema: pa.Schema,
    required: frozenset[str],
    *,
    is_postgresql: bool,
    advice: str = "cast it in source.query, for example to text",
) -> DatabaseRows:
    """Return the converter from a result with the columns ``source_schema`` to a table with the columns ``schema``.

    Columns of the database that the table does not have are not read. Raises PipelineError for a missing column, and
    for a column whose type has no exact cast; the text of the latter error contains ``advice``.
    """
    columns = tuple(found_column(name, source_schema.names, wanted) for wanted in schema.names)
    selected: list[str] = []
    for column, field in zip(columns, schema, strict=True):
        kind = exact_type(field)
        if is_postgresql:
            selected.append(_selected(name, source_schema.field(column), kind, advice))
        elif is_text_type(kind):
            selected += [f"typeof({quoted(column)})", sqlite_text(quoted(column))]
        else:
            raise PipelineError(f"{name}: no value of SQLite fits the column {field.name!r}, whose type is {kind}")
    types = tuple(postgresql_type(source_schema.field(column)) for column in columns) if is_postgresql else ()
    return DatabaseRows(name, schema, required, columns, tuple(selected), is_postgresql, types)


def found_column(name: str, names: Sequence[str], wanted: str) -> str:
    """Return the column ``wanted``, else the only column whose name differs from it by case only; else raise
    PipelineError.
    """
    same = [one for one in names if one == wanted] or [one for one in names if one.casefold() == wanted.casefold()]
    if len(same) == 1:
        return same[0]
    if same:
        raise PipelineError(f"{name} has {len(same)} columns {wanted!r}: {', '.join(map(repr, same))}")
    raise PipelineError(f"{name} has no column {wanted!r}; its columns are {', '.join(map(repr, names)) or 'none'}")


def postgresql_type(field: pa.Field) -> str:
    """Return PostgreSQL's name of a column's type, such as ``int8``; names of array types begin with ``_``."""
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b""), "utf-8")


def _selected(name: str, field: pa.Field, kind: DataType, advice: str) -> str:
    type_name, column = postgresql_type(field), quoted(field.name)
    arrow = arrow_type(type_name)
    if arrow is None:
        raise PipelineError(
            f"{name}: the column {field.name!r} has the type {type_name}, which cannot be read: {advice}"
        )
    try:
        check_castable(arrow, kind, field.name, name)
    except PipelineError:
        raise PipelineError(
            f"{name}: the column {field.name!r} has the type {type_name}, which has no exact cast to {kind}: "
            f"{advice}, or declare another type"
        ) from None
    return column if type_name in TYPES else f"CAST({column} AS text)"


def _storage(column: pa.Array) -> pa.Array:
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def either(one: np.ndarray | None, two: np.ndarray | None) -> np.ndarray | None:
    """Return the union of two arrays of flags; None stands for flags that mark no row."""
    return two if one is None else one if two is None else one | two


def _flags(bad: pa.Array) -> np.ndarray | None:
    found = np.asarray(pc.fill_null(bad, False).to_numpy(zero_copy_only=False))
    return found if found.any() else None


def _in_range(column: pa.Array) -> tuple[pa.Array, np.ndarray | None]:
    """Return a column, and flags for infinity, years outside 1 to 9999 and the time 24:00:00 (None: no such value).

    Marked values are null in the returned column. Columns of other types than dates and times are unchanged.

    The driver converts PostgreSQL's numbers to another epoch without a check, so infinity overflows to a very early
    date.
    """
    kind = column.type
    if pa.types.is_date32(kind):
        numbers, first, last = column.cast(pa.int32()), *_DAYS
    elif pa.types.is_timestamp(kind):
        numbers, first, last = column.cast(pa.int64()), _DAYS[0] * _DAY, (_DAYS[1] + 1) * _DAY - 1
    elif pa.types.is_time64(kind):
        numbers, first, last = column.cast(pa.int64()), 0, _DAY - 1  # PostgreSQL also has 24:00:00
    else:
        return column, None
    bad = _flags(pc.or_(pc.less(numbers, first), pc.greater(numbers, last)))
    return column if bad is None else pc.if_else(pa.array(bad), pa.scalar(None, kind), column), bad


def with_text(column: pa.Array, bad: np.ndarray | None) -> pa.Array:
    """Return a column for rejects, with a text in place of each value that is out of range."""
    return column if bad is None else pc.if_else(pa.array(bad), _OUTSIDE, column.cast(pa.string()))


def _of_sqlite(
    types: pa.Array, texts: pa.Array, kind: DataType
) -> tuple[pa.Array, pa.Array, np.ndarray | None, np.ndarray | None]:
    """Return the texts for rejects, the values, and two arrays of flags (None: no flag is set).

    The first flags mark blobs in a column of texts, other values in a column of bytes, and texts that are not UTF-8.
    The second flags mark values that do not fit ``kind``.
    """
    blob, null = pc.equal(types, "blob"), pc.equal(types, "null")
    utf8 = cast_or_null(texts.cast(pa.binary()), pa.string())
    texts = pc.if_else(null, pa.scalar(None, pa.string()), utf8)
    wants_blob = kind.root in BINARY_ROOTS
    usable = blob if wants_blob else pc.and_(pc.invert(blob), utf8.is_valid())
    wrong = _flags(pc.and_(pc.invert(usable), pc.invert(null)))
    given = pc.if_else(usable, texts, pa.scalar(None, pa.string()))
    seen = texts.fill_null("not valid UTF-8") if utf8.null_count else texts
    if wants_blob:
        return seen, *_last(with_length(unhex(given), kind), wrong)
    if kind.root in _INTEGERS:
        whole = pc.replace_substring_regex(given, r"\.0$", "")
        given = pc.if_else(pc.equal(types, "real"), whole, given)
    return seen, *_last(convert_text(given, kind, TextRules()), wrong)


def _last(
    converted: tuple[pa.Array, np.ndarray | None], wrong: np.ndarray | None
) -> tuple[pa.Array, np.ndarray | None, np.ndarray | None]:
    return converted[0], wrong, converted[1]
