"""LiveParts: live files as columns in parts; a file gets a number that is valid until the next file is added."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

import numpy as np

from paimon_core.codec.avro.columns import Mask, Numbers
from paimon_core.fsck.checked_entries import CheckedEntries, Place
from paimon_core.fsck.known_names import MANY, searched, share_none
from paimon_core.metadata.manifests.entries import ManifestEntry

MOST_JOINED = 100_000
"""Parts with more files together are not joined, which needs the memory of both."""


class _Part:
    """Some files, of which some may have been deleted since."""

    def __init__(self, entries: CheckedEntries) -> None:
        self.entries = entries
        self.alive = np.ones(len(entries), bool)

    @cached_property
    def order(self) -> Numbers:
        """The rows in the order of their identities."""
        return np.argsort(self.entries.identity)

    @cached_property
    def identity(self) -> Numbers:
        """The identities in order."""
        return self.entries.identity[self.order]

    def find(self, identity: Numbers) -> Numbers:
        """Return the row of each identity; -1 if it is not live."""
        at = np.minimum(searched(self.identity, identity), len(self.identity) - 1)
        row = self.order[at]
        return np.where((self.identity[at] == identity) & self.alive[row], row, -1)

    @cached_property
    def rows_of(self) -> dict[Place, Numbers]:
        """The rows of each place, in order."""
        codes, places = self.entries.places
        ends = np.cumsum(np.bincount(codes, minlength=len(places)))[:-1]
        return dict(zip(places, np.split(np.argsort(codes, kind="stable"), ends), strict=True))


class LiveParts:
    """The live files; later files are in later parts, and small parts are joined."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._places: dict[Place, None] = {}

    def add(self, entries: CheckedEntries) -> None:
        """Add files that are not live."""
        if not len(entries):
            return
        self._places |= dict.fromkeys(entries.places[1])
        joined = [entries]
        count = len(entries)
        while self._parts and len(self._parts[-1].alive) <= min(2 * count, MOST_JOINED - count):
            older = self._parts.pop()
            joined.insert(0, older.entries.filter(older.alive))
            count += len(joined[0])
        self._parts.append(_Part(CheckedEntries.concat([part for part in joined if len(part)])))

    def find(self, identity: Numbers) -> Numbers:
        """Return the number of each file with one of these identities; -1 if it is not live."""
        out = np.full(len(identity), -1, np.int64)
        if len(identity) >= MANY and share_none(identity, *(part.entries.identity for part in self._parts)):
            return out
        start = 0
        for part in self._parts:
            rows = part.find(identity)
            out[rows >= 0] = start + rows[rows >= 0]
            start += len(part.alive)
        return out

    def remove(self, number: int) -> int:
        """Remove the file with this number and return its number of rows."""
        part = iter(self._parts)
        found = next(part)
        while number >= len(found.alive):
            number -= len(found.alive)
            found = next(part)
        found.alive[number] = False
        return found.entries.row_counts(slice(number, number + 1))[0]

    def differ(self, identity: Numbers, record: Numbers) -> Mask:
        """Return which of the entries are live files with another record."""
        out = np.zeros(len(identity), bool)
        if len(identity) >= MANY and self._have(record):
            return out
        for part in self._parts:
            rows = part.find(identity)
            out |= (rows >= 0) & (part.entries.record[rows] != record)
        return out

    def _have(self, record: Numbers) -> bool:
        """Whether all these records are different, and each is that of a live file."""
        live = [part.entries.record[part.alive] for part in self._parts]
        together = np.sort(np.concatenate([record, *live]))
        repeated = np.count_nonzero(together[1:] == together[:-1])
        return share_none(record) and share_none(*live) and repeated == len(record)

    def __iter__(self) -> Iterator[CheckedEntries]:
        """Yield the live files, in the order in which they were added."""
        return (part.entries.filter(part.alive) for part in self._parts if part.alive.any())

    def among(self, partitions: Collection[bytes]) -> Iterator[CheckedEntries]:
        """Yield the live files of some partitions, in order."""
        for part in self._parts:
            codes, known = part.entries.columns.partition_codes()
            chosen = np.array([partition in partitions for partition in known], bool)
            if chosen.any() and (mask := part.alive & chosen[codes]).any():
                yield part.entries.filter(mask)

    def places(self) -> list[Place]:
        """Return the places with live files, in the order of the first file that each ever had."""
        live: set[Place] = set()
        for part in self._parts:
            codes, places = part.entries.places
            live.update(places[code] for code in np.unique(codes[part.alive]).tolist())
        return [place for place in self._places if place in live]

    def entries(self, place: Place) -> list[ManifestEntry]:
        """Return the entries of the files of a place, in order."""
        return [e for part, rows in self._of(place) for e in part.entries.columns.entries(rows)]

    def row_counts(self, place: Place) -> dict[str, int]:
        """Return the number of rows of each file of a place, by name."""
        return {
            name: count
            for part, rows in self._of(place)
            for name, count in zip(part.entries.names(rows), part.entries.row_counts(rows), strict=True)
        }

    def buckets(self) -> Iterator[tuple[Place, list[ManifestEntry]]]:
        """Yield each place with the entries of its files."""
        return ((place, self.entries(place)) for place in self.places())

    def levels(self) -> set[int]:
        """Return the levels of all files."""
        return {level for part in self for level in np.unique(part.columns.numbers["level"]).tolist()}

    def _of(self, place: Place) -> Iterator[tuple[_Part, Numbers]]:
        for part in self._parts:
            rows = part.rows_of.get(place)
            if rows is not None and len(rows := rows[part.alive[rows]]):
                yield part, rows
