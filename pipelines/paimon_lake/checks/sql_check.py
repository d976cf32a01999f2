"""SQL checks: a query in the dialect of Spark that must return no row."""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, cast

from paimon_core.table.view import TableView
from paimon_lake.checks.context import CheckContext
from paimon_lake.checks.row_checks import Result, Rows
from paimon_lake.checks.text import EXAMPLES
from paimon_lake.declarations.tables.checks import SqlCheck
from paimon_lake.protocol import PipelineError

if TYPE_CHECKING:
    from paimon_lake.session import Spark

_COUNTED = 1000
"""At most this many rows of a result are counted; they are read into memory."""
_LENGTH = 200


def sql(check: SqlCheck, rows: Rows, context: CheckContext, spark: Spark | None) -> Result:
    """Run the query of the check, which may name the table, with all of its rows, and the tables in ``context.tables``.

    Returns the number of rows; a greater number than 1,000 is returned as 1,001. Raises PipelineError without Spark,
    and for a query that cannot be run.
    """
    if spark is None:
        raise PipelineError("a check of type sql needs a Spark session: it runs with loads and in jobs, not in sensors")
    # Imported only here, because sensors evaluate the other checks without Spark.
    from paimon_lake.sources.views import collected, with_views

    # A ChainMap does not copy the tables of the context: a table is opened only when the query names it.
    tables = ChainMap({rows.table.name: rows.table}, cast(dict[str, TableView], context.tables))
    found = collected(with_views(spark(), check.query, tables), limit=_COUNTED + 1)
    if not found:
        return 0, "the query returned no row"
    count = f"more than {_COUNTED:,} rows" if len(found) > _COUNTED else f"{len(found):,} row{'s' * (len(found) > 1)}"
    shown = [text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..." for text in found[:EXAMPLES]]
    return len(found), f"the query returned {count} and must return none: {', '.join(shown)}"
