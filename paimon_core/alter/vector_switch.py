"""Vector switch: check and confirm a change of ``deletion-vectors.enabled`` in a table with snapshots (format 12.2)."""

from __future__ import annotations

import uuid

from paimon_core.commit.author import Author
from paimon_core.commit.base import Base
from paimon_core.commit.changes import Change
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.vector_switch import OPTION, VectorSwitch, has_vectors
from paimon_core.errors import InvalidOption
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.schema import TableSchema


def vector_switch(context: TableContext, old: TableSchema, new: TableSchema) -> VectorSwitch | None:
    """Return the change of deletion vectors in an alteration; None without a change, and for a table without snapshots.

    Raises InvalidOption when the latest snapshot does not allow the change, UnsupportedFeature for a table that this
    library cannot write.
    """
    if has_vectors(old) == has_vectors(new) or context.snapshots.latest_id() is None:
        return None
    after = context.reopened(new)
    after.options.check_writable(context.name)
    switch = VectorSwitch(has_vectors(new), after.options["deletion-vectors.merge-on-read"])
    problem = read_latest(context.snapshots, lambda latest: switch.problem(Base(after, latest)))
    if problem is not None:
        raise InvalidOption(
            f"table {context.name}: option {OPTION} cannot change: {problem}: compact the table fully before, "
            "for example with table.compact(full=True)",
            table=context.name,
            option=OPTION,
        )
    return switch


def confirm_switch(context: TableContext, switch: VectorSwitch) -> tuple[Snapshot, ...]:
    """Commit and return an empty snapshot: after this snapshot, only compactions with the new value can be committed.

    Raises CommitConflict when, because of a concurrent commit, the files do not allow the new value any more.
    """
    change = Change(CommitKind.APPEND, (), may_be_empty=True)
    return commit_changes([change], context, Author(str(uuid.uuid4())), reads=switch)
