"""Column statistics of a data file: minimum, maximum and null count per column, as manifests hold them (format 4.5).

The bounds come out of the Parquet footer, where the encoder has already put them, so they cost no pass over the data.
They are true bounds or absent: a column that holds NaN, a binary column (readers disagree on its order), INT96 and
texts too long for a footer have none; a text longer than the mode keeps is cut, the maximum upwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.binary_row import row_encoder
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, DataType, TypeRoot

KEY_STATS_MODE = "truncate(128)"
"""How key statistics are kept, whatever the table asks for its value columns."""

_EXACT = Context(prec=80)
_FEW_ROWS = 64
"""Up to which Python compares values faster than numpy begins to."""
_SHORT_BYTES = 1 << 11
"""Bytes of texts none of which is too long for a footer."""
_LAST_CODE_POINT = 0x10FFFF
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000


@dataclass(frozen=True, slots=True)
class Bounds:
    """One column of one file: least and greatest storage value, both None where unknown, and how many are null."""

    low: Any
    high: Any
    null_count: int


def footer_bounds(metadata: pq.FileMetaData, column: int, dtype: DataType, null_count: int) -> Bounds:
    """The bounds that a file's footer knows of the column whose (first) leaf has the number ``column``."""
    return column_bounds(row_groups_of(metadata), column, dtype, null_count)


def row_groups_of(metadata: pq.FileMetaData) -> list[pq.RowGroupMetaData]:
    """What a footer says of each row group."""
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def column_bounds(groups: Sequence[pq.RowGroupMetaData], column: int, dtype: DataType, null_count: int) -> Bounds:
    """``footer_bounds`` of the row groups of a footer."""
    unknown = Bounds(None, None, null_count)
    if dtype.root in BINARY_ROOTS or dtype.root in NESTED_ROOTS:
        return unknown
    lows, highs = [], []
    for group in groups:
        chunk = group.column(column)
        found = chunk.statistics
        if found is None:
            return unknown
        if found.has_min_max:
            lows.append(_storage_value(found.min_raw, dtype))
            highs.append(_storage_value(found.max_raw, dtype))
        elif found.null_count != chunk.num_values:
            return unknown
    return Bounds(min(lows), max(highs), null_count) if lows else unknown


def least_and_greatest(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """What a footer says of a column of few integers, timestamps of its unit, floats without NaN or texts.

    None where only the footer tells.
    """
    if column.null_count or column.num_chunks != 1:
        return None
    values = column.chunk(0)
    if pa.types.is_string(values.type):
        texts = values.to_pylist()
        return (min(texts), max(texts)) if values.nbytes <= _SHORT_BYTES else None
    numbers = values.to_numpy()
    if numbers.dtype.kind in "mM":
        numbers = numbers.view(np.int64)
    if len(numbers) <= _FEW_ROWS:
        few = numbers.tolist()
        low, high = min(few), max(few)
    else:
        low, high = numbers.min().item(), numbers.max().item()
    # As Parquet asks: a bound of zero has the sign that bounds both zeros.
    return (low or -0.0, high or 0.0) if numbers.dtype.kind == "f" else (low, high)


def leaf_numbers(types: Iterable[DataType]) -> list[int]:
    """The number of each column's first leaf: a footer counts leaves, and nested columns may have several."""
    return [0, *itertools.accumulate(map(_leaves, types))]


def _leaves(dtype: DataType) -> int:
    return sum(_leaves(c.type) for c in dtype.children) or 1


def _storage_value(raw: Any, dtype: DataType) -> Any:
    """A footer's physical value; texts as str, whose order by code point is that of their UTF-8 bytes."""
    if dtype.root is TypeRoot.DECIMAL:
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return _EXACT.scaleb(Decimal(unscaled), -dtype.scale)
    return raw.decode() if dtype.root in STRING_ROOTS else raw


class StatsEncoder:
    """The statistics of ``fields`` in their order, each kept as its mode says: none, counts, truncate(n) or full.

    Made once for many files.
    """

    def __init__(self, fields: Sequence[DataField], modes: Sequence[str]) -> None:
        self._keeps = [_keeper(mode) for _, mode in zip(fields, modes, strict=True)]
        self._encode = row_encoder(tuple(f.type.with_nullable(True) for f in fields))

    def encode(self, bounds: Sequence[Bounds]) -> ColumnStats:
        """The statistics of one file with these bounds."""
        kept = [keep(b) for b, keep in zip(bounds, self._keeps, strict=True)]
        return ColumnStats(
            self._encode([low for low, _, _ in kept]),
            self._encode([high for _, high, _ in kept]),
            tuple(count for _, _, count in kept),
        )


class ValueStats:
    """The statistics of a file's value columns; nested columns and those of mode none are out.

    ``modes`` gives single columns a mode of their own.
    """

    def __init__(self, fields: Sequence[DataField], modes: Mapping[str, str], default: str) -> None:
        chosen = [(at, f, modes.get(f.name, default)) for at, f in enumerate(fields)]
        covered = [c for c in chosen if c[2] != "none" and c[1].type.root not in NESTED_ROOTS]
        self._places = [at for at, _, _ in covered]
        self._stats = StatsEncoder([f for _, f, _ in covered], [mode for _, _, mode in covered])
        self.columns = None if len(covered) == len(chosen) else tuple(f.name for _, f, _ in covered)
        """The names that the statistics cover; None for all of them."""

    def encode(self, bounds: Sequence[Bounds]) -> ColumnStats:
        """The statistics of one file, of whose value columns these are the bounds."""
        return self._stats.encode([bounds[at] for at in self._places])


_Keep = Callable[[Bounds], tuple[Any, Any, int | None]]


def _keeper(mode: str) -> _Keep:
    """What a mode keeps of the bounds of a column."""
    if mode == "none":
        return lambda bounds: (None, None, None)
    if mode == "counts":
        return lambda bounds: (None, None, bounds.null_count)
    if mode == "full":
        return lambda bounds: (bounds.low, bounds.high, bounds.null_count)
    length = int(mode.removeprefix("truncate(").removesuffix(")"))

    def cut(bounds: Bounds) -> tuple[Any, Any, int | None]:
        if not isinstance(bounds.high, str):
            return bounds.low, bounds.high, bounds.null_count
        high = truncate_up(bounds.high, length)
        return None if high is None else bounds.low[:length], high, bounds.null_count

    return cut


def truncate_up(text: str, length: int) -> str | None:
    """A text of at most ``length`` code points that is not below ``text``; None when there is none."""
    if len(text) <= length:
        return text
    for end in range(length, 0, -1):
        following = ord(text[end - 1]) + 1
        if following == _FIRST_SURROGATE:
            following = _AFTER_SURROGATES
        if following <= _LAST_CODE_POINT:
            return text[: end - 1] + chr(following)
    return None
