"""Aggregate functions of collections and text: listagg, collect, merge_map and nested rows (format 9.7)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.lsm.aggregates.aggregate import Factory
from paimon_core.lsm.aggregates.collections.collect import collect
from paimon_core.lsm.aggregates.collections.listagg import listagg
from paimon_core.lsm.aggregates.collections.maps import merge_map, merge_map_with_keytime
from paimon_core.lsm.aggregates.collections.nested import nested_update
from paimon_core.lsm.aggregates.collections.nested_partial import nested_partial_update

FUNCTIONS: Mapping[str, Factory] = {
    "listagg": listagg,
    "collect": collect,
    "merge_map": merge_map,
    "merge_map_with_keytime": merge_map_with_keytime,
    "nested_update": nested_update,
    "nested_partial_update": nested_partial_update,
}
