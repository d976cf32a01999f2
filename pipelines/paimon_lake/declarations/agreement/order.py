"""Order: sorts the tables of a lake so that each table follows its inputs and the tables that it looks up."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from paimon_lake.declarations.agreement.tables import tables_before
from paimon_lake.declarations.table import TableSpec


def in_order(tables: Mapping[str, TableSpec]) -> list[list[str]]:
    """Return the sorted names in groups; the group of a table follows the groups of its inputs and looked-up tables.

    Inputs and lookups must not form a cycle; ``load_settings`` refuses a cycle.
    """
    sorter = TopologicalSorter({name: set(tables_before(spec)) & set(tables) for name, spec in tables.items()})
    sorter.prepare()
    groups = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        groups.append(ready)
        sorter.done(*ready)
    return groups
