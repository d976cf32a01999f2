"""SparkLake: the tables of a catalog in a Spark session, by SQL and as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.identifier import Identifier
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.spark.arguments import check_session
from paimon_core.spark.columns import quoted
from paimon_core.spark.reads.reader import read_spark
from paimon_core.spark.sql import inspection, tables
from paimon_core.spark.sql.changes import changing
from paimon_core.spark.sql.grammar.parse import parse
from paimon_core.spark.sql.grammar.statements import (
    AlterTable,
    Analyze,
    Call,
    ChangeTag,
    CreateDatabase,
    CreateLike,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    DropDatabase,
    DropTable,
    DropView,
    Insert,
    Merge,
    RemovePartitions,
    RenameTable,
    Select,
    Show,
    Statement,
    TableName,
    Update,
    Use,
    position_of,
)
from paimon_core.spark.sql.inserts import insert
from paimon_core.spark.sql.names import Names, located, pinned
from paimon_core.spark.sql.parameters import bound_parameters, declared
from paimon_core.spark.sql.procedures.table import call
from paimon_core.spark.sql.queries import frame, is_view
from paimon_core.spark.sql.results import committed, done
from paimon_core.spark.sql.system_frame import system_frame
from paimon_core.spark.sql.tags import change_tag
from paimon_core.spark.sql.views import create_view, described, drop_view, refresh_views

DEFAULT_DATABASE = "default"
_Definition = (
    CreateLike
    | CreateView
    | DropView
    | CreateDatabase
    | DropDatabase
    | DropTable
    | RenameTable
    | AlterTable
    | ChangeTag
    | Use
)


def session(spark: SparkSession, catalog: Catalog, database: str = DEFAULT_DATABASE) -> SparkLake:
    """Return the tables of ``catalog`` for SQL in the session ``spark``.

    ``database`` is the database of table names that have no database.

    >>> lake = session(spark, catalog)  # doctest: +SKIP
    >>> lake.sql("SELECT * FROM shop.orders VERSION AS OF 3 WHERE price > 5").show()  # doctest: +SKIP
    """
    check_session(spark)
    if not hasattr(catalog, "list_databases"):
        raise InvalidRequest(f"session takes a catalog, such as open_catalog(...) returns, not {catalog!r:.80}")
    if not isinstance(database, str) or not database:
        raise InvalidRequest(f"the argument database is the name of a database, not {database!r:.60}", name="database")
    return SparkLake(spark, catalog, database)


class SparkLake:
    """SQL and DataFrames of one catalog in one Spark session; ``USE`` changes ``database``."""

    def __init__(self, spark: SparkSession, catalog: Catalog, database: str) -> None:
        self.spark = spark
        self.catalog = catalog
        self._names = Names(catalog, database, is_view=lambda name: is_view(spark, TableName((name,), 0, 0)))

    @property
    def database(self) -> str:
        """The database of the table names that have no database."""
        return self._names.database

    def __repr__(self) -> str:
        return f"SparkLake(database={self.database!r})"

    def sql(self, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> DataFrame:
        """Run one statement in Spark's dialect and return its result (docs/spark.md lists the statements).

        A query returns its rows: each table is read at the snapshot that was the latest at the time of the call, even
        when the rows are computed later. A change is done when the call returns, in one commit, and its result names
        the snapshot. The whole text is read before anything is done.

        ``args`` has the values of parameters, as in ``SparkSession.sql``: a dict for ``:name``, a list for ``?``. They
        are bound as values: their texts are never read as SQL.

        Raises SqlError for text that is not understood or
        not supported, with ``line`` and ``column`` in its facts. Raises the errors of the methods of ``Table`` and
        ``Catalog`` too, with the position in the text. A SqlError means that nothing was changed.
        """
        if not isinstance(text, str):
            raise InvalidRequest(f"sql takes the text of a statement, not {text!r:.60}")
        bound = bound_parameters(text, args)
        statement = parse(text, bound)
        self._names.forget()
        try:
            if not isinstance(statement, Update | Delete | Merge):
                return self._run(statement, text)
            self._names.ctes = statement.ctes
            with declared(self.spark, bound, text):
                return self._run(statement, text)
        except PaimonError as error:
            if "line" in error.facts:
                raise
            located(error, text, position_of(statement))

    def _run(self, statement: Statement, text: str) -> DataFrame:
        spark, names = self.spark, self._names
        match statement:
            case Select():
                return frame(spark, names, statement.query, explain=statement.explain)
            case Insert():
                return committed(spark, insert(spark, names, statement))
            case Update():
                return committed(spark, changing.update(spark, names, statement, text))
            case Delete():
                return committed(spark, changing.delete(spark, names, statement, text))
            case Merge():
                return committed(spark, changing.merge(spark, names, statement, text))
            case CreateTable():
                return committed(spark, tables.create(spark, names, statement, text))
            case RemovePartitions():
                return committed(spark, tables.remove_partitions(names, statement, text))
            case Analyze():
                return committed(spark, tables.analyze(names, statement, text))
            case Describe(table=TableName() as name, column=None) if self._is_only_view(name, text):
                return described(spark, name)
            case Describe():
                return inspection.describe(spark, names, statement, text)
            case Show():
                return inspection.show(spark, names, statement, text)
            case Call():
                return call(spark, names, statement, text)
        return done(spark, self._define(statement, text))

    def _is_only_view(self, name: TableName, text: str) -> bool:
        return is_view(self.spark, name) and not self._names.exists(name, text)

    def _define(self, statement: _Definition, text: str) -> str:
        """Run a statement that changes no rows; return a text that describes the result."""
        names = self._names
        match statement:
            case CreateLike():
                is_done = tables.create_like(names, statement, text)
                full = names.full(statement.table, text)
                return f"created table {full}" if is_done else f"table {full} exists"
            case CreateView():
                return create_view(self.spark, names, statement, text)
            case DropView():
                return drop_view(self.spark, names, statement, text)
            case CreateDatabase():
                is_done = tables.create_database(names, statement, text)
                return f"created database {statement.name}" if is_done else f"database {statement.name} exists"
            case DropDatabase():
                is_done = tables.drop_database(names, statement, text)
                return f"dropped database {statement.name}" if is_done else f"database {statement.name} does not exist"
            case DropTable():
                is_done = tables.drop(names, statement, text)
                full = names.full(statement.table, text)
                return f"dropped table {full}" if is_done else f"table {full} does not exist"
            case RenameTable():
                tables.rename(names, statement, text)
                return f"renamed table {names.full(statement.table, text)}"
            case AlterTable():
                tables.alter(names, statement, text)
                return f"altered table {names.full(statement.table, text)}"
            case ChangeTag():
                return change_tag(names, statement, text)
            case Use():
                names.database = names.known_database(statement.database, statement.at, text)
                return f"names without database are in {names.database}"

    # -- DataFrames

    def table(self, name: str) -> DataFrame:
        """Return the rows of a table or system table at its newest snapshot; the name is as in ``Catalog.table``.

        A name without database is in ``database``. Raises the errors of ``Catalog.table`` and of reads.
        """
        if not isinstance(name, str):
            raise InvalidRequest(f"table takes the name of a table, not {name!r:.60}")
        full = name if "." in name else f"{self.database}.{name}"
        if Identifier.is_system(full):
            return system_frame(self.spark, self.catalog.system_table(full))
        return read_spark(self.spark, pinned(self.catalog.table(full)))

    def views(self, database: str | None = None) -> list[str]:
        """Create a temporary view for each table of a database, and return the names of the views.

        A view has the name of its table. Until ``refresh``, it has the rows of the snapshot that is the latest during
        this call. Raises DatabaseNotFound; InvalidRequest when another temporary view has the name of a table, or when
        two tables differ only by the case of letters; and the errors of ``Catalog.table``.
        """
        database = self.database if database is None else database
        names = self.catalog.list_tables(database)
        for name in names:
            same = [other for other in names if other.casefold() == name.casefold()]
            if len(same) > 1:
                raise InvalidRequest(f"the views of tables {' and '.join(same)} would have the same name", name=name)
            known = self._names.views.get(name.casefold())
            if known is None and self.spark.catalog.tableExists(quoted(name)):
                if self.spark.catalog.getTable(quoted(name)).isTemporary:
                    raise InvalidRequest(f"there is a temporary view {name!r} already: drop or rename it", name=name)
            elif known is not None and known != f"{database}.{name}":
                raise InvalidRequest(
                    f"the view {name!r} is of table {known}: drop it with spark.catalog first", name=name
                )
        frames = {name: self.table(f"{database}.{name}") for name in names}
        for name, rows in frames.items():
            rows.createOrReplaceTempView(quoted(name))
            self._names.views[name.casefold()] = f"{database}.{name}"
        return names

    def refresh(self) -> list[str]:
        """Create the views of ``views`` and of ``CREATE TEMPORARY VIEW`` again at the newest snapshots.

        Returns their names. The view of a table that was dropped is dropped. Raises the errors of the queries of views.
        """
        kept = {name: full for name, full in self._names.views.items() if self.catalog.table_exists(full)}
        for name in self._names.views.keys() - kept.keys():
            self.spark.catalog.dropTempView(name)
        self._names.views = kept
        for full, rows in {full: self.table(full) for full in kept.values()}.items():
            rows.createOrReplaceTempView(quoted(full.partition(".")[2]))
        self._names.forget()
        created = refresh_views(self.spark, self._names)
        return sorted([*(full.partition(".")[2] for full in kept.values()), *created])
