"""Apache Paimon tables in Python: read and write tables as Arrow data.

>>> import paimon_core as paimon
>>> catalog = paimon.open_catalog("lake")          # doctest: +SKIP
>>> catalog.table("ods.flights").scan(limit=10).to_arrow()          # doctest: +SKIP

Each public name is imported when it is first used, so that ``import paimon_core`` itself is fast.

Core types:

- ``Catalog``: databases and tables by name
- ``Table``: reads, writes and maintains one table; ``TableView`` only reads
- ``Scan``: a read of one version of a table
- ``Predicate``: a filter, made with ``col``
- ``PaimonError``: the base of all errors
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.catalog.filesystem import FilesystemCatalog
    from paimon_core.catalog.identifier import Identifier
    from paimon_core.catalog.open import open_catalog
    from paimon_core.compact.report import CompactReport
    from paimon_core.errors import (
        AfterCommitFailed,
        AlreadyExists,
        BranchNotFound,
        CommitConflict,
        CommitStateUnknown,
        ConditionalWriteUnsupported,
        CorruptTable,
        DatabaseNotFound,
        InvalidOption,
        InvalidRequest,
        NotFound,
        PaimonError,
        PlanOutdated,
        ReadOutdated,
        SchemaMismatch,
        SnapshotNotFound,
        SqlError,
        StorageError,
        TableNotFound,
        TagNotFound,
        UnsupportedFeature,
    )
    from paimon_core.group.group import Group
    from paimon_core.group.record import GroupVersion
    from paimon_core.maintain.expiry.snapshots import ExpireReport
    from paimon_core.maintain.planning.plan import Plan
    from paimon_core.metadata.commit_message import CommitMessage
    from paimon_core.metadata.snapshot import CommitKind, Snapshot
    from paimon_core.metadata.statistics import ColumnStatistics, Statistics
    from paimon_core.metadata.stores.tag_store import Tag
    from paimon_core.plan.split import Split
    from paimon_core.predicate import Predicate, col, target
    from paimon_core.progress_meter import Progress, progress
    from paimon_core.query.scan import Scan
    from paimon_core.schema import DataField, TableSchema
    from paimon_core.table.rows.merge_clauses import Delete, Insert, Update
    from paimon_core.table.table import Table
    from paimon_core.table.view import TableView
    from paimon_core.table.writes.prepared import Prepared
    from paimon_core.types import DataType
    from paimon_core.types.variant import Variant
    from paimon_core.write.table_writer import TableWriter

__all__ = [
    "AfterCommitFailed",
    "AlreadyExists",
    "BranchNotFound",
    "Catalog",
    "ColumnStatistics",
    "CommitConflict",
    "CommitKind",
    "CommitMessage",
    "CommitStateUnknown",
    "CompactReport",
    "ConditionalWriteUnsupported",
    "CorruptTable",
    "DataField",
    "DataType",
    "DatabaseNotFound",
    "Delete",
    "ExpireReport",
    "FilesystemCatalog",
    "Group",
    "GroupVersion",
    "Identifier",
    "Insert",
    "InvalidOption",
    "InvalidRequest",
    "NotFound",
    "PaimonError",
    "Plan",
    "PlanOutdated",
    "Predicate",
    "Prepared",
    "Progress",
    "ReadOutdated",
    "Scan",
    "SchemaMismatch",
    "Snapshot",
    "SnapshotNotFound",
    "Split",
    "SqlError",
    "Statistics",
    "StorageError",
    "Table",
    "TableNotFound",
    "TableSchema",
    "TableView",
    "TableWriter",
    "Tag",
    "TagNotFound",
    "UnsupportedFeature",
    "Update",
    "Variant",
    "col",
    "open_catalog",
    "progress",
    "target",
]

_NAMES_OF = {
    "catalog.catalog": ("Catalog",),
    "catalog.filesystem": ("FilesystemCatalog",),
    "catalog.identifier": ("Identifier",),
    "catalog.open": ("open_catalog",),
    "compact.report": ("CompactReport",),
    "errors": (
        "AfterCommitFailed",
        "AlreadyExists",
        "BranchNotFound",
        "CommitConflict",
        "CommitStateUnknown",
        "ConditionalWriteUnsupported",
        "CorruptTable",
        "DatabaseNotFound",
        "InvalidOption",
        "InvalidRequest",
        "NotFound",
        "PaimonError",
        "PlanOutdated",
        "ReadOutdated",
        "SchemaMismatch",
        "SnapshotNotFound",
        "SqlError",
        "StorageError",
        "TableNotFound",
        "TagNotFound",
        "UnsupportedFeature",
    ),
    "group.group": ("Group",),
    "group.record": ("GroupVersion",),
    "maintain.expiry.snapshots": ("ExpireReport",),
    "maintain.planning.plan": ("Plan",),
    "metadata.commit_message": ("CommitMessage",),
    "metadata.snapshot": ("CommitKind", "Snapshot"),
    "metadata.statistics": ("ColumnStatistics", "Statistics"),
    "metadata.stores.tag_store": ("Tag",),
    "predicate": ("Predicate", "col", "target"),
    "plan.split": ("Split",),
    "progress_meter": ("Progress", "progress"),
    "schema": ("DataField", "TableSchema"),
    "table.rows.merge_clauses": ("Delete", "Insert", "Update"),
    "table.writes.prepared": ("Prepared",),
    "query.scan": ("Scan",),
    "table.table": ("Table",),
    "table.view": ("TableView",),
    "types": ("DataType",),
    "types.variant": ("Variant",),
    "write.table_writer": ("TableWriter",),
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _NAMES_OF.items() for name in names}

if not TYPE_CHECKING:  # otherwise type checkers would accept any attribute name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return importlib.import_module(f"{__name__}.version").version()
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
