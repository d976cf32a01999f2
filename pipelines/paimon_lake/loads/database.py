"""Loads of a database: all rows of a table or query, or only the rows above the watermark of the last load.

A load with a watermark first reads the greatest value of the watermark column. It loads the rows above the value in the
ledger, up to the greatest value, and records the greatest value in the ledger. If ``source.split`` divides a load of
PostgreSQL into parts, all parts read the snapshot of one transaction, which this process keeps open. The rows are read
after the greatest value. Rows that are committed later with a value up to the greatest value are not seen by any later
load, except with ``reload``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_lake.declarations.sources.source import DatabaseSource
from paimon_lake.loads.ledger.load_snapshot import KEY, WATERMARK
from paimon_lake.loads.shapes.row_shape import RowShape, shape_of
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import ReadPart, WriteResult, write_parts
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.database import Connection, Database, open_database
from paimon_lake.sources.database_rows import DatabaseRows, found_column, postgresql_type, rows_of_database
from paimon_lake.sources.database_sql import (
    TIMES,
    Mark,
    greatest,
    quoted,
    select,
    split_conditions,
    sqlite_kinds,
    window,
)
from paimon_lake.sources.files.columns import required_columns
from paimon_lake.sources.files.listing import SourceFile
from paimon_lake.sources.files.rejects import Parsed

_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8"), "int"),
    **dict.fromkeys(("text", "varchar"), "text"),
    **{name: name for name in ("date", "timestamp", "timestamptz")},
}


@dataclass(frozen=True)
class DatabaseRead:
    """The rows that one load reads."""

    database: Database
    shape: RowShape
    rows: DatabaseRows
    conditions: tuple[str, ...] = ()
    split: str = ""


class DatabaseLoads:
    """The loads of a table from a database."""

    def __init__(self, source: DatabaseSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the load; NothingToLoad when no row is above the last watermark, or when the run was loaded before."""
        with naming(step):
            return self._plan(step)

    def _plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        source = self._source
        database = open_database(source.url, table=source.table, query=source.query, folder=step.settings.folder)
        key = hashlib.sha256(json.dumps([database.name, source.query, step.run_key]).encode()).hexdigest()[:24]
        if step.run_key and key in step.ledger.keys and not step.reload:
            return NothingToLoad([f"loaded before, in snapshot {step.ledger.keys[key]}"])
        entries = {KEY: key} if step.run_key else {}
        with database.connected() as connection:
            read = self._read(step, database, connection)
            if not source.watermark:
                everything = step.replacement(None)
                return PlannedLoad(lambda: self._write(step, read), entries, {}, everything, rejects_of=[database.name])
            column = found_column(database.name, connection.schema().names, source.watermark)
            low = self._loaded(step, column, database)
            high, nulls = _bounds(connection, column, low, source.lag)
        told: dict[str, str | int | float] = {"rows_without_watermark": nulls} if nulls else {}
        if high is None:
            above = f" above {low.value}" if low is not None else ""
            left_out = f"; {nulls:,} rows have none and are never loaded" if nulls else ""
            return NothingToLoad([f"no row of {database.name} has a watermark {column!r}{above}{left_out}"])
        read = DatabaseRead(read.database, read.shape, read.rows, tuple(window(column, low, high)), read.split)
        told["watermark"] = high.value
        entries[WATERMARK] = json.dumps({**high.to_json(), **self._origin(database)})
        again = [database.name] if step.reload else ()
        return PlannedLoad(lambda: self._write(step, read), entries, told, step.replacement(None), rejects_of=again)

    def _read(self, step: LoadStep, database: Database, connection: Connection) -> DatabaseRead:
        shape, found = shape_of(step.spec, self._source, step.table, step.lookups), connection.schema()
        required = required_columns(shape.file_schema, shape.rules)
        is_postgresql = database.is_postgresql
        rows = rows_of_database(database.name, found, shape.file_schema, required, is_postgresql=is_postgresql)
        split = self._source.split
        if split:
            split = split_column(database.name, found, split, is_postgresql=is_postgresql)
        return DatabaseRead(database, shape, rows, (), split)

    def _origin(self, database: Database) -> dict[str, str]:
        """Return the origin of a watermark: the place of the database, and a digest of the table or query."""
        what = json.dumps([self._source.table, self._source.query.strip()])
        return {"database": database.place, "relation": hashlib.sha256(what.encode()).hexdigest()[:24]}

    def _loaded(self, step: LoadStep, column: str, database: Database) -> Mark | None:
        """Return the watermark of the ledger; None when it has none, and for a reload.

        Raises PipelineError when the watermark is of another column, table or database.
        """
        if step.reload or step.ledger.watermark is None:
            return None
        entry = step.ledger.watermark
        origin = self._origin(database)
        given = {name: entry.get(name) for name in origin} if isinstance(entry, dict) else {}
        values = {name: one for name, one in entry.items() if name not in origin} if isinstance(entry, dict) else entry
        mark = Mark.from_json(values)
        if mark.column != column:
            raise PipelineError(
                f"source.watermark is {column!r}, and the rows up to {mark.value} of {mark.column!r} were loaded: "
                "load the table with reload, or name the old column"
            )
        if given != origin:
            other = "another table or query of it" if given["database"] == origin["database"] else given["database"]
            raise PipelineError(
                f"the source is {database.name}, and the rows up to {mark.value} of {column!r} were loaded from "
                f"{other or 'a database that the ledger does not name'}: load the table with reload, or name the old "
                "source"
            )
        return mark

    def _write(self, step: LoadStep, read: DatabaseRead) -> WriteResult:
        with contextlib.ExitStack() as opened:
            conditions, snapshot = [""], None
            if read.split:
                with naming(step):
                    connection = opened.enter_context(read.database.connected())
                    conditions = parts_of(connection, read, self._source.parts)
                    if read.database.is_postgresql and len(conditions) > 1:
                        snapshot = connection.export_snapshot()
            return write_read(step, read, conditions, snapshot, overwrites=step.replaces)


def write_read(
    step: LoadStep, read: DatabaseRead, parts: Sequence[str], snapshot: str | None, *, overwrites: bool
) -> WriteResult:
    """Read and write the rows of each condition in ``parts`` in a task of its own. All tasks read the exported
    ``snapshot``; None: each task reads at its own moment.
    """
    sql = [select(read.rows.selected, read.database.relation, [*read.conditions, part]) for part in parts]
    return write_parts(
        step.spark(),
        [text.encode() for text in sql],
        _reader(read.database, read.rows, read.shape, snapshot),
        step.table,
        step.rejects,
        step.stamp,
        kinds=read.shape.kinds_column,
        overwrites=overwrites,
        lookups=step.lookups,
    )


def _reader(database: Database, rows: DatabaseRows, shape: RowShape, snapshot: str | None) -> ReadPart:
    def read(payload: bytes) -> Iterator[Parsed]:
        with database.connected(snapshot) as connection:
            for batch in connection.batches(payload.decode()):
                parsed = rows.parsed(batch)
                file = SourceFile(database.name, 0, "", "")
                yield replace(parsed, rows=shape.table_rows(parsed.rows, file), file=file.path)

    return read


def _bounds(connection: Connection, column: str, low: Mark | None, lag: float) -> tuple[Mark | None, int]:
    """Return the greatest watermark to load (None if no row is above ``low``), and the number of rows without a
    watermark.
    """
    database = connection.database
    where = f"{database.name}: the watermark {column!r}"
    if not database.is_postgresql:
        return _sqlite_bounds(connection, column, low, where)
    type_name = postgresql_type(connection.schema().field(column))
    kind = _KINDS.get(type_name)
    if kind is None:
        raise PipelineError(f"{where} has the type {type_name}, not whole numbers, texts, dates or timestamps")
    if lag and kind not in TIMES:
        raise PipelineError(f"{where} has the type {type_name}: source.lag needs timestamps")
    _check_kind(low, kind, where)
    nulls = connection.rows(select(["count(*)"], database.relation, [f"{quoted(column)} IS NULL"]))[0][0]
    found = connection.rows(greatest(column, kind, database.relation, low, lag))
    if not found:
        return None, nulls
    high = Mark(column, kind, str(found[0][0]))
    try:
        high.literal()
    except PipelineError:
        raise PipelineError(f"{where} has infinity, or a year outside 1 to 9999, as its greatest value") from None
    return high, nulls


def _sqlite_bounds(connection: Connection, column: str, low: Mark | None, where: str) -> tuple[Mark | None, int]:
    relation = connection.database.relation
    found = {kind: (count, text) for kind, count, text in connection.rows(sqlite_kinds(column, relation))}
    nulls = found.pop("null", (0, ""))[0]
    if not found:
        return None, nulls
    if len(found) > 1 or not found.keys() <= {"integer", "text"}:
        raise PipelineError(
            f"{where} has values of the types {', '.join(sorted(found))}: all must be integers or texts"
        )
    ((kind, (_, text)),) = found.items()
    high = Mark(column, {"integer": "int"}.get(kind, kind), text)
    _check_kind(low, high.kind, where)
    if low is not None and not connection.rows(select(["1"], relation, window(column, low, high)) + " LIMIT 1"):
        return None, nulls
    return high, nulls


def _check_kind(low: Mark | None, kind: str, where: str) -> None:
    if low is not None and low.kind != kind:
        raise PipelineError(
            f"{where} is now of the type {kind}, and the rows up to the {low.kind} {low.value} were loaded: "
            "load the table with reload"
        )


def split_column(name: str, schema: pa.Schema, split: str, *, is_postgresql: bool) -> str:
    """Return the column of the database by which a load is divided. Raises PipelineError if it is missing, or if its
    type in PostgreSQL is not an integer.
    """
    column = found_column(name, schema.names, split)
    kind = postgresql_type(schema.field(column)) if is_postgresql else "int8"
    if _KINDS.get(kind) != "int":
        raise PipelineError(f"{name}: source.split {column!r} has the type {kind}, not whole numbers")
    return column


def parts_of(connection: Connection, read: DatabaseRead, parts: int) -> list[str]:
    """Return the condition of each part: ranges of the split column that together cover all rows of this load."""
    database, column = read.database, quoted(read.split)
    if not database.is_postgresql:
        strange = f"typeof({column}) NOT IN ('integer', 'null')"
        found = connection.rows(select([f"typeof({column})"], database.relation, [strange]) + " LIMIT 1")
        if found:
            raise PipelineError(f"{database.name}: source.split {read.split!r} has a {found[0][0]}: it needs integers")
    ends = select([f"min({column})", f"max({column})"], database.relation, read.conditions)
    ((low, high),) = connection.rows(ends)
    return [""] if low is None else split_conditions(read.split, low, high, parts)


@contextlib.contextmanager
def naming(step: LoadStep) -> Iterator[None]:
    """Begin the sentence of a PipelineError with the name of the table, as errors of tasks do."""
    try:
        yield
    except PipelineError as error:
        message = str(error)
    else:
        return
    raise PipelineError(message if message.startswith(f"{step.spec.name}:") else f"{step.spec.name}: {message}")
