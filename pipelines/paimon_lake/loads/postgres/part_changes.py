"""Part changes: the loads of a part of a wide table that follows a table of PostgreSQL.

The copy and the increments are those of a table, with a slot of the part. Their rows replace only the values of the
part, so no load overwrites rows: a copy and a TRUNCATE write a row -D for each key whose values of the part are gone.
All rows of a load have the same number in the ``order_by`` column: its position in the log, or a greater number if the
part already has greater ones, because the log of a restored server, or of another server, may begin lower. The ledger
records the number as its watermark, and the next load has a greater number.

A row that waits for a row of another table keeps its number, which is greater than the number of the row that the table
has. A copy and a TRUNCATE also end the wait of all rows that waited before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from paimon_core.spark.reference import TableReference
from paimon_lake.declarations.part_spec import PartSpec
from paimon_lake.loads.database import DatabaseRead
from paimon_lake.loads.ledger.load_snapshot import WATERMARK
from paimon_lake.loads.lookup.lookups import Lookups
from paimon_lake.loads.postgres.log_batch import LogBatch
from paimon_lake.loads.postgres.opened_source import OpenedSource
from paimon_lake.loads.postgres.part_rows import (
    KEY_BYTES,
    REMOVE,
    ChangedPart,
    CopiedPart,
    PartRows,
    PartStoredRows,
    Removal,
)
from paimon_lake.loads.postgres.postgres_changes import PostgresChangesLoads, encoded
from paimon_lake.loads.postgres.stored_rows import NewestRows, StoredRows
from paimon_lake.loads.postgres.table_copy import planned_copy
from paimon_lake.loads.step import LoadStep, NothingToLoad, PlannedLoad
from paimon_lake.loads.write_tasks import WriteResult, write_parts
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.database_rows import DatabaseRows
from paimon_lake.sources.database_sql import select
from paimon_lake.sources.postgres.change_rows import ChangeRows
from paimon_lake.sources.postgres.net_changes import NetBatch
from paimon_lake.sources.postgres.position import Position
from paimon_lake.sources.postgres.server import Server

_GREATEST = (1 << 63) - 1


class PartChangesLoads(PostgresChangesLoads):
    """The loads of a part from a table of PostgreSQL."""

    _number = 0
    """The number in the ``order_by`` column for the rows of the batch that was read last."""

    def _check_empty(self, step: LoadStep) -> None:
        """Allow rows in the table: they contain the columns of other parts, and a copy removes the values of this
        part.
        """

    def _copy(self, step: LoadStep, server: Server, source: OpenedSource) -> PlannedLoad:
        column = step.spec.order_by[0]
        if column.casefold() in {name.casefold() for name in source.table.columns}:
            raise PipelineError(
                f"{source.text} has a column {column!r} too, and loads fill order_by with the position in the log: "
                "choose another name for order_by"
            )
        planned = planned_copy(step, server, source, self._source, is_shared=False, write=_write_copy)
        return replace(planned, replace=None, clears_waiting=True)

    def _changes(
        self, step: LoadStep, server: Server, source: OpenedSource, position: Position
    ) -> PlannedLoad | NothingToLoad:
        planned = super()._changes(step, server, source, position)
        if isinstance(planned, NothingToLoad):
            return planned
        return replace(planned, replace=None, clears_waiting=planned.replace is not None)

    def _read(
        self, step: LoadStep, server: Server, source: OpenedSource, position: Position, batch: LogBatch
    ) -> tuple[NetBatch, int, Position]:
        found, end, now = super()._read(step, server, source, position, batch)
        self._number = _next_number(step, end, begins=False)
        return found, end, now

    def _write(
        self, step: LoadStep, name: str, rows: DatabaseRows, found: NetBatch, ignored: Sequence[str]
    ) -> WriteResult:
        of_part = PartRows(step.spec.order_by[0], self._number)
        told = WriteResult(entries={WATERMARK: json.dumps(of_part.number)}, ignored_columns=tuple(ignored))
        lookups = step.lookups
        if lookups is not None and found.is_truncated:
            lookups = lookups.without_waiting()
        retries = lookups is not None and lookups.retries
        if not len(found.batch) and not found.is_truncated and not retries:
            return told
        latest = step.table.latest_snapshot()
        stored = StoredRows(TableReference.of(step.table.context), None if latest is None else latest.id)
        reader = ChangedPart(
            ChangeRows(rows, step.spec.primary_key),
            NewestRows.of(PartStoredRows(stored), None if lookups is None else lookups.waiting),
            name,
            of_part,
            _removal(step, rows, of_part) if found.is_truncated else None,
        )
        payloads = [encoded(found.batch)] if len(found.batch) or found.is_truncated else []
        written = _written(step, payloads, reader, lookups)
        return replace(written, entries=told.entries, ignored_columns=told.ignored_columns)


def _write_copy(step: LoadStep, read: DatabaseRead, parts: Sequence[str], snapshot: str, lsn: int) -> WriteResult:
    """Write the rows of the source; a task in a lower lane, whose rows are older, removes the values that the part
    has.
    """
    of_part = PartRows(step.spec.order_by[0], _next_number(step, lsn, begins=True))
    queries = tuple(select(read.rows.selected, read.database.relation, [part]) for part in parts)
    removal = _removal(step, read.rows, of_part)
    payloads = [*([] if removal is None else [REMOVE]), *(query.encode() for query in queries)]
    lookups = None if step.lookups is None else step.lookups.without_waiting()
    written = _written(step, payloads, CopiedPart(read, queries, snapshot, of_part, removal), lookups)
    return replace(written, entries={WATERMARK: json.dumps(of_part.number)})


def _written(
    step: LoadStep, payloads: Sequence[bytes], reader: CopiedPart | ChangedPart, lookups: Lookups | None
) -> WriteResult:
    return write_parts(
        step.spark(),
        payloads,
        reader,
        step.table,
        step.rejects,
        step.stamp,
        kinds=KIND,
        overwrites=False,
        lookups=lookups,
    )


def _removal(step: LoadStep, rows: DatabaseRows, of_part: PartRows) -> Removal | None:
    """Return the removal of the values that the part has now; None for a table without a snapshot."""
    spec, latest = step.spec, step.table.latest_snapshot()
    assert isinstance(spec, PartSpec)
    if latest is None:
        return None
    table = TableReference.of(step.table.context)
    return Removal(table, latest.id, spec.filled, rows.schema, of_part, spec.removes_rows, KEY_BYTES)


def _next_number(step: LoadStep, lsn: int, *, begins: bool) -> int:
    """Return the number of a load: its LSN, or a number greater than the numbers of all rows that the part has.

    ``begins``: whether the load is a copy. Another source may have filled the ``order_by`` column before a copy, so a
    copy reads the greatest number of the column. Raises PipelineError when there is no greater number.
    """
    column, numbers = step.spec.order_by[0], [lsn]
    if isinstance(step.ledger.watermark, int):
        numbers.append(step.ledger.watermark + 1)
    if begins and step.table.latest_snapshot() is not None:
        greatest = step.table.scan().max(column)
        numbers += [] if greatest is None else [greatest + 1]
    if max(numbers) > _GREATEST:
        raise PipelineError(f"{step.spec.load_name}: {column} has the greatest BIGINT: choose another column")
    return max(numbers)
