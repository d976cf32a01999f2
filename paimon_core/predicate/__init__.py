"""Filters: ``col("price") > 10`` is a Predicate, which Arrow evaluates on rows and which prunes files by statistics."""

from paimon_core.predicate.bound import BoundPredicate
from paimon_core.predicate.tree import Column, Predicate, col, from_json, parse_where

__all__ = ["BoundPredicate", "Column", "Predicate", "col", "from_json", "parse_where"]
