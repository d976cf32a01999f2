"""Aggregate functions: sum, product, max, min, first, last, bool_and and bool_or (format 9.5)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.lsm.aggregates.aggregate import Factory

FUNCTIONS: Mapping[str, Factory] = {}
