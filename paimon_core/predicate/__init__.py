"""Filters: ``col("price") > 10`` is a Predicate; Arrow evaluates it on rows, and statistics prune files by it."""

from paimon_core.predicate.bound import BoundPredicate
from paimon_core.predicate.tree import Column, Predicate, col, from_json, parse_where

__all__ = ["BoundPredicate", "Column", "Predicate", "col", "from_json", "parse_where"]
