"""Commits of messages, as the tests of the layers below `paimon_core.table` make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.overwrite import Overwrite
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, Snapshot


def commit(
    messages: Sequence[CommitMessage],
    *,
    context: TableContext,
    user: str,
    identifier: int = BATCH_IDENTIFIER,
    properties: Mapping[str, str] | None = None,
    watermark: int | None = None,
    operation: str | None = None,
    overwrite: Overwrite | None = None,
    now_millis: int | None = None,
) -> tuple[Snapshot, ...]:
    """Commit the messages; return the snapshots."""
    author = Author(user, identifier, dict(properties or {}), watermark, operation, now_millis)
    return commit_changes(changes_of(messages, overwrite), context, author, overwrite)
