"""Merge counts: how many rows a merge would update, delete and insert, without writing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paimon_core.metadata.context import TableContext
from paimon_core.query.scan import new_scan
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.table.rows.merge import check_by_key
from paimon_core.table.rows.merge_clauses import Clauses, Delete, Update
from paimon_core.table.rows.merge_rows import Merge
from paimon_core.table.rows.merge_source import MergeSource
from paimon_core.table.rows.row_changes import check_takes_effect
from paimon_core.write.default_values import conform_with_defaults


@dataclass(frozen=True)
class MergeCounts:
    """Numbers of rows."""

    source: int
    """The rows of the source."""
    updated: int
    deleted: int
    inserted: int


def count_merge(context: TableContext, source: Any, on: str | Sequence[str], clauses: Clauses) -> MergeCounts:
    """Count what ``Table.merge`` with the same arguments would change in the latest snapshot.

    Reads the columns ``on`` and the columns of conditions of all rows that may match. Raises the errors that the merge
    raises before it writes rows, and those for rows of the source that do not fit the table, such as null in NOT NULL.
    """
    context.options.check_writable(context.name)
    check_takes_effect(context)
    rows = MergeSource.read(context, source, on, clauses)
    if context.is_keyed:
        check_by_key(context, clauses, rows.on)
    clauses.check(context, rows.rows.column_names, rows.fields, rows.on)
    where = None if clauses.not_matched_by_source else rows.may_match(context)
    merge = Merge(context, rows, clauses)
    scan = new_scan(context.merging_level_0(), context.snapshots.latest(), None, where, None, pinned=False)
    totals = np.zeros(len(clauses.changes), np.int64)
    updates = [n for n, clause in enumerate(clauses.matched) if isinstance(clause, Update) and clause.set is None]
    is_used = np.zeros(len(rows.rows), np.bool_)
    for split in scan.plan.splits:
        request = ReadRequest([name for name in context.schema.names if name in merge.columns], scan.where)
        for batch in read_split(scan.context, split, request):
            changed = merge.changes(batch)
            totals += np.bincount(changed.clause, minlength=len(totals))
            is_used[changed.source[np.isin(changed.clause, updates)]] = True
    deletes = np.array([isinstance(clause, Delete) for clause in clauses.changes], np.bool_)
    names = [name for name in rows.rows.column_names if name in context.schema.by_name and name not in rows.on]
    conform_with_defaults(rows.taken(np.flatnonzero(is_used)).select(names), context.schema.select(names))
    inserted = 0
    for some in merge.inserted():
        inserted += len(conform_with_defaults(some, context.schema.fields, first_row=inserted))
    return MergeCounts(len(rows.rows), int(totals[~deletes].sum()), int(totals[deletes].sum()), inserted)
