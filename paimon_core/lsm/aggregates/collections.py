"""Aggregate functions: listagg, collect, merge_map and nested rows (format 9.5)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.lsm.aggregates.aggregate import Factory

FUNCTIONS: Mapping[str, Factory] = {}
