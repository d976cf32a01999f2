"""Split: the unit of reading. The module also packs the files of one bucket into splits (format 8.7).

A raw split is read file by file, because no key occurs twice in its files and no row is a delete. Any other split
consists of whole sections: groups of files whose key ranges overlap. Each section is merged separately, because no key
of a section occurs in another section or in another split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TypeVar

from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest
from paimon_core.lsm.key_order import KeyOrder
from paimon_core.lsm.sections import intervals
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.member_types import checked
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.plan.lazy_files import LazyFiles
from paimon_core.table_indexes.live_vectors import Vectors, vectors_from_plain, vectors_to_plain

SPLIT_VERSION = 2
Layout = tuple[tuple[tuple[int, ...], ...], ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Split(Displayed):
    """Some files of one (partition, bucket) at one snapshot, to be read by one task."""

    partition: bytes
    """A serialized BinaryRow of the partition columns."""
    bucket: int
    total_buckets: int
    snapshot_id: int
    files: Sequence[DataFile]
    """A tuple or ``LazyFiles``; the two are equal if their files are equal."""
    raw: bool
    layout: Layout = ()
    """The sections.

    A section is a tuple of sorted runs, and a run is a tuple of positions in ``files``. () for a raw split.
    """
    delta_manifest_list: str = ""
    """The delta manifest list of the snapshot; "" when it is not known. After a rollback, another snapshot may have the
    same id, but with another delta manifest list.
    """
    vectors: Vectors = field(default_factory=dict, hash=False)
    """The deletion vectors of the files, by file name."""

    def _summary(self) -> Summary:
        kind = "raw" if self.raw else "merge"
        counts = (("files", len(self.files)), ("rows", self.row_count))
        facts = (("snapshot", str(self.snapshot_id)), *counts, ("read", kind))
        return Summary(f"bucket {self.bucket}", facts)

    @property
    def sections(self) -> tuple[tuple[SortedRun, ...], ...]:
        """The sorted runs of each section to merge, oldest first; () for a raw split."""
        return tuple(tuple(self._run(run) for run in section) for section in self.layout)

    def _run(self, positions: tuple[int, ...]) -> SortedRun:
        files = tuple(self.files[at] for at in positions)
        return SortedRun(max(f.level for f in files), files)

    @property
    def row_count(self) -> int:
        """The number of rows in the files, without the rows in deletion vectors; a read returns at most this number.

        If ``is_counted``, a read returns exactly this number.
        """
        rows = self.files.row_count if isinstance(self.files, LazyFiles) else sum(f.row_count for f in self.files)
        return rows - sum(v.cardinality or 0 for _, v in self.vectors.values())

    @property
    def is_counted(self) -> bool:
        """Whether ``row_count`` is exactly the number of rows that a read returns."""
        return self.raw and all(v.cardinality is not None for _, v in self.vectors.values())

    @property
    def size_bytes(self) -> int:
        """The sum of the file sizes in bytes."""
        return self.files.size_bytes if isinstance(self.files, LazyFiles) else sum(f.file_size for f in self.files)

    def to_bytes(self) -> bytes:
        """Return versioned JSON, to be sent to another process."""
        members = {
            "partition": bytes_to_plain(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
            "snapshot_id": self.snapshot_id,
            "files": [to_plain(f) for f in self.files],
            "raw": self.raw,
            "layout": self.layout,
            "delta_manifest_list": self.delta_manifest_list,
            "vectors": vectors_to_plain(self.vectors),
        }
        return pack(SPLIT_VERSION, members)

    @staticmethod
    def from_bytes(data: bytes) -> Split:
        """Return the split that ``to_bytes`` encoded.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "split", SPLIT_VERSION) as value:
            files = tuple(map(from_plain, value.pop("files")))
            layout = tuple(tuple(tuple(run) for run in section) for section in value.pop("layout"))
            vectors = vectors_from_plain(value.pop("vectors"))
            partition = bytes_from_plain(value.pop("partition"))
            split = checked(Split(partition=partition, files=files, layout=layout, vectors=vectors, **value))
            positions = sorted(at for section in layout for run in section for at in run)
        if positions != ([] if split.raw else list(range(len(files)))) or not all(all(s) for s in layout):
            raise InvalidRequest(f"not a split: its layout {layout!r:.80} does not contain each of its files once")
        return split


def layout_of(sections: Iterable[Iterable[int]]) -> Layout:
    """Return the layout of a split from the number of files of each run; files are in order of sections and runs."""
    positions = count()
    return tuple(tuple(tuple(islice(positions, files)) for files in runs) for runs in sections)


@dataclass(frozen=True, slots=True)
class Packing:
    """The target size of a split in bytes; each file or section counts with at least ``open_file_bytes``."""

    target_bytes: int
    open_file_bytes: int

    def pack(self, items: Iterable[T], size: Callable[[T], int]) -> list[list[T]]:
        """Return groups of consecutive items. A group has at most the target size, or is a single larger item."""
        bins: list[list[T]] = []
        weight = 0
        for item in items:
            more = max(size(item), self.open_file_bytes)
            if not bins or weight + more > self.target_bytes:
                bins.append([])
                weight = 0
            bins[-1].append(item)
            weight += more
        return bins


Packed = tuple[tuple[DataFile, ...], Layout]
"""The files of one split, and its layout: () for a raw split."""


def pack_append(files: Sequence[DataFile], packing: Packing) -> list[Packed]:
    """Return the splits of a bucket of an append table: all raw, in the order of writing."""
    ordered = sorted(files, key=lambda f: f.min_sequence_number)
    return [(tuple(some), ()) for some in packing.pack(ordered, lambda f: f.file_size)]


def pack_keyed(
    files: Sequence[DataFile],
    order: KeyOrder,
    packing: Packing,
    may_match: Callable[[DataFile], bool] | None = None,
    *,
    is_clean: Callable[[DataFile], bool],
    combines: bool = False,
) -> list[Packed]:
    """Return the splits of a bucket of a primary-key table, without the sections in which no file ``may_match``.

    A filter on values must not leave out a single file of a section, because an older row could become visible. The
    filter may leave out a whole section, because the keys of a section occur in no other section. If the merge engine
    ``combines`` the values of several rows, a section of several runs is not left out: the combined row may match
    although no row in the files matches. Sections that need no merge are packed separately, so that as many files as
    possible are read raw. ``is_clean``: whether a file is known to contain no delete.
    """
    if may_match is not None:
        may_match = _cached(may_match)
        if not combines and not any(map(may_match, files)):
            return []
    sections = _sections(files, order)
    if may_match is not None:
        sections = [s for s in sections if (combines and len(s) > 1) or any(may_match(f) for run in s for f in run)]
    raw: list[DataFile] = []
    merged: list[_Section] = []
    for section in sections:
        if len(section) == 1 and all(map(is_clean, section[0])):
            raw.extend(section[0])
        else:
            merged.append(section)
    out: list[Packed] = [(tuple(some), ()) for some in packing.pack(raw, lambda f: f.file_size)]
    out += map(_with_layout, packing.pack(merged, lambda s: sum(f.file_size for run in s for f in run)))
    return out


def _cached(test: Callable[[DataFile], bool]) -> Callable[[DataFile], bool]:
    known: dict[str, bool] = {}

    def cached(file: DataFile) -> bool:
        if file.file_name not in known:
            known[file.file_name] = test(file)
        return known[file.file_name]

    return cached


_Section = Sequence[Sequence[DataFile]]
"""The sorted runs of a section; each run is a sequence of files."""


def _sections(files: Sequence[DataFile], order: KeyOrder) -> list[_Section]:
    # Files of one level above 0 share no key (format 7.3), so their keys need not be decoded.
    if len(files) == 1 or (files[0].level > 0 and all(f.level == files[0].level for f in files)):
        return [((f,),) for f in files]
    return [tuple(run.files for run in section.runs) for section in intervals(files, order)]


def _with_layout(sections: Sequence[_Section]) -> Packed:
    files = tuple(file for section in sections for run in section for file in run)
    return files, layout_of(map(len, section) for section in sections)
