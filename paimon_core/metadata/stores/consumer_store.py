"""ConsumerStore: the positions of the streaming readers of a table (format 15.6)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from paimon_core.errors import CorruptTable, InvalidRequest, NotFound, listed
from paimon_core.storage.paths import TablePaths
from paimon_core.storage.storage import FileInfo, Storage

_PREFIX = "consumer-"
_PAUSES = (0.02, 0.1)
"""The seconds to wait before a file that cannot be parsed is read again, because a process may just be writing it."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """The first snapshot that a streaming reader has not read, and the write time of the file (epoch milliseconds)."""

    name: str
    next_snapshot: int
    modified_millis: int


@dataclass(frozen=True, slots=True)
class ConsumerStore:
    """Reads, sets and deletes the consumer files of one table on one branch."""

    storage: Storage
    paths: TablePaths

    def files(self) -> list[FileInfo]:
        """Return the consumer files, sorted by name, without reading them."""
        found = self.storage.list(self.paths.consumer_directory)
        return sorted(
            (e for e in found if e.name.startswith(_PREFIX) and not e.is_directory), key=lambda entry: entry.name
        )

    def list(self) -> list[Consumer]:
        """Return all consumers, sorted by name.

        Raises CorruptTable for a damaged file, because such a file does not show which snapshots the reader has not
        read.
        """
        return [c for c in map(self._of, self.files()) if c is not None]

    def read(self, name: str) -> Consumer:
        """Read one consumer; raises NotFound when it does not exist, CorruptTable for a damaged file."""
        path = self.paths.consumer(name)
        for entry in self.files():
            if entry.path == path and (found := self._of(entry)) is not None:
                return found
        raise self._not_found(name)

    def reset(self, name: str, next_snapshot: int) -> None:
        """Set the next snapshot of consumer ``name``; this snapshot and later snapshots do not expire.

        Raises InvalidRequest for a number that is not a snapshot id, or a name that is not a file name.
        """
        if type(next_snapshot) is not int or not 1 <= next_snapshot < 2**63:
            raise InvalidRequest(f"consumer {name!r:.80}: {next_snapshot!r:.60} is not a snapshot id", consumer=name)
        self.storage.overwrite(self.paths.consumer(name), f'{{\n  "nextSnapshot" : {next_snapshot}\n}}'.encode())

    def delete(self, name: str) -> None:
        """Delete a consumer; raises NotFound when it does not exist."""
        if not self.storage.delete([self.paths.consumer(name)]):
            raise self._not_found(name)

    def _of(self, entry: FileInfo) -> Consumer | None:
        for pause in (*_PAUSES, None):
            try:
                data = self.storage.read(entry.path)
            except FileNotFoundError:  # deleted after the listing
                return None
            try:
                return Consumer(entry.name.removeprefix(_PREFIX), _next_snapshot(data), entry.modified_millis)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                if pause is None:
                    raise CorruptTable(
                        f"{entry.path} has no valid nextSnapshot: {_problem(error)}. Reset the consumer, or delete it",
                        path=entry.path,
                    ) from error
                time.sleep(pause)
        raise AssertionError

    def _not_found(self, name: str) -> NotFound:
        known = listed([e.name.removeprefix(_PREFIX) for e in self.files()]) or "none"
        return NotFound(f"no consumer {name!r:.80} in {self.paths.root} (consumers: {known:.200})", consumer=name)


def _problem(error: Exception) -> str:
    # A number of thousands of digits makes the text of Python's error long, and PaimonError replaces it as a whole.
    return str(error) if type(error) is ValueError else f"{error!r:.120}"


def _next_snapshot(data: bytes) -> int:
    value = json.loads(data)["nextSnapshot"]
    if type(value) is not int:
        raise ValueError(f"nextSnapshot is {value!r:.60}")
    return value
