"""Power loss: the possible contents of a disk after a power loss, given what was synced (as in ALICE).

A ``Journal`` records the system calls of ``storage.local_disk``. The content of a file at its last sync is safe. A
change of a directory (a new name, a link, a removal) is safe when the directory was synced; until then each change may
be on disk or not, in any order. ``image`` draws one of the states that a power loss at one moment may leave.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Content = bytes
Event = tuple[str, str, Content]
"""(what, path, bytes): "sync" of a file with its content, "sync directory", "add" of an entry, "remove" of an entry."""


@dataclass
class Journal:
    """The events below ``root``, in order."""

    root: str
    events: list[Event] = field(default_factory=list)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        real = {name: getattr(os, name) for name in ("open", "fsync", "link", "unlink", "replace", "mkdir")}
        wraps: dict[str, Callable[..., Any]] = {
            "open": self._open(real["open"]),
            "fsync": self._fsync(real["fsync"]),
            "link": self._link(real["link"]),
            "unlink": self._unlink(real["unlink"]),
            "replace": self._replace(real["replace"]),
            "mkdir": self._mkdir(real["mkdir"]),
        }
        for name, call in wraps.items():
            setattr(os, name, call)
        try:
            yield
        finally:
            for name, call in real.items():
                setattr(os, name, call)

    def _note(self, what: str, path: str, content: Content = b"") -> None:
        if str(path).startswith(self.root):
            self.events.append((what, str(path), content))

    def _open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            descriptor = real(path, flags, *args, **kwargs)
            if flags & os.O_CREAT:
                self._note("add", path)
            return descriptor

        return call

    def _fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def call(descriptor: int) -> None:
            real(descriptor)
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if os.path.isdir(path):
                self._note("sync directory", path)
            else:
                with open(path, "rb") as file:
                    self._note("sync", path, file.read())

        return call

    def _link(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(source: str, target: str, **kwargs: Any) -> None:
            real(source, target, **kwargs)
            self._note("link", target, source.encode())

        return call

    def _unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: str, **kwargs: Any) -> None:
            real(path, **kwargs)
            self._note("remove", path)

        return call

    def _replace(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(source: str, target: str) -> None:
            real(source, target)
            self._note("link", target, source.encode())
            self._note("remove", source)

        return call

    def _mkdir(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: str, *args: Any, **kwargs: Any) -> None:
            real(path, *args, **kwargs)
            self._note("add directory", path)

        return call


@dataclass
class _Inode:
    """A file under any names, with its synced content; None: it was never synced."""

    synced: Content | None = None


@dataclass
class Disk:
    """The state of a disk: changes that are safe, and changes that are not yet."""

    names: dict[str, _Inode | None] = field(default_factory=dict)
    """Safe entries by path; None for directories."""
    seen: dict[str, _Inode | None] = field(default_factory=dict)
    """Entries as a running process sees them."""
    waiting: list[tuple[str, _Inode | None, bool]] = field(default_factory=list)
    """Changes of entries that are not safe yet: path, file, whether it is added."""

    def apply(self, event: Event) -> None:
        what, path, content = event
        match what:
            case "sync":
                inode = self.seen.get(path)
                if inode is None:  # created by Arrow, whose system calls are not recorded
                    inode = self.seen[path] = _Inode()
                    self.waiting.append((path, inode, True))
                inode.synced = content
            case "sync directory":
                kept = []
                for change in self.waiting:
                    if change[0].rpartition("/")[0] == path:
                        self._settle(change, self.names)
                    else:
                        kept.append(change)
                self.waiting = kept
            case "remove":
                self._change(path, self.seen.pop(path, None), False)
            case _:
                inode = _Inode() if what == "add" else None
                if what == "link":
                    inode = self.seen[content.decode()]
                self.seen[path] = inode
                self._change(path, inode, True)

    def _change(self, path: str, inode: _Inode | None, is_added: bool) -> None:
        self.waiting.append((path, inode, is_added))

    @staticmethod
    def _settle(change: tuple[str, _Inode | None, bool], names: dict[str, _Inode | None]) -> None:
        path, inode, is_added = change
        if is_added:
            names[path] = inode
        else:
            names.pop(path, None)

    def image(self, chance: random.Random) -> dict[str, Content]:
        """Draw the files after a power loss now: any subset of the waiting changes, and any content if never synced."""
        names = dict(self.names)
        for change in self.waiting:
            if chance.random() < 0.5:
                self._settle(change, names)
        directories = {path for path, inode in names.items() if inode is None}
        top = min((len(p) for p in (*directories, "/" * 4096)), default=0)
        out = {}
        for path, inode in names.items():
            if inode is not None and self._is_reachable(path, directories, top):
                out[path] = inode.synced if inode.synced is not None else b"\0" * chance.randrange(3)
        return out

    @staticmethod
    def _is_reachable(path: str, directories: set[str], top: int) -> bool:
        parent = path.rpartition("/")[0]
        while len(parent) >= top:
            if parent not in directories:
                return False
            parent = parent.rpartition("/")[0]
        return True
