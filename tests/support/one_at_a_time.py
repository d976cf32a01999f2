"""one_at_a_time: what is installed once for all test processes is installed by one of them, the others wait."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Hold the lock file; it is let go with the process too."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
