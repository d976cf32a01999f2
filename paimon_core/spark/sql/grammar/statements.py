"""Statements: one frozen value for each kind of SQL statement, with the content of the parsed text.

The values name objects as the text does: whether a table or column exists is checked when the statement runs.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_core.alter.changes import SchemaChange
from paimon_core.spark.sql.grammar.markers import NOTHING, Bound

Value = str | int | bool | None
"""The value of an argument or of a partition column, as a literal of the text."""
Spec = Mapping[str, Value]
"""Values by partition column."""


@dataclass(frozen=True)
class TableName:
    """The name of a table in the text, and its position."""

    parts: tuple[str, ...]
    start: int
    end: int

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Query:
    """The part ``text[start:end]`` of a statement: a query, or an expression."""

    text: str
    start: int
    end: int
    bound: Bound = NOTHING
    """The parameters of the statement."""
    replaced: str | None = None
    """What is read instead of the part; each position in it is the position in the part."""

    @property
    def written(self) -> str:
        """The characters to read."""
        return self.text[self.start : self.end] if self.replaced is None else self.replaced


Ctes = Mapping[str, Query]
"""The queries of WITH before a statement, by name in lower case."""


@dataclass(frozen=True)
class Select:
    """A query; with ``explain`` (the text ``EXPLAIN EXTENDED``), only its plan."""

    query: Query
    explain: str = ""


@dataclass(frozen=True)
class Insert:
    """INSERT INTO, or INSERT OVERWRITE."""

    table: TableName
    query: Query
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrite: bool = False
    partition: Spec = field(default_factory=dict)
    """The values in PARTITION (...); its columns without a value (dynamic partitions) are in ``dynamic``."""
    dynamic: tuple[str, ...] = ()


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE, CTAS, and with ``replace`` CREATE OR REPLACE TABLE."""

    table: TableName
    columns: str | None
    """The columns as the text of a schema; None: the columns of the query."""
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False
    replace: bool = False
    must_exist: bool = False
    """REPLACE TABLE without CREATE: the table must exist."""
    query: Query | None = None


@dataclass(frozen=True)
class CreateLike:
    """CREATE TABLE ... LIKE."""

    table: TableName
    source: TableName
    properties: Mapping[str, str]
    if_not_exists: bool


@dataclass(frozen=True)
class CreateView:
    """CREATE TEMPORARY VIEW."""

    name: str
    at: int
    query: Query
    columns: tuple[tuple[str, str], ...] | None
    """The names of the columns with their comments; None: the columns of the query."""
    replace: bool


@dataclass(frozen=True)
class DropView:
    """DROP VIEW."""

    name: TableName
    if_exists: bool


@dataclass(frozen=True)
class CreateDatabase:
    """CREATE DATABASE."""

    name: str
    at: int
    if_not_exists: bool


@dataclass(frozen=True)
class DropDatabase:
    """DROP DATABASE."""

    name: str
    at: int
    if_exists: bool
    cascade: bool


@dataclass(frozen=True)
class DropTable:
    """DROP TABLE."""

    table: TableName
    if_exists: bool


@dataclass(frozen=True)
class AlterTable:
    """ALTER TABLE and COMMENT ON TABLE: changes of the schema, of which all or none are applied."""

    table: TableName
    changes: tuple[SchemaChange, ...]
    if_exists: frozenset[str] = frozenset()
    """Columns (as ``a.b``) and options that the statement removes only if they exist."""


@dataclass(frozen=True)
class RenameTable:
    """ALTER TABLE ... RENAME TO."""

    table: TableName
    to: TableName


@dataclass(frozen=True)
class ChangeTag:
    """ALTER TABLE ... CREATE, CREATE OR REPLACE, REPLACE, DELETE or RENAME TAG: ``action`` has these words."""

    table: TableName
    action: str
    names: tuple[str, ...]
    """The tag; all tags to delete; or the tag and its new name."""
    snapshot: int | None = None
    keep_for: datetime.timedelta | None = None
    optional: bool = False
    """IF NOT EXISTS of a tag to create, IF EXISTS of a tag to delete."""


@dataclass(frozen=True)
class RemovePartitions:
    """ALTER TABLE ... DROP PARTITION, or TRUNCATE TABLE; without ``specs``, all rows are removed."""

    table: TableName
    specs: tuple[Spec, ...]
    must_exist: bool = False
    """Each spec must match a partition."""


@dataclass(frozen=True)
class Assignment:
    """A column, or a field of a STRUCT column, with its new value: ``a = 1``, ``t.a = 1`` or ``a.field = 1``."""

    path: tuple[str, ...]
    """The names before the sign; the first ones may name the table."""
    at: int
    value: Query


@dataclass(frozen=True)
class Update:
    """UPDATE."""

    table: TableName
    alias: str | None
    values: tuple[Assignment, ...]
    where: Query | None
    ctes: Ctes = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    """DELETE FROM."""

    table: TableName
    alias: str | None
    where: Query | None
    ctes: Ctes = field(default_factory=dict)


@dataclass(frozen=True)
class MergeClause:
    """One WHEN clause: ``kind`` is matched, not matched or not matched by source, ``action`` update, delete or insert.

    ``values`` has the new values; None for a star (all columns of the source) and for a delete.
    """

    kind: str
    action: str
    condition: Query | None
    values: tuple[Assignment, ...] | None
    at: int


@dataclass(frozen=True)
class Merge:
    """MERGE INTO."""

    table: TableName
    alias: str | None
    source: Query
    """A relation: the name of a table or view, or a query in parentheses."""
    source_alias: str | None
    on: Query
    clauses: tuple[MergeClause, ...]
    ctes: Ctes = field(default_factory=dict)


@dataclass(frozen=True)
class Analyze:
    """ANALYZE TABLE ... COMPUTE STATISTICS; ``columns`` None: all columns; empty: only rows and bytes are counted."""

    table: TableName
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class Describe:
    """DESCRIBE TABLE, or DESCRIBE DATABASE when ``table`` is None."""

    table: TableName | None
    database: tuple[str, int] = ("", 0)
    extended: bool = False
    column: str | None = None


@dataclass(frozen=True)
class Show:
    """SHOW: ``what`` is databases, tables, partitions, create table, tblproperties, columns, tags or views."""

    what: str
    table: TableName | None = None
    database: tuple[str, int] | None = None
    """The name of the database, and its position."""
    like: str | None = None
    spec: Spec = field(default_factory=dict)
    key: str | None = None


@dataclass(frozen=True)
class Use:
    """USE."""

    database: str
    at: int


@dataclass(frozen=True)
class Call:
    """CALL sys.procedure(...): the values of the arguments by name, or by number ("0") for one without a name."""

    procedure: str
    arguments: Mapping[str, Value]
    at: int


Statement = (
    Select
    | Insert
    | CreateTable
    | CreateLike
    | CreateView
    | DropView
    | CreateDatabase
    | DropDatabase
    | DropTable
    | AlterTable
    | RenameTable
    | ChangeTag
    | RemovePartitions
    | Update
    | Delete
    | Merge
    | Analyze
    | Describe
    | Show
    | Use
    | Call
)


def position_of(statement: Statement) -> int:
    """Return the position in the text of the object that a statement is about."""
    match statement:
        case Select(query=query):
            return query.start
        case DropView(name=name):
            return name.start
        case CreateView(at=at) | CreateDatabase(at=at) | DropDatabase(at=at) | Use(at=at) | Call(at=at):
            return at
        case Describe(table=None, database=(_, at)):
            return at
    return 0 if statement.table is None else statement.table.start
