"""Load: one load of a declared table, from reading its ledger to its snapshot.

When two loads commit at the same time, both try the same number. The load whose commit fails reads the ledger again,
and loads only what the other load has not loaded. When both are reloads of the same files, or of the same query over
the same inputs, the second has nothing to load.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.metadata.abort import abort
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from paimon_core.write.staging import is_staged
from paimon_lake.check_result import CheckResult
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.lake.databases import database_of
from paimon_lake.declarations.part_spec import PartSpec, part_spec
from paimon_lake.declarations.sources.lookup import waits
from paimon_lake.declarations.sources.schema_changes import as_loaded
from paimon_lake.differences import column_differences, group_differences
from paimon_lake.loads.blocking_audit import blocking_audit
from paimon_lake.loads.commit import LoadCommit, NumberTaken, commit_load, newest_load
from paimon_lake.loads.done import mark_loaded
from paimon_lake.loads.failures import BatchFailed, tables_failed
from paimon_lake.loads.files.chosen_buckets import opened
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.ledger.ledger import Ledger, loads_after, read_ledger
from paimon_lake.loads.ledger.load_properties import (
    PARTITION_COUNT,
    PARTITIONS,
    ROWS_MERGED,
    ROWS_READ,
    ROWS_REJECTED,
    ROWS_RETRIED,
    ROWS_WAITING,
    ROWS_WRITTEN,
)
from paimon_lake.loads.ledger.load_snapshot import FILES, POSITION, RESTORES, STEP, WATERMARK, loads_in, loads_of
from paimon_lake.loads.ledger.restore import check_lost, makes_up_for_all
from paimon_lake.loads.load_result import LoadedOnce, loaded_once, nothing_loaded, result_of_loads
from paimon_lake.loads.lookup.lookup_loads import with_waiting
from paimon_lake.loads.lookup.lookups import abort_waiting
from paimon_lake.loads.lookup.waiting_table import changes_waiting, newest_waiting, publish_waiting
from paimon_lake.loads.partitions.partition_keys import check_key
from paimon_lake.loads.parts.part_loads import load_parts
from paimon_lake.loads.postgres.shared_slot import load_shared
from paimon_lake.loads.rejected.rejects import (
    changes_rejects,
    check_share,
    entry,
    newest_number,
    open_rejects,
    publish_rejects,
    replaced_files,
)
from paimon_lake.loads.shapes.schema_changes import TableAltered
from paimon_lake.loads.source_loads import source_of
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad, TableSource
from paimon_lake.loads.write_tasks import WriteResult
from paimon_lake.protocol import AuditFailed, PipelineError, StepResult, plain
from paimon_lake.session import Spark
from paimon_lake.tables import TableState, state_of

_TRIES = 3


def load_table(
    spark: Spark,
    settings: Settings,
    name: str,
    partitions: Sequence[str] | None = None,
    *,
    part: str = "",
    without_parts: Collection[str] = (),
    run_key: str = "",
    reload: bool = False,
    properties: Mapping[str, str] | None = None,
) -> StepResult:
    """Load a declared table, or some of its partitions, from its source, in one commit or in one commit per batch of
    changes.

    Files and rows that were loaded before are left out, except rows that were lost with missing data files, see
    ``paimon_lake.loads.ledger.restore``. With ``reload`` everything is read again, and a table that appends or
    aggregates is replaced. ``run_key`` identifies a run: repetitions of the run load only once. Guarantees for
    concurrent processes: when two loads run at the same time, the second load loads only what the first load has not
    loaded; a load reads its source at one moment (except a source in SQLite with ``split``); other writers of the table
    never make a load lose or repeat rows. A load that assigned keys to dynamic buckets while a concurrent commit did so
    too is written again; after 3 attempts, CommitConflict is raised. The parts of a wide table load at the same time,
    each in commits of its own; if ``part`` is given, only this part is loaded; the parts ``without_parts`` are not
    loaded. Raises PipelineError for a wrong request, and AuditFailed when too many rows are rejected or a blocking
    check fails; then nothing is published. Raises PartsFailed or TablesFailed, which say what was committed, when a
    part or another table failed, or when a batch failed after other batches.
    """
    spec = settings.table(name)
    begun = partial(_TableRun.begun, spark, settings, run_key=run_key, properties=properties)
    keys = _checked_partitions(spec, partitions)
    if (database := database_of(spec)) and not part:

        def other(table: str) -> _TableRun:
            return begun(settings.table(table), None, run_key="", reload=False)

        return load_shared(settings, database, name, begun(spec, keys, reload=reload), other)

    def load(one: TableSpec) -> StepResult:
        asked = keys if one.partitions is not None else None  # the source of a part may have no partitions
        source = source_of(one)
        run = begun(one, asked, reload=reload)
        try:
            while run.load(source) and run.loads[-1].plan.has_more:
                pass
        except Exception as error:  # after any error, the error says what was committed
            if not run.loads:
                raise
            raise BatchFailed(run.result(), error) from error
        return run.result()

    if spec.parts or part:
        return load_parts(spark, settings, spec, part, load, without=without_parts)
    try:
        return load(spec)
    except BatchFailed as failed:
        raise tables_failed({name: failed.error}, [failed.result]) from failed.error


@dataclass
class _TableRun:
    """The loads of one table in a run, and the state that the next load needs."""

    spark: Spark
    settings: Settings
    spec: TableSpec
    table: Table
    keys: tuple[str, ...] | None
    run_key: str
    reload: bool
    properties: Mapping[str, str] | None
    before: TableState
    started: float
    buckets: str
    """A sentence about the number of buckets that was chosen for a new table; "" otherwise."""
    loads: list[LoadedOnce] = field(default_factory=list)
    rest: NothingToLoad = field(default_factory=lambda: NothingToLoad(()))
    """Why the source had no further load."""

    @staticmethod
    def begun(
        spark: Spark,
        settings: Settings,
        spec: TableSpec,
        keys: tuple[str, ...] | None,
        *,
        run_key: str,
        reload: bool,
        properties: Mapping[str, str] | None,
    ) -> _TableRun:
        """Open a table, or a part of the table, for a run; raises PipelineError for a wrong request."""
        started = time.monotonic()
        if reload and keys is not None and spec.adds_up:
            adds = "append" if spec.write_mode == "append" else "aggregate"
            raise PipelineError(
                f"{spec.name}: reload of some partitions would {adds} their rows again; reload the whole table"
            )
        table, buckets = opened(settings, spec.name)
        spec = _spec_of(settings, spec, table)
        now = state_of(table)
        return _TableRun(spark, settings, spec, table, keys, run_key, reload, properties, now, started, buckets)

    @property
    def counts(self) -> bool:
        """Whether the result counts the rows of the table; for a table with parts, rows are counted once, after all
        parts are loaded.
        """
        return not self.spec.is_part

    @property
    def is_reload(self) -> bool:
        """Whether the next load loads files and rows again that were loaded before."""
        return self.reload and not self.loads

    def load(self, source: TableSource) -> bool:
        """Commit the next load; return False when the source has nothing to load."""
        try:
            done = _attempts(
                self.spark,
                self.settings,
                self.spec,
                self.table,
                source,
                self.keys,
                self.run_key,
                self.properties,
                reload=self.is_reload,
            )
        except TableAltered as altered:
            self.table = altered.table
            self.spec = _spec_of(self.settings, self.spec, self.table)
            return self.load(source)
        if isinstance(done, NothingToLoad):
            self.rest = done
            return False
        step, loaded = done
        self.loads.append(loaded)  # before later steps, so that their errors do not hide the load
        _complete(step, loaded.snapshot)
        return True

    def position(self) -> object:
        """Return the position in the log of a database server up to which the table is loaded; None if its ledger has
        none.
        """
        return read_ledger(self.table, self.spec.load_name, accept_gaps=True).position

    def snapshot(self) -> int:
        """Return the id of the newest snapshot of a load of the table."""
        return loads_of(self.table, self.spec.load_name)[-1].id

    def result(self) -> StepResult:
        """Return the result of the run."""
        if self.loads:
            found = result_of_loads(self.table, self.before, self.started, self.loads, self.rest, counts=self.counts)
        else:
            stale = stale_now(self.settings, self.spec.name) if self.counts else {}
            found = replace(nothing_loaded(self.table, self.rest, self.started, counts=self.counts), stale=stale)
        found = replace(found, details={**found.details, "buckets": self.buckets}) if self.buckets else found
        return with_waiting(self.settings, self.spec, found)


def _attempts(
    spark: Spark,
    settings: Settings,
    spec: TableSpec,
    table: Table,
    source: TableSource,
    keys: tuple[str, ...] | None,
    run_key: str,
    properties: Mapping[str, str] | None,
    *,
    reload: bool,
) -> tuple[LoadStep, LoadedOnce] | NothingToLoad:
    """Plan and commit one load. After a conflict with another writer, plan it again; after ``_TRIES`` conflicts, raise
    CommitConflict.
    """
    refused: BaseException | None = None
    began: int | None = None
    for _ in range(_TRIES):
        step = _step(spark, settings, spec, table, keys, run_key, reload=reload, began=began)
        try:
            plan = source.plan(step)
        except PipelineError as error:
            if newest_load(table, spec.load_name) == step.ledger.number:
                raise
            refused = error  # another load has committed since the ledger was read
            continue
        if isinstance(plan, NothingToLoad):
            _mark(step, again=False)
            return plan
        began = step.ledger.number if began is None else began
        try:
            snapshot, written, check_results = _load(step, plan, properties)
        except NumberTaken as taken:
            refused = taken.__cause__
            continue
        return step, loaded_once(plan, snapshot, written, check_results)
    why = "" if refused is None else f": {refused}"
    raise CommitConflict(
        f"{spec.load_name}: {_TRIES} tries lost against other writers of this table: load it again later{why}"
    )


def _complete(step: LoadStep, snapshot: Snapshot) -> None:
    """Publish the other results of a load after its rows: rejects, waiting rows and marks."""
    if changes_rejects(snapshot.properties or {}):
        publish_rejects(step.table, step.rejects, step.spec.load_name)
    if changes_waiting(snapshot.properties or {}):
        publish_waiting(step.settings, step.spec, step.table)
    _mark(step, again=True)


def _step(
    spark: Spark,
    settings: Settings,
    spec: TableSpec,
    table: Table,
    keys: tuple[str, ...] | None,
    run_key: str,
    *,
    reload: bool,
    began: int | None,
) -> LoadStep:
    """Return the next attempt, with the current ledger; ``began``: the newest load before the first attempt (None: the
    first).

    Raises PipelineError when the ledger does not allow this load.
    """
    rejects = open_rejects(settings, spec)
    listed, snapshots = table.latest_snapshot(), table.inspect.snapshots()
    if any(changes_rejects(load.properties) for load in loads_in(snapshots, spec.load_name)):
        publish_rejects(table, rejects, spec.load_name)
    ledger = read_ledger(table, spec.load_name, accept_gaps=reload and keys is None, snapshots=snapshots)
    number = 1 + max(ledger.number, newest_number(rejects, spec.load_name), newest_waiting(settings, spec))
    again = reload or (bool(ledger.lost) and spec.write_mode == "overwrite" and keys is None)
    meanwhile = Ledger() if began is None else loads_after(began, spec.load_name, snapshots)
    step = LoadStep(
        spark, settings, spec, table, rejects, ledger, number, keys, run_key, again, meanwhile, listed=listed
    )
    check_lost(step)
    return step


def _spec_of(settings: Settings, spec: TableSpec, table: Table) -> TableSpec:
    """Return the declaration for loads; a part has the columns that its loads added to the table.

    Raises PipelineError when the columns of the table are not the declared ones.
    """
    loaded = as_loaded(settings.table(spec.name), table.schema)
    if found := [*column_differences(loaded, table), *group_differences(loaded, table)]:
        raise PipelineError(
            f"{spec.name} {found[0]}: `paimon-lake apply` alters the table, or change the declaration back"
        )
    return part_spec(loaded, spec.part) if isinstance(spec, PartSpec) else spec


def _mark(step: LoadStep, *, again: bool) -> None:
    if step.spec.mark_done:
        mark_loaded(step.spec, step.table, step.partitions, again=again)


def _load(
    step: LoadStep, plan: PlannedLoad, properties: Mapping[str, str] | None
) -> tuple[Snapshot, WriteResult, tuple[CheckResult, ...]]:
    spec = step.spec
    written = plan.write()
    lookup = written.lookup
    commit_properties = {
        STEP: f"load {spec.load_name}",
        ROWS_READ: str(written.rows_read),
        ROWS_WRITTEN: str(written.rows_written),
        ROWS_REJECTED: str(written.rows_rejected),
        ROWS_MERGED: str(written.rows_merged),
        **({ROWS_WAITING: str(lookup.waiting), ROWS_RETRIED: str(lookup.retried)} if waits(spec) else {}),
        **_partitions(step),
        **plan.entries,
        **written.entries,
        **step.ledger.repair(plan.entries),
        **({RESTORES: str(step.ledger.lost.seen)} if step.ledger.lost and makes_up_for_all(step) else {}),
        **entry(written.rejects, replaced_files(step.rejects, plan), step.rejects),
        **plain(properties),
    }
    check_results: list[CheckResult] = []
    audit = blocking_audit(step, plan.inputs, check_results)
    try:
        check_share(step.table, spec, written)
        continues = plan.continues or commit_properties.keys() & {POSITION, WATERMARK, FILES}
        after = step.ledger.number if continues else None
        commit = LoadCommit(step.number, commit_properties, plan.replace, audit, spec.load_name, after, step.listed)
        snapshot = commit_load(step.table, written.messages, commit)
    except (AuditFailed, CommitConflict, NumberTaken, InvalidRequest) as error:
        abort(written.rejects, step.rejects.context)
        abort_waiting(plan.lookups, written.waiting)
        if isinstance(error, CommitConflict) and "committed" not in error.facts:
            abort(written.messages, step.table.context)
            if is_staged(step.table.context):
                raise NumberTaken from error
        if isinstance(error, InvalidRequest) and plan.replace is not None:
            rule = "a load replaces the partitions of its files or of its run, and all of its rows must belong to them"
            raise PipelineError(f"{spec.name}: {error}; {rule}") from None
        if isinstance(error, AuditFailed):
            error.check_results = tuple(check_results)
        raise
    return snapshot, written, tuple(check_results)


def _partitions(step: LoadStep) -> dict[str, str]:
    if step.partitions is None:
        return {}
    return {PARTITIONS: json.dumps(step.partitions), PARTITION_COUNT: str(len(step.partitions))}


def _checked_partitions(spec: TableSpec, partitions: Sequence[str] | None) -> tuple[str, ...] | None:
    if partitions is None or spec.partitions is None:
        if partitions is not None:
            raise PipelineError(f"{spec.name} has no partitions: load it as a whole")
        return None
    if not partitions:
        raise PipelineError(f"{spec.name}: at least one partition is required")
    for key in partitions:
        check_key(spec.partitions, key, spec.name)
    return tuple(sorted(set(partitions)))
