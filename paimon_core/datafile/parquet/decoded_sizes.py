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
from paimon_core.codec.parquet.footer_columns import UNKNOWN, FooterColumns
from paimon_core.codec.parquet.page_checks import Pages

_VALUE_BYTES = 8
"""The approximate minimum size of a value in memory; many values are smaller in a file."""
_TEXT_BYTES = 4
_BYTE_ARRAY, _FIXED = 6, 7
_LONG_TEXT_BYTES, _REPEATS = 256, 4
"""A text column is decoded as a dictionary if its texts have on average more than ``_LONG_TEXT_BYTES`` bytes, and take
``_REPEATS`` times more bytes in memory than in the file."""

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
    def of(columns: FooterColumns) -> DecodedSizes:
        """Return the sizes that a verified footer states."""
        physical = columns.leaves.physical
        is_text = physical == _BYTE_ARRAY
        unknown = is_text & (columns.texts == UNKNOWN)
        texts = np.where(unknown, columns.unpacked, columns.texts) + _TEXT_BYTES * columns.values
        numbers = np.where(physical == _FIXED, columns.unpacked, _VALUE_BYTES * columns.values)
        decoded = np.where(is_text, texts, numbers)
        return DecodedSizes(
            columns.leaves.of_column, columns.rows, decoded, columns.unpacked, columns.values, unknown.astype(np.int64)
        )

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
        wanted = [self.leaves.get(name, ()) for name in columns]
        out = []
        for group in groups:
            rows, decoded = max(1, int(self.rows[group])), self.decoded[group].tolist()
            row_bytes = sum(max(_VALUE_BYTES, sum(decoded[leaf] for leaf in leaves) / rows) for leaves in wanted)
            out.append(rows_for(budget, row_bytes, most))
        return out

    def repeating(self, texts: Iterable[str], groups: Sequence[int]) -> list[str]:
        """Return the columns among ``texts`` (not nested) in which long texts are stored once for many rows.

        When such a column is decoded as a dictionary, it takes only the memory of its distinct texts.
        """
        leaves = {name: self.leaves[name][0] for name in texts}
        long_bytes = [_LONG_TEXT_BYTES * int(self.rows[group]) for group in groups]

        def repeats(leaf: int) -> bool:
            decoded = ((group, int(self.decoded[group, leaf])) for group in groups)
            long = (found for found, most in zip(decoded, long_bytes, strict=True) if found[1] > most)
            return any(size > _REPEATS * int(self.stored[group, leaf]) for group, size in long)

        return [name for name, leaf in leaves.items() if repeats(leaf)]
