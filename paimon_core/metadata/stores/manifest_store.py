"""ManifestStore: writes and reads the manifests and manifest lists of one table (format 3.3, 4).

Manifests never change, so those read last are cached: at most 64 manifests and 100,000 entries (about 140 MB). Every
file gets a unique name, whatever thread or process writes it.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from paimon_core.codec.binary_row import decode_row, encode_row, row_decoder
from paimon_core.codec.record_file import unpacked_blocks
from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.column_stats import EMPTY_STATS, ColumnStats
from paimon_core.metadata.index_manifest import IndexEntry, decode_indexes, encode_indexes
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifest_file import decode_entries, decode_list, encode_entries, encode_list, live_entries
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.storage.paths import FileNames, TablePaths
from paimon_core.storage.storage import Storage
from paimon_core.types import DataType, TypeRoot

KEPT_MANIFESTS = 64
KEPT_ENTRIES = 100_000


class ManifestStore:
    """Reads and writes the manifests of one table; ``compression`` is the option ``manifest.compression``.

    It is pickled without its cache.
    """

    def __init__(
        self,
        storage: Storage,
        paths: TablePaths,
        partition_types: Sequence[DataType],
        compression: str = "zstd",
        cache: ManifestCache | None = None,
    ) -> None:
        self.storage = storage
        self.paths = paths
        self.partition_types = tuple(partition_types)
        self.compression = compression
        self.cache = ManifestCache() if cache is None else cache

    def __reduce__(self) -> tuple[Any, ...]:
        return ManifestStore, (self.storage, self.paths, self.partition_types, self.compression)

    def write_manifests(self, entries: Sequence[ManifestEntry], target_bytes: int) -> list[ManifestFile]:
        """Write entries, in order, as manifests of at least ``target_bytes`` each; only the last may be smaller.

        Smaller manifests would be merged again by every commit (format 4.7). Without entries, nothing is written. When
        a write fails, the manifests written before are deleted and the error is raised.
        """
        names = FileNames()
        files: list[ManifestFile] = []
        try:
            for chosen, data in self._rolled(entries, target_bytes):
                name = names.next("manifest-")
                self.storage.write(self.paths.manifest(name), data)
                files.append(describe(name, len(data), chosen, self.partition_types))
        except BaseException:
            with contextlib.suppress(OSError):
                self.storage.delete(self.paths.manifest(f.file_name) for f in files)
            raise
        return files

    def _rolled(
        self, entries: Sequence[ManifestEntry], target_bytes: int
    ) -> Iterator[tuple[Sequence[ManifestEntry], bytes]]:
        if not entries:
            return
        data = encode_entries(entries, self.compression)
        if len(data) <= target_bytes:
            yield entries, data
            return
        step = math.ceil(1.02 * len(entries) * target_bytes / len(data))
        start = 0
        while start < len(entries):
            end = min(start + step, len(entries))
            data = encode_entries(entries[start:end], self.compression)
            while len(data) < target_bytes and end < len(entries):
                end = min(end + 1 + step // 10, len(entries))
                data = encode_entries(entries[start:end], self.compression)
            yield entries[start:end], data
            start = end

    def read_manifest(self, file_name: str, size: int | None = None) -> list[ManifestEntry]:
        """Read the entries of one manifest; the recorded ``size`` (bytes) is checked when it is given.

        Raises CorruptTable naming the path when the file is missing, incomplete or not a manifest.
        """
        entries = self.cache.find(self.paths.manifest(file_name))
        if entries is None:
            entries = decode_entries(self._read(file_name, size), self.paths.manifest(file_name))
            self.cache.keep(self.paths.manifest(file_name), entries)
        return list(entries)

    def blocks_of(self, manifest: ManifestFile) -> list[bytes]:
        """Return a manifest's uncompressed blocks, in which a file name is found faster than by decoding entries."""
        path = self.paths.manifest(manifest.file_name)
        return unpacked_blocks(self._read(manifest.file_name, manifest.file_size), path)

    def write_list(self, files: Sequence[ManifestFile]) -> tuple[str, int]:
        """Write a manifest list, also without files; return its name and its size in bytes (format 3.3)."""
        name = FileNames().next("manifest-list-")
        data = encode_list(files, self.compression)
        self.storage.write(self.paths.manifest(name), data)
        return name, len(data)

    def read_list(self, name: str, size: int | None = None) -> list[ManifestFile]:
        """Read the records of a manifest list, in order; raises the errors of ``read_manifest``."""
        return decode_list(self._read(name, size), self.paths.manifest(name))

    def manifests_of(self, snapshot: Snapshot) -> list[ManifestFile]:
        """Read all manifests of a snapshot in the order in which they apply: base list, delta list (format 3.3)."""
        return [
            *self.read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size),
            *self.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
        ]

    def entries_of(self, snapshot: Snapshot, among: Collection[bytes] | None = None) -> list[ManifestEntry]:
        """Return the ADD entry of every live file of a snapshot (format 3.3), or of those in the partitions ``among``.

        Manifests that cannot contain these partitions are not read. Raises SnapshotNotFound when the snapshot expires
        during the read, CorruptTable when a file is missing or bad.
        """
        with self.reading(snapshot):
            files = [f for f in self.manifests_of(snapshot) if among is None or self.may_hold(f, among)]
            read = chain.from_iterable(self.read_manifest(f.file_name, f.file_size) for f in files)
            return live_entries(read if among is None else (e for e in read if e.partition in among))

    def read_indexes(self, name: str | None) -> list[IndexEntry]:
        """Read the entries of an index manifest (format 4.4), [] for None; raises the errors of ``read_manifest``."""
        return [] if name is None else decode_indexes(self._read(name, None), self.paths.manifest(name))

    def write_indexes(self, entries: Sequence[IndexEntry]) -> str:
        """Write an index manifest and return its name."""
        name = FileNames().next("index-manifest-")
        self.storage.write(self.paths.manifest(name), encode_indexes(entries, self.compression))
        return name

    def may_hold(self, manifest: ManifestFile, partitions: Collection[bytes]) -> bool:
        """Whether a manifest may contain an entry of one of these partitions, by its recorded ranges (format 4.2)."""
        stats = manifest.partition_stats
        if not partitions:
            return False
        if not self.partition_types or not any(stats.min_values[:4]):
            return True
        decode = row_decoder(self.partition_types)
        try:
            low, high = decode(stats.min_values), decode(stats.max_values)
        except CorruptTable as error:
            name = manifest.file_name
            raise CorruptTable(f"partition statistics of manifest {name} do not decode: {error}", path=name) from error
        return any(_within(decode(partition), low, high) for partition in partitions)

    @contextlib.contextmanager
    def reading(self, snapshot: Snapshot) -> Iterator[None]:
        """Wrap reads of a snapshot's manifests: a missing manifest of an expired snapshot raises SnapshotNotFound."""
        try:
            yield
        except CorruptTable as error:
            if error.facts.get("missing") and not SnapshotStore(self.storage, self.paths).is_live(snapshot):
                raise SnapshotNotFound(
                    f"snapshot {snapshot.id} of {self.paths.root} has expired: {error}", snapshot=snapshot.id
                ) from error
            raise

    def _read(self, name: str, size: int | None) -> bytes:
        path = self.paths.manifest(name)
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            raise CorruptTable(f"{path} is missing", path=path, missing=True) from None
        if size is not None and len(data) != size:
            raise CorruptTable(f"{path} has {len(data)} bytes, but {size} are recorded", path=path, size=len(data))
        return data


def _within(row: Sequence[object], low: Sequence[object], high: Sequence[object]) -> bool:
    return all(_between(value, least, most) for value, least, most in zip(row, low, high, strict=True))


def _between(value: object, low: object, high: object) -> bool:
    """Whether a value may be in a range; True also for nulls, which are not ordered, and for ranges that end in NaN."""
    if value is None or low is None or high is None:
        return True
    return not (value < low or value > high)  # type: ignore[operator]


class ManifestCache:
    """Cache of the manifests read last, by path, with two bounds; the tables of a catalog share it. Thread-safe."""

    def __init__(self) -> None:
        self._manifests: OrderedDict[str, list[ManifestEntry]] = OrderedDict()
        self._entries = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ManifestCache, ()

    def find(self, path: str) -> list[ManifestEntry] | None:
        """Return the entries of a cached manifest, or None."""
        with self._lock:
            if path in self._manifests:
                self._manifests.move_to_end(path)
            return self._manifests.get(path)

    def keep(self, path: str, entries: list[ManifestEntry]) -> None:
        """Cache the entries of a manifest, and drop the manifests that were used longest ago."""
        with self._lock:
            self._entries += len(entries) - len(self._manifests.pop(path, ()))
            self._manifests[path] = entries
            while len(self._manifests) > KEPT_MANIFESTS or self._entries > KEPT_ENTRIES:
                self._entries -= len(self._manifests.popitem(last=False)[1])


def describe(
    file_name: str, file_size: int, entries: Sequence[ManifestEntry], partition_types: Sequence[DataType]
) -> ManifestFile:
    """Return the record of a manifest with these entries, at least one, for a manifest list (format 4.2)."""
    added = sum(entry.kind is FileKind.ADD for entry in entries)
    buckets = [entry.bucket for entry in entries]
    levels = [entry.file.level for entry in entries]
    rows = [(entry.file.first_row_id, entry.file.row_count) for entry in entries]
    tracked = [(first, first + count - 1) for first, count in rows if first is not None]
    with_rows = len(tracked) == len(rows)
    return ManifestFile(
        file_name=file_name,
        file_size=file_size,
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=partition_stats(entries, partition_types),
        schema_id=max(entry.file.schema_id for entry in entries),
        min_bucket=min(buckets),
        max_bucket=max(buckets),
        min_level=min(levels),
        max_level=max(levels),
        min_row_id=min(first for first, _ in tracked) if with_rows else None,
        max_row_id=max(last for _, last in tracked) if with_rows else None,
    )


def partition_stats(entries: Sequence[ManifestEntry], types: Sequence[DataType]) -> ColumnStats:
    """Return the minimum, the maximum (never shortened) and the null count of each partition column (format 4.2)."""
    if not types:
        return EMPTY_STATS
    counts = Counter(entry.partition for entry in entries)
    columns = list(zip(*(decode_row(partition, types) for partition in counts), strict=True))
    lows, highs, nulls = [], [], []
    for values, dtype in zip(columns, types, strict=True):
        order = _float_order if dtype.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE) else None
        present = [value for value in values if value is not None]
        lows.append(min(present, key=order, default=None))
        highs.append(max(present, key=order, default=None))
        nulls.append(sum(n for value, n in zip(values, counts.values(), strict=True) if value is None))
    row_types = [dtype.with_nullable(True) for dtype in types]
    return ColumnStats(encode_row(lows, row_types), encode_row(highs, row_types), tuple(nulls))


def _float_order(value: float) -> tuple[bool, float, float]:
    """Return a sort key that orders NaN last, and -0.0 before 0.0."""
    return math.isnan(value), value, math.copysign(1.0, value)
