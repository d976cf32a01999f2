"""Tables: the declaration of one table, read from ``tables/<database>.<table>.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from pipelines.lake.checks import Check
from pipelines.lake.model import Model, Names, Texts
from pipelines.lake.partitions import Partitions
from pipelines.lake.sources import FilesSource, PythonSource, Source, SqlSource

Mode = Literal["upsert", "append", "overwrite-partitions", "overwrite", "changes"]
_INSERTS, _UPDATES, _DELETES = ("+I", "I", "insert"), ("+U", "U", "update"), ("-D", "D", "delete")


class Compaction(Model):
    """When the sensor starts and stops compacting, in sorted runs (without a key: files) of the fullest bucket."""

    start_at_runs: int = 5
    stop_at_runs: int = 1


class Retention(Model):
    """What the nightly and weekly maintenance keeps."""

    keep_snapshots: int = 10
    keep_hours: int = 24
    keep_tags_days: int = 30
    orphans_older_than_hours: int = 24
    """Unreferenced files older than this are swept; it must exceed the time of any job from writing to its commit."""
    keep_quarantine_days: int = 7
    """How long a sweep can be undone, in days."""
    spark_from_files: int = 10_000
    """The number of files from which a clean-up runs as Spark tasks."""


class Rejects(Model):
    """Which share of a load's rows may be rejected; above it, nothing is committed."""

    max_share: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.0
    table: str = ""
    """The table of rejected rows; default: ``<table>__rejects``."""


class Kinds(Model):
    """The column that says whether a row inserts, updates or deletes, and its values for each."""

    column: str
    insert: Names = _INSERTS
    update: Names = _UPDATES
    delete: Names = _DELETES


class Schedule(Model):
    """When a table is loaded: by a cron expression, when its inputs change (``eager``), or when files arrive."""

    cron: str = ""
    timezone: str = "UTC"
    on: Literal["inputs", "files"] | None = None

    @model_validator(mode="after")
    def _one_trigger(self) -> Schedule:
        if bool(self.cron) == (self.on is not None):
            raise ValueError("a schedule needs either cron or on")
        return self


def _columns(value: Any) -> Any:
    """Return no columns for the word ``infer``: they are read from the source and written down for review."""
    return {} if value == "infer" else value


def _partitions(value: Any) -> Any:
    """Return None for the word ``none``, and a mapping for one word, such as ``dynamic``."""
    return None if value == "none" else {"by": value} if isinstance(value, str) else value


def _schedule(value: Any) -> Any:
    """Return a mapping for one text, a cron expression."""
    return {"cron": value} if isinstance(value, str) else value


class TableSpec(Model):
    """One table as declared in its file; ``columns`` maps names to Paimon type texts, in order."""

    name: str
    comment: str = ""
    columns: Annotated[Mapping[str, str], BeforeValidator(_columns)] = {}
    """Empty: inferred from the source."""
    primary_key: Names = ()
    natural_key: Names = ()
    """The columns that are unique in a table without a primary key; loads and checks use them."""
    partition_by: Names = ()
    options: Texts = Field(default={})
    owners: Names = ()
    source: Source | None = None
    partitions: Annotated[Partitions | None, BeforeValidator(_partitions)] = None
    mode: Mode | None = None
    """How a load writes; default: see ``write_mode``."""
    kinds: Kinds | None = None
    order_by: Names = ()
    """The columns that order rows with the same key; without them and without sequence.field, later files win."""
    schedule: Annotated[Schedule | None, BeforeValidator(_schedule)] = None
    checks: tuple[Check, ...] = Field(default=(), strict=False)
    rejects: Rejects = Rejects()
    backfill_per_run: Annotated[int, Field(ge=1)] = 1
    compaction: Compaction = Compaction()
    nightly_tag: bool = True
    """Whether the nightly job tags the latest snapshot."""
    retention: Retention = Retention()
    mark_done: bool = False
    """Whether loads mark the months that they complete with a file ``_SUCCESS``."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns whose values are unique: the primary key or the natural key."""
        return self.primary_key or self.natural_key

    @property
    def ident(self) -> str:
        """The table name as one word for jobs and pools, such as ``ods_flights``."""
        return self.name.replace(".", "_")

    @property
    def table_options(self) -> dict[str, str]:
        """The options with which the table is created: the declared ones, and for a table with a source its defaults.

        Loads only write, and a separate job compacts. A load without rows has a snapshot too, which records it.
        """
        if self.source is None:
            return dict(self.options)
        defaults = {"write-only": "true", "commit.force-create-snapshot": "true"}
        if self.primary_key:
            defaults["bucket"] = "1"
            if self.order_by and all(column in self.columns for column in self.order_by):
                defaults["sequence.field"] = ",".join(self.order_by)
        return {**defaults, **self.options}

    @property
    def rejects_table(self) -> str:
        """The name of the table of rejected rows."""
        return self.rejects.table or f"{self.name}__rejects"

    @property
    def write_mode(self) -> Mode:
        """The declared mode, or the one that follows from the table.

        A column of kinds gives ``changes``. A query over whole inputs replaces all rows, one over partitions replaces
        these. Otherwise a table with a primary key is upserted, and one without is appended to.
        """
        if self.mode is not None:
            return self.mode
        if self.kinds is not None:
            return "changes"
        if isinstance(self.source, SqlSource) and self.source.read != "changes":
            return "overwrite-partitions" if self.partitions and self.partition_by else "overwrite"
        return "upsert" if self.primary_key else "append"

    @model_validator(mode="after")
    def _consistent(self) -> TableSpec:
        if self.columns:
            for role, named in self._roles().items():
                for column in named:
                    if column not in self.columns:
                        raise ValueError(f"{role} names {column!r}, which is not a column")
        if self.source is None and not self.key:
            raise ValueError("a table needs a primary_key or a natural_key")
        if self.write_mode in ("upsert", "changes") and self.source is not None and not self.primary_key:
            raise ValueError(f"mode {self.write_mode} needs a primary_key")
        if self.write_mode == "overwrite-partitions" and not self.partition_by:
            raise ValueError("mode overwrite-partitions needs partition_by")
        if self.write_mode == "changes" and self.kinds is None:
            raise ValueError("mode changes needs kinds, with the column that has the kind of each row")
        unknown = [column for column in self.order_by if column not in self.columns]
        if unknown and self.columns and not isinstance(self.source, (SqlSource, PythonSource)):
            raise ValueError(f"order_by names {unknown[0]!r}, which is not a column")
        if isinstance(self.source, FilesSource) and set(self.source.add.values()) - {"partition", "file"}:
            raise ValueError("source.add maps columns to partition or file")
        if isinstance(self.source, SqlSource) and self.source.read == "changes" and self.partitions is not None:
            raise ValueError("source.read: changes needs a table without partitions: changes are not divided by them")
        labels = [check.label for check in self.checks]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(f"two checks are named {label!r}: give one of them another name")
        return self

    def _roles(self) -> dict[str, tuple[str, ...]]:
        roles = {"primary_key": self.primary_key, "partition_by": self.partition_by, "natural_key": self.natural_key}
        if self.partitions is not None and self.partitions.column:
            roles["partitions.column"] = (self.partitions.column,)
        for number, check in enumerate(self.checks):
            columns = getattr(check, "columns", ()) or ((column,) if (column := getattr(check, "column", "")) else ())
            roles[f"checks[{number}]"] = columns
        return roles
