"""Stored bounds: converts the minimum or maximum of a Parquet footer to a storage value (format 7.7)."""

from __future__ import annotations

import contextlib
from decimal import Context, Decimal
from typing import Any

from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, DataType, TypeRoot

_EXACT = Context(prec=80)
_NUMBERS = frozenset(
    {
        TypeRoot.TINYINT,
        TypeRoot.SMALLINT,
        TypeRoot.INT,
        TypeRoot.BIGINT,
        TypeRoot.DATE,
        TypeRoot.TIME,
        TypeRoot.TIMESTAMP,
        TypeRoot.TIMESTAMP_LTZ,
    }
)


def stored_value(raw: Any, dtype: DataType) -> Any:
    """Return the physical value ``raw`` as a storage value; the column is stored as the Arrow type of ``dtype``.

    Return None when the value is unknown: for nested types, for INT96, and for text that was cut inside a character.
    """
    root = dtype.root
    if isinstance(raw, bool):
        return raw if root is TypeRoot.BOOLEAN else None
    if isinstance(raw, int):
        if root is TypeRoot.DECIMAL:
            return _EXACT.scaleb(Decimal(raw), -dtype.scale)
        return raw if root in _NUMBERS else None
    if isinstance(raw, float):
        return raw if root in (TypeRoot.FLOAT, TypeRoot.DOUBLE) else None
    if not isinstance(raw, bytes):
        return None
    if root in STRING_ROOTS:
        with contextlib.suppress(UnicodeDecodeError):
            return raw.decode()
        return None
    if root is TypeRoot.DECIMAL:
        return _EXACT.scaleb(Decimal(int.from_bytes(raw, "big", signed=True)), -dtype.scale)
    return raw if root in BINARY_ROOTS else None
