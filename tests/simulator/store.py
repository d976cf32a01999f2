"""The simulated store: files in memory, with calls that may fail, lose their answer or end the calling process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_core.errors import CommitStateUnknown, StorageError, UnsupportedFeature
from paimon_core.storage.storage import FileInfo
from tests.simulator.world import EPOCH, MILLI, SECOND, Actor, Died, World
from tests.support.outcomes import Outcome


@dataclass(frozen=True)
class Profile:
    """The kind of a store."""

    name: str
    directories: bool = False
    """Whether the store has real directories, and partially written files are visible."""
    lag: int = 0
    """By how many changes a listing may be stale."""


OBJECTS = Profile("objects")
POSIX = Profile("posix", directories=True)
STALE = Profile("stale", lag=12)
PROFILES = {p.name: p for p in (OBJECTS, POSIX, STALE)}


MUTATIONS = frozenset({"write", "overwrite", "create", "delete", "move"})
CRASHES = (Outcome.DIE_BEFORE, Outcome.DIE_AFTER, Outcome.TORN)


@dataclass(frozen=True, slots=True)
class File:
    data: bytes
    modified_millis: int


@dataclass
class Disk:
    """The files of the store; ``watch`` is called for every change with (what happened, path, bytes)."""

    world: World
    profile: Profile = OBJECTS
    files: dict[str, File] = field(default_factory=dict)
    folders: dict[str, dict[str, bool]] = field(default_factory=dict)
    """The names in each directory, and whether each is a directory."""
    marked: set[str] = field(default_factory=set)
    """Directories that were created explicitly: they are kept when they are empty, also in object stores."""
    watch: Callable[[str, str, bytes], None] | None = None
    created: set[str] = field(default_factory=set)
    """Every path that was ever created exclusively."""
    changes: deque[tuple[str, str, File]] = field(default_factory=lambda: deque(maxlen=16))

    def put(self, path: str, data: bytes, what: str = "create") -> None:
        if path not in self.files:
            self._enter(path, False)
        file = File(data, (EPOCH + self.world.now) // MILLI)
        self.files[path] = file
        if self.profile.lag:
            self.changes.append((what, path, file))
        if self.watch is not None:
            self.watch(what, path, data)

    def remove(self, path: str) -> bool:
        file = self.files.pop(path, None)
        if file is None:
            return False
        self._leave(path)
        if self.profile.lag:
            self.changes.append(("delete", path, file))
        if self.watch is not None:
            self.watch("delete", path, file.data)
        return True

    def _enter(self, path: str, is_directory: bool) -> None:
        directory, _, name = path.rpartition("/")
        names = self.folders.get(directory)
        if names is None:
            names = self.folders[directory] = {}
            if directory:
                self._enter(directory, True)
        names[name] = is_directory

    def _leave(self, path: str) -> None:
        directory, _, name = path.rpartition("/")
        names = self.folders[directory]
        del names[name]
        if not names and not self.profile.directories and directory not in self.marked:
            del self.folders[directory]
            if directory:
                self._leave(directory)

    def make_directory(self, path: str) -> None:
        self.marked.add(path)
        if path not in self.folders:
            self.folders[path] = {}
            if path:
                self._enter(path, True)

    def remove_directory(self, path: str) -> None:
        for name, is_directory in list(self.folders.get(path, {}).items()):
            if is_directory:
                self.remove_directory(f"{path}/{name}")
            else:
                self.remove(f"{path}/{name}")
        self.marked.discard(path)
        if self.folders.get(path) == {}:
            del self.folders[path]
            self._leave(path)

    def entries(self, directory: str) -> list[FileInfo]:
        """Return the direct entries of a directory, sorted by name."""
        out = []
        for name, is_directory in sorted(self.folders.get(directory, {}).items()):
            path = f"{directory}/{name}"
            file = self.files.get(path)
            out.append(
                FileInfo(path, True)
                if is_directory or file is None
                else FileInfo(path, False, len(file.data), file.modified_millis)
            )
        return out

    def entries_before(self, directory: str, changes: int) -> list[FileInfo]:
        """Return the entries before the last ``changes`` changes; directories as they are now."""
        found = {e.path: e for e in self.entries(directory)}
        for what, path, file in list(self.changes)[::-1][:changes]:
            if path.rpartition("/")[0] == directory:
                if what == "create":
                    found.pop(path, None)
                elif what == "delete":
                    found[path] = FileInfo(path, False, len(file.data), file.modified_millis)
        return [found[path] for path in sorted(found)]

    def below(self, directory: str) -> list[FileInfo]:
        out = []
        for entry in self.entries(directory):
            out += self.below(entry.path) if entry.is_directory else [entry]
        return out


@dataclass
class SimStorage:
    """The Storage of one process. Without ``actor`` no call fails and no other actor runs during a call."""

    disk: Disk
    actor: Actor | None = None
    plan: Callable[[str, str], Outcome] | None = None
    """Decides the outcome of each call instead of chance."""

    @property
    def is_local(self) -> bool:
        return False

    @property
    def is_remote(self) -> bool:
        return False  # one call at a time, so that a run can be repeated

    # -- the verbs

    def read(self, path: str) -> bytes:
        self._begin("read", path)
        file = self.disk.files.get(path)
        if file is None:
            raise FileNotFoundError(path)
        return file.data

    def exists(self, path: str) -> bool:
        self._begin("exists", path)
        return path in self.disk.files or path in self.disk.folders

    def has_file(self, path: str) -> bool:
        return self.exists(path)

    def file_sizes(self, directory: str) -> None:
        """None: checks use ``list``, so that its faults reach them."""

    def list(self, directory: str) -> list[FileInfo]:
        self._begin("list", directory)
        disk, world = self.disk, self.disk.world
        if self.actor is None or world.quiet:
            return disk.entries(directory)
        if disk.profile.lag:
            found = disk.entries_before(directory, int(world.draw() * disk.profile.lag))
        else:
            found = disk.entries(directory)
        if len(found) < 2 or world.draw() > 0.2:
            return found
        # In two pages; other actors may run in between.
        cut = 1 + int(world.draw() * (len(found) - 1))
        self._begin("list page 2", directory)
        return found[:cut] + [e for e in disk.entries(directory) if e.path > found[cut - 1].path]

    def walk(self, directory: str) -> Iterator[FileInfo]:
        for entry in self.list(directory):
            if entry.is_directory:
                yield from self.walk(entry.path)
            else:
                yield entry

    def open_input(self, path: str) -> Any:
        return pa.BufferReader(self.read(path))

    def open_output(self, path: str) -> Any:
        return SimOutput(self, path)

    def write(self, path: str, data: bytes) -> None:
        if self.disk.profile.directories and path in self.disk.files:
            raise StorageError(f"{path} exists", path=path)
        self._change("write", path, lambda: self.disk.put(path, data), data)

    def overwrite(self, path: str, data: bytes) -> None:
        what = "replace" if path in self.disk.files else "create"
        self._change("overwrite", path, lambda: self.disk.put(path, data, what))

    def create_exclusive(self, path: str, data: bytes) -> bool:
        outcome = self._begin("create", path)
        if self.actor is not None:
            self.actor.publishes += 1
        if outcome is Outcome.LATE:
            self._send_later(path, data)
            raise CommitStateUnknown(f"injected: the answer to {path} was lost", path=path)
        self._die(outcome, Outcome.DIE_BEFORE, Outcome.TORN)
        created = path not in self.disk.files
        if created:
            self.disk.created.add(path)
            self.disk.put(path, data)
        self._die(outcome, Outcome.DIE_AFTER)
        if outcome is Outcome.LOSE:
            raise CommitStateUnknown(f"injected: the answer to {path} was lost", path=path)
        return created and outcome is not Outcome.REPEAT

    def _send_later(self, path: str, data: bytes) -> None:
        """Let the request arrive within seconds, if its id was never used and the snapshot before exists."""
        world, call = self.disk.world, self.actor.call  # type: ignore[union-attr]
        base, _, number = path.rpartition("-")

        def arrive() -> None:
            fits = not number.isdigit() or number == "1" or f"{base}-{int(number) - 1}" in self.disk.files
            if fits and path not in self.disk.files and path not in self.disk.created:
                before, world.current = world.current, Actor("late answer", lambda _: None, call=call)
                try:
                    self.disk.put(path, data)
                finally:
                    world.current = before

        world.later(int(world.draw() * 2 * SECOND), arrive)

    def move(self, source: str, target: str) -> None:
        if source not in self.disk.files:
            self._begin("move", source)
            raise FileNotFoundError(source)
        outcome = self._begin("move", source)
        self._die(outcome, Outcome.DIE_BEFORE)
        file = self.disk.files.get(source)
        if file is None:
            raise FileNotFoundError(source)
        self.disk.put(target, file.data)
        self._die(outcome, Outcome.TORN)
        self.disk.remove(source)
        self._die(outcome, Outcome.DIE_AFTER)
        if outcome is Outcome.LOSE:
            raise StorageError(f"injected, after it was done: move {source}", path=source)
        if outcome is Outcome.REPEAT:
            raise FileNotFoundError(source)

    def move_directory(self, source: str, target: str) -> None:
        if not self.disk.profile.directories:
            raise UnsupportedFeature(f"cannot move {source}: this store has no rename of directories", path=source)
        outcome = self._begin("move", source)
        self._die(outcome, Outcome.DIE_BEFORE, Outcome.TORN)
        if source not in self.disk.folders:
            raise FileNotFoundError(source)
        if target in self.disk.folders:
            raise StorageError(f"{target} exists", path=target)
        moved = [(e.path, self.disk.files[e.path].data) for e in self.disk.below(source)]
        for path, data in moved:
            self.disk.put(target + path.removeprefix(source), data)
        self.disk.remove_directory(source)
        self._die(outcome, Outcome.DIE_AFTER)
        if outcome is Outcome.LOSE:
            raise StorageError(f"injected, after it was done: move {source}", path=source)

    def remove_empty_directory(self, directory: str) -> bool:
        if not self.disk.profile.directories:
            return False
        self._begin("rmdir", directory)
        if self.disk.folders.get(directory) != {}:
            return False
        self.disk.remove_directory(directory)
        return True

    def make_directory(self, directory: str) -> None:
        self._change("mkdir", directory, lambda: self.disk.make_directory(directory))

    def delete(self, paths: Iterable[str]) -> int:
        return sum(self._delete(path) for path in paths)

    def _delete(self, path: str) -> int:
        outcome = self._begin("delete", path)
        self._die(outcome, Outcome.DIE_BEFORE, Outcome.TORN)
        gone = self.disk.remove(path)
        self._die(outcome, Outcome.DIE_AFTER)
        if outcome is Outcome.LOSE:
            raise StorageError(f"injected, after it was done: delete {path}", path=path)
        return int(gone and outcome is not Outcome.REPEAT)

    def delete_directory(self, directory: str) -> None:
        """Delete files with one call each, as most stores require: the process may end in between."""
        for entry in self.disk.below(directory):
            self._delete(entry.path)
        self._change("rmdir", directory, lambda: self.disk.remove_directory(directory))

    # -- faults

    def _change(self, verb: str, path: str, action: Callable[[], object], torn: bytes | None = None) -> None:
        outcome = self._begin(verb, path)
        if outcome is Outcome.TORN and torn is not None and self.disk.profile.directories:
            self.disk.put(path, torn[: len(torn) // 2])
        self._die(outcome, Outcome.DIE_BEFORE, Outcome.TORN)
        action()
        self._die(outcome, Outcome.DIE_AFTER)
        if outcome is Outcome.LOSE:
            raise StorageError(f"injected, after it was done: {verb} {path}", path=path)

    def _die(self, outcome: Outcome, *when: Outcome) -> None:
        if outcome in when:
            assert self.actor is not None
            self.actor.dead = True
            raise Died

    def _begin(self, verb: str, path: str) -> Outcome:
        actor, world = self.actor, self.disk.world
        if actor is None:
            return Outcome.OK
        if actor.dead or world.closed:
            raise Died
        world.pause()
        outcome = self.plan(verb, path) if self.plan else self._draw(verb)
        world.note(verb, path, "" if outcome is Outcome.OK else outcome.name)
        if outcome is not Outcome.OK:
            world.count(f"{outcome.name.lower()} {verb}")
            if outcome is Outcome.FAIL:
                raise StorageError(f"injected: {verb} {path}", path=path)
        return outcome

    def _draw(self, verb: str) -> Outcome:
        world = self.disk.world
        if world.quiet or not self.actor.faults:  # type: ignore[union-attr]
            return Outcome.OK
        chances = world.chances
        drawn = world.draw()
        if drawn < chances.fail:
            return Outcome.FAIL
        if verb not in MUTATIONS:
            return Outcome.OK
        drawn -= chances.fail
        if drawn < chances.die:
            return CRASHES[int(drawn / chances.die * 3)]
        drawn -= chances.die
        if drawn >= chances.lose:
            return Outcome.OK
        if verb != "create":
            return Outcome.LOSE if drawn < chances.lose / 2 else Outcome.REPEAT
        return (Outcome.LOSE, Outcome.REPEAT, Outcome.LATE)[int(drawn / chances.lose * 3)]


class SimOutput(pa.BufferOutputStream):  # type: ignore[misc]
    """A file that becomes visible when it is closed."""

    def __init__(self, storage: SimStorage, path: str) -> None:
        self._storage = storage
        self._path = path

    def __new__(cls, storage: SimStorage, path: str) -> Any:
        return pa.BufferOutputStream.__new__(cls)

    def close(self) -> None:
        if not self.closed:
            self._storage.write(self._path, self.getvalue().to_pybytes())
