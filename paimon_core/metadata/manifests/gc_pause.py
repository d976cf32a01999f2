"""gc_paused: disables garbage collection while large numbers of values without reference cycles are created."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection in the ``with`` block: repeated scans for cycles would take most of the time."""
    with _GcPauses.lock:
        if not _GcPauses.open:
            _GcPauses.was_enabled = gc.isenabled()
            gc.disable()
        _GcPauses.open += 1
    try:
        yield
    finally:
        with _GcPauses.lock:
            _GcPauses.open -= 1
            if not _GcPauses.open and _GcPauses.was_enabled:
                gc.enable()


class _GcPauses:
    """Counts the open ``with`` blocks of all threads; the last block that ends enables garbage collection again."""

    lock = threading.Lock()
    open = 0
    was_enabled = True
