"""ChangelogStore: the lasting changelogs of a table (format 16.2).

A lasting changelog is a copy of a snapshot file under another name. It keeps the changes of the snapshot readable when
the snapshot expires.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import EARLIEST, LATEST, parse_snapshot
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import Storage

_NAME = re.compile(r"changelog-([1-9]\d{0,18})")


@dataclass(frozen=True, slots=True)
class ChangelogStore:
    """Reads, creates and deletes the files of the lasting changelogs of one table."""

    storage: Storage
    paths: TablePaths

    def ids(self) -> list[int]:
        """List all ids, ascending."""
        found = (_NAME.fullmatch(entry.name) for entry in self.storage.list(self.paths.changelog_directory))
        return sorted(int(match.group(1)) for match in found if match)

    def read(self, snapshot_id: int) -> Snapshot:
        """Return one lasting changelog.

        Raises SnapshotNotFound when the changelog does not exist, CorruptTable for a damaged file.
        """
        path = self.paths.changelog(snapshot_id)
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            raise SnapshotNotFound(
                f"no changelog {snapshot_id} in {self.paths.root}", snapshot=snapshot_id, path=path
            ) from None
        changelog = parse_snapshot(data, path)
        if changelog.id != snapshot_id:
            raise CorruptTable(f"{path} contains changelog {changelog.id}", path=path, snapshot=changelog.id)
        return changelog

    def create(self, snapshot: Snapshot) -> bool:
        """Create the changelog file of a snapshot; return False when it exists with the same content.

        A file with other content belongs to a snapshot that was rolled back, and is replaced.
        """
        path, data = self.paths.changelog(snapshot.id), snapshot.to_json().encode()
        if self.storage.create_exclusive(path, data):
            return True
        with contextlib.suppress(SnapshotNotFound, CorruptTable):
            if self.read(snapshot.id) == snapshot:
                return False
        self.storage.overwrite(path, data)
        return True

    def delete(self, ids: Iterable[int]) -> int:
        """Delete changelog files in the given order, ignore missing files, and return the number of deleted files."""
        return self.storage.delete(self.paths.changelog(i) for i in ids)

    def withdraw(self, snapshots: Iterable[Snapshot]) -> None:
        """Delete the changelog files of these snapshots, unless they have other content."""
        for snapshot in snapshots:
            with contextlib.suppress(SnapshotNotFound, CorruptTable):
                if self.read(snapshot.id) == snapshot:
                    self.delete([snapshot.id])
        self.storage.remove_empty_directory(self.paths.changelog_directory)

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Write this id to the hint LATEST."""
        self.storage.overwrite(self.paths.changelog_hint(LATEST), str(snapshot_id).encode())

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Write this id to the hint EARLIEST."""
        self.storage.overwrite(self.paths.changelog_hint(EARLIEST), str(snapshot_id).encode())
