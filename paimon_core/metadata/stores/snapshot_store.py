"""SnapshotStore: the snapshots of one table by id, by time and by writer (format 3).

The hint files LATEST and EARLIEST only save a listing: a missing, garbled or stale one changes no answer (but for a
stale one that points right beside a gap in the ids, which no writer leaves). A snapshot may expire while it is looked
for: that is SnapshotNotFound, never a half-read file.
"""

from __future__ import annotations

import bisect
import contextlib
import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from paimon_core.errors import CorruptTable, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage

LATEST = "LATEST"
EARLIEST = "EARLIEST"
_NAME = re.compile(r"snapshot-([1-9]\d{0,18})")
_HINT = re.compile(rb"[1-9]\d{0,18}")
_TRIES = 3


class Publisher(Protocol):
    """Makes a snapshot the next of its table; of all that race for an id, exactly one does (format 14.4).

    For catalogs that commit by themselves, or under a lock. Pickles, as contexts travel to workers.
    """

    @property
    def owns_history(self) -> bool:
        """Whether the catalog counts the snapshots itself, so that none may be put or taken back behind its back."""
        return False

    def is_same_table(self) -> bool:
        """Whether the name still means the same table in the catalog; True where the catalog gives tables no id."""
        return True

    def publish(self, path: str, snapshot: Snapshot, base: Snapshot | None) -> bool:
        """True: the file ``path`` exists with this snapshot. False: the id was taken, or ``base`` is not the latest.

        Raises StorageError (nothing was created) or CommitStateUnknown.
        """


@dataclass(frozen=True, slots=True)
class SnapshotStore:
    """Reads and publishes the snapshot files of one table; holds no state, as a rollback may reuse an id."""

    storage: Storage
    paths: TablePaths
    publisher: Publisher | None = None
    """Who creates snapshot files; None: the storage's exclusive creation, which is enough on most stores."""

    def ids(self) -> list[int]:
        """All ids, ascending, by listing."""
        listed = self.storage.list(self.paths.snapshot_directory)
        found = (_NAME.fullmatch(entry.name) for entry in listed if not entry.is_directory)
        return sorted(int(match.group(1)) for match in found if match)

    def latest_id(self) -> int | None:
        """The greatest id, None without snapshots (format 3.4)."""
        hint = self._hint(LATEST)
        if hint is not None and self._exists(hint) and not self._exists(hint + 1):
            return hint
        found = max(self.ids(), default=0)
        while self._exists(found + 1):  # listings of some stores lag behind
            found += 1
        return found or None

    def earliest_id(self) -> int | None:
        """The least id, None without snapshots (format 3.4)."""
        hint = self.earliest_hint()
        if hint is not None and self._exists(hint) and not self._exists(hint - 1):
            return hint
        return min(self.ids(), default=None)

    def earliest_hint(self) -> int | None:
        """The id that the hint EARLIEST names, which may be stale; None when there is no such hint or it is garbled."""
        return self._hint(EARLIEST)

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None for a table that never had one.

        Raises SnapshotNotFound when the hint LATEST tells that there were some: what lacks them now is no empty table,
        and nobody must go on as if it were.
        """
        for _ in range(_TRIES):
            snapshot_id = self.latest_id()
            if snapshot_id is None and self._hint(LATEST) is None:
                return None
            if snapshot_id is not None:
                with contextlib.suppress(SnapshotNotFound):  # a rollback or an expiry came between
                    return self.read(snapshot_id)
        raise SnapshotNotFound(
            f"the latest snapshot of {self.paths.root} kept vanishing: a rollback is under way, or was cut short and "
            "has to be repeated, or the snapshots were removed",
            path=self.paths.root,
        )

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot is there, neither expired nor rolled back."""
        return self.storage.exists(self.paths.snapshot(snapshot_id))

    def is_live(self, snapshot: Snapshot) -> bool:
        """Whether this very snapshot stands under its id, neither expired nor rolled back and made anew."""
        try:
            return self.read(snapshot.id) == snapshot
        except SnapshotNotFound:
            return False

    def read(self, snapshot_id: int) -> Snapshot:
        """One snapshot; raises SnapshotNotFound for one never made or expired, CorruptTable for a bad file."""
        path = self.paths.snapshot(snapshot_id)
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            held = self.ids()
            raise SnapshotNotFound(
                f"no snapshot {snapshot_id} in {self.paths.root}: "
                + (f"it holds {held[0]} to {held[-1]}" if held else "it holds none"),
                snapshot=snapshot_id,
                path=path,
            ) from None
        snapshot = parse_snapshot(data, path)
        if snapshot.id != snapshot_id:
            raise CorruptTable(f"{path} says it is snapshot {snapshot.id}", path=path, snapshot=snapshot.id)
        return snapshot

    def as_of(self, time_millis: int) -> Snapshot:
        """The latest snapshot committed at or before a time in epoch milliseconds (format 15.4).

        Raises SnapshotNotFound when the earliest snapshot is later, naming its time.
        """
        for _ in range(_TRIES):
            ids = self.ids()
            seen: dict[int, Snapshot] = {}

            def time_of(snapshot_id: int, seen: dict[int, Snapshot] = seen) -> int:
                seen[snapshot_id] = self.read(snapshot_id)
                return seen[snapshot_id].time_millis

            try:
                position = bisect.bisect_right(ids, time_millis, key=time_of)
                if position:
                    return seen.get(ids[position - 1]) or self.read(ids[position - 1])
                earliest = f"the earliest is of {_text(time_of(ids[0]))}" if ids else "it holds none"
            except SnapshotNotFound:  # expired while we searched: look at what is left
                continue
            break
        else:
            earliest = "they kept expiring"
        raise SnapshotNotFound(
            f"{self.paths.root} holds no snapshot at {_text(time_millis)}: {earliest}", time_millis=time_millis
        )

    def of_user(self, commit_user: str) -> Snapshot | None:
        """The newest snapshot of a commit user, None when none is kept; reads from the newest down."""
        for snapshot_id in reversed(self.ids()):
            with contextlib.suppress(SnapshotNotFound):
                snapshot = self.read(snapshot_id)
                if snapshot.commit_user == commit_user:
                    return snapshot
        return None

    def create(self, snapshot: Snapshot, base: Snapshot | None = None) -> bool:
        """Create the snapshot's file: True it is there, False the id was taken (format 14.4); no hint is moved.

        ``base``: the snapshot that it was built on, which a catalog that owns the history compares. Raises StorageError
        (nothing was created) or CommitStateUnknown.
        """
        path = self.paths.snapshot(snapshot.id)
        if self.publisher is not None:
            return self.publisher.publish(path, snapshot, base)
        return self.storage.create_exclusive(path, snapshot.to_json().encode())

    def publish(self, snapshot: Snapshot, base: Snapshot | None = None) -> bool:
        """``create``, and LATEST points to the snapshot; raises as it does."""
        if not self.create(snapshot, base):
            return False
        with contextlib.suppress(OSError):  # the commit stands, and a stale hint harms nobody
            self.write_latest_hint(snapshot.id)
        return True

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Point LATEST to this id."""
        self.storage.overwrite(self.paths.hint(LATEST), str(snapshot_id).encode())

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Point EARLIEST to this id."""
        self.storage.overwrite(self.paths.hint(EARLIEST), str(snapshot_id).encode())

    @property
    def are_the_catalogs(self) -> bool:
        """Whether the catalog, not the files, says which snapshot is the latest."""
        return self.publisher is not None and self.publisher.owns_history

    def check_own_history(self, what: str) -> None:
        """Raises UnsupportedFeature where the catalog owns the history, and only it could ``what``."""
        if self.are_the_catalogs:
            raise UnsupportedFeature(
                f"{self.paths.root}: the catalog keeps the history of this table: cannot {what} by way of its files",
                path=self.paths.root,
            )

    def delete(self, ids: Iterable[int]) -> int:
        """Delete snapshot files in the order given; missing ones are no error. The number deleted."""
        return self.storage.delete(self.paths.snapshot(i) for i in ids)

    def _exists(self, snapshot_id: int) -> bool:
        return self.storage.exists(self.paths.snapshot(snapshot_id))

    def _hint(self, name: str) -> int | None:
        try:
            data = self.storage.read(self.paths.hint(name))
        except OSError:
            return None
        return int(data) if _HINT.fullmatch(data) else None


def parse_snapshot(data: bytes, path: str) -> Snapshot:
    """The snapshot in the bytes of ``path``; raises CorruptTable or UnsupportedFeature naming the path."""
    try:
        snapshot = Snapshot.from_json(data)
    except (CorruptTable, RecursionError) as error:
        raise CorruptTable(f"{path}: {error}", path=path) from error
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"{path}: {error}", path=path, **error.facts) from error
    for name in ("base_manifest_list", "delta_manifest_list", "commit_user"):
        if not isinstance(getattr(snapshot, name), str):
            raise CorruptTable(f"{path}: {name} is {getattr(snapshot, name)!r:.80}, not a text", path=path)
    if not isinstance(snapshot.properties, dict):
        raise CorruptTable(f"{path}: properties is no object", path=path)
    return snapshot


def _text(time_millis: int) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(time_millis / 1000, datetime.UTC)
        return f"{moment.isoformat(timespec='milliseconds')} ({time_millis} ms)"
    except (OverflowError, ValueError, OSError):
        return f"{time_millis} ms"
