"""sample: some rows of a table and of its last commit, for people who look at the table in Dagster.

Only the declared columns are read, without those that the declaration hides. A column that a load added is not shown
before it is declared, because nobody has said yet whether it is private.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.query.planned_rows import first_rows
from paimon_core.table.table import Table
from paimon_lake.declarations import Settings
from paimon_lake.declarations.tables.sample import Sample
from paimon_lake.tables import open_table

_MOST_COMPACTIONS = 20
"""The number of snapshots of compactions before which the last commit of rows is not searched any further."""


@dataclass(frozen=True)
class SampleRows:
    """Rows of one version of a table; None: not declared, or there are none."""

    rows: pa.Table | None
    changes: pa.Table | None
    changes_of: int | None
    """The id of the snapshot whose rows ``changes`` are."""
    hidden: int
    """The number of columns that the declaration hides."""
    note: str = ""
    """Why there are no changes; "" if there are, or if the declaration wants none."""


def sample_of(settings: Settings, name: str) -> SampleRows | None:
    """Read the rows that the declaration of a table lets Dagster show; None if it has no ``sample``.

    The read stops after the first rows. Raises the errors of a scan; their texts may contain values of the table.
    """
    wanted = settings.table(name).sample
    if wanted is None:
        return None
    table = open_table(settings, name)
    snapshot = table.latest_snapshot()
    known = {field.name for field in table.schema.fields}
    shown = [column for column in settings.table(name).columns if column in known and column not in wanted.hide]
    if snapshot is None or not shown:
        return SampleRows(None, None, None, len(wanted.hide))
    rows = None
    if wanted.rows:
        rows = _table(table.scan(columns=shown, limit=wanted.rows).to_batches(), wanted.rows)
    changes, changed, note = _changes(table, snapshot, wanted, shown)
    return SampleRows(rows, changes, changed, len(wanted.hide), note)


def _changes(
    table: Table, latest: Snapshot, wanted: Sample, shown: list[str]
) -> tuple[pa.Table | None, int | None, str]:
    """Return the first rows that the last commit of rows wrote, the id of its snapshot, and why there are none."""
    if not wanted.changes:
        return None, None, ""
    found = latest
    for _ in range(_MOST_COMPACTIONS):
        if found.commit_kind is not CommitKind.COMPACT:
            break
        if not table.context.snapshots.exists(found.id - 1):
            return None, None, "the last commit of rows has expired"
        found = table.context.snapshots.read(found.id - 1)
    if found.commit_kind is not CommitKind.APPEND:
        why = "replaced files" if found.commit_kind is CommitKind.OVERWRITE else "wrote no rows"
        return None, None, f"snapshot {found.id} {why}, so its changes are not shown"
    if found.id > 1 and not table.context.snapshots.exists(found.id - 1):
        return None, None, f"the snapshot before snapshot {found.id} has expired"
    batches = table.changes(found.id - 1, found.id, columns=shown, way="delta").to_batches()
    return _table(batches, wanted.changes), found.id, ""


def _table(batches: Iterator[pa.RecordBatch], most: int) -> pa.Table | None:
    """Return the first ``most`` rows; None without rows."""
    found = [batch for batch in first_rows(batches, most) if len(batch)]
    return pa.Table.from_batches(found) if found else None
