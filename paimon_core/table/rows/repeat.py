"""Repeat: read rows, change them and commit; start again when a concurrent commit has changed the read rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from paimon_core.commit.read_set import Reads
from paimon_core.commit.retry import tries
from paimon_core.errors import CommitConflict, CorruptTable, PaimonError, ReadOutdated, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.read_again import is_missing
from paimon_core.metadata.table_identity import refreshed
from paimon_core.table.commit_request import CommitRequest, Committed

T = TypeVar("T")


@dataclass(frozen=True)
class Found(Generic[T]):
    """The result of the reads of one attempt."""

    reads: Reads
    files: Iterable[DataFile]
    """The files of the rows; a file with a newer schema than the context shows that the context is too old."""
    content: T


def repeat_when_outdated(
    request: CommitRequest,
    read: Callable[[TableContext], Found[T]],
    change: Callable[[CommitRequest, Found[T]], Committed | None],
) -> Committed | None:
    """Call ``read``, then ``change`` with its result, and return the commit; repeat both when the rows are outdated.

    Rows are outdated when a concurrent commit has changed them. If a file has a newer schema than the request, rows are
    read and changed with the table's latest schema. The number of attempts is the same as for a commit
    (``commit.max-retries``, ``commit.timeout``); the error of the last attempt is raised. A conflict that no concurrent
    commit explains is raised at once.
    """
    context = request.context
    outdated: PaimonError | None = None
    for _ in tries(context.options):
        found = read(context)
        if any(f.schema_id > context.schema.id for f in found.files):
            context = refreshed(request.context)
            continue
        try:
            return change(replace(request, context=context), found)
        except (CommitConflict, SnapshotNotFound, CorruptTable) as error:
            outdated = _outdated(context, found.reads, error)
    raise outdated or CommitConflict(f"table {context.name}: its schema changed during each try", table=context.name)


def _outdated(context: TableContext, reads: Reads, error: PaimonError) -> PaimonError:
    """Return the error to raise after the last attempt; raise ``error`` when another attempt cannot succeed."""
    if isinstance(error, SnapshotNotFound | ReadOutdated):
        return error
    unchanged = context.snapshots.latest() == reads.snapshot
    if isinstance(error, CorruptTable):
        if unchanged or not is_missing(error):
            raise error
        # A concurrent commit has replaced the files, and an expiry has deleted them.
        return CommitConflict(f"table {context.name}: files were removed during the change: {error}")
    if unchanged or "attempts" in error.facts:
        raise error
    return error
