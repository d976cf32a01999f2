"""Tables: the declaration of one table, read from ``tables/<database>.<table>.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from paimon_lake.declarations.errors import Mistake, nearest
from paimon_lake.declarations.model import Model, Names, Texts
from paimon_lake.declarations.schedule import Schedule, schedule_of
from paimon_lake.declarations.sources.change_events import check_events, has_events
from paimon_lake.declarations.sources.followed import check_followed, check_lag
from paimon_lake.declarations.sources.kafka import KafkaSource, check_kafka
from paimon_lake.declarations.sources.kinds import Kinds
from paimon_lake.declarations.sources.lake_table import LakeTableSource, check_lake_table
from paimon_lake.declarations.sources.lookup import check_lookups
from paimon_lake.declarations.sources.parts import Part, part_options
from paimon_lake.declarations.sources.source import (
    CHANGES,
    DatabaseSource,
    FilesSource,
    PythonSource,
    Source,
    SqlSource,
    has_changes,
)
from paimon_lake.declarations.tables.checks import Check
from paimon_lake.declarations.tables.columns import Columns, with_comments_apart
from paimon_lake.declarations.tables.partitions import Partitions
from paimon_lake.declarations.tables.rejects import Rejects
from paimon_lake.declarations.tables.sample import Sample, check_sample
from paimon_lake.declarations.tables.upkeep import Compaction, Retention

Mode = Literal["upsert", "append", "overwrite-partitions", "overwrite", "changes"]
_TAG = re.compile(r"[A-Za-z0-9_.-]{1,63}")
_EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}\b")


def _partitions(value: Any) -> Any:
    """Return None for the word ``none``, and a mapping with the key ``by`` for another word, such as ``dynamic``."""
    return None if value == "none" else {"by": value} if isinstance(value, str) else value


def _owners(value: tuple[str, ...]) -> tuple[str, ...]:
    for owner in value:
        if not (_EMAIL.fullmatch(owner) or (owner.startswith("team:") and owner != "team:")):
            raise ValueError(f"an owner must be an email address or team:<name>, not {owner!r:.80}")
    return value


def _tags(value: tuple[str, ...]) -> tuple[str, ...]:
    for tag in value:
        if not _TAG.fullmatch(tag):
            raise ValueError(f"each must have at most 63 letters, digits, _, . and -, not {tag!r:.80}")
    return value


class TableSpec(Model):
    """One table of a lake, declared in ``tables/<database>.<table>.yaml``."""

    not_in_file: ClassVar[frozenset[str]] = frozenset(("name", "column_comments"))
    name: str
    """The name, ``<database>.<table>``: the name of the file."""
    comment: str = ""
    """A description of the table."""
    columns: Columns = Field(default={})
    """Names and Paimon types of the columns, in order; a column with a comment is a mapping ``{type: ..., comment:
    ...}``. ``infer``: the columns are read from the source."""
    column_comments: Mapping[str, str] = Field(default={})
    """The comments of the columns that have one."""
    primary_key: Names = ()
    """The columns that identify a row; a new row replaces the row with the same key."""
    natural_key: Names = ()
    """The columns that are unique in a table without a primary key, for the check ``unique``; loads do not use them."""
    partition_by: Names = ()
    """The columns whose values divide the files of the table into directories."""
    options: Texts = Field(default={})
    """Paimon's table options, see docs/options.md."""
    owners: Annotated[Names, AfterValidator(_owners)] = ()
    """The owners of the table: email addresses or ``team:<name>``."""
    tags: Annotated[Names, AfterValidator(_tags)] = ()
    """Words by which commands choose tables (``--table tag:NAME``); they are tags of the asset in Dagster."""
    source: Source | None = None
    """Where the rows come from; ``type`` selects the kind."""
    parts: Mapping[str, Part] = Field(default={})
    """Several sources, instead of ``source``; each source fills its own columns of the rows that have its keys."""
    partitions: Annotated[
        Partitions | None,
        BeforeValidator(_partitions, json_schema_input_type=Literal["none", "dynamic"] | Partitions | None),
    ] = None
    """How loads are divided, so that a run loads some of the partitions and a backfill loads the other partitions."""
    mode: Mode | None = None
    """How a load writes. Default: ``changes`` with ``kinds`` and for change events; otherwise ``upsert`` with a primary
    key, and ``append`` without. But a sql source that reads whole inputs replaces all rows (``overwrite``), and a sql
    source that reads partitions replaces the partitions of the run if the table has ``partition_by``
    (``overwrite-partitions``). A database source without ``watermark`` replaces all rows of a table without a primary
    key."""
    kinds: Kinds | None = None
    """The column that says whether a row inserts, updates or deletes."""
    order_by: Names = ()
    """The columns that order rows with the same primary key: the row with the greatest values is the newest row.
    Without these columns and without the option ``sequence.field``, the row of the later file is the newest. A query or
    a function may order by columns that the table does not have.
    """
    schedule: Annotated[Schedule | None, BeforeValidator(schedule_of, json_schema_input_type=str | Schedule | None)] = (
        None
    )
    """When the table is loaded: a cron expression, or a mapping."""
    checks: tuple[Check, ...] = Field(default=(), strict=False)
    """The rules for the rows; ``type`` selects the kind of each check."""
    rejects: Rejects = Rejects()
    """Which share of a load's rows may be rejected, and where rejected rows are kept."""
    backfill_per_run: Annotated[int, Field(ge=1)] = 1
    """The number of partitions that one run of a backfill loads."""
    compaction: Compaction = Compaction()
    """When small files are merged."""
    nightly_tag: bool = True
    """Whether the nightly job tags the latest snapshot."""
    retention: Retention = Retention()
    """The limits below which maintenance deletes nothing."""
    sample: Sample | None = None
    """Rows of the table that Dagster shows. Without this key it shows no row."""
    mark_done: bool = False
    """Whether loads mark the partitions that they loaded with a file ``_SUCCESS``; ``partitions.column`` must be the
    only column in ``partition_by``."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns whose values are unique: the primary key or the natural key."""
        return self.primary_key or self.natural_key

    @property
    def ident(self) -> str:
        """The table name as one word for jobs and pools, such as ``ods_flights``."""
        return self.name.replace(".", "_")

    @property
    def has_loads(self) -> bool:
        """Whether the table is loaded: it has a source, or parts with sources."""
        return self.source is not None or bool(self.parts)

    @property
    def is_part(self) -> bool:
        """Whether this is one part of a table."""
        return False

    @property
    def load_name(self) -> str:
        """The load name of the table, under which its loads are recorded: the name of the table."""
        return self.name

    @property
    def source_key(self) -> tuple[str, ...]:
        """The key of the source in the file of the table."""
        return ("source",)

    def fills(self, column: str) -> bool:
        """Whether loads write ``column``: always true, except for a part of a table."""
        return True

    @property
    def table_options(self) -> dict[str, str]:
        """The options with which the table is created: the defaults, overridden by the declared options.

        By default, a table with a primary key has one bucket, and loads only write: a separate job compacts the table.
        A load without rows also commits a snapshot, because the properties of the snapshot record the load.
        """
        defaults = {"bucket": "1"} if self.primary_key else {}
        if self.has_loads:
            defaults |= {"write-only": "true", "commit.force-create-snapshot": "true", **part_options(self.parts)}
            if self.primary_key and self.order_by and all(column in self.columns for column in self.order_by):
                defaults["sequence.field"] = ",".join(self.order_by)
        return {**defaults, **self.options}

    @property
    def rejects_table(self) -> str:
        """The name of the table of rejected rows."""
        return self.rejects.table or f"{self.name}__rejects"

    @property
    def waiting_table(self) -> str:
        """The name of the table of rows that wait for a row of another table, see ``source.lookup``."""
        return f"{self.name}__waiting"

    @property
    def write_mode(self) -> Mode:
        """The declared mode, or the default mode for the source and the keys of the table.

        A column of kinds and change events give ``changes``. A query over whole inputs replaces all rows. A query over
        partitions replaces the partitions of a table with ``partition_by``; without ``partition_by``, the mode is
        ``upsert`` with a primary key, otherwise ``overwrite``. For all other sources, the mode is ``upsert`` with a
        primary key. Without a primary key, the mode is ``overwrite`` for a database without a watermark, and ``append``
        for other sources.
        """
        if self.mode is not None:
            return self.mode
        if self.kinds is not None or has_events(self.source):
            return "changes"
        if isinstance(self.source, SqlSource) and self.source.read != "changes":
            if self.partitions is not None and self.source.read != "whole":
                return "overwrite-partitions" if self.partition_by else "upsert" if self.primary_key else "overwrite"
            return "overwrite"
        if isinstance(self.source, DatabaseSource) and not self.source.watermark and not self.primary_key:
            return "overwrite"
        return "upsert" if self.primary_key else "append"

    @property
    def adds_up(self) -> bool:
        """Whether a row that is loaded twice counts twice: true for appended and for aggregated rows."""
        if self.write_mode not in ("upsert", "changes"):
            return self.write_mode == "append"
        is_aggregate = self.options.get("merge-engine") == "aggregation"
        return is_aggregate or any("aggregate-function" in name for name in self.options)

    @model_validator(mode="before")
    @classmethod
    def _comments_apart(cls, values: Any) -> Any:
        return with_comments_apart(values)

    @model_validator(mode="after")
    def _database_mode(self) -> TableSpec:
        if not isinstance(self.source, DatabaseSource):
            return self
        if self.partitions is not None:
            raise ValueError("a database source loads all rows or the rows above its watermark: remove partitions")
        if self.source.watermark and self.write_mode in ("overwrite", "overwrite-partitions"):
            raise ValueError(
                f"mode {self.write_mode} would replace all rows by the rows above the watermark: "
                "remove mode or source.watermark"
            )
        if not self.source.watermark and self.write_mode == "append" and not self.primary_key:
            raise ValueError(
                "mode append would add all rows again in every run: "
                "set source.watermark, a primary_key or mode overwrite"
            )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> TableSpec:
        check_followed(self)
        self._check_keys()
        check_events(self)
        check_kafka(self)
        check_lookups(self)
        check_lake_table(self)
        check_sample(self.sample, tuple(self.columns), self.partition_by)
        self._check_mode()
        self._check_schedule()
        check_lag(self)
        self._check_effects()
        self._check_waiting()
        labels = [check.label for check in self.checks]
        for number, label in enumerate(labels):
            if label in labels[:number]:
                raise Mistake(f"two checks have the name {label}: set another name for one of them", "checks", number)
        if not self.columns and isinstance(self.source, DatabaseSource | LakeTableSource | PythonSource | SqlSource):
            kind = self.source.type
            raise Mistake(
                f"the columns of a source of type {kind} cannot be inferred: list them in the declaration", "columns"
            )
        return self

    def _check_keys(self) -> None:
        if not self.columns and self.source is None:
            raise Mistake("a table needs columns, or a source from which they are inferred")
        for key, names in self._named_columns():
            for name in names if self.columns else ():
                if name not in self.columns:
                    raise Mistake(f"{name!r:.80} is not a column{nearest(name, list(self.columns))}", *key)
            if len(set(names)) < len(names):
                raise Mistake(f"{next(name for name in names if names.count(name) > 1)!r:.80} occurs twice", *key)
        if self.primary_key and self.natural_key:
            raise Mistake("a table has either a primary_key or a natural_key", "natural_key")
        if self.source is None and not self.key:
            raise Mistake("a table needs a primary_key or a natural_key")

    def _check_mode(self) -> None:
        mode, key = self.write_mode, ("mode",) if self.mode is not None else ()
        if mode in ("upsert", "changes") and self.source is not None and not self.primary_key:
            raise Mistake(f"{mode} needs a primary_key", *key)
        if mode == "overwrite-partitions" and not self.partition_by:
            raise Mistake("overwrite-partitions needs partition_by", *key)
        if mode == "changes" and self.kinds is None and not has_events(self.source):
            raise Mistake(
                "changes needs kinds: name the column that says whether a row inserts, updates or deletes", *key
            )
        if not isinstance(self.source, (SqlSource, PythonSource)):
            for column in self.order_by if self.columns else ():
                if column not in self.columns:
                    raise Mistake(f"{column!r:.80} is not a column{nearest(column, list(self.columns))}", "order_by")
        if self.source is not None:
            self._check_what_is_replaced()
        column = self.partitions.column if self.partitions is not None else ""
        if self.mark_done and not (self.source and column and self.partition_by == (column,)):
            raise Mistake(
                "needs a source, and partitions whose column is the only one in partition_by: a load marks the "
                "partitions that it loaded",
                "mark_done",
            )

    def _check_what_is_replaced(self) -> None:
        """Refuse declarations whose loads would replace rows that they do not read again."""
        mode, partitions = self.write_mode, self.partitions
        replaces = mode in ("overwrite", "overwrite-partitions")
        if isinstance(self.source, SqlSource) and self.source.read == "changes":
            if partitions is not None:
                raise Mistake("changes are not divided by partitions: remove partitions", "source", "read")
            if replaces:
                raise Mistake(f"changes with mode {mode} would replace all rows by the changed rows", "source", "read")
        whole = isinstance(self.source, SqlSource) and self.source.read == "whole"
        if mode == "overwrite" and partitions is not None and not whole:
            raise Mistake(
                "a load of some partitions would replace all rows: set partition_by, or another mode",
                "partitions",
            )
        if mode == "overwrite-partitions" and partitions is not None and partitions.column not in self.partition_by:
            raise Mistake(
                "overwrite-partitions needs partitions.column, and partition_by with this column",
                "partitions",
            )
        if isinstance(self.source, FilesSource) and self.source.changed == "load" and mode == "append":
            raise Mistake(
                "load would append the rows of a changed file again: `mode: overwrite-partitions` or a primary key "
                "replaces them",
                "source",
                "changed",
            )
        if self.options.get("write-only", "true").strip().lower() != "true":
            raise Mistake(
                "must be true for a table with a source: a job compacts and expires it", "options", "write-only"
            )

    def _check_effects(self) -> None:
        """Refuse keys that would have no effect, because the key that they depend on is missing."""
        if self.order_by and not self.primary_key:
            raise Mistake("needs a primary_key: only rows with the same key are ordered", "order_by")
        field = self.options.get("sequence.field")
        if self.order_by and field is not None and field.replace(" ", "") != ",".join(self.order_by):
            raise Mistake(f"is {field}, and order_by is {', '.join(self.order_by)}", "options", "sequence.field")
        if not self.has_loads and self.model_fields_set & {"rejects", "kinds", "order_by", "mode"}:
            key = next(key for key in ("rejects", "kinds", "order_by", "mode") if key in self.model_fields_set)
            raise Mistake("is a setting of loads, so it needs a source", key)
        if isinstance(self.source, SqlSource) and self.source.read == "partition" and self.partitions is None:
            raise Mistake("partition needs partitions, which divide the loads", "source", "read")

    def _check_waiting(self) -> None:
        """Refuse checks that block a load when no reader sees the loaded rows before a compaction."""
        options = {name: text.strip().lower() for name, text in self.options.items()}
        if options.get("bucket") != "-2" or options.get("postpone.batch-write-fixed-bucket", "true") == "true":
            return
        for number, check in enumerate(self.checks):
            if check.block and self.has_loads:
                raise Mistake(
                    "has no effect: with postpone.batch-write-fixed-bucket = false, the rows of a load are visible "
                    "only after a compaction",
                    "checks",
                    number,
                    "block",
                )

    def _check_schedule(self) -> None:
        if self.schedule is None:
            return
        if not self.has_loads:
            raise Mistake("a schedule loads a source, and this table has no source", "schedule")
        if self.source is None:
            return
        if self.schedule.on == "files" and not isinstance(self.source, FilesSource):
            raise Mistake(f"files needs a source of type files, not {self.source.type}", "schedule", "on")
        if self.schedule.on == "files" and isinstance(self.source, FilesSource) and self.source.fetch:
            raise Mistake("files come when source.fetch is called: set cron", "schedule", "on")
        if self.schedule.on == "inputs" and not getattr(self.source, "inputs", ()):
            raise Mistake("inputs needs a source with inputs", "schedule", "on")
        if self.schedule.on == "changes" and not has_changes(self.source):
            raise Mistake(f"changes needs a source of type {CHANGES}, not {self.source.type}", "schedule", "on")

    def _named_columns(self) -> Iterator[tuple[tuple[str | int, ...], tuple[str, ...]]]:
        """Yield (key, columns) for each key of the file that names columns of the table."""
        yield ("primary_key",), self.primary_key
        yield ("natural_key",), self.natural_key
        yield ("partition_by",), self.partition_by
        yield ("sample", "hide"), () if self.sample is None else self.sample.hide
        if self.partitions is not None and self.partitions.column:
            yield ("partitions", "column"), (self.partitions.column,)
        if isinstance(self.source, FilesSource | KafkaSource):
            yield ("source", "rename"), tuple(self.source.rename.values())
            for column in self.source.add:
                filled = "source.rename" if column in self.source.rename.values() else ""
                if filled:
                    raise Mistake(f"{filled} also sets this column", "source", "add", column)
                yield ("source", "add", column), (column,)
        for number, check in enumerate(self.checks):
            for name in ("columns", "column"):
                if found := getattr(check, name, ()):
                    yield ("checks", number, name), (found,) if isinstance(found, str) else found
