"""Order: sorts the tables of a lake so that each table follows the tables that it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from paimon_lake.declarations.agreement import inputs_of
from paimon_lake.declarations.table import TableSpec


def in_order(tables: Mapping[str, TableSpec]) -> list[list[str]]:
    """Return the names in groups: each table is in the first group after its inputs; the names of a group are sorted.

    The inputs of the tables must not form a cycle; ``load_settings`` refuses a cycle.
    """
    sorter = TopologicalSorter({name: set(inputs_of(spec)) & set(tables) for name, spec in tables.items()})
    sorter.prepare()
    groups = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        groups.append(ready)
        sorter.done(*ready)
    return groups
