"""Filters: ``col("price") > 10`` is a Predicate; Arrow evaluates it on rows, and statistics prune files by it.

Core types and functions:

- ``Predicate``: a filter over names, not bound to a table
- ``BoundPredicate``: a filter over the columns of a schema, in storage values
- ``Column``: a column in a filter, from ``col``
- ``Op``: a test such as equality
- ``parse_where``: parses the text of a filter
"""

from paimon_core.predicate.arrow_expression import from_arrow
from paimon_core.predicate.bound import BoundPredicate
from paimon_core.predicate.column import Column, col
from paimon_core.predicate.json_form import from_json
from paimon_core.predicate.tree import Predicate
from paimon_core.predicate.where import Where, parse_where, required_where

__all__ = [
    "BoundPredicate",
    "Column",
    "Predicate",
    "Where",
    "col",
    "from_arrow",
    "from_json",
    "parse_where",
    "required_where",
]
