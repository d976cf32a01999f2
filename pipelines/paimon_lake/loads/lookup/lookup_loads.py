"""Lookup loads: a source whose rows get columns of other tables, read at one snapshot each.

The snapshot of a load records the snapshots of the other tables. Rows that wait are tried again when one of these
tables has another snapshot than in the newest load, or when a row has waited long enough, even if the source has no new
row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from paimon_core.metadata.commit_message import Position, position_of
from paimon_core.spark.reference import TableReference
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_core.types import DataType
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.lookups import INEXACT, type_mismatch
from paimon_lake.declarations.sources.lookup import Lookup, lookups_of, waits
from paimon_lake.declarations.sources.source import PostgresChangesSource
from paimon_lake.loads.ledger.load_snapshot import POSITION
from paimon_lake.loads.lookup.counts import LookupCounts
from paimon_lake.loads.lookup.dimension import Dimension
from paimon_lake.loads.lookup.due_rows import LOOKUPS, are_due
from paimon_lake.loads.lookup.lookups import JoinRule, Lookups, WaitingRows
from paimon_lake.loads.lookup.waiting_rollback import restored
from paimon_lake.loads.lookup.waiting_table import (
    entry,
    first_since_ms,
    open_waiting,
    publish_waiting,
    waiting_now,
)
from paimon_lake.loads.shapes.row_shape import emptied_columns, row_fields
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad, TableSource
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError, StepResult
from paimon_lake.tables import open_table


class LookupLoads:
    """The loads of a source with lookups."""

    def __init__(self, source: TableSource) -> None:
        self._source = source

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the load of the source with its lookups; without new rows, the load of waiting rows that are due."""
        views = _pinned(step)
        positions = {name: position_of(view.latest_snapshot()) for name, view in views.items()}
        rules, only_in_source = _rules(step, views)
        waiting, is_void = (None, False)
        if waits(step.spec):
            publish_waiting(step.settings, step.spec, step.table)
            all_again = step.reload and step.partitions is None
            is_void = restored(step.settings, step.spec, step.table, all_again=all_again)
            waiting = open_waiting(step.settings, step.spec, step.table, only_in_source)
        lookups = Lookups(
            row_fields(step.spec, step.table),
            rules,
            only_in_source,
            step.number,
            int(step.at.timestamp() * 1000),
            isinstance(step.spec.source, PostgresChangesSource),
            emptied_columns(step.spec),
            None if waiting is None else _waiting_rows(step, waiting, positions, is_void=is_void),
        )
        planned = self._source.plan(replace(step, lookups=lookups))
        if isinstance(planned, NothingToLoad):
            if not lookups.retries or step.reload or step.ledger.lost:
                return planned
            planned = _retry(step, lookups, planned)
        return _recorded(planned, lookups, waiting, positions, views, is_void=is_void)


def _pinned(step: LoadStep) -> dict[str, TableView]:
    """Return the looked-up tables by name, each pinned to its latest snapshot."""
    views: dict[str, TableView] = {}
    for lookup in lookups_of(step.spec.source):
        if lookup.table in views:
            continue
        table = open_table(step.settings, lookup.table, create=lookup.missing == "wait")
        latest = table.latest_snapshot()
        if latest is None and lookup.missing != "wait":
            raise PipelineError(f"{step.spec.name}: it looks up rows of {lookup.table}, which is empty: load it first")
        views[lookup.table] = table if latest is None else table.at(snapshot=latest.id)
    return views


def _rules(step: LoadStep, views: Mapping[str, TableView]) -> tuple[tuple[JoinRule, ...], dict[str, DataType]]:
    """Return the lookups with the present columns of the tables, and the types of columns that are only read.

    Only-read columns are columns that the table does not have, or that other parts of a wide table fill. Raises
    PipelineError when the columns of the tables do not fit.
    """
    rules, only_in_source = [], dict[str, DataType]()
    mine = step.table.schema.by_name
    for lookup in lookups_of(step.spec.source):
        view = views[lookup.table]
        theirs = view.schema.by_name
        key = view.schema.primary_keys
        if sorted(lookup.on.values()) != sorted(key):
            raise _unfit(step, lookup, f"its primary key is ({', '.join(key)})")
        for column, name in (*lookup.on.items(), *lookup.columns.items()):
            if name not in theirs:
                raise _unfit(step, lookup, f"it has no column {name!r}")
            kind = theirs[name].type
            if column in mine and (why := type_mismatch(mine[column].type, kind)):
                raise _unfit(step, lookup, f"its {name} is {kind}, and {column} is {mine[column].type}: {why}")
            written = column in mine and step.spec.fills(column)
            if not written and (known := only_in_source.setdefault(column, kind)) != kind:
                raise _unfit(step, lookup, f"its column {name} is {kind}, and another lookup has {column} as {known}")
            if column in lookup.on and kind.root in INEXACT:
                raise _unfit(step, lookup, f"its column {name} is {kind}, whose numbers are not exact")
        dimension = Dimension(
            TableReference.of(view.context),
            position_of(view.latest_snapshot()),
            tuple(theirs[name] for name in lookup.on.values()),
            tuple(theirs[name] for name in dict.fromkeys(lookup.columns.values())),
            lookup.cache_bytes,
        )
        rules.append(
            JoinRule(
                dimension,
                tuple(lookup.on),
                dict(lookup.columns),
                lookup.missing,
                lookup.max_wait_ms,
                lookup.after_wait,
            )
        )
    return tuple(rules), only_in_source


def _unfit(step: LoadStep, lookup: Lookup, why: str) -> PipelineError:
    return PipelineError(
        f"{step.spec.name}: the lookup of {lookup.table} does not fit: {why}; change the declaration or alter the table"
    )


def _waiting_rows(
    step: LoadStep,
    waiting: Table,
    positions: Mapping[str, Position],
    *,
    is_void: bool,
) -> WaitingRows:
    latest = waiting.latest_snapshot()
    by_name = step.table.schema.by_name
    key = tuple(by_name[name] for name in step.table.schema.primary_keys)
    since = None if latest is None or is_void else first_since_ms(waiting.at(snapshot=latest.id))
    if latest is None or since is None:
        return WaitingRows(TableReference.of(waiting.context), None, key, is_due=False)
    is_due = are_due(step.spec, step.table, since, positions, step.at.timestamp() * 1000)
    return WaitingRows(TableReference.of(waiting.context), latest.id, key, is_due)


def _retry(step: LoadStep, lookups: Lookups, planned: NothingToLoad) -> PlannedLoad:
    """Return the load of waiting rows only; it keeps the position of the source."""
    position = step.ledger.position

    def write() -> WriteResult:
        return write_parts(
            step.spark(),
            [],
            lambda _: iter(()),
            step.table,
            step.rejects,
            step.stamp,
            kinds=KIND if step.table.context.is_keyed else None,
            overwrites=False,
            lookups=lookups,
        )

    entries = {} if position is None else {POSITION: json.dumps(position)}
    return PlannedLoad(write, entries, planned.details, left_out=planned.reasons)


def _recorded(
    planned: PlannedLoad,
    lookups: Lookups,
    waiting: Table | None,
    positions: Mapping[str, Position],
    views: Mapping[str, TableView],
    *,
    is_void: bool,
) -> PlannedLoad:
    """Return the load with the snapshots of the looked-up tables and the files of waiting rows in its entries."""
    cleared = is_void or planned.clears_waiting or (planned.replace is not None and planned.replace.everything)

    def write() -> WriteResult:
        written = planned.write()
        found = {} if waiting is None else entry(written.waiting, waiting, cleared=cleared)
        return replace(written, entries={**written.entries, **found})

    return replace(
        planned,
        write=write,
        entries={**planned.entries, LOOKUPS: json.dumps(positions)},
        details={**planned.details, **{f"lookup_{name}": f"snapshot {at}" for name, (at, _) in positions.items()}},
        inputs={**views, **planned.inputs},
        lookups=lookups,
    )


def counted_lookups(counts: LookupCounts) -> dict[str, str | int | float]:
    """Return details about rows that wait, and rows for which another table has no row; {} without such rows."""
    found: dict[str, str | int | float] = {"rows_began_to_wait": counts.waiting, "rows_waited": counts.retried}
    nulls = {f"rows_without_{name}": number for name, number in counts.nulls.items()}
    return {name: value for name, value in {**found, **nulls}.items() if value}


def with_waiting(settings: Settings, spec: TableSpec, result: StepResult) -> StepResult:
    """Return the result of a load with the number of rows that wait after it, for a table whose rows may wait."""
    if not waits(spec):
        return result
    return replace(result, details={**result.details, "rows_waiting": waiting_now(settings, spec)})
