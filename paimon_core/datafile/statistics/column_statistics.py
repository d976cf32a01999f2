"""Column statistics of a data file: minimum, maximum and null count of each column, as in manifests (format 4.5).

The bounds of a Parquet file are read from its footer, where the encoder has already stored them, so no pass over the
data is needed. Bounds are either correct or absent. They are absent for a column with NaN, a binary column (Java before
2.0 compares signed bytes, later versions unsigned bytes) and INT96. A text that is longer than the mode allows is cut;
if it is a maximum, it is then rounded up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paimon_core.codec.binary_row.rows import row_encoder
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, DataType, TypeRoot

_EXACT = Context(prec=80)
_FEW_ROWS = 64
"""The largest number of values for which Python's min and max are faster than numpy's."""
_SHORT_BYTES = 1 << 11
"""If the texts of a column have at most this many bytes together, each text is short enough for a footer."""
_FOOTER_BYTES = 4096
"""The largest size in bytes of a text that Arrow stores in the statistics of a footer."""
_BOUND_CHARACTERS = 1 << 16
"""The largest length of a text that is recorded as a bound, so that manifests stay readable in the mode full."""
_LAST_CODE_POINT = 0x10FFFF
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Minimum and maximum storage value of a column in a file, both None if unknown, and its number of nulls."""

    low: Any
    high: Any
    null_count: int


def footer_bounds(metadata: pq.FileMetaData, column: int, dtype: DataType, null_count: int) -> Bounds:
    """Return the bounds, from a file's footer, of the column whose (first) leaf has the number ``column``."""
    return column_bounds(row_groups_of(metadata), column, dtype, null_count)


def row_groups_of(metadata: pq.FileMetaData) -> list[pq.RowGroupMetaData]:
    """Return the metadata of each row group in a footer."""
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def column_bounds(
    groups: Sequence[pq.RowGroupMetaData],
    column: int,
    dtype: DataType,
    null_count: int,
    known: Mapping[int, tuple[Any, Any]] = MappingProxyType({}),
) -> Bounds:
    """Return the same bounds as ``footer_bounds``, from the row groups of a footer.

    ``known`` maps the number of each row group whose bounds the footer lacks to its (minimum, maximum).
    """
    unknown = Bounds(None, None, null_count)
    if dtype.root in BINARY_ROOTS or dtype.root in NESTED_ROOTS:
        return unknown
    lows, highs = [], []
    for number, group in enumerate(groups):
        if number in known:
            lows.append(known[number][0])
            highs.append(known[number][1])
            continue
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


def bounds_of_long_texts(column: pa.ChunkedArray) -> tuple[str, str] | None:
    """Return the minimum and maximum of a text column if its texts may be too long for a footer, otherwise None."""
    if column.nbytes <= _FOOTER_BYTES:
        return None
    longest = pc.max(pc.binary_length(column)).as_py()
    if longest is None or longest <= _FOOTER_BYTES:
        return None
    found = pc.min_max(column)
    return found["min"].as_py(), found["max"].as_py()


def least_and_greatest(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Return the minimum and maximum that a footer would contain for a column of a small file.

    The column must contain integers, timestamps in its type's unit, floats without NaN, or texts. Returns None when the
    bounds must be read from the footer.
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
    # As Parquet requires: a minimum of zero is -0.0 and a maximum of zero is 0.0.
    return (low or -0.0, high or 0.0) if numbers.dtype.kind == "f" else (low, high)


def leaf_numbers(types: Iterable[DataType]) -> list[int]:
    """Return the number of each column's first leaf: a footer counts leaves, and a nested column may have several."""
    return [0, *itertools.accumulate(map(_leaves, types))]


def _leaves(dtype: DataType) -> int:
    return sum(_leaves(c.type) for c in dtype.children) or 1


def _storage_value(raw: Any, dtype: DataType) -> Any:
    """Convert a footer's physical value; texts become str, whose code point order equals the order of UTF-8 bytes."""
    if dtype.root is TypeRoot.DECIMAL:
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return _EXACT.scaleb(Decimal(unscaled), -dtype.scale)
    return raw.decode() if dtype.root in STRING_ROOTS else raw


class StatsEncoder:
    """Encodes the statistics of ``fields`` in their order, each with its mode: none, counts, truncate(n) or full.

    One encoder is used for many files.
    """

    def __init__(self, fields: Sequence[DataField], modes: Sequence[str]) -> None:
        self._reducers = [_reducer(mode) for _, mode in zip(fields, modes, strict=True)]
        self._encode = row_encoder(tuple(f.type.with_nullable(True) for f in fields))

    def encode(self, bounds: Sequence[Bounds]) -> ColumnStats:
        """Return the statistics of one file with these bounds."""
        kept = [reduce(b) for b, reduce in zip(bounds, self._reducers, strict=True)]
        return ColumnStats(
            self._encode([low for low, _, _ in kept]),
            self._encode([high for _, high, _ in kept]),
            tuple(count for _, _, count in kept),
        )


class ValueStats:
    """Encodes the statistics of a file's value columns, each with its mode.

    ``dense``: columns of the mode none are left out; otherwise they are stored as unknown.
    """

    def __init__(self, fields: Sequence[DataField], modes: Sequence[str], *, dense: bool = True) -> None:
        chosen = [(at, f, mode) for at, (f, mode) in enumerate(zip(fields, modes, strict=True))]
        covered = [c for c in chosen if c[2] != "none" or not dense]
        self._places = [at for at, _, _ in covered]
        self._stats = StatsEncoder([f for _, f, _ in covered], [mode for _, _, mode in covered])
        self.columns = None if len(covered) == len(chosen) else tuple(f.name for _, f, _ in covered)
        """The names of the columns with statistics; None when all columns have statistics."""

    def encode(self, bounds: Sequence[Bounds]) -> ColumnStats:
        """Return the statistics of one file; ``bounds`` has the bounds of all its value columns."""
        return self._stats.encode([bounds[at] for at in self._places])


_Reducer = Callable[[Bounds], tuple[Any, Any, int | None]]


def _reducer(mode: str) -> _Reducer:
    """Return a function that reduces a column's bounds to the (minimum, maximum, null count) that ``mode`` stores."""
    if mode == "none":
        return lambda bounds: (None, None, None)
    if mode == "counts":
        return lambda bounds: (None, None, bounds.null_count)
    length = _BOUND_CHARACTERS if mode == "full" else int(mode.removeprefix("truncate(").removesuffix(")"))
    if mode == "full" or length > _BOUND_CHARACTERS:
        return lambda bounds: (_short(bounds.low), _short(bounds.high), bounds.null_count)

    def cut(bounds: Bounds) -> tuple[Any, Any, int | None]:
        low, high = bounds.low, bounds.high
        if isinstance(low, str):
            low = low[:length]
        if isinstance(high, str):
            high = truncate_up(high, length)
            low = None if high is None else low
        return low, high, bounds.null_count

    return cut


def _short(bound: Any) -> Any:
    return None if isinstance(bound, str) and len(bound) > _BOUND_CHARACTERS else bound


def truncate_up(text: str, length: int) -> str | None:
    """Return a text of at most ``length`` code points that is not less than ``text``; None when none exists."""
    if len(text) <= length:
        return text
    for end in range(length, 0, -1):
        following = ord(text[end - 1]) + 1
        if following == _FIRST_SURROGATE:
            following = _AFTER_SURROGATES
        if following <= _LAST_CODE_POINT:
            return text[: end - 1] + chr(following)
    return None
