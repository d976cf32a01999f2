"""Schema changes: one frozen value for each kind of change of a table's schema (format 2.3).

A change only states the wanted result; ``evolve`` checks the change and applies it to a schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.options import OptionValue, option_text
from paimon_core.types import DataType, from_arrow, parse_type

ColumnPath = str | Sequence[str]
"""The name of a column, or the list of names from a column to a nested field."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position among the columns: first, last, or next to another column."""

    first: bool = False
    last: bool = False
    after: str | None = None
    before: str | None = None

    def __post_init__(self) -> None:
        if self.first + self.last + (self.after is not None) + (self.before is not None) > 1:
            raise InvalidRequest(f"a column has one position, not several: {self}")

    def __bool__(self) -> bool:
        return self != Place()


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a nullable column, or a field of a nested ROW; rows written before have null in this column.

    ``default`` is the text of the value that later writes store in place of null; old rows are not changed.

    >>> AddColumn("note", "STRING", after="id").place.after
    'id'
    """

    column: ColumnPath
    type: str | DataType | pa.DataType | dict[str, Any]
    comment: str | None = None
    default: str | None = None
    first: bool = False
    last: bool = False
    after: str | None = None
    before: str | None = None

    @property
    def place(self) -> Place:
        """The position of the new column; empty when no position is given.

        With an empty position, the column is added at the end or, if the option ``add-column-before-partition`` is
        true, before the partition keys.
        """
        return Place(self.first, self.last, self.after, self.before)


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Remove a column or a nested field; its values in existing files are never read again."""

    column: ColumnPath


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Rename a column or a nested field to ``name``; its values are kept."""

    column: ColumnPath
    name: str


@dataclass(frozen=True, slots=True)
class UpdateType:
    """Change the type of a column or a nested field; values in existing files are cast when they are read.

    The nullability does not change: a NOT NULL type is refused for a nullable column. A change that would lose a stored
    value is refused (see ``survival``), unless ``lossy`` is true.
    """

    column: ColumnPath
    type: str | DataType | pa.DataType | dict[str, Any]
    lossy: bool = False


@dataclass(frozen=True, slots=True)
class UpdateNullability:
    """Allow or forbid null; to forbid it, the table needs ``alter-column-null-to-not-null.disabled = false``."""

    column: ColumnPath
    nullable: bool


@dataclass(frozen=True, slots=True)
class UpdateColumnComment:
    """Set the comment of a column or a nested field; None removes it."""

    column: ColumnPath
    comment: str | None


@dataclass(frozen=True, slots=True)
class UpdateDefault:
    """Set the text of the value that later writes store in place of null; None removes it."""

    column: ColumnPath
    default: str | None


@dataclass(frozen=True, slots=True)
class UpdatePosition:
    """Move a column; exactly one of ``first``, ``last``, ``after`` and ``before`` is given."""

    column: str
    first: bool = False
    last: bool = False
    after: str | None = None
    before: str | None = None

    @property
    def place(self) -> Place:
        """The new position."""
        return Place(self.first, self.last, self.after, self.before)


@dataclass(frozen=True, slots=True)
class UpdateComment:
    """Set the comment of the table; None removes it."""

    comment: str | None


@dataclass(frozen=True, slots=True)
class SetOption:
    """Set an option of the table; the value is text, an int, a bool, or a float where the option is a double."""

    key: str
    value: OptionValue

    @property
    def text(self) -> str:
        """The text that is stored; raises InvalidOption for a value of another type."""
        return option_text(self.key, self.value)


@dataclass(frozen=True, slots=True)
class RemoveOption:
    """Remove an option of the table, so that its default applies."""

    key: str


SchemaChange = (
    AddColumn
    | DropColumn
    | RenameColumn
    | UpdateType
    | UpdateNullability
    | UpdateColumnComment
    | UpdateDefault
    | UpdatePosition
    | UpdateComment
    | SetOption
    | RemoveOption
)


def path_of(column: ColumnPath) -> tuple[str, ...]:
    """Return the path as a tuple; raises InvalidRequest for a value that is not a name or a list of names."""
    path = (column,) if isinstance(column, str) else tuple(column) if isinstance(column, list | tuple) else ()
    if not path or not all(isinstance(name, str) for name in path):
        raise InvalidRequest(f"a column is a name or a list of names, not {column!r:.80}")
    return path


def type_of(value: Any, column: str) -> DataType:
    """Return the type that a change states; raises InvalidRequest, which names the column, for another value."""
    try:
        if isinstance(value, DataType):
            return value
        if isinstance(value, pa.DataType):
            return from_arrow(value)
        return parse_type(value)
    except InvalidRequest as error:
        raise type(error)(f"column {column!r}: {error}", **{**error.facts, "column": column}) from None
