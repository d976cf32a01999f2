"""Summaries: what the handles of a table show of themselves in a terminal and in a notebook; no file is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.display import Summary, time_text
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot


def place(context: TableContext, pinned: Snapshot | None) -> str:
    """Return the name of a table, with its snapshot when it is pinned to one."""
    return context.name if pinned is None else f"{context.name} at snapshot {pinned.id}"


def table_summary(context: TableContext, pinned: Snapshot | None) -> Summary:
    """Return the summary of a table: its place in one line; keys, location and columns as HTML."""
    schema = context.schema
    details: list[tuple[str, Any]] = [
        ("primary key", ", ".join(schema.primary_keys) or None),
        ("partitioned by", ", ".join(schema.partition_keys) or None),
        ("comment", schema.comment or None),
        ("location", context.paths.root),
        ("options", ", ".join(f"{key}={value}" for key, value in sorted(schema.options.items())) or None),
    ]
    if pinned is not None:
        details.append(("committed", time_text(pinned.time_millis)))
    header = ("column", "type", "default", "comment")
    rows = [(f.name, f.type, f.default, f.description) for f in schema.fields]
    return Summary(place(context, pinned), (), tuple(details), header, rows)


def prepared_summary(context: TableContext, draft: Snapshot, messages: Sequence[CommitMessage]) -> Summary:
    """Return the summary of a commit that is not yet published."""
    rows = sum(file.row_count for message in messages for file in message.new_files)
    return Summary(context.name, (("draft", draft.id), ("rows", rows), ("messages", len(messages))))
