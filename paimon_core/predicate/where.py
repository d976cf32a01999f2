"""where: the argument of reads and changes that selects rows: a predicate, a text or an Arrow expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.arrow_expression import from_arrow
from paimon_core.predicate.grammar import parse
from paimon_core.predicate.tree import Predicate
from paimon_core.schema import DataField

Where = Predicate | str | pc.Expression
"""A filter: a predicate such as ``col("x") > 1``, text such as ``"x > 1"``, or an Arrow expression."""


def parse_where(value: Any, fields: Iterable[DataField] | None = None) -> Predicate | None:
    """Return a ``where`` argument as a predicate; the result for None is None.

    With ``fields``, the columns of the table, the predicate is checked against these columns, and its dotted names are
    resolved. Raises InvalidRequest for any other value and for text that is not a filter, SchemaMismatch for a filter
    that does not fit ``fields``, UnsupportedFeature for an Arrow expression that a predicate cannot represent.
    """
    known = None if fields is None else {f.name: f for f in fields}
    match value:
        case None:
            return None
        case Predicate():
            found = value
        case str():
            found = parse(value, known)
        case pc.Expression():
            found = from_arrow(value)
        case _:
            raise InvalidRequest(
                f'where takes a predicate such as col("x") > 1 or a text such as "x > 1", not '
                f"{type(value).__name__} {value!r:.80}"
            )
    if known is not None:
        found.bind(known.values())
        found = found.resolve(known)
    return found


def required_where(value: Any, fields: Iterable[DataField], operation: str) -> Predicate:
    """Return ``where`` as a predicate, as ``parse_where`` does; raises InvalidRequest naming the operation for None."""
    found = parse_where(value, fields)
    if found is None:
        raise InvalidRequest(f"{operation} needs a predicate such as col('x') == 1, not None ('true' is all rows)")
    return found
