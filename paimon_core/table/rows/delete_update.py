"""Delete and update: change the rows that match a predicate in one commit, computed from the latest snapshot."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from paimon_core.commit.read_set import Reads
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.rules.engine_rules import check_deletes
from paimon_core.plan.partitions import partitions_with_matches
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate, Where, required_where
from paimon_core.query.scan import new_scan
from paimon_core.table.commit_request import CommitRequest, Committed
from paimon_core.table.rows.repeat import Found, repeat_when_outdated
from paimon_core.table.rows.row_changes import (
    Assignments,
    changed_rows,
    check_assignments,
    check_literals,
    check_takes_effect,
    deleted_by_key,
    updated_by_key,
)
from paimon_core.table.writes.overwrite_target import overwrite_target

Change = Callable[[TableContext, ScanPlan, Any], list[CommitMessage]]
"""A function of context, plan and predicate: it returns the messages that change the matching rows of the plan."""
Run = Callable[[Change, TableContext, ScanPlan, Any], list[CommitMessage]]
"""Calls a ``Change`` with the other arguments, either once in this process, or for parts of the plan in other
processes.
"""


def in_this_process(change: Change, context: TableContext, plan: ScanPlan, where: Any) -> list[CommitMessage]:
    """Call ``change`` for the whole plan."""
    return change(context, plan, where)


def delete(request: CommitRequest, where: Where, run: Run = in_this_process) -> Committed | None:
    """Delete the rows that match; see ``Table.delete``."""
    context = request.context
    where = checked_delete(context, where)
    if where.columns <= set(context.schema.partition_keys):
        return request.complete([], overwrite_target(context, where), operation="DELETE")
    return commit_change(request, where, partial(run, deleted_by_key if context.is_keyed else changed_rows))


def checked_delete(context: TableContext, where: Where) -> Predicate:
    """Return the predicate of a delete; raises the errors that the delete raises before it reads rows."""
    context.options.check_writable(context.name)
    found: Predicate = required_where(where, context.tracked().schema.fields, "delete")
    if not found.columns <= set(context.schema.partition_keys):
        check_delete(context)
        check_takes_effect(context)
    return found


def check_delete(context: TableContext) -> None:
    """Raise InvalidRequest when the options of a table with a primary key do not allow deletes of single rows."""
    if not context.is_keyed:
        return
    if context.options["ignore-delete"]:
        raise InvalidRequest(
            f"table {context.name} has ignore-delete = true: rows cannot be deleted", table=context.name
        )
    check_deletes(context)


def update(
    request: CommitRequest, where: Where, assignments: Assignments, run: Run = in_this_process
) -> Committed | None:
    """Set columns of the rows that match; see ``Table.update``."""
    context = request.context
    where = checked_update(context, where, assignments)

    def change(context: TableContext, plan: ScanPlan, where: Predicate) -> list[CommitMessage]:
        check_assignments(context, assignments)  # again, because the table may have been altered
        one = updated_by_key if context.is_keyed else changed_rows
        return run(partial(one, assignments=assignments), context, plan, where)

    return commit_change(request, where, change)


def checked_update(context: TableContext, where: Where, assignments: Assignments) -> Predicate:
    """Return the predicate of an update; raises the errors that the update raises before it reads rows.

    Raises SchemaMismatch for a value that does not fit its column, also when no row matches.
    """
    context.options.check_writable(context.name)
    found: Predicate = required_where(where, context.tracked().schema.fields, "update")
    check_update(context, assignments)
    check_literals(context, assignments)
    check_takes_effect(context)
    return found


def check_update(context: TableContext, assignments: Assignments) -> None:
    """Raise InvalidRequest or SchemaMismatch when an update cannot set these columns of the table."""
    check_assignments(context, assignments)
    if context.is_keyed and (engine := context.options["merge-engine"]) != "deduplicate":
        problem = f"table {context.name} has merge-engine = {engine}: an update would not replace its rows"
        raise InvalidRequest(problem, table=context.name)


def commit_change(request: CommitRequest, where: Predicate | None, change: Change) -> Committed | None:
    """Commit what ``change`` returns for the latest snapshot; after a conflict, repeat the change and the commit."""
    check_takes_effect(request.context)

    def read(context: TableContext) -> Found[tuple[ScanPlan, Predicate | None]]:
        scan = new_scan(context.merging_level_0(), context.snapshots.latest(), None, where, None, pinned=False)
        plan = scan.plan
        reads = Reads(plan.snapshot, partitions_with_matches(scan.context, scan.where))
        return Found(reads, plan.files, (plan, scan.where))

    def commit(request: CommitRequest, found: Found[tuple[ScanPlan, Predicate | None]]) -> Committed | None:
        plan, where = found.content
        return request.complete(change(request.context, plan, where), reads=found.reads)

    return repeat_when_outdated(request, read, commit)
