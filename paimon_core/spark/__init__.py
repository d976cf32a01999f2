"""Paimon tables in Spark: functions that read, write, compact and clean up a Table, and ``format("paimon")``.

Core types and functions:

- ``PaimonDataSource``: the data source ``paimon`` of Spark
- ``KeyAssignment``: the dynamic buckets of all keys of a job
- ``TableReference``: the values with which a task opens a table
- ``SparkExecutor``: runs the steps of a clean-up as Spark tasks
- ``session``: SQL on the tables of a catalog, and their DataFrames and views
- ``write_spark``: writes a DataFrame
- ``write_stream_spark``: writes the batches of a streaming query
- ``write_files_spark``: writes files of other programs
- ``read_spark``: reads a table as a DataFrame
- ``update_spark``, ``delete_spark`` and ``merge_spark``: change rows

The names in ``__all__`` can be imported from this package; each is loaded when it is first used, so that a task of
Spark loads only its own module. The module ``daemon`` is the process that starts the Python workers of a session.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_core.spark.compactor import (
        compact_database_spark,
        compact_spark,
        rescale_spark,
        rewrite_file_index_spark,
        sort_compact_spark,
    )
    from paimon_core.spark.datasource import PaimonDataSource
    from paimon_core.spark.reads.changes import changes_spark
    from paimon_core.spark.reads.reader import read_spark
    from paimon_core.spark.removal import apply_spark, plan_orphan_removal_spark
    from paimon_core.spark.row_changes.delete_update import delete_spark, update_spark
    from paimon_core.spark.row_changes.merge import merge_spark
    from paimon_core.spark.sql.lake import session
    from paimon_core.spark.streams.upserts import write_stream_spark
    from paimon_core.spark.writes.file_writer import write_files_spark
    from paimon_core.spark.writes.writer import write_spark

__all__ = [
    "PaimonDataSource",
    "apply_spark",
    "changes_spark",
    "compact_database_spark",
    "compact_spark",
    "delete_spark",
    "merge_spark",
    "plan_orphan_removal_spark",
    "read_spark",
    "rescale_spark",
    "rewrite_file_index_spark",
    "session",
    "sort_compact_spark",
    "update_spark",
    "write_files_spark",
    "write_spark",
    "write_stream_spark",
]

_MODULE_OF = {
    "PaimonDataSource": "datasource",
    "apply_spark": "removal",
    "changes_spark": "reads.changes",
    "compact_database_spark": "compactor",
    "compact_spark": "compactor",
    "delete_spark": "row_changes.delete_update",
    "merge_spark": "row_changes.merge",
    "plan_orphan_removal_spark": "removal",
    "read_spark": "reads.reader",
    "rescale_spark": "compactor",
    "rewrite_file_index_spark": "compactor",
    "session": "sql.lake",
    "sort_compact_spark": "compactor",
    "write_files_spark": "writes.file_writer",
    "update_spark": "row_changes.delete_update",
    "write_spark": "writes.writer",
    "write_stream_spark": "streams.upserts",
}

if not TYPE_CHECKING:  # otherwise type checkers would accept any attribute name

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
