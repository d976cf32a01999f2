"""KnownNames: the names of the files that a check has seen, as sorted hashes with a number for each name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paimon_core.codec.avro.columns import PADDING, Mask, Numbers
from paimon_core.codec.avro.digests import digests

MANY = 10_000
"""Fewer values are searched as they are, because sorting them takes longer."""


class KnownNames:
    """Hashes of names in sorted arrays; an array is joined with the one before it when that is not much larger.

    A name takes 16 bytes. A search in n names takes about log(n) searches in arrays.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Numbers, Numbers]] = []

    def add(self, names: Numbers, values: Numbers) -> None:
        """Add the hashes of different names, each with a value; names that are known already keep the older value."""
        if not len(names):
            return
        part = _ordered(names, values)
        while self._parts and len(self._parts[-1][0]) <= 2 * len(part[0]):
            older = self._parts.pop()
            part = _ordered(np.concatenate([older[0], part[0]]), np.concatenate([older[1], part[1]]))
        self._parts.append(part)

    def find(self, names: Numbers) -> tuple[Mask, Numbers]:
        """Return which of the hashes are known, and the value of each known one."""
        known, values = np.zeros(len(names), bool), np.zeros(len(names), np.int64)
        if len(names) >= MANY and share_none(names, *(part for part, _ in self._parts)):
            return known, values
        for sorted_names, of_names in reversed(self._parts):  # the oldest value is written last
            at = np.minimum(searched(sorted_names, names), len(sorted_names) - 1)
            same = sorted_names[at] == names
            known |= same
            values[same] = of_names[at[same]]
        return known, values


def share_none(*hashes: Numbers) -> bool:
    """Whether all hashes are different. Sorting numbers together is much faster than searching some among others."""
    together = np.sort(np.concatenate([np.zeros(0, np.int64), *hashes]))
    return not (together[1:] == together[:-1]).any()


def in_order(hashes: Numbers) -> Numbers:
    """Return the positions of the hashes in ascending order; equal hashes keep their order.

    A sort that is not stable is several times faster, and mostly no hashes are equal.
    """
    order = np.argsort(hashes)
    together = hashes[order]
    if (together[1:] == together[:-1]).any():
        order = np.argsort(hashes, kind="stable")
    return order


def searched(ordered: Numbers, wanted: Numbers) -> Numbers:
    """Return ``np.searchsorted(ordered, wanted)``.

    Many values are searched in their order, so that neighbours are in the cache of the processor.
    """
    out = np.empty(len(wanted), np.int64)
    order: Numbers | slice = np.argsort(wanted) if len(wanted) >= MANY else slice(None)
    out[order] = np.searchsorted(ordered, wanted[order])
    return out


def _ordered(names: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    order = in_order(names)
    return names[order], values[order]


def name_hashes(names: Sequence[bytes]) -> Numbers:
    """Return the hash of each name, as ``EntryColumns.name_digest``."""
    lengths = np.fromiter(map(len, names), np.int64, len(names))
    return digests(b"".join((*names, PADDING)), np.cumsum(lengths) - lengths, lengths)[0]
