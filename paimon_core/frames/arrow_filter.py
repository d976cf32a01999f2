"""Arrow filter: which columns and rows a scan must read for the columns and the filter of a pyarrow scanner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import PaimonError
from paimon_core.predicate import Predicate
from paimon_core.predicate.arrow_expression import from_arrow

_BY_POSITION = "FieldPath("


def pushed(
    columns: Sequence[str] | dict[str, pc.Expression] | None, keep: pc.Expression | None, schema: pa.Schema
) -> tuple[list[str], Predicate | None]:
    """Return the columns to read, and a filter that is true for every row for which ``keep`` is true (None: no
    filter).
    """
    expressions = [*(columns.values() if isinstance(columns, dict) else ()), *(() if keep is None else (keep,))]
    names = set(schema.names if columns is None else () if isinstance(columns, dict) else columns)
    for expression in expressions:
        names.update(_fields_of(expression, schema))
    wanted = [name for name in schema.names if name in names]
    return wanted or schema.names[:1], None if keep is None else _predicate(keep, schema)


def _predicate(keep: pc.Expression, schema: pa.Schema) -> Predicate | None:
    try:
        found = from_arrow(keep, schema)
    except PaimonError:
        return None  # only Arrow applies a filter that cannot be translated
    # Filters on floats are left out: predicates order NaN differently, and Arrow compares 32-bit floats in 64 bits.
    return found.only([f.name for f in schema if not pa.types.is_floating(f.type)])


def _fields_of(expression: pc.Expression, schema: pa.Schema) -> Iterator[str]:
    """Yield at least the columns that an expression reads: all columns whose names are in its text.

    Arrow has no public function that returns the fields of an expression. If the text has a field by position, all
    columns are returned, so that positions stay the same.
    """
    text = str(expression)
    yield from (name for name in schema.names if name in text or _BY_POSITION in text)
