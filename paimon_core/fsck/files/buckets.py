"""Bucket checks: each partition has one number of buckets, and files of a level above 0 share no key (I12, I15)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from paimon_core.codec.avro.columns import Numbers
from paimon_core.codec.binary_row.row_columns import RowBytes, key_ranks
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import CheckedEntries, Place
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_parts import LiveParts
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.metadata.manifests.entry_columns import EntryColumns, Indices

_COMPARED = 100_000
"""The number of files whose keys are compared at a time."""
_Run = tuple[bytes, int, int]
"""A partition, a bucket and a level."""
_File = tuple[bytes, bytes, str]
"""The smallest key, the largest key and the name of a file."""


class Buckets:
    """Checks the buckets that the snapshots of one branch changed."""

    def __init__(self, run: CheckRun) -> None:
        self._run = run
        fields = run.context.schema.key_fields if run.context.is_keyed else ()
        self._types = [f.type for f in fields]
        self._order: KeyOrder | None = key_order(self._types) if fields else None

    def check(self, live: LiveParts, added: Sequence[CheckedEntries], location: Location) -> None:
        """Check the buckets to which a snapshot added the files ``added``; deleted files cannot break these rules."""
        self._check_totals(live, added, location)
        if self._order is None:
            return
        with self._run.collector.guarding("I12", location):
            for part in added:
                self._check_keys(self._order, part, location)
            self._check_levels(self._order, live, added, location)

    def _check_totals(self, live: LiveParts, added: Iterable[CheckedEntries], location: Location) -> None:
        """Check that the new files and the older files of a partition state the same number of buckets.

        Only one older file of each bucket is compared, because each older file was checked when it was added.
        """
        totals: dict[bytes, set[int]] = {}
        for part in added:
            in_buckets = part.filter(part.columns.numbers["bucket"] >= 0)
            for partition, total in _pairs(in_buckets.columns):
                totals.setdefault(partition, set()).add(total)
        seen: set[Place] = set()
        for part in live.among(totals) if totals else ():
            codes, places = part.places
            _, first = np.unique(codes, return_index=True)
            for place, total in zip(places, part.columns.numbers["total_buckets"][first].tolist(), strict=True):
                if place[1] >= 0 and place not in seen:
                    seen.add(place)
                    totals[place[0]].add(total)
        for partition, found in totals.items():
            self._run.collector.check("I15")
            if len(found) > 1:
                where = self._run.context.partition_path(partition) or "the table"
                message = f"the files of {where} have {sorted(found)} buckets: only one number can be right"
                self._run.collector.find("I15", location, f"{location.holder}: {message}")

    def _check_keys(self, order: KeyOrder, part: CheckedEntries, location: Location) -> None:
        """Check that no file has a minimum key above its maximum key."""
        columns = part.columns
        # Files of the postpone bucket are not sorted; they state their first and last key.
        rows = np.flatnonzero(columns.numbers["bucket"] >= 0)
        ranks = self._ranks([columns], [rows])
        if ranks is not None:
            self._run.collector.check("I12", len(rows))
            wrong = rows[ranks[0] > ranks[1]]
        for row in (rows if ranks is None else wrong).tolist():
            (low,), (high,) = (columns.bytes_at(name, slice(row, row + 1)) for name in ("min_key", "max_key"))
            if ranks is None:
                self._run.collector.check("I12")
            if order(low) > order(high):
                name = part.names(np.array([row]))[0]
                codes, places = part.places
                message = f"file {name} has a minimum key above its maximum key"
                self._find(location, places[codes[row]], message)

    def _check_levels(
        self, order: KeyOrder, live: LiveParts, added: Iterable[CheckedEntries], location: Location
    ) -> None:
        """Check the files of each level above 0 of a bucket to which a file was added."""
        changed = dict.fromkeys(run for part in added for run in _runs(part)[1])
        if not changed:
            return
        number = {run: at for at, run in enumerate(changed)}
        parts: list[CheckedEntries] = []
        runs, rows = [], []
        for part in live.among({partition for partition, _, _ in changed}):
            codes, found = _runs(part)
            code = np.array([number.get(run, -1) for run in found] or [-1], np.int64)
            code = np.where(codes >= 0, code[codes], -1)
            rows.append(np.flatnonzero(code >= 0))
            runs.append(code[rows[-1]])
            parts.append(part)
        if not parts:
            return
        suspects = self._suspects([part.columns for part in parts], rows, runs)
        if not len(suspects):
            return
        files: dict[int, list[_File]] = {at: [] for at in suspects.tolist()}
        for part, some, code in zip(parts, rows, runs, strict=True):
            chosen = np.isin(code, suspects)
            at = some[chosen]
            keys = (part.columns.bytes_at(name, at) for name in ("min_key", "max_key"))
            for where, *file in zip(code[chosen].tolist(), *keys, part.names(at), strict=True):
                files[where].append((file[0], file[1], file[2]))
        for which, of_run in enumerate(changed):
            if which in files:
                self._check_level(order, files[which], of_run, location)

    def _suspects(self, parts: Sequence[EntryColumns], rows: Sequence[Indices], runs: Sequence[Numbers]) -> Numbers:
        """Return the runs with files that share keys, or of which the keys must be decoded to know.

        ``runs``: the run of each file at the positions ``rows`` of a part. Some runs are compared at a time.
        """
        counts = np.bincount(np.concatenate(runs))
        block = np.cumsum(counts) // _COMPARED
        found = [np.zeros(0, np.int64)]
        for number in np.unique(block).tolist():
            masks = [(block[run] == number) & (counts[run] > 1) for run in runs]
            run = np.concatenate([run[mask] for run, mask in zip(runs, masks, strict=True)])
            if not len(run):
                continue
            ranks = self._ranks(parts, [some[mask] for some, mask in zip(rows, masks, strict=True)])
            if ranks is not None:
                low, high = ranks
                by_key = np.lexsort((low, run))
                run = run[by_key]
                run = run[1:][(run[1:] == run[:-1]) & (low[by_key][1:] <= high[by_key][:-1])]
            found.append(np.unique(run))
        return np.concatenate(found)

    def _check_level(self, order: KeyOrder, files: list[_File], run: _Run, location: Location) -> None:
        for (_, highest, before), (lowest, _, after) in pairwise(sorted(files, key=lambda f: order(f[0]))):
            if order(lowest) <= order(highest):
                self._find(location, run[:2], f"files {before} and {after} of level {run[2]} share keys")

    def _ranks(self, parts: Sequence[EntryColumns], rows: Sequence[Indices]) -> tuple[Numbers, Numbers] | None:
        """Return numbers in the order of the smallest and the largest keys; None if the keys must be decoded."""
        lows, highs = (_rows(parts, rows, name, len(self._types)) for name in ("min_key", "max_key"))
        return key_ranks(lows, highs, self._types)

    def _find(self, location: Location, place: Place, message: str) -> None:
        where = self._run.context.bucket_path(*place)
        self._run.collector.find("I12", location, f"{location.holder}, {where}: {message}")


def _pairs(columns: EntryColumns) -> list[tuple[bytes, int]]:
    """Return the pairs of a partition and a number of buckets, in order of first occurrence."""
    if not len(columns):
        return []
    codes, partitions = columns.partition_codes()
    totals, total = np.unique(columns.numbers["total_buckets"], return_inverse=True)
    first = np.sort(np.unique(codes * len(totals) + total, return_index=True)[1])
    numbers = columns.numbers["total_buckets"][first].tolist()
    return [(partitions[code], number) for code, number in zip(codes[first].tolist(), numbers, strict=True)]


def _runs(part: CheckedEntries) -> tuple[Numbers, list[_Run]]:
    """Return for each file the index of its place and level, -1 at level 0; and the places with their levels."""
    codes, places = part.places
    if not (part.columns.numbers["level"] > 0).any():
        return np.full(len(part), -1, np.int64), []
    levels, level = np.unique(part.columns.numbers["level"], return_inverse=True)
    pairs, code = np.unique(codes * max(len(levels), 1) + level, return_inverse=True)
    found = [(*places[pair // len(levels)], int(levels[pair % len(levels)])) for pair in pairs.tolist()]
    above = [at for at, run in enumerate(found) if run[2]]
    number = np.full(len(found), -1, np.int64)
    number[above] = np.arange(len(above))
    return number[code], [found[at] for at in above]


def _rows(parts: Sequence[EntryColumns], rows: Sequence[Indices], name: str, arity: int) -> RowBytes:
    """Return the keys at some positions of each part, in one buffer."""
    if len(parts) == 1:
        starts, lengths = (column[rows[0]].astype(np.int64) for column in parts[0].spans[name])
        return RowBytes(parts[0].buffer, starts, lengths, arity)
    data = [part.joined_bytes(name, some) for part, some in zip(parts, rows, strict=True)]
    lengths = np.concatenate([part.spans[name].lengths[some] for part, some in zip(parts, rows, strict=True)])
    lengths = lengths.astype(np.int64)
    return RowBytes(np.frombuffer(b"".join(data), np.uint8), np.cumsum(lengths) - lengths, lengths, arity)
