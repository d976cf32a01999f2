"""Apache Paimon tables in Python: Arrow in, files out.

>>> import paimon_core as paimon
>>> catalog = paimon.open_catalog("lake")          # doctest: +SKIP
>>> catalog.table("ods.flights").scan(limit=10).to_arrow()          # doctest: +SKIP
"""

from paimon_core.catalog.catalog import Catalog
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.open import open_catalog
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
    SchemaMismatch,
    SnapshotNotFound,
    StorageError,
    TableNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from paimon_core.group.group import Group
from paimon_core.group.record import GroupVersion
from paimon_core.maintain.expire import ExpireReport
from paimon_core.maintain.plan import Plan
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.statistics import ColumnStatistics, Statistics
from paimon_core.metadata.tag_store import Tag
from paimon_core.predicate import Predicate, col
from paimon_core.scan.split import Split
from paimon_core.schema import DataField, TableSchema
from paimon_core.table.prepared import Prepared
from paimon_core.table.query import Scan
from paimon_core.table.table import Table
from paimon_core.types import DataType
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
    "ConditionalWriteUnsupported",
    "CorruptTable",
    "DataField",
    "DataType",
    "DatabaseNotFound",
    "ExpireReport",
    "FilesystemCatalog",
    "Group",
    "GroupVersion",
    "Identifier",
    "InvalidOption",
    "InvalidRequest",
    "NotFound",
    "PaimonError",
    "Plan",
    "PlanOutdated",
    "Predicate",
    "Prepared",
    "Scan",
    "SchemaMismatch",
    "Snapshot",
    "SnapshotNotFound",
    "Split",
    "Statistics",
    "StorageError",
    "Table",
    "TableNotFound",
    "TableSchema",
    "TableWriter",
    "Tag",
    "TagNotFound",
    "UnsupportedFeature",
    "col",
    "open_catalog",
]
