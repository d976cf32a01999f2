"""Order: tables after the tables that they are made from."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from paimon_lake.declarations.agreement import inputs_of
from paimon_lake.declarations.table import TableSpec


def in_order(tables: Mapping[str, TableSpec]) -> list[list[str]]:
    """Return the names in groups: each table is in the first group after the groups of its inputs; groups are sorted.

    The tables must not form a cycle, which reading the declarations refuses.
    """
    sorter = TopologicalSorter({name: set(inputs_of(spec)) & set(tables) for name, spec in tables.items()})
    sorter.prepare()
    groups = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        groups.append(ready)
        sorter.done(*ready)
    return groups
