"""Key order: converts keys to Python tuples that compare as Paimon orders keys (format 7.3).

This module converts single keys, such as the keys in manifests and the cuts of key windows. ``order_codes`` converts
whole columns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.types import DataType

SortKey = tuple[tuple[int, Any], ...]
"""One pair per column: ``(0, None)`` for null, ``(1, value)`` otherwise."""
KeyOrder = Callable[[bytes], SortKey]
"""Maps a serialized key to its sort key."""

_NAN_CODE = 0x7FF8000000000000


def key_order(types: Sequence[DataType]) -> KeyOrder:
    """Return a function from a serialized key of ``types`` (such as ``DataFile.min_key``) to its sort key.

    The returned function caches decoded keys. It raises CorruptTable for bytes that are not a row of the key's types.
    """
    kinds = tuple(types)

    @lru_cache(maxsize=4096)
    def order(data: bytes) -> SortKey:
        return sort_key(decode_row(data, kinds))

    return order


def sort_key(values: Iterable[Any]) -> SortKey:
    """Return a sort key for the storage values of one key; texts compare in the order of their UTF-8 bytes."""
    return tuple((0, None) if value is None else (1, _comparable(value)) for value in values)


def _comparable(value: Any) -> Any:
    return _float_code(value) if isinstance(value, float) else value


def _float_code(value: float) -> int:
    if value != value:
        return _NAN_CODE
    bits: int = struct.unpack(">q", struct.pack(">d", value))[0]
    return bits if bits >= 0 else bits ^ (2**63 - 1)
