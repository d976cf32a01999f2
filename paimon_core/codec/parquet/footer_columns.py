"""FooterColumns: the facts of all column chunks of a verified Parquet footer, as arrays.

An array has one row per row group and one column per leaf. A footer of 100 columns would take hundreds of Python
objects; a read needs the chunks of a few columns, which ``row_groups`` builds when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from paimon_core.codec.parquet.footer_checks import Chunk, Leaf, RowGroup
from paimon_core.codec.parquet.thrift import STRUCT, Struct

UNKNOWN = -1
Numbers = npt.NDArray[np.int64]

# The field ids of format/parquet.thrift.
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3
_UNPACKED, _SIZES, _TEXT_TOTAL = 6, 16, 1


@dataclass(frozen=True, eq=False)
class FileLeaves:
    """The leaves of a schema; footers with the same schema may share the object."""

    all: tuple[Leaf, ...]

    @cached_property
    def of_column(self) -> dict[str, list[int]]:
        """The numbers of the leaves of each column of the file."""
        found: dict[str, list[int]] = {}
        for number, leaf in enumerate(self.all):
            found.setdefault(leaf.path[0].decode(), []).append(number)
        return found

    @cached_property
    def physical(self) -> Numbers:
        """The physical type of each leaf."""
        return np.array([leaf.physical for leaf in self.all], np.int64)


@dataclass(frozen=True, eq=False)
class FooterColumns:
    """The facts of all column chunks; sizes are in bytes."""

    leaves: FileLeaves
    rows: Numbers
    """The number of rows of each row group."""
    start: Numbers
    """The position of the first page of each chunk in the file."""
    packed: Numbers
    """The bytes of all pages with their headers."""
    unpacked: Numbers
    values: Numbers
    codec: Numbers
    texts: Numbers
    """The bytes of all texts of a chunk, without their lengths; UNKNOWN where the footer does not state them."""

    @staticmethod
    def of(footer: Struct, leaves: Sequence[Leaf], groups: Sequence[RowGroup]) -> FooterColumns:
        """Return the facts of a parsed footer whose checks have returned ``groups``."""
        facts = [
            (chunk.start, chunk.size, unpacked, chunk.values, chunk.codec, texts)
            for group, parsed in zip(groups, footer[_ROW_GROUPS][1][1], strict=True)
            for chunk, (unpacked, texts) in zip(group.chunks, map(stated_sizes, parsed[_COLUMNS][1][1]), strict=True)
        ]
        found = np.array(facts, np.int64).reshape(len(groups), len(leaves), 6)
        rows = np.array([group.rows for group in groups], np.int64)
        return FooterColumns(FileLeaves(tuple(leaves)), rows, *(found[:, :, at] for at in range(6)))

    @property
    def row_groups(self) -> list[RowGroup]:
        """The row groups, whose chunks are built when they are asked for."""
        return [RowGroup(rows, _Chunks(self, at), self.leaves.all) for at, rows in enumerate(self.rows.tolist())]


class _Chunks(Sequence[Chunk]):
    """The chunks of a row group."""

    def __init__(self, columns: FooterColumns, group: int) -> None:
        self._leaves = columns.leaves.all
        self._columns = columns
        self._group = group

    def __len__(self) -> int:
        return len(self._leaves)

    @overload
    def __getitem__(self, at: int) -> Chunk: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Chunk]: ...

    def __getitem__(self, at: int | slice) -> Chunk | Sequence[Chunk]:
        if isinstance(at, slice):
            return list(map(Chunk, self._leaves[at], *(facts[at] for facts in self._facts)))
        return Chunk(self._leaves[at], *[facts[at] for facts in self._facts])

    @cached_property
    def _facts(self) -> list[list[int]]:
        """Starts, packed bytes, values and codecs, each by leaf: integers of numpy are slow to take one by one."""
        found, group = self._columns, self._group
        return [facts[group].tolist() for facts in (found.start, found.packed, found.values, found.codec)]


def stated_sizes(chunk: Struct) -> tuple[int, int]:
    """Return (unpacked bytes, bytes of the texts or UNKNOWN) of a parsed column chunk."""
    metadata = chunk[_METADATA][1]
    total = metadata.get(_SIZES, (STRUCT, {}))[1].get(_TEXT_TOTAL)
    return metadata[_UNPACKED][1], UNKNOWN if total is None else max(0, total[1])
