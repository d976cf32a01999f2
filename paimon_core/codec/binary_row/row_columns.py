"""Row columns: reads one field of many serialized BinaryRows at once, as a list (format 5).

The slots of a BinaryRow have fixed places. For bytes that ``decode_row`` might refuse, functions return None, so that
the caller uses ``decode_row``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.cells import COMPACT_DECIMAL, COMPACT_TIMESTAMP, INLINE_BYTES
from paimon_core.codec.binary_row.images import null_bytes
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_ARITY_BYTES = 4
_FIXED = {
    TypeRoot.BOOLEAN: "u1",
    TypeRoot.TINYINT: "<i1",
    TypeRoot.SMALLINT: "<i2",
    TypeRoot.INT: "<i4",
    TypeRoot.DATE: "<i4",
    TypeRoot.BIGINT: "<i8",
    TypeRoot.FLOAT: "<f4",
    TypeRoot.DOUBLE: "<f8",
}
_EXACT = Context(prec=80)

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowBytes:
    """Serialized rows of ``arity`` fields in one buffer; each row has a start and a length in bytes."""

    buffer: Bytes
    starts: Numbers
    lengths: Numbers
    arity: int

    def are_complete(self) -> bool:
        """Whether every row states the arity, and all its slots are inside of the buffer."""
        least = _ARITY_BYTES + null_bytes(self.arity) + 8 * self.arity
        if not len(self.starts):
            return True
        if int(self.lengths.min()) < least or int(self.starts.min()) < 0:
            return False
        if int((self.starts + self.lengths).max()) > len(self.buffer):
            return False
        return bool((self._take(0, ">i4") == self.arity).all())

    def numbers(self, at: int, dtype: DataType) -> npt.NDArray[Any] | None:
        """Return the slots of a field whose value is stored in the slot itself (for a compact DECIMAL, the unscaled
        value); None for other fields.

        The value of a null field is undefined; ``nulls`` shows which fields are null.
        """
        kind = _slot_kind(dtype)
        return None if kind is None else self._take(self._slot(at), kind)

    def nulls(self, at: int) -> npt.NDArray[np.bool_]:
        """Return for each row whether the field is null."""
        bit = 8 + at
        return (self._take(_ARITY_BYTES + bit // 8, "u1") >> (bit % 8) & 1).astype(bool)

    def values(self, at: int, dtype: DataType) -> list[Any] | None:
        """Return a field as a list of storage values; None in the list is null.

        Return None instead of a list for a type or for bytes that must be read by ``decode_row``.

        The rows must be complete (``are_complete``).
        """
        nulls = self.nulls(at)
        found = self._texts(at, dtype, nulls) if _is_text(dtype) else self._fixed(at, dtype, nulls)
        if found is not None and nulls.any():
            for row in np.flatnonzero(nulls).tolist():
                found[row] = None
        return found

    def _fixed(self, at: int, dtype: DataType, nulls: npt.NDArray[np.bool_]) -> list[Any] | None:
        slots = self.numbers(at, dtype)
        if slots is None:
            return None
        if dtype.root is TypeRoot.BOOLEAN:
            slots = slots != 0
        if dtype.root is not TypeRoot.DECIMAL:
            out: list[Any] = slots.tolist()
            return out
        limit = 10**dtype.precision
        if ((slots <= -limit) | (slots >= limit))[~nulls].any():
            return None
        scale = -dtype.scale
        return [_EXACT.scaleb(Decimal(unscaled), scale) for unscaled in slots.tolist()]

    def _texts(self, at: int, dtype: DataType, nulls: npt.NDArray[np.bool_]) -> list[Any] | None:
        slot = self._slot(at)
        mark = self._take(slot + 7, "u1").astype(np.int64)
        inline = mark >= 0x80
        sizes = np.where(inline, mark & 0x7F, self._take(slot, "<u4"))
        offsets = np.where(inline, slot, self._take(slot + 4, "<u4").astype(np.int64) + _ARITY_BYTES)
        wrong = np.where(inline, sizes > INLINE_BYTES, offsets + sizes > self.lengths)
        if (wrong & ~nulls).any():
            return None
        sizes = np.where(nulls, 0, sizes)
        starts = self.starts + offsets
        data = self.buffer.data
        spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
        if dtype.root in BINARY_ROOTS:
            return [bytes(data[a:b]) for a, b in spans]
        try:
            return [str(data[a:b], "utf-8") for a, b in spans]
        except UnicodeDecodeError:
            return None

    def _slot(self, at: int) -> int:
        return _ARITY_BYTES + null_bytes(self.arity) + 8 * at

    def _take(self, offset: int, kind: str) -> npt.NDArray[Any]:
        width = np.dtype(kind).itemsize
        found = self.buffer[(self.starts + offset)[:, None] + np.arange(width)]
        values: npt.NDArray[Any] = found.view(kind)[:, 0]
        return values


def _slot_kind(dtype: DataType) -> str | None:
    if dtype.root in TIMESTAMP_ROOTS:
        return "<i8" if dtype.precision <= COMPACT_TIMESTAMP else None
    if dtype.root is TypeRoot.DECIMAL:
        return "<i8" if dtype.precision <= COMPACT_DECIMAL else None
    return _FIXED.get(dtype.root)


def _is_text(dtype: DataType) -> bool:
    return dtype.root in STRING_ROOTS or dtype.root in BINARY_ROOTS


def key_ranks(lows: RowBytes, highs: RowBytes, types: Sequence[DataType]) -> tuple[Numbers, Numbers] | None:
    """Return one number for each row of ``lows`` and of ``highs``; they have the order of the rows, compared as keys.

    Return None for incomplete rows, and for types and nulls that need ``lsm.key_order``.
    """
    columns = []
    if not lows.are_complete() or not highs.are_complete():
        return None
    for at, dtype in enumerate(types):
        if dtype.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DECIMAL):
            return None
        low, high = lows.numbers(at, dtype), highs.numbers(at, dtype)
        if low is None or high is None or lows.nulls(at).any() or highs.nulls(at).any():
            return None
        columns.append(np.concatenate([low, high]).astype(np.int64))
    if len(columns) == 1:
        ranks = columns[0]
    else:
        order = np.lexsort(columns[::-1])
        new = np.zeros(len(order), bool)
        for column in columns:
            new[1:] |= np.diff(column[order]) != 0
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.cumsum(new)
    return ranks[: len(lows.starts)], ranks[len(lows.starts) :]
