"""Follow: load tables again and again, so that they stay seconds behind their sources, and compact the tables between
loads.

A second thread compacts a table after a load has committed rows, while the next loads run. A load waits for this
compaction only when a bucket of its table has ``num-sorted-run.stop-trigger`` sorted runs, because more runs make reads
slow. A compaction that conflicts with a concurrent commit changes nothing, and the next compaction merges the same
runs.

A part of a wide table that fails is loaded again later, like a table; the other parts continue.

When one of the tables that share a slot is named, all tables of the slot are followed: one load reads the log for all
of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pyspark.errors import PySparkException

from paimon_core.errors import PaimonError
from paimon_core.lsm.compaction.strategy import stop_trigger
from paimon_core.stop_event import StopEvent
from paimon_lake.declarations import Settings
from paimon_lake.declarations.lake.databases import database_of, tables_of
from paimon_lake.loads.load import load_table
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError, StepResult, TablesFailed
from paimon_lake.session import JVM_ERRORS, Spark, jvm_has_ended, spark_reason
from paimon_lake.steps.upkeep.maintenance import compact
from paimon_lake.tables import fullest_bucket, open_table

FAILURES = (PaimonError, PipelineError, AuditFailed, PartsFailed, TablesFailed, PySparkException)
"""The errors after which a table is loaded again later."""
MOST_WAIT_SECONDS = 60.0
"""The longest wait after failures in a row; the wait doubles with each failure."""


@dataclass(frozen=True)
class Failure:
    """A load or a compaction that failed and will be repeated."""

    step: str
    table: str
    error: Exception

    def sentence(self) -> str:
        """Return one line of text for people."""
        reason = spark_reason(self.error) if isinstance(self.error, PySparkException) else str(self.error)
        return f"{self.step} {self.table} failed and will be repeated: {reason}"


@dataclass(frozen=True)
class _FailedPart:
    failures: int
    """The number of failed loads of the part since its last successful load."""
    due: float
    """The monotonic time of the next load of the part."""


def _error_of(table: str, error: Exception) -> Exception:
    """Return the error of a table if only this table failed; the error does not contain the results of the load, which
    are yielded separately.
    """
    return error.errors[table] if isinstance(error, TablesFailed) and error.errors.keys() == {table} else error


def _is_loaded(table: str, error: TablesFailed) -> bool:
    """Whether a load that failed has loaded the table that was asked for."""
    return table not in error.errors and table in {one.table for one in error.results}


def _raise_lost_jvm(error: PartsFailed | TablesFailed) -> None:
    """Raise the error of a part or table that failed because the JVM has ended: every later load would fail too."""
    lost = next((one for one in error.errors.values() if isinstance(one, JVM_ERRORS)), None)
    if lost is not None and jvm_has_ended():
        raise lost from None


@dataclass
class _Followed:
    """A table that is followed."""

    name: str
    due: float = 0.0
    """The monotonic time of the next load."""
    is_begun: bool = False
    """Whether the table was loaded before, or one of its loads was begun."""
    failures: int = 0
    """The number of failed loads since the last successful load."""
    failed_parts: Mapping[str, _FailedPart] = field(default_factory=dict)
    """The parts of a wide table whose last load failed."""
    compaction: Future[StepResult] | None = None
    """The compaction that is running, or whose result was not yielded yet."""
    compaction_failures: int = 0
    """The number of failed compactions since the last successful compaction."""
    compaction_due: float | None = None
    """The monotonic time at which a failed compaction is repeated; None: the last compaction did not fail."""
    stale: Mapping[str, str] = field(default_factory=dict)
    """The partitions that were stale after the last load that succeeded, with the reason of each."""


@dataclass
class Follow:
    """Loads tables in turn until ``stop`` is set or the time is over."""

    spark: Spark
    settings: Settings
    names: Sequence[str]
    every: float = 1.0
    """Seconds to wait after a load that found nothing to load; after a load with rows, the next load begins
    immediately.
    """
    seconds: float | None = None
    """How long to follow; None: until ``stop`` is set."""
    stop: StopEvent = field(default_factory=StopEvent)
    _tables: list[_Followed] = field(default_factory=list, init=False)

    @property
    def failing(self) -> dict[str, str]:
        """The tables whose last load or last compaction failed, with the step that failed."""
        return {
            table.name: "load" if table.failures or table.failed_parts else "compact"
            for table in self._tables
            if table.failures or table.failed_parts or table.compaction_failures
        }

    @property
    def stale(self) -> dict[str, Mapping[str, str]]:
        """The tables with stale partitions after their last load, with the reason of each partition."""
        return {table.name: table.stale for table in self._tables if table.stale}

    def run(self) -> Iterator[StepResult | Failure]:
        """Yield the result of each commit, and each failure, whose step is repeated later.

        When stopped, ends after the current load and compaction. Raises the error of the first load of a
        named table, because a wrong request would only be repeated.
        """
        ends = None if self.seconds is None else time.monotonic() + self.seconds
        names = dict.fromkeys(one for name in self.names for one in self._loaded_with(name))
        tables = self._tables = [_Followed(name) for name in names]
        self.spark()  # started once, before two threads need the session
        with ThreadPoolExecutor(1, "compaction") as pool:
            while not self.stop.is_set() and (ends is None or time.monotonic() < ends):
                table = min(tables, key=lambda one: one.due)
                if (wait := table.due - time.monotonic()) > 0:
                    yield from self._compacted(tables, pool)
                    self.stop.wait(wait if ends is None else min(wait, ends - time.monotonic()))
                    continue
                yield from self._load(table, pool)
                yield from self._compacted(tables, pool)
        for table in tables:
            if table.compaction is not None:
                yield from self._told(table)

    def _loaded_with(self, name: str) -> list[str]:
        """Return the tables that a load of the table ``name`` loads: all tables of its slot, or only this table."""
        return tables_of(self.settings.tables, database_of(self.settings.table(name))) or [name]

    def _load(self, table: _Followed, pool: ThreadPoolExecutor) -> Iterator[StepResult | Failure]:
        names, is_first = self._loaded_with(table.name), not table.is_begun
        table.is_begun = True
        try:
            for one in self._tables:
                if one.name in names and not is_first:
                    yield from self._wait_for_compaction(one, pool)
                if self.stop.is_set():
                    return
            now = time.monotonic()
            waiting = {part: one for part, one in table.failed_parts.items() if one.due > now}
            result = load_table(self.spark, self.settings, table.name, without_parts=waiting)
        except FAILURES as error:
            if isinstance(error, PartsFailed | TablesFailed):
                yield from self._kept(error, pool)
                _raise_lost_jvm(error)
            if isinstance(error, TablesFailed) and _is_loaded(table.name, error):
                self._next_loads(error.results)
                yield from self._failed_beside(error)
                return
            if is_first and table.name in self.names:
                raise _error_of(table.name, error) from None
            if isinstance(error, PartsFailed):
                self._parts_failed(table, waiting, error)
                yield Failure("load", table.name, error)
                return
            yield self._failed(table, _error_of(table.name, error))
            return
        table.failed_parts = waiting
        results = (replace(result, others=()), *result.others)
        by_name = {one.table: one for one in results}
        for one in self._tables:
            if one.name in by_name:
                yield from self._loaded(one, by_name[one.name], pool)
        self._next_loads(results)

    def _next_loads(self, results: Sequence[StepResult]) -> None:
        """Set the times of the next loads of the tables that one load has loaded."""
        names, rows_written = {one.table for one in results}, sum(one.rows_written for one in results)
        for one in self._tables:
            if one.name in names:
                one.due = self._due(one, rows_written)

    def _failed_beside(self, error: TablesFailed) -> Iterator[Failure]:
        """Yield the failures of tables in a load of another table, except of tables that wait after a failure.

        Raises the error of the first load of a named table.
        """
        for one in self._tables:
            if one.name not in error.errors or (one.failures and one.due > time.monotonic()):
                continue
            if not one.is_begun and one.name in self.names:
                raise error.errors[one.name] from None
            one.is_begun = True
            yield self._failed(one, error.errors[one.name])

    def _failed(self, table: _Followed, error: Exception) -> Failure:
        """Return the failure of a table, and set the time of its next load."""
        table.failures += 1
        table.due = time.monotonic() + self._pause(table.failures)
        return Failure("load", table.name, error)

    def _parts_failed(self, table: _Followed, waiting: Mapping[str, _FailedPart], error: PartsFailed) -> None:
        """Set the times of the next loads of a table and its failed parts; ``waiting``: the parts that this load left
        out.
        """
        failed = dict(waiting)
        for part in error.errors:
            failures = 1 + (table.failed_parts[part].failures if part in table.failed_parts else 0)
            failed[part] = _FailedPart(failures, time.monotonic() + self._pause(failures))
        table.failed_parts = failed
        table.due = self._due(table, error.result.rows_written)
        if failed.keys() == self.settings.table(table.name).parts.keys():
            table.due = min(one.due for one in failed.values())

    def _loaded(self, table: _Followed, result: StepResult, pool: ThreadPoolExecutor) -> Iterator[StepResult]:
        table.failures, table.stale, table.is_begun = 0, result.stale, True
        if result.commits:
            yield result
            if table.compaction is None and table.compaction_due is None:
                table.compaction = self._compact(table, pool)

    def _kept(self, failed: PartsFailed | TablesFailed, pool: ThreadPoolExecutor) -> Iterator[StepResult]:
        """Yield the commits of a load that failed afterwards; a table in ``failed.errors`` still counts as failing."""
        for result in failed.results:
            for one in self._tables:
                if one.name == result.table:
                    failures = one.failures
                    yield from self._loaded(one, result, pool)
                    one.failures = failures if one.name in failed.errors else 0

    def _wait_for_compaction(self, table: _Followed, pool: ThreadPoolExecutor) -> Iterator[StepResult | Failure]:
        opened = open_table(self.settings, table.name)
        if not opened.context.is_keyed or fullest_bucket(opened) < stop_trigger(opened.options):
            return
        if table.compaction is None:
            table.compaction = self._compact(table, pool)
        yield from self._told(table)

    def _compact(self, table: _Followed, pool: ThreadPoolExecutor) -> Future[StepResult]:
        return pool.submit(compact, self.spark, self.settings, table.name)

    def _compacted(self, tables: Sequence[_Followed], pool: ThreadPoolExecutor) -> Iterator[StepResult | Failure]:
        """Yield the results of compactions that have ended, and repeat failed compactions when they are due."""
        for table in tables:
            due = table.compaction_due
            if table.compaction is None and due is not None and time.monotonic() >= due:
                table.compaction = self._compact(table, pool)
            if table.compaction is not None and table.compaction.done():
                yield from self._told(table)

    def _told(self, table: _Followed) -> Iterator[StepResult | Failure]:
        """Wait for the compaction of a table; yield its result or its failure."""
        assert table.compaction is not None
        compaction, table.compaction = table.compaction, None
        try:
            result = compaction.result()
        except FAILURES as error:
            table.compaction_failures += 1
            table.compaction_due = time.monotonic() + self._pause(table.compaction_failures)
            yield Failure("compact", table.name, error)
            return
        table.compaction_failures, table.compaction_due = 0, None
        if result.commits:
            yield result

    def _due(self, table: _Followed, rows_written: int) -> float:
        """Return the time of the next load after a load of ``rows_written`` rows; failed parts may be due earlier."""
        wait = time.monotonic() + (0 if rows_written else self.every)
        return min((wait, *(one.due for one in table.failed_parts.values())))

    def _pause(self, failures: int) -> float:
        """Return the seconds to wait after ``failures`` failures in a row."""
        return min(MOST_WAIT_SECONDS, self.every * 2.0 ** min(failures, 30))
