"""ManifestStore: writes and reads the manifests and manifest lists of one table (format 3.3, 4).

Manifests never change, so recently read manifests are cached (``ManifestCache``). Every file gets a unique name, even
if several threads and processes write files.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial as bound
from typing import Any, TypeVar

from paimon_core.advice import with_advice
from paimon_core.codec.binary_row.rows import row_decoder
from paimon_core.codec.record_file import unpacked_blocks
from paimon_core.errors import CorruptTable, PaimonError, SnapshotNotFound
from paimon_core.metadata.manifests.described import describe
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, live, values_of
from paimon_core.metadata.manifests.entry_decoder import decode_manifests
from paimon_core.metadata.manifests.index_manifest import IndexEntry, decode_indexes, encode_indexes
from paimon_core.metadata.manifests.manifest_file import (
    decode_list,
    encode_entries,
    encode_list,
    keep_list,
    live_entries,
)
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.block_indexes import chosen_blocks, index_name, keep_indexes
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.parallel_work import REMOTE_CALLS, run_parallel
from paimon_core.storage.paths import FileNames, TablePaths
from paimon_core.storage.storage import Storage
from paimon_core.types import DataType

WHOLE_BYTES = 64 << 10
"""A manifest with at most this many bytes is always read as a whole."""
SAMPLED = 20_000
"""The number of entries whose encoded size shows how many entries fill a manifest."""
MOST_TEXTS = 8
"""The largest number of texts that are searched in the blocks of a manifest; for more texts, decoding is faster."""

_File = tuple[str, int | None]
"""The name of a file, and its recorded size in bytes."""
_Read = TypeVar("_Read")


class ManifestStore:
    """Reads and writes the manifests of one table.

    ``compression`` and ``form`` are the options ``manifest.compression`` and ``manifest.format``.

    A pickled store has no cache.
    """

    def __init__(
        self,
        storage: Storage,
        paths: TablePaths,
        partition_types: Sequence[DataType],
        compression: str = "zstd",
        cache: ManifestCache | None = None,
        form: str = "avro",
    ) -> None:
        self.storage = storage
        self.paths = paths
        self.partition_types = tuple(partition_types)
        self.compression = compression
        self.form = form
        self.cache = ManifestCache() if cache is None else cache
        self._ahead: dict[str, bytes] = {}
        """The files that ``read_ahead`` has read, by path."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickled cache is empty.
        return ManifestStore, (self.storage, self.paths, self.partition_types, self.compression, self.cache, self.form)

    def write_manifests(
        self, entries: Sequence[ManifestEntry], target_bytes: int, *, spread: bool = False
    ) -> list[ManifestFile]:
        """Write entries, in order, to manifests of at least ``target_bytes``; return the records of the manifests.

        Only the last manifest may be smaller, because each commit would merge smaller manifests again (format 4.7).
        With ``spread``, the entries are divided evenly, so that no manifest is much smaller than the others. If there
        are no entries, nothing is written. When a write fails, the manifests that this call has already written are
        deleted and the error is raised.
        """
        names = FileNames()
        files: list[ManifestFile] = []
        try:
            for chosen, data in self._rolled(entries, target_bytes, spread=spread):
                name = names.next("manifest-")
                self.storage.write(self.paths.manifest(name), data)
                files.append(describe(name, len(data), chosen, self.partition_types))
        except BaseException:
            with contextlib.suppress(OSError):
                self.storage.delete(self.paths.manifest(f.file_name) for f in files)
            raise
        return files

    def _rolled(
        self, entries: Sequence[ManifestEntry], target_bytes: int, *, spread: bool
    ) -> Iterator[tuple[Sequence[ManifestEntry], bytes]]:
        if not entries:
            return
        some = entries[:SAMPLED]
        data = encode_entries(some, self.compression, self.form)
        if len(some) < len(entries) and len(data) * len(entries) < 2 * target_bytes * len(some):
            some = entries
            data = encode_entries(some, self.compression, self.form)
        if len(some) == len(entries) and len(data) <= target_bytes:
            yield entries, data
            return
        step = math.ceil(1.02 * len(some) * target_bytes / len(data))
        if spread:
            step = math.ceil(len(entries) / max(1, len(entries) // step))
        start = 0
        while start < len(entries):
            end = min(start + step, len(entries))
            data = encode_entries(entries[start:end], self.compression, self.form)
            while end < len(entries) and (len(data) < target_bytes or (spread and len(entries) - end < step // 2)):
                end = min(end + 1 + step // 10, len(entries))
                data = encode_entries(entries[start:end], self.compression, self.form)
            yield entries[start:end], data
            start = end

    def read_manifest(self, file_name: str, size: int | None = None) -> list[ManifestEntry]:
        """Read the entries of one manifest; the recorded ``size`` (bytes) is checked when it is given.

        Raises CorruptTable naming the path when the file is missing, incomplete or not a manifest.
        """
        return list(values_of(self._entries([(file_name, size)])[0]))

    def read_entries(self, file_name: str, size: int | None = None, *, keep: bool = True) -> Entries:
        """Read the entries of one manifest, as columns when there are many; otherwise like ``read_manifest``.

        Without ``keep``, the manifest is not added to the cache.
        """
        return self._entries([(file_name, size)], keep=keep)[0]

    def read_columns(self, manifests: Sequence[ManifestFile], texts: Collection[bytes] | None = None) -> EntryColumns:
        """Return the entries of all manifests as columns, in order; ``texts`` and errors: see ``read_each``."""
        return EntryColumns.concat(self.read_each(manifests, texts))

    def read_each(
        self, manifests: Sequence[ManifestFile], texts: Collection[bytes] | None = None, *, keep: bool = True
    ) -> list[Entries]:
        """Read the entries of each manifest, as columns when there are many; several files are read at the same time.

        ``texts``: entries whose serialized partition contains none of these byte strings may be left out. With
        ``texts``, only those blocks of a large manifest are decoded that contain one of these byte strings. A manifest
        that is cached, or was read a few times and has no index (``ManifestCache.reads_part``), is read as a whole.
        Without ``keep``, no manifest is added to the cache, because the caller reads it once or caches its entries in
        another form. Raises the errors of ``read_manifest``.
        """
        partial = [texts is not None and self._reads_part(m, texts) for m in manifests]
        whole = [(m.file_name, m.file_size) for m, part in zip(manifests, partial, strict=True) if not part]
        parts = [(m.file_name, m.file_size) for m, part in zip(manifests, partial, strict=True) if part]
        read, read_parts = iter(self._entries(whole, keep=keep)), iter(self._decoded(parts, texts))
        return [next(read_parts if part else read) for part in partial]

    def readers(
        self, manifests: Sequence[ManifestFile], texts: Collection[bytes] | None = None
    ) -> list[Callable[[], Entries]]:
        """Read the files of manifests; return for each a function that decodes its entries, each time it is called.

        Entries that are cached are not decoded, and no manifest is added to the cache. ``texts``: see ``read_each``.
        Raises the errors of ``read_manifest``; the functions raise CorruptTable for bytes that are not a manifest.
        """
        files = [(m.file_name, m.file_size) for m in manifests]
        cached = [self.cache.find(self.paths.manifest(name)) for name, _ in files]
        missing = [file for file, entries in zip(files, cached, strict=True) if entries is None]
        read = dict(zip(missing, self._each(lambda file: self._read(*file), missing), strict=True))
        few = texts if self.partition_types and texts is not None and len(texts) <= MOST_TEXTS else None
        return [
            bound(self._decoded_bytes, [(read[file], self.paths.manifest(file[0]))], few)
            if entries is None
            else bound(_itself, entries)
            for file, entries in zip(files, cached, strict=True)
        ]

    def _decoded_bytes(self, files: Sequence[tuple[bytes, str]], texts: Collection[bytes] | None) -> Entries:
        with self._decoding([path for _, path in files]):
            return decode_manifests(files, texts)[0]

    def read_holding(self, manifest: ManifestFile, texts: Collection[bytes]) -> list[ManifestEntry]:
        """Return the entries of one manifest whose serialized partition contains one of the ``texts``."""
        (found,) = self.read_each([manifest], texts)
        if isinstance(found, tuple):
            return [e for e in found if any(text in e.partition for text in texts)]
        return found.of_partitions(lambda partition: any(text in partition for text in texts)).entries()

    def _reads_part(self, manifest: ManifestFile, texts: Collection[bytes]) -> bool:
        return (
            bool(self.partition_types)
            and manifest.file_size > WHOLE_BYTES
            and len(texts) <= MOST_TEXTS
            and self.cache.reads_part(self.paths.manifest(manifest.file_name))
        )

    def _entries(self, files: Sequence[tuple[str, int | None]], *, keep: bool = True) -> list[Entries]:
        """Return the entries of each manifest, given names and sizes.

        Manifests that are not cached are read, and with ``keep`` cached.
        """
        found = [self.cache.find(self.paths.manifest(name)) for name, _ in files]
        missing = [file for file, entries in zip(files, found, strict=True) if entries is None]
        read = self._decoded(missing, None)
        for (name, _), entries in zip(missing if keep else (), read, strict=keep):
            self.cache.keep(self.paths.manifest(name), entries)
        others = iter(read)
        return [next(others) if entries is None else entries for entries in found]

    def _decoded(self, files: Sequence[tuple[str, int | None]], texts: Collection[bytes] | None) -> list[Entries]:
        data = self._each(lambda file: self._read(*file), files)
        paths = [self.paths.manifest(name) for name, _ in files]
        read = list(zip(data, paths, strict=True))
        with self._decoding(paths):
            found = decode_manifests(read, texts, chosen_blocks(self.cache.files, read, texts))
            if texts is None:
                keep_indexes(self.cache.files, read, found)
        return found

    def blocks_of(self, manifest: ManifestFile) -> list[bytes]:
        """Return the decompressed blocks of a manifest, in which a name is found faster than in decoded entries."""
        path = self.paths.manifest(manifest.file_name)
        with self._decoding([path]):
            return unpacked_blocks(self._read(manifest.file_name, manifest.file_size), path)

    def write_list(self, files: Sequence[ManifestFile]) -> tuple[str, int]:
        """Write a manifest list, which may be empty; return its name and its size in bytes (format 3.3)."""
        name = FileNames().next("manifest-list-")
        data = encode_list(files, self.compression, self.form)
        self.storage.write(self.paths.manifest(name), data)
        keep_list(files, data, self.paths.manifest(name))
        return name, len(data)

    def read_list(self, name: str, size: int | None = None) -> list[ManifestFile]:
        """Read the records of a manifest list, in order; raises the errors of ``read_manifest``."""
        path = self.paths.manifest(name)
        with self._decoding([path]):
            return decode_list(self._read(name, size), path)

    def manifests_of(self, snapshot: Snapshot) -> list[ManifestFile]:
        """Return all manifests of a snapshot in the order of application: base list, then delta list (format 3.3)."""
        most = REMOTE_CALLS if self.storage.is_remote else 1
        base, delta = run_parallel(lambda file: self.read_list(*file), _lists_of(snapshot), most)
        return [*base, *delta]

    def read_ahead(self, snapshot: Snapshot) -> None:
        """Read the manifest lists and the index manifest of a snapshot at the same time, for the plan that follows.

        Does nothing on a local disk. No error is raised: the plan reads again what could not be read. The files stay in
        memory until they are used, or until ``release_ahead``.
        """
        if not self.storage.is_remote:
            return
        files = _lists_of(snapshot)
        if snapshot.index_manifest is not None:
            files.append((snapshot.index_manifest, None))

        def read(file: tuple[str, int | None]) -> bytes | None:
            with contextlib.suppress(PaimonError, OSError):
                return self._read(*file)
            return None

        known = zip(files, self._each(read, files), strict=True)
        self._ahead = {self.paths.manifest(name): data for (name, _), data in known if data is not None}

    def release_ahead(self) -> None:
        """Free the files that ``read_ahead`` has read and no plan has used."""
        self._ahead = {}

    def entries_of(self, snapshot: Snapshot, among: Collection[bytes] | None = None) -> list[ManifestEntry]:
        """Return the ADD entry of every live file of a snapshot (format 3.3).

        ``among``: only entries of these partitions are returned, and manifests that cannot contain them are not read.
        Raises SnapshotNotFound when the snapshot expires during the read, CorruptTable when a file is missing or
        damaged.
        """
        with self.reading(snapshot):
            listed = self.manifests_of(snapshot)
            found = self.read_each([f for f in listed if among is None or self.may_hold(f, among)], among)
            few = [part for part in found if isinstance(part, tuple)]
            if len(few) == len(found):  # all are values already, and are merged without columns
                return live_entries(e for part in few for e in part if among is None or e.partition in among)
            columns = EntryColumns.concat(found)
            if among is not None:
                columns = columns.of_partitions(lambda partition: partition in among)
            return columns.filter(live(columns)).entries()

    def read_indexes(self, name: str | None) -> list[IndexEntry]:
        """Read the entries of an index manifest (format 4.4), [] for None; raises the errors of ``read_manifest``."""
        if name is None:
            return []
        path = self.paths.manifest(name)
        with self._decoding([path]):
            return decode_indexes(self._read(name, None), path)

    def write_indexes(self, entries: Sequence[IndexEntry]) -> str:
        """Write an index manifest and return its name."""
        name = FileNames().next("index-manifest-")
        self.storage.write(self.paths.manifest(name), encode_indexes(entries, self.compression, self.form))
        return name

    def may_hold(self, manifest: ManifestFile, partitions: Collection[bytes]) -> bool:
        """Whether a manifest may contain an entry of one of the ``partitions``, by its recorded ranges (format 4.2)."""
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
        """Return a context for reading the manifests of a snapshot.

        If a manifest is missing because the snapshot has expired, SnapshotNotFound is raised instead of CorruptTable.
        """
        try:
            yield
        except CorruptTable as error:
            if error.facts.get("missing") and not SnapshotStore(self.storage, self.paths).is_live(snapshot):
                raise SnapshotNotFound(
                    f"snapshot {snapshot.id} of {self.paths.root} has expired: {error}", snapshot=snapshot.id
                ) from error
            raise with_advice(error, f"Snapshot {snapshot.id} cannot be read without it") from error

    @contextlib.contextmanager
    def _decoding(self, paths: Sequence[str]) -> Iterator[None]:
        """Return a context for decoding files: if a file is damaged, the copies in the local cache are deleted.

        The next read then reads the files from the warehouse, where they may have been repaired.
        """
        try:
            yield
        except CorruptTable:
            if self.cache.files is not None:
                for path in paths:
                    self.cache.files.forget(path)
                    self.cache.files.forget(index_name(path))
            raise

    def _each(self, read: Callable[[_File], _Read], files: Sequence[_File]) -> list[_Read]:
        """Return the result of ``read`` for each file, of which several are read at the same time."""
        return run_parallel(read, files, REMOTE_CALLS if self.storage.is_remote else None)

    def _read(self, name: str, size: int | None) -> bytes:
        path = self.paths.manifest(name)
        files = self.cache.files
        data = self._ahead.pop(path, None)
        if data is None and files is not None:
            data = files.read(path)
        if data is not None and size in (None, len(data)):
            return data
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            raise CorruptTable(f"{path} is missing", path=path, missing=True) from None
        if size is not None and len(data) != size:
            raise CorruptTable(f"{path} has {len(data)} bytes, but {size} are recorded", path=path, size=len(data))
        if files is not None:
            files.keep(path, data)
        return data


def _lists_of(snapshot: Snapshot) -> list[_File]:
    return [
        (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
    ]


def _itself(entries: Entries) -> Entries:
    return entries


def _within(row: Sequence[object], low: Sequence[object], high: Sequence[object]) -> bool:
    return all(_between(value, least, most) for value, least, most in zip(row, low, high, strict=True))


def _between(value: object, low: object, high: object) -> bool:
    """Whether a value may be in a range.

    The result is also True if the value or a bound is null, or if a bound is NaN.
    """
    if value is None or low is None or high is None:
        return True
    return not (value < low or value > high)  # type: ignore[operator]
