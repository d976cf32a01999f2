"""Load several: load tables one after the other, so that a table is loaded after its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException

from paimon_core.errors import PaimonError
from paimon_lake.declarations import Settings, SettingsError
from paimon_lake.declarations.agreement.selection import with_readers
from paimon_lake.declarations.lake.databases import database_of
from paimon_lake.loads.failures import reason
from paimon_lake.loads.load import load_table
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError, StepResult, TablesFailed
from paimon_lake.session import Spark

_FAILURES = (PipelineError, SettingsError, AuditFailed, PartsFailed, TablesFailed, PaimonError, PySparkException)


@dataclass(frozen=True)
class NotLoaded:
    """A table that failed, or that was not loaded because a table failed from which it is made."""

    table: str
    error: Exception
    results: tuple[StepResult, ...] = ()
    """What the run committed before it failed."""

    @property
    def reason(self) -> str:
        """The reason as one line."""
        return reason(self.error)


def load_several(
    spark: Spark,
    settings: Settings,
    names: Sequence[str],
    partitions: Mapping[str, Sequence[str] | None],
    *,
    reload: bool = False,
) -> Iterator[StepResult | NotLoaded]:
    """Load the tables ``names``, which are in the order of their inputs, and yield the result of each.

    ``partitions`` has the partitions of each table that is loaded in part. A table that fails does not stop the tables
    that are not made from it; the tables that are made from it are not loaded. Tables that share the slot of a database
    are loaded together by the first of them; with ``reload`` each is copied again.
    """
    failed: dict[str, str] = {}
    together: set[str] = set()
    for name in names:
        if name in failed:
            error = PipelineError(f"is not loaded, because {failed[name]} failed")
            yield NotLoaded(name, error)
            continue
        database = database_of(settings.table(name))
        if database and database in together and not reload:
            continue
        together.add(database)
        try:
            yield load_table(spark, settings, name, partitions.get(name), reload=reload)
        except _FAILURES as error:
            errors = error.errors if isinstance(error, TablesFailed) else {name: error}
            done = error.results if isinstance(error, PartsFailed | TablesFailed) else ()
            for number, (table, why) in enumerate(errors.items()):
                yield NotLoaded(table, why, tuple(done) if not number else ())
                for reader in with_readers(settings.tables, [table]) - set(errors):
                    failed.setdefault(reader, table)
