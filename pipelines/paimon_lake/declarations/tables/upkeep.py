"""Upkeep: when a table is compacted, and the limits below which maintenance deletes nothing."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from paimon_lake.declarations.model import Model, Names


class Compaction(Model):
    """When the sensor starts and stops compacting. It counts the sorted runs of the fullest bucket; for a table without
    a key, it counts files.
    """

    start_at_runs: Annotated[int, Field(ge=1)] = 5
    """The table is compacted when a bucket has at least this number of runs."""
    stop_at_runs: Annotated[int, Field(ge=1)] = 1
    """Compacting ends when no bucket has more than this number of runs."""
    tags: Names = ()
    """Tags of the table, for ``limits`` of the lake's ``maintenance``."""
    scans: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """How often the table is scanned, relative to other tables: maintenance by cost prefers tables with many scans."""

    @model_validator(mode="after")
    def _in_order(self) -> Compaction:
        if self.start_at_runs <= self.stop_at_runs:
            raise ValueError(
                f"start_at_runs {self.start_at_runs} must be greater than stop_at_runs {self.stop_at_runs}"
            )
        return self


class Retention(Model):
    """The limits below which the nightly and weekly maintenance deletes nothing."""

    keep_snapshots: Annotated[int, Field(ge=1)] = 10
    """The number of latest snapshots that never expire."""
    keep_hours: Annotated[int, Field(ge=0)] = 24
    """The age in hours below which snapshots do not expire."""
    keep_tags_days: Annotated[int, Field(ge=0)] = 30
    """The age in days below which nightly tags do not expire."""
    orphans_older_than_hours: Annotated[int, Field(ge=0)] = 24
    """The age in hours above which unreferenced files are moved to quarantine. The age must be longer than any
    job takes from writing a file to its commit."""
    keep_quarantine_days: Annotated[int, Field(ge=0)] = 7
    """The number of days for which files stay in quarantine, so that the move can be undone."""
    spark_from_files: Annotated[int, Field(ge=1)] = 10_000
    """With at least this number of files, a clean-up runs as Spark tasks."""
