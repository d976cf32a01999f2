"""Compaction of a table: runs and commits the compactions that ``planning`` picks, and returns a report (format 8)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from paimon_core.argument_checks import flag
from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.compact.compactor import run_tasks
from paimon_core.compact.planning import idle_partitions, live_entries, plan
from paimon_core.compact.postpone import spread_messages
from paimon_core.compact.recent_compactions import marked
from paimon_core.compact.report import CompactReport
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import CommitConflict, InvalidRequest, PaimonError, TableNotFound
from paimon_core.lsm.compaction.strategy import stop_trigger
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.table_identity import refreshed
from paimon_core.predicate import Where

_LOG = logging.getLogger(__name__)
Work = Callable[[TableContext, Sequence[CompactionTask]], list[CommitMessage]]
"""Runs tasks, in this process or in other processes, and returns their commit messages; it raises if one task fails."""


def compact(
    context: TableContext,
    author: Author,
    *,
    full: bool = False,
    where: Where | None = None,
    written: Collection[tuple[bytes, int]] | None = None,
    idle_millis: int | None = None,
    work: Work = run_tasks,
) -> CompactReport:
    """Plan, run and commit compactions, and report them.

    ``full``: every bucket is compacted into one run. ``where``: a filter on partition columns. ``written``: the buckets
    that a write changed; unless a full compaction is due, only these and overdue buckets are compacted (None: all
    buckets). ``idle_millis``: only partitions without a new file for this time when the call starts are compacted;
    None: all.

    Buckets that still have ``num-sorted-run.stop-trigger`` runs or more afterwards are compacted again. When
    ``deletion-vectors.enabled`` has changed since the handle was opened, the compactions are planned again with the
    latest schema. Without ``written``, a separate commit first moves the rows of the postpone bucket to fixed buckets.
    Raises CommitConflict when concurrent commits conflicted in every bucket. ``facts["committed"]`` of an error
    contains the ids of the snapshots that were committed before the error.
    """
    flag("full", full)
    done = CompactReport()
    idle = None if idle_millis is None else idle_partitions(context, where, idle_millis)
    if context.is_postponed and written is None:
        done = spread_postponed(context, author, where, idle)
    while tasks := plan(context, full=full, where=where, written=written, partitions=idle):
        try:
            done = done.followed_by(run(context, author, tasks, work))
        except CommitConflict as error:
            if "switched" in error.facts and refreshed(context).schema.id > context.schema.id:
                context = refreshed(context)
                continue
            if not done:
                raise
            return done.followed_by(CompactReport(tuple(tasks), conflicts=len(tasks)))
        except PaimonError as error:
            _add_committed(error, done)
            raise
        stop = stop_trigger(context.options)
        units = [((t.partition, t.bucket), t.unit) for t in tasks]
        written = {place for place, unit in units if isinstance(unit, CompactionUnit) and unit.runs_left >= stop}
        if not written:
            break
    return done


def spread_postponed(
    context: TableContext, author: Author, where: Where | None, partitions: Collection[bytes] | None = None
) -> CompactReport:
    """Move the rows of the postpone bucket to fixed buckets in one COMPACT commit; do nothing when that bucket is
    empty.

    ``where`` and ``partitions`` select partitions; None: all.

    The moved rows count as newer than all rows that earlier commits have written to fixed buckets. Rows that a
    concurrent commit adds to the postpone bucket stay in this bucket. Raises CommitConflict, and moves nothing, when a
    concurrent commit has removed one of the files or has changed the number of buckets of a partition.
    """
    entries = live_entries(context, where)
    if partitions is not None:
        entries = [entry for entry in entries if entry.partition in partitions]
    messages = spread_messages(context, entries)
    return _commit_own(context, author, messages) if messages else CompactReport()


def run(
    context: TableContext, author: Author, tasks: Sequence[CompactionTask], work: Work = run_tasks
) -> CompactReport:
    """Run the tasks and commit them together; after a conflict, commit each bucket separately.

    Raises CommitConflict when no bucket could be committed. The files of a bucket that is not committed are deleted.
    """
    author = replace(author, properties=marked(tasks, author.properties))
    return replace(commit_buckets(context, author, work(context, tasks)), tasks=tuple(tasks))


def commit_buckets(context: TableContext, author: Author, messages: Sequence[CommitMessage]) -> CompactReport:
    """Commit the messages together; after a conflict, commit each bucket separately.

    The files of buckets that conflict again are deleted.
    """
    try:
        return _commit(context, author, messages)
    except (InvalidRequest, TableNotFound):
        abort(messages, context)
        raise
    except CommitConflict as error:
        # An error with these facts does not concern a single bucket: either other commits have used the snapshot ids of
        # all attempts, or the snapshot was withdrawn and an expiry may delete its files.
        if len(messages) < 2 or "attempts" in error.facts or "taken_back" in error.facts:
            abort(messages, context)
            raise
        return _commit_separately(context, author, messages, error)


def _commit_separately(
    context: TableContext, author: Author, messages: Sequence[CommitMessage], refused: CommitConflict
) -> CompactReport:
    done = CompactReport()
    for position, message in enumerate(messages):
        try:
            done = done.followed_by(_commit_own(context, author, [message]))
        except CommitConflict as error:
            done = replace(done, conflicts=done.conflicts + 1)
            _LOG.info("table %s: bucket %d was not compacted: %s", context.name, message.bucket, error)
        except BaseException as error:
            abort(messages[position + 1 :], context)
            if isinstance(error, PaimonError):
                _add_committed(error, done)
            raise
    if not done:
        raise refused
    return done


def _add_committed(error: PaimonError, done: CompactReport) -> None:
    """Add the ids of the snapshots that were committed before the error to ``facts["committed"]`` of the error."""
    if done:
        error.facts["committed"] = [*(s.id for s in done.snapshots), *error.facts.get("committed", ())]


def _commit_own(context: TableContext, author: Author, messages: Sequence[CommitMessage]) -> CompactReport:
    """Commit the messages together; when the commit certainly fails, delete the files of the messages."""
    try:
        return _commit(context, author, messages)
    except (CommitConflict, InvalidRequest, TableNotFound):
        abort(messages, context)
        raise


def _commit(context: TableContext, author: Author, messages: Sequence[CommitMessage]) -> CompactReport:
    changes = changes_of(messages, keep_empty=not context.options["snapshot.ignore-empty-commit"])
    snapshots = commit_changes(changes, context, author, fresh=True)
    return CompactReport(messages=tuple(messages) if snapshots else (), snapshots=snapshots)
