"""gc_paused: decodes large numbers of values that contain no cycles without scanning them for cycles."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Disable garbage collection: the values contain no cycles, and scanning them repeatedly would cost most time."""
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
    """The decodings in progress in all threads; the last one to end enables garbage collection again."""

    lock = threading.Lock()
    open = 0
    was_enabled = True
