"""Merge: merge a source into a table in one commit, computed from the latest snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.table.commit_request import CommitRequest, Committed
from paimon_core.table.rows.delete_update import check_delete, commit_change
from paimon_core.table.rows.merge_clauses import Clauses, Delete, Update
from paimon_core.table.rows.merge_rows import Merge, merged_by_key, merged_rows
from paimon_core.table.rows.merge_source import MergeSource


def merge(request: CommitRequest, source: Any, on: str | Sequence[str], clauses: Clauses) -> Committed | None:
    """Update, delete and insert rows by the rows of ``source``; see ``Table.merge``."""
    own = request.context
    rows = MergeSource.read(own, source, on, clauses)
    if own.is_keyed:
        check_by_key(own, clauses, rows.on)
    clauses.check(own, rows.rows.column_names, rows.fields, rows.on)
    where = None if clauses.not_matched_by_source else rows.may_match(own)

    def change(context: TableContext, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
        fitting = rows
        if context is not own:  # the table was altered after the source was read
            fitting = MergeSource.read(context, rows.rows, rows.on, clauses)
            clauses.check(context, fitting.rows.column_names, fitting.fields, fitting.on)
        found = Merge(context, fitting, clauses)
        return (merged_by_key if context.is_keyed else merged_rows)(found, plan, where)

    return commit_change(request, where, change)


def check_by_key(context: TableContext, clauses: Clauses, on: Sequence[str]) -> None:
    """Raise InvalidRequest for clauses that would not take effect in this table with a primary key."""
    keys, engine = context.schema.primary_keys, context.options["merge-engine"]
    if clauses.not_matched and set(on) != set(keys):
        raise InvalidRequest(
            f"table {context.name}: rows are inserted by primary key, so the argument on must be {list(keys)}, not "
            f"{list(on)}: match on these columns, or pass when_not_matched=None",
            table=context.name,
        )
    if engine != "deduplicate" and any(isinstance(c, Update) for c in clauses.changes):
        raise InvalidRequest(
            f"table {context.name} has merge-engine = {engine}: an update would not replace its rows: pass "
            "when_matched=None, or write the rows",
            table=context.name,
        )
    if any(isinstance(c, Delete) for c in clauses.changes):
        check_delete(context)
