"""Column statistics of a data file: minimum, maximum and null count per column, as manifests hold them (format 4.5).

The bounds come out of the Parquet footer, where the encoder has already put them, so they cost no pass over the data.
They are true bounds or absent: a column that holds NaN, a binary column (readers disagree on its order), INT96 and
texts too long for a footer have none; a text longer than the mode keeps is cut, the maximum upwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow.parquet as pq

from paimon_core.codec.binary_row import encode_row
from paimon_core.metadata.stats import ColumnStats
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, DataType, TypeRoot

KEY_STATS_MODE = "truncate(128)"
"""How key statistics are kept, whatever the table asks for its value columns."""

_EXACT = Context(prec=80)
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
    unknown = Bounds(None, None, null_count)
    if dtype.root in BINARY_ROOTS or dtype.root in NESTED_ROOTS:
        return unknown
    lows, highs = [], []
    for number in range(metadata.num_row_groups):
        chunk = metadata.row_group(number).column(column)
        found = chunk.statistics
        if found is None:
            return unknown
        if found.has_min_max:
            lows.append(_storage_value(found.min_raw, dtype))
            highs.append(_storage_value(found.max_raw, dtype))
        elif found.null_count != chunk.num_values:
            return unknown
    return Bounds(min(lows), max(highs), null_count) if lows else unknown


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


def encode_stats(fields: Sequence[DataField], bounds: Sequence[Bounds], modes: Sequence[str]) -> ColumnStats:
    """The statistics of ``fields`` in their order, each kept as its mode says: none, counts, truncate(n) or full."""
    kept = [_keep(b, mode) for b, mode in zip(bounds, modes, strict=True)]
    types = [f.type.with_nullable(True) for f in fields]
    return ColumnStats(
        encode_row([low for low, _, _ in kept], types),
        encode_row([high for _, high, _ in kept], types),
        tuple(count for _, _, count in kept),
    )


def encode_value_stats(
    fields: Sequence[DataField], bounds: Sequence[Bounds], modes: Mapping[str, str], default: str
) -> tuple[ColumnStats, tuple[str, ...] | None]:
    """The statistics of a file's value columns and the names they cover; None for all of them.

    Nested columns and those of mode none are out. ``modes`` gives single columns a mode of their own.
    """
    chosen = [(f, b, modes.get(f.name, default)) for f, b in zip(fields, bounds, strict=True)]
    covered = [c for c in chosen if c[2] != "none" and c[0].type.root not in NESTED_ROOTS]
    stats = encode_stats([f for f, _, _ in covered], [b for _, b, _ in covered], [mode for _, _, mode in covered])
    return stats, None if len(covered) == len(chosen) else tuple(f.name for f, _, _ in covered)


def _keep(bounds: Bounds, mode: str) -> tuple[Any, Any, int | None]:
    if mode == "none":
        return None, None, None
    if mode == "counts":
        return None, None, bounds.null_count
    if mode == "full" or not isinstance(bounds.high, str):
        return bounds.low, bounds.high, bounds.null_count
    length = int(mode.removeprefix("truncate(").removesuffix(")"))
    high = truncate_up(bounds.high, length)
    return None if high is None else bounds.low[:length], high, bounds.null_count


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
