"""Upkeep: when a table is compacted, and what its maintenance keeps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from paimon_lake.declarations.model import Model


class Compaction(Model):
    """When the sensor starts and stops compacting, in sorted runs (without a key: files) of the fullest bucket."""

    start_at_runs: Annotated[int, Field(ge=1)] = 5
    """From this number of runs, the table is compacted."""
    stop_at_runs: Annotated[int, Field(ge=1)] = 1
    """At this number of runs, compacting ends."""

    @model_validator(mode="after")
    def _in_order(self) -> Compaction:
        if self.start_at_runs <= self.stop_at_runs:
            raise ValueError(
                f"start_at_runs {self.start_at_runs} must be greater than stop_at_runs {self.stop_at_runs}"
            )
        return self


class Retention(Model):
    """What the nightly and weekly maintenance keeps."""

    keep_snapshots: Annotated[int, Field(ge=1)] = 10
    """The number of latest snapshots that never expire."""
    keep_hours: Annotated[int, Field(ge=0)] = 24
    """Younger snapshots do not expire, in hours."""
    keep_tags_days: Annotated[int, Field(ge=0)] = 30
    """Younger nightly tags do not expire, in days."""
    orphans_older_than_hours: Annotated[int, Field(ge=0)] = 24
    """Unreferenced files older than this are swept; it must exceed the time of any job from writing to its commit."""
    keep_quarantine_days: Annotated[int, Field(ge=0)] = 7
    """How long a sweep can be undone, in days."""
    spark_from_files: Annotated[int, Field(ge=1)] = 10_000
    """The number of files from which a clean-up runs as Spark tasks."""
