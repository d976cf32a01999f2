"""Manifest merge: combines small manifests into large manifests when a commit writes its base list (format 4.7).

Only the grouping of entries changes, never the set of live files. Like the input, the result lists manifests in an
order in which they can be applied. Manifests that need no change stay in the list.

Rewritten entries are ordered by partition and bucket. Each manifest then covers few partitions, so a reader of one
partition opens few manifests and decompresses few blocks. It is safe to change the order of the entries: after a merge,
no file occurs twice among the rewritten entries, so no ADD entry must precede a DELETE entry of the same file. The
position of the other manifests in the list does not change (format 4.6, 4.7). Within a bucket, entries stay in the
order of the commits.

The small manifests at the end of the list are merged by size, like the runs of an LSM tree: a manifest that is larger
than all later manifests together is not rewritten. So the number of times that an entry is rewritten is logarithmic.
Without this rule, an entry would be rewritten after every ``min_count`` commits until its manifest has the target size.

A full merge opens at most about ``MOST_ENTRIES`` entries, so its time and memory do not grow with the table. When more
would have to be opened, it merges a *portion*: the oldest small manifests with the first full manifests that may
contain their files. DELETE entries whose file is in another manifest stay, in new small manifests at the same place of
the list. The full manifests that a portion has read or written come after those that it has not, so the portions of
later commits go through the whole table in turn, whatever the order of its partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, Protocol

from paimon_core.lsm.key_order import SortKey, key_order
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.manifest_file import merge_entries
from paimon_core.types import DataType

MOST_ENTRIES = 600_000
"""A full merge opens manifests with at most about this many entries, and at most half of them in small manifests.

An entry takes about 28 µs and up to 1.5 kB of memory (decision 0075).
"""


class Write(Protocol):
    """Writes entries to manifests of the target size; see ``ManifestStore.write_manifests``."""

    def __call__(self, entries: Sequence[ManifestEntry], spread: bool = False) -> Sequence[ManifestFile]:
        """Return the manifests; with ``spread``, the last one is not smaller than the others."""


@dataclass(frozen=True)
class ManifestMerge:
    """Merges manifests.

    The fields are the functions that read and write manifests, and the sizes and the count that start a merge.
    """

    read: Callable[[ManifestFile], Sequence[ManifestEntry]]
    write: Write
    may_hold: Callable[[ManifestFile, Collection[bytes]], bool]
    """Whether a manifest can contain entries of at least one of the given partitions."""
    target_bytes: int
    min_count: int
    full_bytes: int
    partition_types: Sequence[DataType] | None = None
    """The types of the partition columns, to order rewritten entries; None: the entries keep their order."""

    def merge(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Return manifests with the same live files, after a full merge if it is worthwhile, otherwise after a minor
        merge.
        """
        rewritten = self._full(manifests)
        return self._minor(manifests) if rewritten is None else rewritten

    def portions_left(self, merged: Sequence[ManifestFile]) -> int:
        """Return how many more merges at most leave no DELETE entry in ``merged``, the result of a full merge."""
        changing = [m for m in merged if self._must_change(m)]
        if len(changing) <= 1 and not any(m.num_deleted_files for m in changing):
            return 0
        return 1 + 4 * sum(m.num_added_files + m.num_deleted_files for m in merged) // MOST_ENTRIES

    def _must_change(self, manifest: ManifestFile) -> bool:
        return manifest.num_deleted_files > 0 or manifest.file_size < self.target_bytes

    def _full(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile] | None:
        """Return manifests without DELETE entries, or with fewer when more than ``MOST_ENTRIES`` would be opened.

        Return None when fewer than two manifests, or less than ``full_bytes``, would be rewritten.
        """
        changing = [m for m in manifests if self._must_change(m)]
        if sum(m.file_size for m in changing) < self.full_bytes:
            return None
        block = _first(changing, MOST_ENTRIES // 2, least=2)
        entries = {m.file_name: self.read(m) for m in block}
        deleted = {e.identity for found in entries.values() for e in found if e.kind is FileKind.DELETE}
        partitions = {partition for partition, *_ in deleted}
        touched = [m for m in manifests if not self._must_change(m) and self.may_hold(m, partitions)]
        opened = _first(touched, MOST_ENTRIES - sum(map(len, entries.values())), least=1)
        if len(block) + len(opened) <= 1:
            return None
        later = touched[len(opened) :]
        whole = not later and len(block) == len(changing)
        waits = self._waits(opened, later)
        added: list[ManifestEntry] = []
        rest: list[ManifestEntry] = []
        unchanged: list[ManifestFile] = []
        matched: set[Any] = set()
        chosen = {m.file_name for m in (*block, *opened)}
        for manifest in (m for m in manifests if m.file_name in chosen):
            small = manifest.file_name in entries
            found = entries[manifest.file_name] if small else self.read(manifest)
            gone = {identity for e in found if e.kind is FileKind.ADD and (identity := e.identity) in deleted}
            matched |= gone
            left = (e for e in found if e.kind is FileKind.ADD and (not gone or e.identity not in gone))
            if small:
                for entry in left:
                    (rest if waits(entry.partition) else added).append(entry)
            elif gone:
                added += left
            else:
                unchanged.append(manifest)
        end = len(manifests)
        if not whole:
            rest += (
                e for found in entries.values() for e in found
                if e.kind is FileKind.DELETE and e.identity not in matched
            )  # fmt: skip
            end = 1 + max(number for number, m in enumerate(manifests) if m.file_name in entries)
        before, after = ([m for m in some if m.file_name not in chosen] for some in (manifests[:end], manifests[end:]))
        return [*before, *unchanged, *self._written(added, spread=not whole), *self._written(rest), *after]

    def _waits(self, opened: Sequence[ManifestFile], later: Sequence[ManifestFile]) -> Callable[[bytes], bool]:
        """Return whether a new file of a partition stays small until a later portion, because the manifests that it
        opens may contain the partition and those of this one do not.
        """
        if not later or not self.partition_types:
            return lambda partition: False
        now, then = ([self._range(m) for m in some] for some in (opened, later))

        def within(place: SortKey, ranges: Sequence[tuple[SortKey, SortKey | None]]) -> bool:
            return any(low <= place and (high is None or place <= high) for low, high in ranges)

        return cache(lambda partition: not within(self._place(partition), now) and within(self._place(partition), then))

    def _range(self, manifest: ManifestFile) -> tuple[SortKey, SortKey | None]:
        """Return the places of the lowest and highest partition of a manifest; all places when they are unknown."""
        stats = manifest.partition_stats
        return (
            (self._place(stats.min_values), self._place(stats.max_values)) if any(stats.min_values[:4]) else ((), None)
        )

    def _minor(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Merge consecutive manifests that together reach the target size.

        The remaining manifests at the end are merged only if there are at least ``min_count`` of them.
        """
        out: list[ManifestFile] = []
        group: list[ManifestFile] = []
        size = 0
        for manifest in manifests:
            group.append(manifest)
            size += manifest.file_size
            if size >= self.target_bytes:
                out += self._merged(group)
                group, size = [], 0
        return [*out, *(self._tail(group) if len(group) >= self.min_count else group)]

    def _tail(self, group: list[ManifestFile]) -> Sequence[ManifestFile]:
        """Merge the last manifests: from the first manifest that is not larger than all later manifests together.

        At least the last two manifests are merged.
        """
        left = sum(m.file_size for m in group)
        for number, manifest in enumerate(group[:-2]):
            left -= manifest.file_size
            if manifest.file_size <= left:
                return [*group[:number], *self._merged(group[number:])]
        return [*group[:-2], *self._merged(group[-2:])]

    def _merged(self, group: list[ManifestFile]) -> Sequence[ManifestFile]:
        if len(group) == 1:
            return group
        entries = merge_entries(e for m in group for e in self.read(m))
        return self._written(entries)

    def _written(self, entries: Sequence[ManifestEntry], *, spread: bool = False) -> Sequence[ManifestFile]:
        if not entries:
            return ()
        if self.partition_types is not None:
            place = {partition: self._place(partition) for partition in {e.partition for e in entries}}
            entries = sorted(entries, key=lambda e: (place[e.partition], e.bucket))
        return self.write(entries, spread) if spread else self.write(entries)

    @cached_property
    def _place(self) -> Callable[[bytes], SortKey]:
        """The place of a partition among all partitions; each is decoded once."""
        return cache(key_order(self.partition_types or ()))


def _first(manifests: Sequence[ManifestFile], most: int, *, least: int) -> Sequence[ManifestFile]:
    """Return the first manifests with together at most ``most`` entries, but at least ``least`` manifests."""
    entries = accumulate(m.num_added_files + m.num_deleted_files for m in manifests)
    return manifests[: max(least, sum(count <= most for count in entries))]
