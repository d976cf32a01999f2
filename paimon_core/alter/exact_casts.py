"""Exact casts: which values of a type are unchanged after a cast to another type and back (format 2.3).

``exact_range`` decides by the types alone, ``lost`` compares values.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.datafile.evolution.nested_arrays import parts, whole
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_BITS = {TypeRoot.TINYINT: 7, TypeRoot.SMALLINT: 15, TypeRoot.INT: 31, TypeRoot.BIGINT: 63}
_EXACT_BITS = {TypeRoot.FLOAT: 24, TypeRoot.DOUBLE: 53}
"""Integers with at most this many bits are exact as floating-point numbers."""
_EXACT_DIGITS = {TypeRoot.FLOAT: 6, TypeRoot.DOUBLE: 15}
_MICROSECONDS = 6
_NANOSECOND_DAYS = (datetime.date(1677, 9, 22), datetime.date(2262, 4, 10))
"""The days that a timestamp in nanoseconds can represent as a whole."""


@dataclass(frozen=True, slots=True)
class ExactRange:
    """The values from ``low`` to ``high`` (both included, as values for a predicate), which a cast certainly keeps."""

    low: Any
    high: Any


def exact_range(stored: DataType, wanted: DataType) -> ExactRange | bool:
    """Return the values that a cast and the cast back keep; True: all values; False: values must be compared.

    Values outside of the range may be unchanged as well. Nullability does not count.
    """
    stored, wanted = stored.with_nullable(True), wanted.with_nullable(True)
    source, target = stored.root, wanted.root
    if stored == wanted:
        return True
    if source in NESTED_ROOTS or target in NESTED_ROOTS:
        return False
    if target in STRING_ROOTS:
        if source in STRING_ROOTS:
            return wanted.length >= stored.length
        return source not in BINARY_ROOTS and wanted == STRING
    if source in BINARY_ROOTS:
        return target is TypeRoot.VARBINARY and wanted.length >= stored.length
    if source is TypeRoot.BOOLEAN:
        return target is not TypeRoot.DECIMAL or wanted.precision > wanted.scale
    if source in _BITS:
        return _integers(stored, wanted)
    if source is TypeRoot.DECIMAL:
        return _decimals(stored, wanted)
    if source is TypeRoot.FLOAT:
        return target is TypeRoot.DOUBLE
    return target in TIMESTAMP_ROOTS and _times(stored, wanted)


def _integers(stored: DataType, wanted: DataType) -> ExactRange | bool:
    most = 2 ** _BITS[stored.root] - 1
    target = wanted.root
    if target is TypeRoot.DECIMAL:
        limit = 10 ** (wanted.precision - wanted.scale) - 1
    elif target in _EXACT_BITS:
        limit = 2 ** _EXACT_BITS[target]
    elif target in _BITS:
        limit = 2 ** _BITS[target] - 1
    else:
        return target in TIMESTAMP_ROOTS and stored.root is TypeRoot.INT and wanted.precision <= _MICROSECONDS
    return most <= limit or ExactRange(-limit, limit)


def _decimals(stored: DataType, wanted: DataType) -> ExactRange | bool:
    if wanted.root in _EXACT_DIGITS:
        return stored.precision <= _EXACT_DIGITS[wanted.root]
    most = 10**stored.precision - 1
    if wanted.root is TypeRoot.DECIMAL and wanted.scale >= stored.scale:
        limit = 10 ** (wanted.precision - wanted.scale + stored.scale) - 1
    elif wanted.root in _BITS and not stored.scale:
        limit = 2 ** _BITS[wanted.root] - 1
    else:
        return False
    if most <= limit:
        return True
    value = Decimal(limit).scaleb(-stored.scale)
    return ExactRange(value.copy_negate(), value)


def _times(stored: DataType, wanted: DataType) -> ExactRange | bool:
    source = stored.root
    if source in TIMESTAMP_ROOTS or source is TypeRoot.TIME:
        if stored.precision > wanted.precision:
            return False
        fits = source is TypeRoot.TIME or stored.precision > _MICROSECONDS
    elif source is TypeRoot.DATE:
        fits = False
    else:
        return False
    if fits or wanted.precision <= _MICROSECONDS:
        return True
    low, high = _NANOSECOND_DAYS
    if source is TypeRoot.DATE:
        return ExactRange(low, high)
    zone = datetime.UTC if source is TypeRoot.TIMESTAMP_LTZ else None
    midnight = datetime.time(tzinfo=zone)
    return ExactRange(datetime.datetime.combine(low, midnight), datetime.datetime.combine(high, midnight))


def leaf_types(stored: DataType, wanted: DataType) -> Iterator[tuple[DataType, DataType]]:
    """Yield (stored, wanted) for each type that is cast: the column, or the members that both nested types have."""
    if stored.root is not wanted.root or stored.root not in NESTED_ROOTS:
        yield stored, wanted
        return
    for one, other in _members(stored, wanted):
        yield from leaf_types(stored.children[one].type, wanted.children[other].type)


def lost(before: pa.Array, after: pa.Array, stored: DataType, wanted: DataType) -> tuple[str, str] | None:
    """Return the first value that a cast and the cast back change, as texts (before, after); None without such a value.

    ``before`` has values of the type ``stored``, and ``after`` the same values cast to ``wanted``. Members of nested
    values that only one of the two types has are not compared.
    """
    if stored.root is wanted.root and stored.root in NESTED_ROOTS:
        before, after = whole(before), whole(after)
        each, others = parts(before, before.type), parts(after, after.type)
        for one, other in _members(stored, wanted):
            found = lost(each[one], others[other], stored.children[one].type, wanted.children[other].type)
            if found is not None:
                return found
        return None
    if exact_range(stored, wanted) is True:
        return None
    at = np.flatnonzero(~_survives(before, after, stored, wanted))
    if not len(at):
        return None
    return repr(before[at[0]].as_py())[:60], repr(after[at[0]].as_py())[:60]


def _survives(before: pa.Array, after: pa.Array, stored: DataType, wanted: DataType) -> np.ndarray[Any, Any]:
    """Return for each row whether the value is the same after the cast back; a null counts as the same."""
    gone: np.ndarray[Any, Any] = before.is_null().to_numpy(zero_copy_only=False)
    back = _cast_back(after, wanted, stored)
    if back is None:
        return gone
    if TypeRoot.CHAR in (stored.root, wanted.root) and stored.root in STRING_ROOTS:
        before, back = pc.utf8_rtrim(before, " "), pc.utf8_rtrim(back, " ")  # a CHAR is filled up with blanks
    same = pc.equal(before, back)
    if pa.types.is_floating(before.type):
        same = pc.or_(same, pc.and_(pc.is_nan(before), pc.is_nan(back)))
    gone |= same.fill_null(False).to_numpy(zero_copy_only=False)
    return gone


def _cast_back(after: pa.Array, wanted: DataType, stored: DataType) -> pa.Array | None:
    """Return the values cast back; None when the types have no cast, or when the cast fails for these values."""
    try:
        if stored.root in BINARY_ROOTS and wanted.root in STRING_ROOTS:
            return after.cast(stored.to_arrow())
        cast = find_cast(wanted.with_nullable(True), stored.with_nullable(True))
        return None if cast is None else cast(after, wanted, stored)
    except pa.ArrowInvalid:
        return None


def _members(stored: DataType, wanted: DataType) -> Iterator[tuple[int, int]]:
    """Yield the positions of members that both nested types have: fields of a ROW are matched by id, other members by
    position.
    """
    if stored.root is not TypeRoot.ROW:
        yield from ((at, at) for at in range(len(stored.children)))
        return
    places = {child.id: at for at, child in enumerate(stored.children)}
    yield from ((places[child.id], at) for at, child in enumerate(wanted.children) if child.id in places)
