"""Op: the operators of comparisons."""

from __future__ import annotations

from enum import StrEnum


class Op(StrEnum):
    """The operator of a comparison; the value of each member is its name in JSON."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    NOT_IN = "not in"
    STARTS = "starts with"
    NOT_STARTS = "does not start with"
    ENDS = "ends with"
    NOT_ENDS = "does not end with"
    CONTAINS = "contains"
    NOT_CONTAINS = "does not contain"
    LIKE = "like"
    NOT_LIKE = "not like"
    IS_NULL = "is null"
    NOT_NULL = "is not null"

    @property
    def negated(self) -> Op:
        """The operator that is true where this operator is false; both operators are unknown for the same rows."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> Op:
        """The operator with the same meaning after the two sides are exchanged: ``1 < x`` is ``x > 1``."""
        return _MIRRORED.get(self, self)


_OPPOSITES = (
    (Op.EQ, Op.NE),
    (Op.LT, Op.GE),
    (Op.GT, Op.LE),
    (Op.IN, Op.NOT_IN),
    (Op.STARTS, Op.NOT_STARTS),
    (Op.ENDS, Op.NOT_ENDS),
    (Op.CONTAINS, Op.NOT_CONTAINS),
    (Op.LIKE, Op.NOT_LIKE),
    (Op.IS_NULL, Op.NOT_NULL),
)
_NEGATED = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}

LISTS = frozenset({Op.IN, Op.NOT_IN})
"""Operators with any number of values."""
NULLS = frozenset({Op.IS_NULL, Op.NOT_NULL})
"""Operators without values."""
ORDERS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE})
"""Operators that compare a column with one value; the value may be another column."""
PARTS = frozenset({Op.STARTS, Op.NOT_STARTS, Op.ENDS, Op.NOT_ENDS, Op.CONTAINS, Op.NOT_CONTAINS})
"""Operators on a part of a text or binary value."""
PATTERNS = frozenset({Op.LIKE, Op.NOT_LIKE})
"""Operators whose value is a pattern of LIKE."""
