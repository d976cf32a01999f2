"""Sources: where the rows of a table come from. ``type`` selects the kind; each kind has its own keys.

Files of change events are of the kind ``files``, with a format such as ``debezium-json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from paimon_lake.declarations.model import Model, Names, SomeNames, Texts
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.lake_table import LakeTableSource
from paimon_lake.declarations.sources.lookup import Lookup

EVENT_FORMATS = ("debezium-json", "canal-json", "maxwell-json")
"""The formats of files whose lines are changes of the rows of a table."""
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_VARIABLE = re.compile(r"\$\{\w+(?::-)?\}")
_PASSWORD = re.compile(r"://[^/@\s]*:(?!\d+(?:[/?]|$))\S+@|[?&](?:ssl)?password=[^&\s]")


def _function(value: str) -> str:
    if not _FUNCTION.fullmatch(value):
        raise ValueError(f"must be module:function, not {value!r:.80}")
    return value


def _optional_function(value: str) -> str:
    return _function(value) if value else ""


class FilesSource(Model):
    """Files of a directory or an object store; every file is loaded exactly once."""

    type: Literal["files"]
    """Files of a directory or an object store."""
    path: Annotated[str, Field(min_length=1)]
    """A path or URL. ``*`` stands for any name, ``**`` for any directories; ``{date}``, ``{month}``, ``{week}``,
    ``{hour}`` or ``{name}`` for the partition. A relative path starts at the folder of the declarations, or with
    ``fetch`` at the landing directory."""
    fetch: Annotated[str, AfterValidator(_optional_function)] = ""
    """``module:function``, called as ``function(step)`` before a load lists the files: it writes files into
    ``step.landing``, for example from a web service. A file must get its final name only when it is complete."""
    format: (
        Literal["csv", "json", "jsonl", "parquet", "orc", "avro", "debezium-json", "canal-json", "maxwell-json"] | None
    ) = None
    """The format of the files; default: the ending of ``path``. In ``debezium-json``, ``canal-json`` and
    ``maxwell-json`` each line is an event that inserts, updates or deletes rows."""
    options: dict[str, Any] = Field(default={})
    """Options of the format, such as ``delimiter`` and ``null_value`` of csv: see the table of options."""
    rename: Texts = Field(default={})
    """Maps a column of the file to a column of the table."""
    add: Mapping[str, Literal["partition", "file"]] = Field(default={})
    """Columns that the files do not have; maps a column to its value: ``partition`` (the partition key) or ``file``
    (the path)."""
    source_column: str = ""
    """For change events: the column of the table, a text, that has the name of the source table of each row, such as
    ``shop.orders_1``. The column may be part of the primary key, so that rows of shards with the same keys stay
    separate."""
    schema_changes: Literal["refuse", "ignore", "apply"] = "refuse"
    """For change events: the action when rows have a column that the table does not have, or a schema states a wider
    type: the load stops (``refuse``), leaves the column out and reports it (``ignore``), or alters the table
    (``apply``)."""
    late: Literal["load", "tell"] = "load"
    """The action for a new file in a partition that was loaded before: ``load`` it, or only report it (``tell``)."""
    changed: Literal["tell", "load", "fail"] = "tell"
    """The action for a file that changed after it was loaded: only report it in the result (``tell``), ``load`` it
    again, or ``fail`` the load."""
    lookup: tuple[Lookup, ...] = Field(default=(), strict=False)
    """Columns that are taken from other tables of the lake."""

    @property
    def has_events(self) -> bool:
        """Whether the lines of the files are changes of rows."""
        return self.format in EVENT_FORMATS


class SqlSource(Model):
    """A SELECT of Spark SQL over tables of the lake, which it names as ``database.table``."""

    type: Literal["sql"]
    """A SELECT over tables of the lake."""
    query: str = ""
    """The text of the query."""
    file: str = ""
    """A file with the query, relative to the folder of the declarations."""
    inputs: SomeNames
    """The tables of the lake that the query reads."""
    read: Literal["partition", "whole", "changes"] | None = None
    """Which rows of its inputs the query reads: the rows of the partitions of the run, all rows, or the rows that
    changed since the last commit of this table. Default: ``partition`` for a table with partitions, otherwise
    ``whole``.
    """

    @model_validator(mode="after")
    def _one_query(self) -> SqlSource:
        if bool(self.query.strip()) == bool(self.file):
            raise ValueError("a sql source needs either query or file")
        return self


class PythonSource(Model):
    """A function of the user: ``function(spark, step) -> DataFrame``."""

    type: Literal["python"]
    """A function that returns the rows."""
    function: Annotated[str, AfterValidator(_function)]
    """``module:function``; the folder of the declarations is searched first."""
    inputs: Names = ()
    """The tables of the lake that the function reads."""


def _url(value: str) -> str:
    scheme = value.split("://", 1)[0]
    if "://" not in value or scheme not in ("postgresql", "sqlite"):  # the value may contain a password
        raise ValueError("must be postgresql://... or sqlite:///path")
    return value


_IGNORED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


class DatabaseSource(Model):
    """A query to a PostgreSQL or SQLite database."""

    type: Literal["database"]
    """A query to a PostgreSQL or SQLite database."""
    url: Annotated[str, AfterValidator(_url), Field(repr=False)]
    """``postgresql://user:${PASSWORD}@host/database`` or ``sqlite:///path``."""
    table: str = ""
    """The table of the database. All of its rows are read, or with ``watermark`` only the rows above it."""
    query: str = ""
    """A SELECT in the language of the database, instead of ``table``."""
    watermark: str = ""
    """A column of the database whose new values are always greater than the old values: a load reads the rows above the
    greatest loaded value. Rows that are committed later with the same value or a smaller value are never read. Such
    rows exist because clocks differ, and because a long transaction commits after shorter transactions that began
    later; ``lag`` waits for such rows. Rows with a null in this column are never loaded, only counted.
    """
    lag: Annotated[float, Field(ge=0, le=31_536_000, allow_inf_nan=False)] = 0.0
    """Seconds by which loads stay behind, for a watermark of timestamps in PostgreSQL. With a time zone, loads stay
    behind the clock of the database; otherwise behind the greatest value. It should be longer than the longest
    transaction of a writer."""
    split: str = ""
    """A column of whole numbers; its range is read in ``parts`` parallel parts. The parts of a load see PostgreSQL at
    one moment. With SQLite, the parts of a load read different states: a row whose value in this column changes during
    the load may be read twice or not at all.
    """
    parts: Annotated[int, Field(ge=1, le=16)] = 4
    """The number of parts that are read in parallel; needs ``split``. At most 16, because each part adds a sorted run
    to the buckets of a table with a key."""
    lookup: tuple[Lookup, ...] = Field(default=(), strict=False)
    """Columns that are taken from other tables of the lake."""

    @model_validator(mode="after")
    def _one_query(self) -> DatabaseSource:
        if bool(self.query.strip()) == bool(self.table):
            raise ValueError("a database source needs either table or query")
        text = _IGNORED.sub(" ", self.query).strip().lower()
        if text and (";" in text or not re.match(r"(select|with)\b", text)):
            raise ValueError("query must be one SELECT or WITH, without a semicolon")
        if self.table and not all(self.table.split(".")):
            raise ValueError(f"table must be a name, or schema.name, not {self.table!r:.80}")
        if self.lag and not self.watermark:
            raise ValueError("lag needs watermark")
        if self.lag and self.url.startswith("sqlite"):
            raise ValueError("lag needs PostgreSQL: SQLite has no timestamps")
        if "parts" in self.model_fields_set and not self.split:
            raise ValueError("parts needs split, the column of whole numbers whose range is divided")
        return self


def postgresql_url(value: str) -> str:
    """Return the URL of a PostgreSQL database, or ""; raises ValueError for another URL, without the URL."""
    if value and not value.startswith("postgresql://"):  # the value may contain a password
        raise ValueError("must be postgresql://...: changes are read from the log of PostgreSQL")
    return value


def _one_database(value: Any) -> Any:
    if isinstance(value, list | tuple):  # the values may contain passwords
        raise ValueError(
            "must be one database: the position of a table is in the log of one server; declare a table for each "
            "database, and join them in a table with a source of type sql"
        )
    return value


def slot_name(value: str) -> str:
    """Return the name of a replication slot, or ""; raises ValueError for a text that cannot be such a name."""
    if value and not re.fullmatch(r"[a-z0-9_]{1,63}", value):
        raise ValueError(f"must be at most 63 of a-z, 0-9 and _, not {value!r:.80}")
    return value


OF_SLOT = frozenset(("url", "publication", "slot", "batch_rows", "batch_bytes", "transaction_bytes", "run_seconds"))
"""The keys about the slot of a ``postgres_changes`` source; a source with ``database`` gets them from the database."""


class PostgresChangesSource(Model):
    """A table of PostgreSQL that is copied once; then loads read its changes from the log, by logical replication."""

    type: Literal["postgres_changes"]
    """A table of PostgreSQL with its changes."""
    url: Annotated[
        str,
        BeforeValidator(_one_database, json_schema_input_type=str),
        AfterValidator(postgresql_url),
        Field(repr=False),
    ] = ""
    """``postgresql://user:${PASSWORD}@host/database``; the user needs REPLICATION and SELECT on the table. The table
    has a slot of its own."""
    database: Annotated[str, BeforeValidator(_one_database, json_schema_input_type=str)] = ""
    """Instead of ``url``: a name below ``postgres`` in ``base.yaml``. The tables of this name share one slot, one
    publication and one read of the log."""
    table: SomeNames
    """The table as ``schema.name``. With ``source_column``, the value may be several tables with the same columns: a
    list, or a pattern such as ``public.orders_*``, in which ``*`` stands for any text.
    """
    source_column: str = ""
    """The column of the table, a STRING of the primary key, that has the name of the source table of each row, such as
    ``public.orders_1``."""
    publication: str = ""
    """The name of a publication that exists and has the table. Default: the first load creates one, for which the user
    must own the table and have CREATE on the database."""
    slot: Annotated[str, AfterValidator(slot_name)] = ""
    """The name of an existing replication slot with the plugin pgoutput, which no other program reads. Default: the
    first load creates a slot."""
    split: str = ""
    """A column of whole numbers; the first copy reads its range in ``parts`` parallel parts, all at one moment."""
    parts: Annotated[int, Field(ge=1, le=16)] = 4
    """The number of parts that are copied in parallel; needs ``split``, or several tables."""
    batch_rows: Annotated[int, Field(ge=1, le=10_000_000)] = 200_000
    """About how many changes one commit has. A commit ends with a whole transaction, so it may have more changes."""
    batch_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 64 << 20
    """A commit ends with the first whole transaction after this many bytes of changes. A load takes several times this
    memory in the driver."""
    transaction_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 256 << 20
    """The largest number of bytes of changes that one transaction may have in the table; a larger transaction is
    refused.
    """
    run_seconds: Annotated[int, Field(ge=1)] = 3600
    """After this time a run begins no further commit; the next run continues."""
    schema_changes: Literal["refuse", "ignore", "apply"] = "refuse"
    """The action when the source gets a column or a wider type: the load stops (``refuse``), leaves the column out and
    reports it (``ignore``), or alters the table (``apply``). A column that is dropped, renamed or gets another type
    always stops the load."""
    lookup: tuple[Lookup, ...] = Field(default=(), strict=False)
    """Columns that are taken from other tables of the lake."""

    @property
    def name(self) -> str:
        """The table, or the tables and patterns, as errors name them."""
        return ", ".join(self.table)

    @model_validator(mode="after")
    def _names(self) -> PostgresChangesSource:
        if bool(self.url) == bool(self.database):
            raise ValueError("a postgres_changes source needs either url or database")
        if self.database and (shared := sorted(OF_SLOT & self.model_fields_set)):
            raise ValueError(
                f"{shared[0]} belongs to the slot, which the tables of a database share: write it into base.yaml, "
                f"below postgres.{self.database}"
            )
        for name in self.table:
            if len(parts := name.split(".")) != 2 or not all(parts):
                raise ValueError(f"table must be schema.name, such as public.orders, not {name!r:.80}")
            if self.table.count(name) > 1:
                raise ValueError(f"table names {name!r:.80} twice")
        if not self.source_column and (len(self.table) > 1 or "*" in self.name):
            what = "a list" if len(self.table) > 1 else f"the pattern {self.name!r:.80}"
            raise ValueError(
                f"table is one table, not {what}, without source_column: declare a column of the primary key that gets "
                "the name of the table of each row, so that rows of two tables with equal keys stay separate"
            )
        if "parts" in self.model_fields_set and not self.split and not self.source_column:
            raise ValueError("parts needs split, the column of whole numbers whose range is divided")
        return self


Source = Annotated[
    FilesSource | SqlSource | PythonSource | DatabaseSource | PostgresChangesSource | KafkaSource | LakeTableSource,
    Field(discriminator="type"),
]

CHANGES = "postgres_changes or kafka"
"""The types of sources of changes, as errors name them."""


def has_changes(source: Source | None) -> bool:
    """Whether a source has a log of changes, so that the lag of its table can be determined."""
    return isinstance(source, PostgresChangesSource | KafkaSource)


def password_in(url: str) -> bool:
    """Whether a URL, as written in a file, contains a password that is not a variable."""
    return bool(_PASSWORD.search(_VARIABLE.sub("", url)))
