"""Copies of a small table, for tests that begin from the same state many times."""

from __future__ import annotations

import itertools

from paimon_core.metadata.context import TableContext

_numbers = itertools.count()


def clone(context: TableContext) -> TableContext:
    """The same table with copies of all of its files at a place of its own, nothing remembered."""
    old, storage = context.paths.root, context.storage
    root = f"/clone-{next(_numbers)}{old}"
    for entry in storage.walk(old):
        storage.write(root + entry.path.removeprefix(old), storage.read(entry.path))
    return TableContext.of(context.name, storage, root, context.schema)
