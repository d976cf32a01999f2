"""Copies of a small table, for tests that start from the same state many times."""

from __future__ import annotations

import itertools

from paimon_core.metadata.context import TableContext

_numbers = itertools.count()


def clone(context: TableContext) -> TableContext:
    """Copy all files of the table to a new location, and return the copy with empty caches."""
    old, storage = context.paths.root, context.storage
    root = f"/clone-{next(_numbers)}{old}"
    for entry in storage.walk(old):
        storage.write(root + entry.path.removeprefix(old), storage.read(entry.path))
    return TableContext.of(context.name, storage, root, context.schema)
