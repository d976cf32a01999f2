"""Maintenance: the budget of a lake for compactions, and the rules by which work is chosen (docs/health.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from paimon_lake.declarations.durations import Duration
from paimon_lake.declarations.errors import Mistake
from paimon_lake.declarations.model import Model

Hour = Annotated[int, Field(ge=0, le=23)]
Whole = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Hours(Model):
    """The hours of the day, in the local time of the machine, in which the whole budget may be used."""

    start: Hour
    """The first hour."""
    end: Hour
    """The hour at which the period ends. If it is smaller than ``start``, the period spans midnight."""
    peak_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    """The share of ``bytes`` and ``seconds`` that may be used in the other hours; 0: no work starts then."""

    @model_validator(mode="after")
    def _two_hours(self) -> Hours:
        if self.start == self.end:
            raise Mistake(f"start and end must be two different hours, not both {self.start}", "end")
        return self


class Limit(Model):
    """What one round may do with all tables of a tag together."""

    tasks: Whole | None = None
    """The number of pieces of work, such as compactions of a bucket. With 0, these tables are not maintained."""
    bytes: Whole | None = None
    """The bytes that are read and written."""
    seconds: Number | None = None
    """The predicted seconds, one piece of work after the other."""


class Maintenance(Model):
    """The budget of one round of maintenance for the whole lake, and when rounds run."""

    mode: Literal["runs", "cost"] = "runs"
    """``runs``: the sensor compacts a table when a bucket has ``compaction.start_at_runs`` runs. ``cost``: the sensor
    and the nightly job do what saves most for its cost in the whole lake, within this budget; the marks of runs have no
    effect then. The budget also applies to ``paimon-lake maintain`` and to the job ``maintain`` in both modes."""
    spark_from_bytes: Whole = 1_000_000_000
    """A round whose compactions read at least this number of bytes runs them as Spark tasks; a smaller round runs in
    the process of its step, because starting Spark takes longer."""
    interval: Duration = "1 h"
    """With ``mode: cost``, the shortest time between two rounds that the sensor requests."""
    bytes: Whole | None = None
    """The most bytes that one round reads and writes. Default: as many as it needs."""
    seconds: Number | None = None
    """The most seconds that one round takes. Default: as many as it needs."""
    memory: Whole | None = None
    """The largest predicted peak of memory of a piece of work, in bytes, which also limits how many run at the same
    time. Default: no limit."""
    start_mark: Number = 0.1
    """Work is done from this value on: the bytes that each full scan saves, divided by the bytes of the work."""
    stop_mark: Number = 0.05
    """Work that was wanted stays wanted until its value is below this mark."""
    patience: Annotated[int, Field(ge=1)] = 24
    """The number of rounds after which work that waits comes first, whatever its value is."""
    off_peak: Hours | None = None
    """The hours with the whole budget. Default: all hours are equal."""
    limits: Mapping[str, Limit] = Field(default={})
    """Limits of one round for the tables that have a tag (``compaction.tags``), by the tag."""

    @model_validator(mode="after")
    def _in_order(self) -> Maintenance:
        if self.stop_mark > self.start_mark:
            raise Mistake(f"must not exceed start_mark {self.start_mark:g}, not {self.stop_mark:g}", "stop_mark")
        if self.mode == "cost" and self.bytes is None and self.seconds is None:
            raise Mistake("cost needs a budget: bytes or seconds", "mode")
        return self
