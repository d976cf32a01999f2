"""read_again: repeats a read when a snapshot or one of its files was deleted during the read.

A concurrent expiry or rollback may delete snapshots at any time. Java deletes the files of a snapshot first, but this
library deletes the snapshot file first. A missing file of a deleted snapshot therefore does not mean that the table is
damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from paimon_core.errors import CorruptTable, PaimonError, SnapshotNotFound

TRIES = 4
"""The usual maximum number of reads."""
_T = TypeVar("_T")


def read_again(read: Callable[[], _T], tries: int = TRIES, may_retry: Callable[[], bool] = lambda: True) -> _T:
    """Return ``read()``; call it again, at most ``tries`` times in all, when a snapshot or a file was missing.

    ``may_retry`` is called before each repetition and may prepare it; when it returns False, the error is raised. Any
    other error is raised at once, and the error of the last call is raised too.
    """
    for _ in range(tries - 1):
        try:
            return read()
        except (SnapshotNotFound, CorruptTable) as error:
            if not is_missing(error) or not may_retry():
                raise
    return read()


def is_missing(error: PaimonError) -> bool:
    """Whether the error means that a snapshot or a file of a snapshot is missing, which is possible after an expiry."""
    return isinstance(error, SnapshotNotFound) or (isinstance(error, CorruptTable) and bool(error.facts.get("missing")))
