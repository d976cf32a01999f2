"""Gate: a lock that commits share and a rollback holds exclusively, so each commit belongs to one *epoch*.

An epoch is the time between two rollbacks. The locks are flock(2) locks, which a killed process releases immediately. A
rollback stores its target in a file until it is done, so that the next process finishes an interrupted rollback before
anything else is committed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


class Gate:
    def __init__(self, folder: Path) -> None:
        self._turnstile = folder / "turnstile.lock"
        self._lock = folder / "rollback.lock"
        self._pending = folder / "rollback.pending"
        self._epochs = folder / "epochs"
        self._epochs.mkdir(exist_ok=True)

    def epoch(self) -> int:
        return max((int(path.name) for path in self._epochs.iterdir() if path.name.isdigit()), default=0)

    def pending(self) -> dict[str, Any] | None:
        """Return the target of a rollback that has started and not ended."""
        try:
            found: dict[str, Any] = json.loads(self._pending.read_bytes())
        except FileNotFoundError:
            return None
        return found

    def begin(self, target: dict[str, Any]) -> None:
        _put(self._pending, target)

    def end(self, target: dict[str, Any]) -> None:
        """End the rollback: a new epoch starts at its target."""
        _put(self._epochs / str(target["epoch"] + 1), target)
        self._pending.unlink()

    def give_up(self) -> None:
        """Cancel the rollback, which has had no effect."""
        self._pending.unlink()

    def targets(self) -> dict[int, dict[str, Any]]:
        """Return the first snapshot of each epoch from 1."""
        return {int(p.name): json.loads(p.read_bytes()) for p in self._epochs.iterdir() if p.name.isdigit()}

    @contextlib.contextmanager
    def commits(self, finish: Callable[[dict[str, Any]], None]) -> Iterator[int]:
        """Hold the shared lock and give the epoch; ``finish`` first completes an interrupted rollback."""
        while True:
            with _held(self._turnstile, fcntl.LOCK_EX), contextlib.ExitStack() as stack:
                stack.enter_context(_held(self._lock, fcntl.LOCK_SH))
                if self.pending() is None:
                    mine = stack.pop_all()
                    break
            with self.alone():
                if (target := self.pending()) is not None:
                    finish(target)
        with mine:
            yield self.epoch()

    @contextlib.contextmanager
    def alone(self) -> Iterator[int]:
        with _held(self._turnstile, fcntl.LOCK_EX), _held(self._lock, fcntl.LOCK_EX):
            yield self.epoch()


def _put(path: Path, value: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(value))
    os.replace(temporary, path)


@contextlib.contextmanager
def _held(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
