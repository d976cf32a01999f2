"""Bad inputs: what a case is, and the lake on which the cases run.

A case is one call with an input that must be refused. ``outcome`` runs it and says what is wrong with the refusal.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from fsspec.implementations.memory import MemoryFileSystem

import paimon_core as paimon
from paimon_core.catalog.catalog import Catalog
from paimon_core.cli.main import main
from paimon_core.metadata.context import TableContext
from paimon_lake.declarations.errors import SettingsError
from tests.support.broken_tables import some_rows

LONGEST_MESSAGE = 600
LONGEST_VALUE = 120
SECRET = "c4n4ry-0f-4-s3cr3t"
_RUN = re.compile(rf"(.)\1{{{LONGEST_VALUE}}}")
_numbers = itertools.count()


class CommandRefused(Exception):
    """A command ended with an exit code other than 0; the message is what it printed to standard error."""


KNOWN = (paimon.PaimonError, CommandRefused, SettingsError)
"""The errors that an input may raise: those of the library, of its commands and of declarations."""


class Lake:
    """A lake in memory and a directory on disk, with tables that no case may change.

    ``keyed`` has the primary key k and one snapshot; ``append`` is without a key; ``wide`` has a column of every type;
    ``days`` is partitioned by day, ``names`` by name, ``places`` by ten texts; ``notnull`` has columns that must not be
    null; ``merging`` aggregates. ``message`` is a commit message of ``keyed``, whose files exist.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.url = f"memory://bad-inputs-{next(_numbers)}"
        catalog = self.catalog
        catalog.create_database("db")
        keyed = {"bucket": "2", "write-only": "true"}
        rows = pa.schema([("k", pa.int32()), ("v", pa.string())])
        table = catalog.create_table("db.keyed", rows, primary_key=["k"], options=keyed)
        table.write(some_rows(range(20)))
        table.tags.create("monday")
        table.branches.create("dev")
        catalog.create_table("db.append", rows).write(some_rows(range(3)))
        catalog.create_table("db.wide", WIDE)
        days = catalog.create_table("db.days", "day DATE, k INT, v STRING", partition_by=["day"])
        days.write([{"day": "2024-01-31", "k": 1, "v": "a"}])
        catalog.create_table("db.names", "name STRING, k INT", partition_by=["name"])
        places = [f"{name} STRING" for name in "abcdefghij"]
        catalog.create_table("db.places", f"{', '.join(places)}, v INT", partition_by=list("abcdefghij"))
        catalog.create_table("db.notnull", "k INT NOT NULL, v STRING NOT NULL")
        summed = {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
        summed["fields.p.aggregate-function"] = "product"
        sums = "k INT, v TINYINT, p INT, l STRING, kind STRING"
        catalog.create_table("db.merging", sums, primary_key=["k"], options=summed)
        kinds = {"bucket": "1", "rowkind.field": "kind"}
        catalog.create_table("db.kinds", "k INT, kind STRING", primary_key=["k"], options=kinds)
        with self.table("keyed").writer() as writer:
            writer.write(some_rows([7]))
            self.message = writer.flush()[0]

    @property
    def catalog(self) -> Catalog:
        """The catalog, as a new process opens it."""
        return paimon.open_catalog(self.url)

    def table(self, name: str) -> paimon.Table:
        return self.catalog.table(f"db.{name}")

    def context(self) -> TableContext:
        """The context of the table ``keyed``, as a new process opens it."""
        return self.table("keyed").context

    @cached_property
    def sql(self) -> Catalog:
        """A catalog in SQLite, on the directory."""
        catalog = paimon.open_catalog(self.directory / "sql", type="sql", uri=f"sqlite:///{self.directory}/catalog.db")
        catalog.create_database("db")
        return catalog

    @cached_property
    def local(self) -> Catalog:
        """A catalog on the disk, on the directory."""
        catalog = paimon.open_catalog(self.directory / "local")
        catalog.create_database("db")
        catalog.create_table("db.t", "k INT, v STRING").write([{"k": 1, "v": "a"}])
        return catalog

    def create(self, schema: Any, **arguments: Any) -> paimon.Table:
        """Create a table that must not come into being."""
        return self.catalog.create_table("db.new", schema, **arguments)

    def command(self, *arguments: str) -> None:
        """Run a command on the warehouse; raises CommandRefused."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([*arguments, "--warehouse", self.url])
            except SystemExit as stopped:
                code = int(stopped.code or 0)
        if code:
            raise CommandRefused(err.getvalue().removesuffix("\n"))

    def files(self) -> dict[str, bytes]:
        """Every file of the lake and of the directory, with its bytes."""
        memory = {path: file.getvalue() for path, file in MemoryFileSystem.store.items()}
        disk = {str(p): _content(p) for p in self.directory.rglob("*") if not p.is_symlink()}
        return memory | disk

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Undo afterwards what the block did to files in memory."""
        kept = {path: file.getvalue() for path, file in MemoryFileSystem.store.items()}
        try:
            yield
        finally:
            store = MemoryFileSystem.store
            for path in [path for path in store if path not in kept]:
                del store[path]
            for path, data in kept.items():
                if path not in store or store[path].getvalue() != data:
                    MemoryFileSystem().pipe_file(path, data)


def _content(path: Path) -> bytes:
    """The bytes of a file, and of a database its rows: a transaction that is undone changes its bytes."""
    if not path.is_file():
        return b""
    if path.suffix != ".db":
        return path.read_bytes()
    with contextlib.closing(sqlite3.connect(path)) as database:
        return "\n".join(database.iterdump()).encode()


WIDE = """
    b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(5, 2), c CHAR(3),
    vc VARCHAR(4), s STRING, bin BINARY(2), vb VARBINARY(3), day DATE, t0 TIME(0), t3 TIME(3), ts0 TIMESTAMP(0),
    ts3 TIMESTAMP(3), ts6 TIMESTAMP(6), ts9 TIMESTAMP(9), ltz TIMESTAMP(3) WITH LOCAL TIME ZONE,
    arr ARRAY<INT NOT NULL>, m MAP<STRING, INT>, ms MULTISET<STRING>, r ROW<x INT, y STRING NOT NULL>
"""


@dataclass(frozen=True)
class Case:
    """One bad input: the call, the class of the error, and what its message must contain, as regular expressions.

    ``damage`` and ``before`` change files before the call, as another program may; the call itself must change nothing.
    """

    call: Callable[[Lake], Any]
    error: type[Exception]
    says: tuple[str, ...]
    damage: Callable[[TableContext], Any] | None = None
    before: Callable[[Lake], Any] | None = None


Cases = Mapping[str, Case]


def case(call: Callable[[Lake], Any], error: type[Exception], *says: str) -> Case:
    return Case(call, error, says)


def outcome(lake: Lake, tried: Case) -> str:
    """Return "clear", "silent: ..." when the input is accepted or changes a file, or "unclear: ..."."""
    with lake.restored():
        if tried.damage is not None:
            tried.damage(lake.context())
        if tried.before is not None:
            tried.before(lake)
        before = lake.files()
        try:
            result = tried.call(lake)
        except KNOWN as error:
            problem = _problem(error, tried)
        except Exception as error:
            problem = f"unclear: {type(error).__name__} is not an error of this library: {error!r:.300}"
        else:
            return f"silent: it returned {result!r:.200}"
        after = lake.files()
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        return f"silent: it changed {changed[:3]}" if changed else problem


def _problem(error: Exception, tried: Case) -> str:
    text = str(error)
    if not isinstance(error, tried.error):
        return f"unclear: it raised {type(error).__name__}, not {tried.error.__name__}: {text:.600}"
    for piece in tried.says:
        if not re.search(piece, text):
            return f"unclear: {piece!r} is not in {text:.900}"
    if len(text) > LONGEST_MESSAGE:
        return f"unclear: the message has {len(text)} characters: {text:.600}"
    if not text.isprintable():
        return f"unclear: the message is not one line of printable text: {text!r:.600}"
    if _RUN.search(text):
        return f"unclear: the message has a value of more than {LONGEST_VALUE} characters: {text:.600}"
    return f"unclear: the message has a secret: {text:.600}" if SECRET in text + repr(error) else "clear"
