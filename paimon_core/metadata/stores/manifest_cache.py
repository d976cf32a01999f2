"""ManifestCache: the entries of recently read manifests, and results that were computed from them. Thread-safe.

Manifests never change, so no cached value becomes invalid. The tables of a catalog share one cache. With a
``LocalCache``, the manifest files are also stored on the local disk, where later processes find them.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from paimon_core.metadata.manifests.entry_columns import Entries
from paimon_core.metadata.stores.block_indexes import index_name
from paimon_core.storage.local_cache import LocalCache


class Sized(Protocol):
    """A value that states how much memory it needs."""

    def memory(self) -> Mapping[int, int]:
        """Return the bytes of memory of each object that the value needs, by the ``id`` of the object.

        An object that several values share is counted once.
        """


T = TypeVar("T", bound=Sized)
Key = tuple[str, Hashable]
"""The kind of a result, and the names of the immutable files from which it was computed."""
LEAST_BYTES = 256 << 20
SHARE = 8
"""By default, a cache has at most the 8th part of the machine's memory, and at least ``LEAST_BYTES``.

100,000 entries take about 45 MB. A result that was computed from one manifest shares the memory of the manifest.
"""
VALUE_BYTES = 1400
"""The estimated bytes of memory of one ``ManifestEntry`` value."""
KEPT_RESULTS = 256
"""The largest number of results, because their memory is added up for each manifest that is cached."""
KEPT_OF_TABLE = 4
"""The largest number of results of one table: those of older snapshots would take the memory of other tables."""
KEPT_COUNTS = 64
"""The largest number of manifests whose partial reads are counted."""
PARTIAL_READS = 3
"""The number of partial reads of a manifest after which the whole manifest is read and cached."""


class ManifestCache:
    """A cache of manifests by path and of results, with at most ``max_bytes`` together.

    When the memory is full, the least recently used manifests are removed first, then the least recently used results.
    There are at most ``KEPT_OF_TABLE`` results of a table.
    ``files`` stores copies of the manifest files on the local disk. A pickled cache is empty and has no ``files``.
    """

    def __init__(self, files: LocalCache | None = None, max_bytes: int | None = None) -> None:
        self.files = files
        self.max_bytes = default_bytes() if max_bytes is None else max_bytes
        self._manifests: OrderedDict[str, Entries] = OrderedDict()
        self._partial: OrderedDict[str, int] = OrderedDict()
        """The number of partial reads of each manifest that is not cached, by path."""
        self._computed: OrderedDict[Key, Any] = OrderedDict()
        self._bytes = 0
        """The bytes of the manifests."""
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ManifestCache, (None, self.max_bytes)

    @property
    def nbytes(self) -> int:
        """The bytes of memory of the cached manifests and results; a result may grow while it is used."""
        with self._lock:
            return self._bytes + self._result_bytes()

    def find(self, path: str) -> Entries | None:
        """Return the entries of a cached manifest, or None."""
        with self._lock:
            if path in self._manifests:
                self._manifests.move_to_end(path)
            return self._manifests.get(path)

    def keep(self, path: str, entries: Entries) -> None:
        """Cache the entries of a manifest unless it is too large, and remove the least recently used manifests."""
        size = _bytes_of(entries)
        with self._lock:
            if size > self.max_bytes or path in self._manifests:
                return
            self._bytes += size
            self._manifests[path] = entries
            self._shrink()

    def computed(self, key: Key, compute: Callable[[], T]) -> T:
        """Return the cached result for ``key``; if there is none, call ``compute`` and cache its result.

        The key must name only immutable files. A result with more than the limit of the cache is not cached.
        """
        with self._lock:
            if key in self._computed:
                self._computed.move_to_end(key)
                found: T = self._computed[key]
                return found
        found = compute()
        with self._lock:
            if sum(found.memory().values()) <= self.max_bytes:
                self._computed[key] = found
                same = [other for other in self._computed if _table_of(other) == _table_of(key)]
                for oldest in same[:-KEPT_OF_TABLE]:
                    del self._computed[oldest]
                self._shrink()
        return found

    def known(self, key: Key, kind: type[T]) -> T | None:
        """Return the cached result for ``key``, which must be of this ``kind``; None if there is none."""
        with self._lock:
            found = self._computed.get(key)
            if found is None:
                return None
            self._computed.move_to_end(key)
        assert isinstance(found, kind)
        return found

    def keys(self, kind: str) -> list[Any]:
        """Return what the keys of all cached results of a kind name."""
        with self._lock:
            return [name for of, name in self._computed if of == kind]

    def _result_bytes(self) -> int:
        objects: dict[int, int] = {}
        for result in self._computed.values():
            objects |= result.memory()
        return sum(objects.values())

    def _shrink(self) -> None:
        results = self._result_bytes()
        while self._manifests and self._bytes + results > self.max_bytes:
            self._bytes -= _bytes_of(self._manifests.popitem(last=False)[1])
        while len(self._computed) > KEPT_RESULTS or (self._computed and self._bytes + results > self.max_bytes):
            self._computed.popitem(last=False)
            results = self._result_bytes()

    def reads_part(self, path: str) -> bool:
        """Count a read of a manifest; return whether only a part of the manifest should be read.

        True when the manifest is not cached, and was read in part fewer than ``PARTIAL_READS`` times or has an index
        of its blocks.
        """
        with self._lock:
            count = self._partial.pop(path, 0)
            if path in self._manifests or (count >= PARTIAL_READS and not self._has_index(path)):
                return False
            self._partial[path] = count + 1
            if len(self._partial) > KEPT_COUNTS:
                self._partial.popitem(last=False)
            return True

    def _has_index(self, path: str) -> bool:
        return self.files is not None and self.files.has(index_name(path))


def _table_of(key: Key) -> Hashable:
    """Return the directory of the manifests that a key names."""
    names = key[1]
    return names[0].rpartition("/")[0] if isinstance(names, tuple) and names else names


@lru_cache(maxsize=1)
def default_bytes() -> int:
    """Return the limit in bytes of a cache without option: a share of the memory that this process may use."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _GROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # the file contains "max" without a limit
            memory = min(memory, int(Path(path).read_text()))
    return max(memory // SHARE, LEAST_BYTES)


_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The limit of the memory of a container, in version 2 and 1 of control groups."""


def _bytes_of(entries: Entries) -> int:
    return VALUE_BYTES * len(entries) if isinstance(entries, tuple) else entries.nbytes
