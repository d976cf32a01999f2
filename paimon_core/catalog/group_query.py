"""Group query: a SELECT of DuckDB that reads the tables of a group at one version of the group.

All tables of the group are read at the version that was the newest when the query was opened, even if another version
is published meanwhile. Tables outside of the group, and tables with an own AT, are read as in every query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.errors import InvalidRequest, NotFound
from paimon_core.frames.sql_query import Open
from paimon_core.frames.sql_query import query as sql_query

if TYPE_CHECKING:
    import duckdb

    from paimon_core.frames.source import Source
    from paimon_core.group.group import Group


def group_query(text: str, group: Group, otherwise: Open) -> duckdb.DuckDBPyRelation:
    """Return the result of a SELECT, see ``Catalog.sql``; ``otherwise`` opens the tables outside of the group.

    Raises NotFound for a group without versions, InvalidRequest for a query that reads no table of the group.
    """
    newest = group.latest()
    if newest is None:
        raise NotFound(f"group {group.name} has no version: nothing was published yet", group=group.name)
    read = set()

    def opened(name: str, version: str | int | None, time: str | None) -> Source | pa.Table:
        base, _, kind = name.partition("$")
        if base not in newest.tables or kind.startswith("branch_") or version is not None or time is not None:
            return otherwise(name, version, time)
        read.add(base)
        view = group.table(base, newest.number)
        return view.system_table(kind).to_arrow() if kind else view.scan()

    result = sql_query(text, opened)
    if not read:
        raise InvalidRequest(
            f"the query reads no table of group {group.name} at its version: it has {', '.join(newest.tables)}",
            group=group.name,
        )
    return result
