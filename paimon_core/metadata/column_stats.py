"""ColumnStats: minimum, maximum and null count of each column, as stored in manifests (format 4.5)."""

from __future__ import annotations

from dataclasses import dataclass

EMPTY_ROW = bytes(12)
"""A serialized BinaryRow without fields: 4 bytes of arity, 8 bytes of header (format 5.7)."""


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """The minima and maxima as serialized BinaryRows (with arity prefix), and the null counts (None: unknown)."""

    min_values: bytes = EMPTY_ROW
    max_values: bytes = EMPTY_ROW
    null_counts: tuple[int | None, ...] = ()


EMPTY_STATS = ColumnStats()
