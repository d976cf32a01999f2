"""Decoded sizes: computes from a Parquet footer how many bytes the columns of each row group take in memory.

The size in the file may be much smaller: a row group of a few kilobytes may have gigabytes of text, because a
dictionary stores a repeated text once. The footer states the bytes of all texts of a column chunk (``SizeStatistics``).
If the footer does not state these bytes, the size in the file is used, and ``with_dictionaries`` adds an estimate from
the size of the dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paimon_core.arrow.byte_budget import rows_for
from paimon_core.codec.parquet.page_checks import Pages
from paimon_core.codec.parquet.thrift import STRUCT, Struct

_VALUE_BYTES = 8
"""The approximate minimum size of a value in memory; many values are smaller in a file."""
_TEXT_BYTES = 4
_BYTE_ARRAY, _FIXED = 6, 7
_LONG_TEXT_BYTES, _REPEATS = 256, 4
"""A text column is decoded as a dictionary if its texts have on average more than ``_LONG_TEXT_BYTES`` bytes, and take
``_REPEATS`` times more bytes in memory than in the file."""

# The field ids of format/parquet.thrift.
_ROW_GROUPS, _COLUMNS, _ROWS, _METADATA = 4, 1, 3, 3
_TYPE, _PATH, _VALUES, _UNPACKED, _SIZES = 1, 3, 5, 6, 16
_TEXT_TOTAL = 1

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DecodedSizes:
    """The sizes in bytes of all column chunks of a file.

    ``rows`` has one number per row group; the other arrays have one row per row group and one column per leaf.
    """

    leaves: dict[str, list[int]]
    """The numbers of the leaves of each column of the file."""
    rows: _Numbers
    decoded: _Numbers
    """The bytes in memory that the footer states."""
    stored: _Numbers
    """The bytes of the pages after decompression."""
    values: _Numbers
    is_unknown: _Numbers
    """1 for texts whose bytes the footer does not state."""

    @staticmethod
    def of(footer: Struct) -> DecodedSizes:
        """Return the sizes that a verified footer states."""
        leaves: dict[str, list[int]] = {}
        try:
            groups = footer[_ROW_GROUPS][1][1]
            chunks = [[chunk[_METADATA][1] for chunk in group[_COLUMNS][1][1]] for group in groups]
            for number, chunk in enumerate(chunks[0] if chunks else ()):
                leaves.setdefault(chunk[_PATH][1][1][0].decode(), []).append(number)
            sizes = [[_chunk_sizes(chunk) for chunk in group] for group in chunks]
            rows = np.array([group[_ROWS][1] for group in groups], np.int64)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"the footer lacks a part: {error!r}") from None
        found = np.array(sizes, np.int64).reshape(len(chunks), -1 if chunks else 0, 4)
        return DecodedSizes(leaves, rows, *(found[:, :, at] for at in range(4)))

    def with_dictionaries(self, groups: Sequence[int], pages: Sequence[Mapping[int, Pages]]) -> DecodedSizes:
        """Return the sizes with an estimate for texts whose bytes the footer does not state.

        Each text is estimated as the mean size of the texts in its dictionary.
        """
        found = [
            (group, leaf, chunk.dictionary[1])
            for group, leaves in zip(groups, pages, strict=True)
            for leaf, chunk in leaves.items()
            if chunk.dictionary is not None and self.is_unknown[group, leaf]
        ]
        if not found:
            return self
        decoded = self.decoded.copy()
        for group, leaf, page in found:
            decoded[group, leaf] += int(self.values[group, leaf]) * page.unpacked // max(1, page.values)
        return replace(self, decoded=decoded)

    def batch_rows(self, columns: Iterable[str], groups: Sequence[int], budget: int, most: int) -> list[int]:
        """Return for each row group the number of rows whose ``columns`` take ``budget`` bytes; at most ``most``."""
        rows = np.maximum(self.rows[groups], 1)
        width = np.zeros(len(groups))
        for name in columns:
            width += np.maximum(_VALUE_BYTES, self.decoded[np.ix_(groups, self.leaves.get(name, []))].sum(1) / rows)
        return [rows_for(budget, row_bytes, most) for row_bytes in width]

    def repeating(self, texts: Iterable[str], groups: Sequence[int]) -> list[str]:
        """Return the columns among ``texts`` (not nested) in which long texts are stored once for many rows.

        When such a column is decoded as a dictionary, it takes only the memory of its distinct texts.
        """
        found = []
        for name in texts:
            decoded = self.decoded[groups, self.leaves[name][0]]
            is_long = decoded > _LONG_TEXT_BYTES * self.rows[groups]
            if np.any(is_long & (decoded > _REPEATS * self.stored[groups, self.leaves[name][0]])):
                found.append(name)
        return found


def _chunk_sizes(chunk: Struct) -> tuple[int, int, int, int]:
    """Return (decoded bytes, stored bytes, number of values, 1 if the size of the texts is unknown, otherwise 0)."""
    stored, values = chunk[_UNPACKED][1], chunk[_VALUES][1]
    if chunk[_TYPE][1] != _BYTE_ARRAY:
        return stored if chunk[_TYPE][1] == _FIXED else _VALUE_BYTES * values, stored, values, 0
    total = chunk.get(_SIZES, (STRUCT, {}))[1].get(_TEXT_TOTAL)
    if total is not None:
        return max(0, total[1]) + _TEXT_BYTES * values, stored, values, 0
    return stored + _TEXT_BYTES * values, stored, values, 1
