"""After a commit: the automatic tags, compaction and expiry of a table that is not write-only.

The commit has succeeded, so an error of these steps is logged and not raised. A step that failed runs again after a
later commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeVar

from paimon_core.compact import compaction
from paimon_core.compact.compactor import run_tasks
from paimon_core.errors import AfterCommitFailed, PaimonError
from paimon_core.maintain.expiry.configured import expire_due
from paimon_core.maintain.tags.automatic import create_and_expire_tags
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.commit_request import CommitRequest

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
Failed = list[tuple[Snapshot, Exception]]
"""The errors of callbacks, with the snapshots that they were called for."""
AFTER_COMMIT: tuple[Callable[[TableContext, Snapshot], object], ...] = (create_and_expire_tags,)
"""Steps that run after a commit, before compaction and expiry, unless the table is write-only.

The steps are called in order with the last snapshot of the commit. The steps also run when a repeated commit finds that
it succeeded before, so each step must be repeatable.
"""


def failed_callbacks(table: _T, callbacks: Sequence[Callable[[_T, Snapshot], object]], snapshot: Snapshot) -> Failed:
    """Run all callbacks of a handle, and return the errors of the callbacks that failed."""
    failed: Failed = []
    for callback in callbacks:
        try:
            callback(table, snapshot)
        except Exception as error:
            _LOG.warning("snapshot %d is committed, a callback failed", snapshot.id, exc_info=error)
            failed.append((snapshot, error))
    return failed


def raise_first(name: str, failed: Failed) -> None:
    """Raise AfterCommitFailed for the first error, if there is one; ``name`` is the name of the table."""
    for snapshot, error in failed:
        raise AfterCommitFailed(
            f"table {name}: snapshot {snapshot.id} of user {snapshot.commit_user} is committed, but a "
            f"callback after it failed: {error!r:.200}. Do not write the rows again; with a user and an "
            "identifier, repeating the call runs the callbacks again",
            table=name,
            snapshot=snapshot.id,
            user=snapshot.commit_user,
            identifier=snapshot.commit_identifier,
        ) from error


def maintain(
    context: TableContext,
    snapshot: Snapshot,
    written: Collection[tuple[bytes, int]] | None,
    work: compaction.Work = run_tasks,
) -> list[Snapshot]:
    """Run the maintenance that the options request; ``written``: the buckets to compact, None: no compaction or expiry.

    ``work`` runs the compactions. Only errors that are not a PaimonError are raised.

    Returns the last snapshot of the compaction and the last snapshot of the expiry of partitions, if these steps
    committed.
    """
    committed: list[Snapshot] = []
    if context.options["write-only"]:
        return committed
    for step in AFTER_COMMIT:
        _run(context, snapshot, partial(step, context, snapshot))
    if written is not None:
        _run(context, snapshot, partial(_compact_and_expire, context, written, committed, work))
    return committed


def _compact_and_expire(
    context: TableContext, written: Collection[tuple[bytes, int]], committed: list[Snapshot], work: compaction.Work
) -> None:
    author = CommitRequest.of(context, None, None, None).author()
    committed += compaction.compact(context, author, written=written, work=work).snapshots[-1:]
    expire_due(context, clock.now_millis(), committed)


def _run(context: TableContext, snapshot: Snapshot, step: Callable[[], object]) -> None:
    try:
        step()
    except PaimonError as error:
        _LOG.warning(
            "table %s: snapshot %d is committed, its maintenance failed and is left to a later commit: %s",
            context.name,
            snapshot.id,
            "; ".join([str(error), *getattr(error, "__notes__", ())]),
        )
