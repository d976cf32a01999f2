"""Write: commits or prepares rows or commit messages for a commit request that has been checked."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from paimon_core.alter.merge_schema import MergeSchema
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest, listed
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Where, parse_where
from paimon_core.table.commit_request import CommitRequest, Committed
from paimon_core.table.writes.merging_writer import open_writer
from paimon_core.table.writes.message_check import check_messages
from paimon_core.table.writes.overwrite_target import overwrite_target
from paimon_core.table.writes.prepared import Prepared, Settle, check_not_committed, prepare

_LOG = logging.getLogger(__name__)


def write_rows(
    request: CommitRequest,
    data: Any,
    kinds: Any = None,
    target: Overwrite | None = None,
    *,
    merge_schema: MergeSchema = None,
) -> Committed | None:
    """Write the rows and commit them; a ``target`` makes the commit an overwrite.

    Returns None when there was nothing to commit.

    For a (user, identifier) that has already committed, nothing is written, and the snapshot of that commit is
    returned.
    """
    if (snapshot := request.committed_snapshot()) is not None:
        return Committed(request.context, snapshot)
    with open_writer(request.context, merge_schema, ignore_existing=target is not None) as writer:
        writer.write(data, kinds)
        committed = replace(request, context=writer.context).complete(writer.flush(), target)
    if committed is not None and kinds is None and target is None:
        _tell_nulls(writer.context, writer.absent, writer.sometimes_absent)
    return committed


def _tell_nulls(context: TableContext, absent: Sequence[str], sometimes: Sequence[str]) -> None:
    """Log the columns that an upsert has set to null because the rows, or ``sometimes`` some, did not have them."""
    if not context.is_keyed or context.options["merge-engine"] != "deduplicate":
        return
    for names, rows in ((absent, "the rows"), (sometimes, "some rows")):
        if lost := [name for name in names if context.schema.by_name[name].default is None]:
            _LOG.warning(
                "write to %s: %s have no value of %s, which becomes null: an existing row with the same key loses its "
                "value. merge() with the key columns as on keeps such values, as does merge-engine = partial-update",
                context.name,
                rows,
                listed(lost),
            )


def commit_messages(
    request: CommitRequest,
    messages: Sequence[CommitMessage],
    overwrite: Overwrite | None = None,
    operation: str | None = None,
) -> Committed | None:
    """Check messages that may come from other processes, and commit them; see ``Table.commit``."""
    snapshot = request.committed_snapshot()
    if snapshot is None:
        check_messages(messages, request.context)
    if snapshot is None or _has_compaction(messages):
        snapshot = request.commit(messages, overwrite, operation)
    return None if snapshot is None else Committed(request.context, snapshot)


def _has_compaction(messages: Sequence[CommitMessage]) -> bool:
    """Whether the messages contain a compaction, which is committed as a second snapshot that may still be missing."""
    return any(m.compact_before or m.compact_after or m.compact_changelog for m in messages)


def prepare_rows(
    request: CommitRequest,
    settle: Settle,
    data: Any,
    kinds: Any = None,
    *,
    overwrites: bool = False,
    where: Where | None = None,
    merge_schema: MergeSchema = None,
) -> Prepared | None:
    """Write the rows and the draft of their commit; see ``Table.prepare``."""
    context = request.context
    if where is not None and not overwrites:
        raise InvalidRequest("prepare takes where only with overwrite=True: where selects what is replaced")
    check_not_committed(request)
    where = parse_where(where, context.schema.fields)
    if overwrites:
        overwrite_target(context, where)  # raises InvalidRequest before anything is written
        if kinds is not None:
            raise InvalidRequest("an overwrite takes no kinds: all its rows are inserted")
    with open_writer(context, merge_schema, ignore_existing=overwrites) as writer:
        writer.write(data, kinds)
        messages, request = writer.flush(), replace(request, context=writer.context)
        return prepare(request, settle, messages, overwrites=overwrites, where=where, own=True)


def prepare_messages(
    request: CommitRequest,
    settle: Settle,
    messages: Sequence[CommitMessage],
    *,
    overwrites: bool = False,
    where: Where | None = None,
) -> Prepared | None:
    """Check messages that may come from other processes, and write the draft of their commit."""
    check_messages(messages, request.context)
    where = parse_where(where, request.context.schema.fields)
    return prepare(request, settle, messages, overwrites=overwrites, where=where)


def not_committed(context: TableContext, user: str, identifiers: Collection[int]) -> list[int]:
    """Return the ``identifiers`` that ``user`` has not committed; see ``Table.filter_committed``."""
    if not isinstance(identifiers, Collection) or any(type(i) is not int for i in identifiers):
        raise InvalidRequest(f"identifiers must be whole numbers, not {identifiers!r:.60}")
    newest = CommitRequest.of(context, user, None, None).newest()
    return [i for i in identifiers if newest is None or i > newest.commit_identifier]
