"""UserStep: the argument ``step`` of a function of the user, which describes the load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame

from paimon_lake.protocol import PipelineError


@dataclass(frozen=True)
class UserStep:
    """The argument ``step`` of a function of the user: ``function(spark, step) -> DataFrame``."""

    table: str
    """The table to load, ``database.table``."""
    partitions: tuple[str, ...] | None
    """The keys of the partitions to load; None when the whole table is loaded."""
    folder: Path
    """The folder of the declarations."""
    _inputs: Mapping[str, Callable[[], DataFrame]] = field(default_factory=dict, repr=False)

    def read(self, table: str) -> DataFrame:
        """Return the rows of an input at one snapshot; when the step has partitions, only the rows of these partitions.

        Raises PipelineError for a table that the declaration does not name as an input.
        """
        if table not in self._inputs:
            known = ", ".join(sorted(self._inputs)) or "none"
            raise PipelineError(f"{self.table}: {table!r} is not one of its source.inputs ({known})")
        return self._inputs[table]()
