"""DuckDB view: a scan as a view of a DuckDB connection; only the columns and files that a query needs are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_core.errors import InvalidRequest
from paimon_core.frames.source import Source, optional_package

if TYPE_CHECKING:
    import duckdb


def register(source: Source, connection: duckdb.DuckDBPyConnection | None, name: str) -> duckdb.DuckDBPyRelation:
    """Register the rows as view ``name`` of the connection (None: the default connection) and return the view.

    Each query reads the same snapshot, and only the columns and files that it needs; DuckDB's filters are applied to
    each batch before DuckDB gets the batch. Raises InvalidRequest without DuckDB, and for a name that is not a text.
    """
    package = optional_package("duckdb", "to_duckdb")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"name must be the name of a view, not {name!r:.60}")
    from paimon_core.frames.dataset import PaimonDataset

    found: duckdb.DuckDBPyConnection = package.default_connection() if connection is None else connection
    found.register(name, PaimonDataset(source))
    return found.view(name)
