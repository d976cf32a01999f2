"""look_again: snapshots, and what they name, may vanish while one looks, as another expiry or a rollback is at work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from paimon_core.errors import CorruptTable, SnapshotNotFound

TRIES = 4
"""How often something is looked at before what vanished is told."""
_T = TypeVar("_T")


def retry_when_vanished(look: Callable[[], _T]) -> _T:
    """What ``look`` gives once nothing vanishes under it; raises what its last try raised.

    Vanished is a snapshot that is not found and a file that is missing; anything else is raised at once.
    """
    for _ in range(TRIES - 1):
        try:
            return look()
        except SnapshotNotFound:
            continue
        except CorruptTable as error:
            if not error.facts.get("missing"):
                raise
    return look()
