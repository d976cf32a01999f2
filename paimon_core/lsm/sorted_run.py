"""SortedRun: files of one bucket whose key ranges do not overlap: one after the other they are sorted (format 8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.lsm.key_order import KeyOrder
from paimon_core.metadata.data_file import DataFile


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files with disjoint key ranges; in a section, where levels mix, ``level`` is the highest of its files."""

    level: int
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.file_size for file in self.files)


def by_key(files: Sequence[DataFile], key_order: KeyOrder) -> list[DataFile]:
    """The files in order of their smallest, then their largest key."""
    return sorted(files, key=lambda file: (key_order(file.min_key), key_order(file.max_key)))
