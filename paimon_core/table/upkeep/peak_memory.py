"""PeakMemory: the growth of this process's memory while a block runs, where the system counts it (Linux)."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self

_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


class PeakMemory:
    """Counts from the start of a ``with`` block; other threads of the process count too.

    The block resets the peak that the system keeps of the resident memory of the process (VmHWM).
    """

    def __init__(self) -> None:
        self._before: int | None = None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):
            _REFERENCES.write_text(_RESET_PEAK)
            self._before = _status("VmRSS")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def growth(self) -> int | None:
        """Return the largest growth in bytes since the block began; None where the system does not count it."""
        if self._before is None:
            return None
        peak = _status("VmHWM")
        return None if peak is None else max(0, peak - self._before)


def _status(name: str) -> int | None:
    """Return the bytes of one line of /proc/self/status; None if there is no such file or line."""
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None
