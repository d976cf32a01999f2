"""SQL query: a SELECT of DuckDB over the tables of a catalog.

DuckDB parses the text; each table ``database.table`` of it becomes a view on one snapshot, from which DuckDB reads only
the columns and rows that the query needs. ``AT (VERSION => 3)`` and ``AT (TIMESTAMP => '2026-05-01')`` select a
snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.argument_checks import parsed_id
from paimon_core.errors import InvalidRequest, SqlError
from paimon_core.frames.duckdb_view import register
from paimon_core.frames.source import Source, optional_package

if TYPE_CHECKING:
    import duckdb

Open = Callable[[str, str | int | None, str | None], Source | pa.Table]
"""A function of the name of a table, a version (snapshot id or tag) and a time: returns the scan, or all rows."""

_MISSING = "Table with name"
"""Begins DuckDB's message for a table without a database, which is not looked up in the catalog."""


def query(text: str, opened: Open) -> duckdb.DuckDBPyRelation:
    """Return the result of one SELECT, which is computed when its rows are fetched.

    Raises SqlError, with the position, for a text that DuckDB cannot parse or bind; InvalidRequest for a text that is
    not one SELECT and when DuckDB is not installed; and the errors of ``opened``.
    """
    package = optional_package("duckdb", "sql")
    if not isinstance(text, str):
        raise InvalidRequest(f"a query is a text, not {text!r:.60}")
    connection = package.connect(config={"python_enable_replacements": "false"})
    tree = _parsed(connection, text)
    views: dict[tuple[str, Any, Any], str] = {}
    for node in _tables(tree):
        name = f"{node['schema_name']}.{node['table_name']}"
        if node["catalog_name"]:
            raise InvalidRequest(
                f"table {node['catalog_name']}.{name} has a name of three parts: tables are named database.table, and "
                'other characters are in quotes, such as shop."orders$files"'
            )
        version, time = _version(node)
        key = (name, version, time)
        if key not in views:
            views[key] = f"paimon_{len(views)}"
            found = opened(*key)
            if isinstance(found, pa.Table):
                connection.register(views[key], found)
            else:
                register(found, connection, views[key])
        _replace(node, views[key])
    try:
        ((rewritten,),) = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
        result: duckdb.DuckDBPyRelation = connection.query(rewritten)
    except package.Error as error:
        head = str(error).partition("!")[0].partition("\n")[0] if _MISSING in str(error) else str(error)
        hint = "; tables are named database.table" if _MISSING in str(error) else ""
        raise SqlError(" ".join(head.split()) + hint) from None
    return result


def rows_of(result: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return all rows of a result; raises SqlError for a value that DuckDB cannot compute, such as a wrong cast."""
    package = optional_package("duckdb", "sql")
    try:
        return result.to_arrow_table()
    except package.Error as error:
        raise SqlError(" ".join(str(error).split())) from None


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    # fetchall, because DuckDB refuses other work while a result is not read to its end
    ((found,),) = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    tree: dict[str, Any] = json.loads(found)
    if tree["error"]:
        if "position" not in tree:
            raise InvalidRequest("sql takes one SELECT, which changes nothing; other commands change tables")
        at = int(tree["position"])
        line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
        raise SqlError(f"line {line}, column {column}: {tree['error_message']}")
    if len(tree["statements"]) != 1:
        raise InvalidRequest(f"sql takes one SELECT, not {len(tree['statements'])} statements")
    return tree


def _tables(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a parsed query that name a table with its database."""
    if isinstance(node, dict):
        if node.get("type") == "BASE_TABLE" and node["schema_name"]:
            yield node
        for value in list(node.values()):
            yield from _tables(value)
    elif isinstance(node, list):
        for value in node:
            yield from _tables(value)


def _version(node: dict[str, Any]) -> tuple[str | int | None, str | None]:
    """Return the version (snapshot id or tag) and the time of a table's AT clause."""
    if (clause := node.get("at_clause")) is None:
        return None, None
    literal = clause["expr"].get("literal") or {}
    value, kind = literal.get("text"), literal.get("kind")
    if value is None or kind not in ("INTEGER", "STRING"):
        raise InvalidRequest(
            f"AT of table {node['schema_name']}.{node['table_name']} takes a literal: VERSION => 3, "
            "VERSION => 'tag' or TIMESTAMP => '2026-05-01 12:00:00'"
        )
    if clause["unit"] == "VERSION":
        return (
            parsed_id(str(value), f"the version of table {node['table_name']}") if kind == "INTEGER" else str(value)
        ), None
    return None, str(value)


def _replace(node: dict[str, Any], view: str) -> None:
    node["alias"] = node["alias"] or node["table_name"]
    node.update(catalog_name="", schema_name="", table_name=view, at_clause=None)
    if "qualified_name" in node:
        node["qualified_name"] = {**node["qualified_name"], "path": [view]}
