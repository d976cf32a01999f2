"""retry_when_vanished: retries a read when snapshots or their files are deleted during it.

A concurrent expiry or rollback may delete them at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from paimon_core.errors import CorruptTable, SnapshotNotFound

TRIES = 4
"""How often the read is tried before its error is raised."""
_T = TypeVar("_T")


def retry_when_vanished(read: Callable[[], _T]) -> _T:
    """Return the result of ``read``, a function that reads the table; call it again when something was deleted.

    Retries, at most ``TRIES`` calls in total, after SnapshotNotFound and after CorruptTable for a missing file. Any
    other error, and the error of the last call, is raised.
    """
    for _ in range(TRIES - 1):
        try:
            return read()
        except SnapshotNotFound:
            continue
        except CorruptTable as error:
            if not error.facts.get("missing"):
                raise
    return read()
