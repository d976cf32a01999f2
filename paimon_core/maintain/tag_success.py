"""Success files of tags: what option ``tag.create-success-file`` leaves beside them for other tools (format 15.1)."""

from __future__ import annotations

import json
import time

from paimon_core.metadata.context import TableContext

CREATED, MODIFIED = "creationTime", "modificationTime"


def note_created(context: TableContext, name: str) -> None:
    """Write the success file of a tag that was made; one that is there keeps its time of creation."""
    if not context.options["tag.create-success-file"]:
        return
    path, now = context.paths.tag_success(name), time.time_ns() // 1_000_000
    try:
        created = json.loads(context.storage.read(path))[CREATED]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        created = now
    context.storage.overwrite(path, json.dumps({CREATED: created, MODIFIED: now}, indent=2).encode())


def note_deleted(context: TableContext, name: str) -> None:
    """Delete the success file of a tag that has gone."""
    if context.options["tag.create-success-file"]:
        context.storage.delete([context.paths.tag_success(name)])
