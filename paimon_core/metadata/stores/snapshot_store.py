"""SnapshotStore: reads and creates the snapshots of one table, by id, by time and by writer (format 3).

The hint files LATEST and EARLIEST only save a listing: a missing, damaged or outdated hint changes no result, with two
exceptions. A hint LATEST without any snapshot shows that the table has lost its snapshots. An outdated hint with an id
next to a gap in the snapshot ids gives a wrong result, but no writer leaves such a gap. When a snapshot expires during
a read, SnapshotNotFound is raised; a snapshot file is never read in part.
"""

from __future__ import annotations

import bisect
import contextlib
import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from paimon_core.advice import with_advice
from paimon_core.errors import CorruptTable, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.read_again import read_again
from paimon_core.metadata.remembered import remembered
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.parallel_work import call_together
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage

LATEST = "LATEST"
EARLIEST = "EARLIEST"
_NAME = re.compile(r"snapshot-([1-9]\d{0,18})")
_HINT = re.compile(rb"[1-9]\d{0,18}")


class Publisher(Protocol):
    """Creates snapshots for a catalog: if several writers use one snapshot id, exactly one succeeds (format 14.4).

    A publisher is used for catalogs that commit on a server or under a lock. A publisher can be pickled, because
    contexts are sent to other processes.
    """

    @property
    def owns_history(self) -> bool:
        """Whether the catalog itself stores which snapshots exist: then only the catalog may change snapshot files."""
        return False

    def is_same_table(self) -> bool:
        """Whether the name of the table still refers to the same table in the catalog.

        True for a catalog without table ids.
        """
        return True

    def publish(self, path: str, snapshot: Snapshot, base: Snapshot | None) -> bool:
        """Create the snapshot file ``path``; return False when the id is used, or ``base`` is not the latest snapshot.

        Raises StorageError when nothing was created, CommitStateUnknown when the outcome is unknown.
        """


@dataclass(frozen=True, slots=True)
class SnapshotStore:
    """Reads and creates the snapshot files of one table.

    Each file is read each time, because a rollback frees ids for reuse.
    """

    storage: Storage
    paths: TablePaths
    publisher: Publisher | None = None
    """Creates the snapshot files; None: they are created by conditional writes, which is sufficient on most stores."""
    _expected: list[int] = field(default_factory=list, compare=False, repr=False)
    """The id of the snapshot that is probably the latest, or nothing (``expect``)."""

    def ids(self) -> list[int]:
        """Return all ids, ascending."""
        listed = self.storage.list(self.paths.snapshot_directory)
        found = (_NAME.fullmatch(entry.name) for entry in listed if not entry.is_directory)
        return sorted(int(match.group(1)) for match in found if match)

    def latest_id(self) -> int | None:
        """Return the highest id; None without snapshots (format 3.4)."""
        hint = self._hint(LATEST)
        if hint is not None and self._exists(hint) and not self._exists(hint + 1):
            return hint
        found = max(self.ids(), default=0)
        while self._exists(found + 1):  # on some stores, a listing does not show the newest files
            found += 1
        return found or None

    def earliest_id(self) -> int | None:
        """Return the lowest id; None without snapshots (format 3.4)."""
        hint = self.earliest_hint()
        if hint is not None and self._exists(hint) and not self._exists(hint - 1):
            return hint
        return min(self.ids(), default=None)

    def latest_hint(self) -> int | None:
        """Return the id in the hint LATEST, which may be out of date; None when the hint is missing or damaged."""
        return self._hint(LATEST)

    def earliest_hint(self) -> int | None:
        """Return the id in the hint EARLIEST, which may be out of date; None when the hint is missing or damaged."""
        return self._hint(EARLIEST)

    def latest(self) -> Snapshot | None:
        """Return the latest snapshot; None for a table that never had a snapshot.

        Raises SnapshotNotFound when there is a hint LATEST but no snapshot, or the snapshot was missing at every
        attempt: such a table may have lost its snapshots, and a caller must not treat it as an empty table.
        """
        try:
            return read_again(self._latest)
        except SnapshotNotFound:
            raise SnapshotNotFound(
                f"the latest snapshot of {self.paths.root} was missing at every attempt: a rollback is in progress, or "
                "was interrupted and must be repeated, or the snapshots were deleted",
                path=self.paths.root,
            ) from None

    def expect(self, hint: int | None) -> None:
        """Let the next ``latest`` on a remote store request this snapshot at once; ``hint`` may be out of date."""
        self._expected[:] = [] if hint is None else [hint]

    def _expected_latest(self) -> Snapshot | None:
        """Return the latest snapshot if it is the expected one, after one round of requests; otherwise None.

        The rule is that of ``latest_id``: the hint LATEST has this id, and the next id is not used. But the snapshot
        may be read before the next id is looked for, and the snapshot may be deleted between the two: by an expiry, if
        the hint was outdated, or by a rollback, after which a commit used the id again. So a caller that needs the
        latest snapshot must find that it is still stored (``is_live``) afterwards: then it existed when the next id was
        not used. A scan does this with its next requests (``query.scan``), a commit after its publish
        (``commit.publishing``).
        """
        snapshot_id = next(iter(self._expected), None)  # read once, because other threads may change it
        if snapshot_id is None:
            snapshot_id = self.latest_hint()
        if snapshot_id is None:
            return None
        found: list[bytes] = []

        def read() -> None:
            with contextlib.suppress(FileNotFoundError):
                found.append(self.storage.read(self.paths.snapshot(snapshot_id)))

        next_exists, hint, _ = call_together(lambda: self._exists(snapshot_id + 1), self.latest_hint, read)
        self.expect(hint)
        return self._parsed(snapshot_id, found[0]) if found and hint == snapshot_id and not next_exists else None

    def _latest(self) -> Snapshot | None:
        if self.storage.is_remote and (expected := self._expected_latest()) is not None:
            return expected
        snapshot_id = self.latest_id()
        if snapshot_id is not None:
            return self.read(snapshot_id)
        if self._hint(LATEST) is None:
            return None
        raise SnapshotNotFound(f"{self.paths.root} has a hint LATEST, but no snapshot", path=self.paths.root)

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot file exists: the snapshot has neither expired nor been rolled back."""
        return self._exists(snapshot_id)

    def is_live(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot file of this id still contains exactly this snapshot.

        False when the snapshot has expired or was rolled back, even if another snapshot has its id now.
        """
        try:
            return self.read(snapshot.id) == snapshot
        except SnapshotNotFound:
            return False

    def read(self, snapshot_id: int) -> Snapshot:
        """Return one snapshot; raises SnapshotNotFound when the snapshot does not exist, CorruptTable for a damaged
        file.
        """
        path = self.paths.snapshot(snapshot_id)
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            ids = self.ids()
            raise SnapshotNotFound(
                f"no snapshot {snapshot_id} in {self.paths.root}: "
                + (f"it has snapshots {ids[0]} to {ids[-1]}" if ids else "it has no snapshots"),
                snapshot=snapshot_id,
                path=path,
            ) from None
        return self._parsed(snapshot_id, data)

    def _parsed(self, snapshot_id: int, data: bytes) -> Snapshot:
        path = self.paths.snapshot(snapshot_id)
        try:
            snapshot = parse_snapshot(data, path)
            if snapshot.id != snapshot_id:
                raise CorruptTable(f"{path} contains snapshot {snapshot.id}", path=path, snapshot=snapshot.id)
        except CorruptTable as error:
            raise with_advice(error, self._meaning(snapshot_id)) from error
        return snapshot

    def _meaning(self, snapshot_id: int) -> str:
        """Return a sentence for an error: what is lost with an unreadable snapshot, and which snapshots remain."""
        ids = self.ids()
        if [i for i in ids if i > snapshot_id]:
            return f"Only this version is lost: newer snapshots up to {ids[-1]} have their own files"
        older = [i for i in ids if i < snapshot_id]
        left = "no older snapshot exists"
        if older:
            left = f"older snapshots have their own files, the newest of them is {older[-1]}"
        return f"This is the newest snapshot: its commit is lost, {left}"

    def as_of(self, time_millis: int) -> Snapshot:
        """Return the latest snapshot committed at or before a time in epoch milliseconds (format 15.4).

        Raises SnapshotNotFound when all snapshots are later (the error has the time of the earliest snapshot), and when
        there are no snapshots.
        """
        try:
            found = read_again(lambda: self._as_of(time_millis))
        except SnapshotNotFound:
            found = "snapshots expired during every attempt"
        if isinstance(found, Snapshot):
            return found
        raise SnapshotNotFound(
            f"{self.paths.root} has no snapshot at {_text(time_millis)}: {found}", time_millis=time_millis
        )

    def _as_of(self, time_millis: int) -> Snapshot | str:
        """Return the snapshot, or a text that says why there is none.

        Raises SnapshotNotFound when a snapshot expires during the search.
        """
        ids = self.ids()
        seen: dict[int, Snapshot] = {}

        def time_of(snapshot_id: int) -> int:
            seen[snapshot_id] = self.read(snapshot_id)
            return seen[snapshot_id].time_millis

        position = bisect.bisect_right(ids, time_millis, key=time_of)
        if position:
            return seen.get(ids[position - 1]) or self.read(ids[position - 1])
        return f"the earliest is of {_text(time_of(ids[0]))}" if ids else "it has no snapshots"

    def create(self, snapshot: Snapshot, base: Snapshot | None = None) -> bool:
        """Create the snapshot file; return False when another writer has used the id (format 14.4). Writes no hint.

        ``base``: the snapshot on which this snapshot was built; a catalog that owns the history checks that ``base`` is
        the latest snapshot. Raises StorageError when nothing was created, CommitStateUnknown when the outcome is
        unknown.
        """
        path = self.paths.snapshot(snapshot.id)
        if self.publisher is not None:
            return self.publisher.publish(path, snapshot, base)
        return self.storage.create_exclusive(path, snapshot.to_json().encode())

    def publish(self, snapshot: Snapshot, base: Snapshot | None = None) -> bool:
        """Create the snapshot file and write its id to the hint LATEST; returns and raises as ``create`` does."""
        if not self.create(snapshot, base):
            return False
        with contextlib.suppress(OSError):  # the snapshot exists, and readers do not trust the hint
            self.write_latest_hint(snapshot.id)
        return True

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Write this id to the hint LATEST."""
        self.storage.overwrite(self.paths.hint(LATEST), str(snapshot_id).encode())

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Write this id to the hint EARLIEST."""
        self.storage.overwrite(self.paths.hint(EARLIEST), str(snapshot_id).encode())

    @property
    def catalog_owns_history(self) -> bool:
        """Whether the catalog, not the files, determines which snapshot is the latest."""
        return self.publisher is not None and self.publisher.owns_history

    def refuse_if_catalog_owns_history(self, what: str) -> None:
        """Raise UnsupportedFeature when the catalog owns the history; ``what`` names the operation in the error."""
        if self.catalog_owns_history:
            raise UnsupportedFeature(
                f"{self.paths.root}: the catalog owns the history of this table: cannot {what} through its files",
                path=self.paths.root,
            )

    def delete(self, ids: Iterable[int]) -> int:
        """Delete snapshot files in the given order, ignore missing files, and return the number of deleted files."""
        return self.storage.delete(self.paths.snapshot(i) for i in ids)

    def _exists(self, snapshot_id: int) -> bool:
        return self.storage.has_file(self.paths.snapshot(snapshot_id))

    def _hint(self, name: str) -> int | None:
        try:
            data = self.storage.read(self.paths.hint(name))
        except OSError:
            return None
        return int(data) if _HINT.fullmatch(data) else None


def parse_snapshot(data: bytes, path: str) -> Snapshot:
    """Return the snapshot in ``data``, the bytes of the file ``path``; raises CorruptTable or UnsupportedFeature."""
    found = _snapshot_of(data, path)
    return replace(found, properties=dict(found.properties))  # a dict of its own, because ``found`` is shared


@remembered
def _snapshot_of(data: bytes, path: str) -> Snapshot:
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
        raise CorruptTable(f"{path}: properties is not an object", path=path)
    return snapshot


def _text(time_millis: int) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(time_millis / 1000, datetime.UTC)
        return f"{moment.isoformat(timespec='milliseconds')} ({time_millis} ms)"
    except (OverflowError, ValueError, OSError):
        return f"{time_millis} ms"
