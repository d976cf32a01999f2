"""A Storage that fails on purpose at chosen calls, and counts every call.

A call can succeed, fail without effect, have its effect and lose its answer, have its effect and answer "exists" (a
client that retried by itself), or the process can end before or after the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from paimon_core.errors import CommitStateUnknown, StorageError
from paimon_core.storage.storage import FileInfo, Storage
from tests.support.outcomes import Outcome

MUTATIONS = (
    "write",
    "overwrite",
    "create_exclusive",
    "delete",
    "delete_directory",
    "move_directory",
    "make_directory",
    "open_output",
    "move",
)


class Died(BaseException):
    """The process has ended: no code catches this, and the storage refuses all further calls."""


@dataclass
class FaultyStorage(Storage):
    inner: Storage
    calls: list[tuple[str, str]] = field(default_factory=list)
    rules: list[tuple[str, str, list[Outcome]]] = field(default_factory=list)
    hooks: list[tuple[str, str, Callable[[], Any]]] = field(default_factory=list)
    die_at: int | None = None
    """The number (from 0) of the mutating call before which the process ends; ``die_after``: after which it ends."""
    die_after: bool = False
    dead: bool = False
    mutations: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, verb: str, part: str, *outcomes: Outcome) -> None:
        """Give the next calls of ``verb`` on a path with ``part`` these outcomes, one each; later calls succeed."""
        self.rules.append((verb, part, list(outcomes)))

    def before(self, verb: str, part: str, action: Callable[[], Any]) -> None:
        """Run ``action`` once, right before the next such call, as a concurrent process would."""
        self.hooks.append((verb, part, action))

    def count(self, verb: str, part: str = "") -> int:
        return sum(v == verb and part in path for v, path in self.calls)

    def _call(self, verb: str, path: str, action: Callable[[], Any]) -> Any:
        if self.dead:
            raise Died
        for hook in [h for h in self.hooks if h[0] == verb and h[1] in path]:
            self.hooks.remove(hook)
            hook[2]()
        with self._lock:
            self.calls.append((verb, path))
            outcome = self._outcome(verb, path)
        if outcome is Outcome.FAIL:
            raise StorageError(f"injected: {verb} {path}", path=path)
        if outcome is Outcome.UNKNOWN:
            raise CommitStateUnknown(f"injected: {verb} {path}", path=path)
        if outcome is Outcome.DIE_BEFORE:
            self.dead = True
            raise Died
        answer = action()
        match outcome:
            case Outcome.DIE_AFTER:
                self.dead = True
                raise Died
            case Outcome.LOSE if verb == "create_exclusive":
                raise CommitStateUnknown(f"injected, after it was done: {verb} {path}", path=path)
            case Outcome.LOSE:
                raise StorageError(f"injected, after it was done: {verb} {path}", path=path)
            case Outcome.EXISTS:
                return False
        return answer

    def _outcome(self, verb: str, path: str) -> Outcome:
        if verb in MUTATIONS:
            self.mutations += 1
            if self.mutations - 1 == self.die_at:
                return Outcome.DIE_AFTER if self.die_after else Outcome.DIE_BEFORE
        for rule in self.rules:
            if rule[0] == verb and rule[1] in path and rule[2]:
                return rule[2].pop(0)
        return Outcome.OK

    def read(self, path: str) -> bytes:
        return self._call("read", path, lambda: self.inner.read(path))

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: self.inner.exists(path))

    def list(self, directory: str) -> list[FileInfo]:
        return self._call("list", directory, lambda: self.inner.list(directory))

    def walk(self, directory: str) -> Iterator[FileInfo]:
        return iter(self._call("walk", directory, lambda: list(self.inner.walk(directory))))

    def move(self, source: str, target: str) -> None:
        self._call("move", source, lambda: self.inner.move(source, target))

    def move_directory(self, source: str, target: str) -> None:
        self._call("move_directory", source, lambda: self.inner.move_directory(source, target))

    def open_input(self, path: str) -> Any:
        return self._call("open_input", path, lambda: self.inner.open_input(path))

    def open_output(self, path: str) -> Any:
        return self._call("open_output", path, lambda: self.inner.open_output(path))

    def write(self, path: str, data: bytes) -> None:
        self._call("write", path, lambda: self.inner.write(path, data))

    def overwrite(self, path: str, data: bytes) -> None:
        self._call("overwrite", path, lambda: self.inner.overwrite(path, data))

    def create_exclusive(self, path: str, data: bytes) -> bool:
        return self._call("create_exclusive", path, lambda: self.inner.create_exclusive(path, data))

    def make_directory(self, directory: str) -> None:
        self._call("make_directory", directory, lambda: self.inner.make_directory(directory))

    def delete(self, paths: Iterable[str]) -> int:
        """Delete files with one call each, so that a process can end between two of them."""
        return sum(self._call("delete", path, lambda p=path: self.inner.delete([p])) for path in paths)

    def delete_directory(self, directory: str) -> None:
        self._call("delete_directory", directory, lambda: self.inner.delete_directory(directory))

    def remove_empty_directory(self, directory: str) -> bool:
        return self._call("remove_empty_directory", directory, lambda: self.inner.remove_empty_directory(directory))
