"""WriteBuffer: rows of one bucket in arrival order, until they are enough for a file of level 0 (format 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_core.lsm.engines.engine import MergeEngine
from paimon_core.lsm.merge import sort_and_fold
from paimon_core.lsm.order import MergeOrder


class WriteBuffer:
    """Holds tables, without copying them, until ``drain`` sorts and folds them into one.

    It holds up to ``limit_bytes`` and the last table added; draining needs about as much again for its result.
    """

    def __init__(self, key: Sequence[str], order: MergeOrder, engine: MergeEngine, limit_bytes: int) -> None:
        self._key = tuple(key)
        self._order = order
        self._engine = engine
        self._limit_bytes = limit_bytes
        self._tables: list[pa.Table] = []
        self._bytes = 0

    def add(self, rows: pa.Table) -> None:
        """Append rows, in arrival order, with their key, sequence, kind and value columns."""
        if len(rows):
            self._tables.append(rows)
            self._bytes += rows.nbytes

    @property
    def nbytes(self) -> int:
        """The bytes of the rows that wait."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """True from ``limit_bytes`` on: it is time to drain."""
        return self._bytes >= self._limit_bytes

    def drain(self) -> pa.Table | None:
        """All rows, sorted by key and merged to one per key, of any kind; None when empty. Empties it."""
        if not self._tables:
            return None
        rows = pa.concat_tables(self._tables)
        self._tables, self._bytes = [], 0
        return sort_and_fold(rows, self._key, self._order, self._engine)
