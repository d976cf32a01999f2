"""After a commit: the automatic tags, compaction and expiry of a table that is not write-only.

The commit has succeeded, so an error here is logged and not raised. What failed is done after a later commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial

from paimon_core.errors import PaimonError
from paimon_core.maintain.expiry.configured import expire_due
from paimon_core.maintain.tags.automatic import create_and_expire_tags
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table import compaction
from paimon_core.table.commit_request import CommitRequest

_LOG = logging.getLogger(__name__)
AFTER_COMMIT: tuple[Callable[[TableContext, Snapshot], object], ...] = (create_and_expire_tags,)
"""Steps that run after a commit, before compaction and expiry, unless the table is write-only.

They are called in order with the last snapshot of the commit. They also run when a repeated commit finds that it
succeeded before, so each step must be repeatable."""


def maintain(context: TableContext, snapshot: Snapshot, written: Collection[tuple[bytes, int]] | None) -> None:
    """Run the maintenance that the options ask for; ``written``: the buckets to compact, None: do not compact."""
    if context.options["write-only"]:
        return
    for step in AFTER_COMMIT:
        _run(context, snapshot, partial(step, context, snapshot))
    if written is not None:
        _run(context, snapshot, partial(_compact_and_expire, context, written))


def _compact_and_expire(context: TableContext, written: Collection[tuple[bytes, int]]) -> None:
    compaction.compact(context, CommitRequest.of(context, None, None, None), written=written)
    expire_due(context, clock.now_millis())


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
