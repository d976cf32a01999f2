"""ColumnStats: minimum, maximum and null count per column, as manifests hold them (format 4.5)."""

from __future__ import annotations

from dataclasses import dataclass

EMPTY_ROW = bytes(12)
"""A serialized BinaryRow of no fields: 4 bytes of arity, 8 of header (format 5.7)."""


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Serialized BinaryRows (arity prefix included) of the minima and maxima, and the null counts (None: unknown)."""

    min_values: bytes = EMPTY_ROW
    max_values: bytes = EMPTY_ROW
    null_counts: tuple[int | None, ...] = ()


EMPTY_STATS = ColumnStats()
