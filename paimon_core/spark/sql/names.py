"""Names: finds the databases and tables that a statement names; errors state the position and similar names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.identifier import Identifier
from paimon_core.errors import DatabaseNotFound, NotFound, PaimonError, TableNotFound, listed
from paimon_core.predicate.tokens import place
from paimon_core.schema import TableSchema
from paimon_core.spark.sql.grammar.cursor import fail, position
from paimon_core.spark.sql.grammar.masked import masked
from paimon_core.spark.sql.grammar.statements import Ctes, Query, TableName
from paimon_core.table.table import Table
from paimon_core.table.view import TableView


@dataclass(frozen=True)
class View:
    """A temporary view that a statement created."""

    name: str
    query: Query
    columns: tuple[tuple[str, str], ...] | None
    database: str
    """The database of the names without one in the query."""
    referred: frozenset[str] = frozenset()
    """The temporary views that the query reads, in lower case; the same names of later views are tables in it."""
    registered: int = 0
    """The hash of the plan of the session's view: another one belongs to another view of this name."""


@dataclass
class Names:
    """The names of a catalog, as the statements of one session see them.

    During one statement, each table is opened once; ``forget`` starts the next statement.
    """

    catalog: Catalog
    database: str
    """The database of the table names that have no database."""
    opened: dict[str, TableView] = field(default_factory=dict)
    """The tables that the queries of this statement read, each at one snapshot."""
    views: dict[str, str] = field(default_factory=dict)
    """The temporary views of ``SparkLake.views``: the name of each view in lower case, with its ``database.table``.

    A query that names such a view reads the newest snapshot of the table, not the view.
    """

    definitions: dict[str, View] = field(default_factory=dict)
    """The views that statements created, by name in lower case."""
    ctes: Ctes = field(default_factory=dict)
    """The queries of WITH before the statement."""
    is_view: Callable[[str], bool] = lambda name: False
    """Whether the session has a temporary view of a name."""
    _within: tuple[str, ...] = ()
    """The views whose queries are read, from outside to inside."""
    _possible: frozenset[str] | None = None
    """The names of the temporary views that the text may read; None: all."""
    _referred: set[str] = field(default_factory=set)

    def forget(self) -> None:
        """Forget the open tables and the CTEs."""
        self.opened, self.ctes = {}, {}

    @contextmanager
    def without_ctes(self) -> Iterator[None]:
        """Read the query of a CTE, or of a view, in which the CTEs of the statement have no meaning."""
        kept, self.ctes = self.ctes, {}
        try:
            yield
        finally:
            self.ctes = kept

    @contextmanager
    def within(self, view: View, *, recursive: bool | None = None) -> Iterator[set[str]]:
        """Read the query of a view; yields the names of the temporary views that it reads, in lower case.

        ``recursive`` is given for a new view, whose query may read any view: whether its own name is a table.
        """
        kept = self.database, self._within, self._possible, self._referred
        self.database, self._referred = view.database, set()
        self._possible = view.referred if recursive is None else None
        self._within = (*self._within, view.name.casefold()) if recursive is not True else self._within
        try:
            with self.without_ctes():
                yield self._referred
        finally:
            self.database, self._within, self._possible, self._referred = kept

    def may_be_view(self, name: TableName, text: str) -> bool:
        """Whether the name can be that of a temporary view here; raises SqlError if a view would read itself."""
        key = name.parts[0].casefold()
        if len(name.parts) > 1 or (self._possible is not None and key not in self._possible):
            return False
        if key in self._within:
            fail(text, name.start, f"view {name} reads itself")
        return True

    def refer(self, name: TableName) -> None:
        """Note that the text reads a temporary view."""
        self._referred.add(name.parts[0].casefold())

    def full(self, name: TableName, text: str) -> str:
        """Return ``database.table``; raises SqlError for more than two names."""
        if len(name.parts) > 2:
            fail(text, name.start, f"{name} has {len(name.parts)} names: a table is named table or database.table")
        if len(name.parts) == 2 or "." in name.parts[0]:
            return str(name)
        return f"{self.database}.{name}"

    def table(self, name: TableName, text: str) -> Table:
        """Open a table to change; raises NotFound, which names similar tables, and SqlError for a system table."""
        full = self.full(name, text)
        if Identifier.is_system(full):
            fail(text, name.start, f"{full} is a system table: it can be read by queries only, such as SELECT")
        try:
            return self.catalog.table(full)
        except NotFound as error:
            if len(name.parts) == 1 and self.is_view(name.parts[0]):
                fail(text, name.start, f"{name} is a temporary view, and the statement needs a table")
            self.refuse_unknown(error, name, text)

    def reading(self, name: TableName, text: str) -> TableView:
        """Return the table as the queries of this statement read it: always the same snapshot."""
        full = self.full(name, text)
        if full not in self.opened:
            self.opened[full] = pinned(self.table(name, text))
        return self.opened[full]

    def seen(self, full: str) -> TableView | None:
        """Return the table ``database.table`` as the queries of this statement read it; None if they do not read it."""
        same = (view for name, view in self.opened.items() if name.casefold() == full.casefold())
        return next(same, None)

    def columns(self, name: TableName | None, text: str) -> list[str]:
        """Return the columns of a table that the queries of this statement read; an empty list for any other name."""
        view = None if name is None else self.opened.get(self.full(name, text))
        return [] if view is None else view.schema.names

    def exists(self, name: TableName, text: str) -> bool:
        """Whether the catalog has a table or system table of this name."""
        if len(name.parts) > 2:
            return False
        full = self.full(name, text)
        if Identifier.is_system(full):
            base = full.rpartition("$")[0]
            return not base or self.catalog.table_exists(base)
        return self.catalog.table_exists(full)

    def refuse_unknown(self, error: PaimonError, name: TableName, text: str, others: Iterable[str] = ()) -> NoReturn:
        """Raise ``error`` with the position of the name, and the similar names of the database."""
        database, _, table = self.full(name, text).partition(".")
        if self.catalog.database_exists(database):
            hint = similar(table, [*self.catalog.list_tables(database), *others], "tables")
        else:
            hint = similar(database, self.catalog.list_databases(), "databases")
        is_listed = "(tables: " in error.message or "(databases: " in error.message
        located(error, text, name.start, "" if is_listed and "did you mean" not in hint else hint)

    def unknown(self, name: TableName, text: str, others: Iterable[str] = ()) -> NoReturn:
        """Raise TableNotFound or DatabaseNotFound, with similar names; ``others`` are the names of views."""
        database = self.full(name, text).partition(".")[0]
        if self.catalog.database_exists(database):
            error: NotFound = TableNotFound(f"there is no table or view {name}", table=str(name))
        else:
            error = DatabaseNotFound(f"there is no database {database!r} and no view {name}", database=database)
        self.refuse_unknown(error, name, text, others)

    def known_database(self, name: str, at: int, text: str) -> str:
        """Return the name of a database that exists; raises DatabaseNotFound, which names similar databases."""
        if not self.catalog.database_exists(name):
            error = DatabaseNotFound(f"there is no database {name!r}", database=name)
            located(error, text, at, similar(name, self.catalog.list_databases(), "databases"))
        return name


def pinned(table: TableView) -> TableView:
    """Return a table at the snapshot that its options ``scan.*`` select.

    Without such options, return the table at its latest snapshot, with its newest columns.
    """
    view = table.reading()
    if view.pinned is not None:
        return view
    latest = view.latest_snapshot()
    return view if latest is None else TableView(view.context, latest)


def similar(name: str, known: Iterable[str], what: str) -> str:
    """Return a hint with the similar names, or with all names if none is similar."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name.lower(), {n.lower() for n in names}, 3)
    found = [n for n in names if n.lower() in close]
    if found:
        return f"; did you mean {' or '.join(found)}?"
    return f"; the {what} are {listed(names)}" if names else f"; there are no {what}"


def located(error: PaimonError, text: str, at: int, hint: str = "") -> NoReturn:
    """Raise an error of the library again, with the position in the text of the statement."""
    facts = {**error.facts, **position(text, at)}
    raise type(error)(f"{error.message}{hint}, {place(masked(text), at)}", **facts) from error


def column_of(schema: TableSchema, name: str, text: str, at: int, table: str) -> str:
    """Return the table's name of a column that a statement names in any case of letters; raises SqlError."""
    if name in schema.by_name:
        return name
    same = [known for known in schema.names if known.casefold() == name.casefold()]
    if len(same) == 1:
        return same[0]
    if same:
        fail(text, at, f"column {name!r} of table {table} is ambiguous: {' or '.join(same)}", name=name)
    return fail(text, at, f"table {table} has no column {name!r}{similar(name, schema.names, 'columns')}", name=name)
