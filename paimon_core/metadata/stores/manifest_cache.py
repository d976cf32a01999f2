"""ManifestCache: the manifests read last, and what was computed from them. Thread-safe.

Manifests never change, so nothing in the cache becomes invalid. The tables of a catalog share it. With a ``LocalCache``
the files themselves are kept on disk, also for later processes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from paimon_core.metadata.manifests.entry_columns import Entries
from paimon_core.storage.local_cache import LocalCache


class Sized(Protocol):
    """A result that states its memory."""

    @property
    def nbytes(self) -> int:
        """Its bytes."""


T = TypeVar("T", bound=Sized)
KEPT_BYTES = 128 << 20
"""The most memory of the cached manifests, and as much again of results; 100,000 entries take about 55 MB.

A result of one manifest shares its memory.
"""
VALUE_BYTES = 1400
"""The memory of an entry that is a value."""
KEPT_PLANS = 2
KEPT_COUNTS = 64
"""Of how many manifests the partial reads are counted."""
PARTIAL_READS = 3
"""How often parts of a manifest are read before it is read whole and cached."""


class ManifestCache:
    """Cache of manifests by path, of at most ``KEPT_BYTES``, and of results for ``KEPT_PLANS`` sets of manifests.

    ``files`` keeps the files as they are in the warehouse. The cache is pickled empty and without it.
    """

    def __init__(self, files: LocalCache | None = None) -> None:
        self.files = files
        self._manifests: OrderedDict[str, Entries] = OrderedDict()
        self._partial: OrderedDict[str, int] = OrderedDict()
        """How often a part of a manifest that is not cached was read, by path."""
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
        """Cache the entries of a manifest that is not too large, and drop the manifests that were used longest ago."""
        size = _bytes_of(entries)
        with self._lock:
            if size > KEPT_BYTES or path in self._manifests:
                return
            self._bytes += size
            self._manifests[path] = entries
            while self._bytes > KEPT_BYTES:
                self._bytes -= _bytes_of(self._manifests.popitem(last=False)[1])

    def computed(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached result of ``compute`` for the key, which names immutable files only; else call it.

        Results of more than ``KEPT_BYTES`` together are not kept.
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
        """Whether to read a part of a manifest only: it is not cached, and few parts of it were read; counts them."""
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
