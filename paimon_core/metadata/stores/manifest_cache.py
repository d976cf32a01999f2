"""ManifestCache: the entries of recently read manifests, and results that were computed from them. Thread-safe.

Manifests never change, so no cached value becomes invalid. The tables of a catalog share one cache. With a
``LocalCache``, the manifest files are also stored on the local disk, where later processes find them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from paimon_core.metadata.manifests.entry_columns import Entries
from paimon_core.storage.local_cache import LocalCache


class Sized(Protocol):
    """A value that states how much memory it needs."""

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the value needs."""


T = TypeVar("T", bound=Sized)
KEPT_BYTES = 128 << 20
"""The limit of memory in bytes for cached manifests, and the same limit again for results.

100,000 entries take about 55 MB. A result that was computed from one manifest shares the memory of the manifest.
"""
VALUE_BYTES = 1400
"""The estimated bytes of memory of one ``ManifestEntry`` value."""
KEPT_PLANS = 2
KEPT_COUNTS = 64
"""The largest number of manifests whose partial reads are counted."""
PARTIAL_READS = 3
"""The number of partial reads of a manifest after which the whole manifest is read and cached."""


class ManifestCache:
    """A cache of manifests by path (at most ``KEPT_BYTES`` bytes), and of at most ``KEPT_PLANS`` results.

    ``files`` stores copies of the manifest files on the local disk. A pickled cache is empty and has no ``files``.
    """

    def __init__(self, files: LocalCache | None = None) -> None:
        self.files = files
        self._manifests: OrderedDict[str, Entries] = OrderedDict()
        self._partial: OrderedDict[str, int] = OrderedDict()
        """The number of partial reads of each manifest that is not cached, by path."""
        self._computed: OrderedDict[Hashable, Any] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ManifestCache, ()

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
            if size > KEPT_BYTES or path in self._manifests:
                return
            self._bytes += size
            self._manifests[path] = entries
            while self._bytes > KEPT_BYTES:
                self._bytes -= _bytes_of(self._manifests.popitem(last=False)[1])

    def computed(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached result for ``key``; if there is none, call ``compute`` and cache its result.

        The key must name only immutable files. All cached results together have at most ``KEPT_BYTES``.
        """
        with self._lock:
            if key in self._computed:
                self._computed.move_to_end(key)
                found: T = self._computed[key]
                return found
        found = compute()
        with self._lock:
            self._computed[key] = found
            while len(self._computed) > KEPT_PLANS or sum(c.nbytes for c in self._computed.values()) > KEPT_BYTES:
                self._computed.popitem(last=False)
        return found

    def reads_part(self, path: str) -> bool:
        """Count a read of a manifest; return whether only a part of the manifest should be read.

        True when the manifest is not cached and was read in part fewer than ``PARTIAL_READS`` times.
        """
        with self._lock:
            count = self._partial.pop(path, 0)
            if path in self._manifests or count >= PARTIAL_READS:
                return False
            self._partial[path] = count + 1
            if len(self._partial) > KEPT_COUNTS:
                self._partial.popitem(last=False)
            return True


def _bytes_of(entries: Entries) -> int:
    return VALUE_BYTES * len(entries) if isinstance(entries, tuple) else entries.nbytes
