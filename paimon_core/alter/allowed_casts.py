"""Allowed casts: the changes of a column's type that Paimon allows (format 2.3)."""

from __future__ import annotations

from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.types import BINARY_ROOTS, NESTED_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_INTEGERS = (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT)
_NUMERIC = frozenset({*_INTEGERS, TypeRoot.DECIMAL, TypeRoot.FLOAT, TypeRoot.DOUBLE})
_IMPLICIT: dict[TypeRoot, frozenset[TypeRoot]] = {
    TypeRoot.VARCHAR: STRING_ROOTS,
    TypeRoot.VARBINARY: BINARY_ROOTS,
    TypeRoot.DECIMAL: _NUMERIC,
    TypeRoot.SMALLINT: frozenset(_INTEGERS[:1]),
    TypeRoot.INT: frozenset(_INTEGERS[:2]),
    TypeRoot.BIGINT: frozenset(_INTEGERS[:3]),
    TypeRoot.FLOAT: frozenset({*_INTEGERS, TypeRoot.DECIMAL}),
    TypeRoot.DOUBLE: _NUMERIC,
    TypeRoot.DATE: frozenset({TypeRoot.TIMESTAMP}),
    TypeRoot.TIME: frozenset({TypeRoot.TIMESTAMP}),
    TypeRoot.TIMESTAMP: TIMESTAMP_ROOTS,
    TypeRoot.TIMESTAMP_LTZ: TIMESTAMP_ROOTS,
}


def is_allowed(stored: DataType, wanted: DataType, *, explicit: bool) -> bool:
    """Whether a column may change from one type to another; nullability does not count.

    Without ``explicit``, only implicit casts are allowed, which never fail. Some implicit casts lose information: a
    shorter text type cuts off the end of texts.
    """
    stored, wanted = stored.with_nullable(True), wanted.with_nullable(True)
    if stored == wanted:
        return True
    if stored.root in NESTED_ROOTS and wanted.root not in STRING_ROOTS:
        return False
    if stored.root is wanted.root is TypeRoot.TIME:
        return False  # this library could read files with this change of type, Java cannot
    implicit = stored.root is wanted.root or stored.root in _IMPLICIT.get(wanted.root, ())
    return (implicit or explicit) and find_cast(stored, wanted) is not None
