"""Filters: ``col("price") > 10`` is a Predicate. Arrow evaluates it on rows; statistics show which files to skip.

Core types and functions:

- ``Predicate``: a filter on column names, not yet checked against the schema of a table
- ``BoundPredicate``: a filter that was checked against a schema, with its literals as storage values
- ``Column``: a column in a filter, from ``col``
- ``Expression``: a computed value of an update or a merge, such as ``col("price") * 2``
- ``Op``: the operator of a comparison, such as equality
- ``parse_where``: converts a text, a predicate or an Arrow expression to a predicate
"""

from paimon_core.predicate.arrow_expression import from_arrow
from paimon_core.predicate.bound import BoundPredicate
from paimon_core.predicate.column import Column, col
from paimon_core.predicate.expression import Arithmetic, Expression, Reference, target
from paimon_core.predicate.json_form import from_json
from paimon_core.predicate.tree import Predicate
from paimon_core.predicate.where import Where, parse_where, required_where

__all__ = [
    "Arithmetic",
    "BoundPredicate",
    "Column",
    "Expression",
    "Predicate",
    "Reference",
    "Where",
    "col",
    "from_arrow",
    "from_json",
    "parse_where",
    "required_where",
    "target",
]
