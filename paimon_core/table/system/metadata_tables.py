"""The system tables of metadata by name: Java's columns, additional columns, and the functions that read the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.metadata.context import TableContext
from paimon_core.schema import DataField
from paimon_core.table.system import file_columns, group_columns, index_columns, metadata_columns
from paimon_core.table.system.columns import Makers, arrow_table, fields_of
from paimon_core.table.system.partition_columns import partition_fields
from paimon_core.table.system.source import Source


@dataclass(frozen=True)
class MetadataTable:
    """One system table of metadata."""

    java: str
    """The columns that Java also has, as text of a CREATE TABLE."""
    read: Callable[[Source], Makers | Iterator[Makers]]
    """Returns the columns of all rows, or yields those of one part of the rows after another."""
    own: str = ""
    """Columns that only this library has."""
    partitioned: bool = False
    """Whether each row belongs to a partition; the last column then has the typed values of the partition."""
    of_snapshot: bool = True
    """Whether the rows describe one snapshot; otherwise they describe the current state of the table."""

    def fields(self, context: TableContext) -> tuple[DataField, ...]:
        """Return all columns."""
        own = fields_of(self.own) if self.own else ()
        return (*fields_of(self.java), *own, *(partition_fields(context) if self.partitioned else ()))

    def tables(self, source: Source, wanted: Sequence[DataField]) -> Iterator[pa.Table]:
        """Yield the rows, with the columns ``wanted``, in one or more parts; there may be no part without rows."""
        found = self.read(source)
        return (arrow_table(wanted, makers) for makers in ([found] if isinstance(found, Mapping) else found))


_M, _F, _G, _I = metadata_columns, file_columns, group_columns, index_columns
METADATA_TABLES = {
    "snapshots": MetadataTable(_M.SNAPSHOTS, _M.snapshots, _M.OWN_SNAPSHOTS, of_snapshot=False),
    "schemas": MetadataTable(_M.SCHEMAS, _M.schemas, of_snapshot=False),
    "options": MetadataTable(_M.OPTIONS, _M.options, _M.OWN_OPTIONS, of_snapshot=False),
    "manifests": MetadataTable(_M.MANIFESTS, _M.manifests, _M.OWN_MANIFESTS),
    "files": MetadataTable(_F.FILES, _F.file_makers, _F.OWN_FILES, partitioned=True),
    "file_key_ranges": MetadataTable(_F.FILE_KEY_RANGES, _F.file_makers, partitioned=True),
    "file_indexes": MetadataTable(_I.FILE_INDEXES, _I.file_indexes, partitioned=True),
    "partitions": MetadataTable(_G.PARTITIONS, _G.partition_sums, partitioned=True),
    "buckets": MetadataTable(_G.BUCKETS, _G.bucket_sums, _G.OWN_BUCKETS, partitioned=True),
    "table_indexes": MetadataTable(_I.TABLE_INDEXES, _I.table_indexes, partitioned=True),
    "tags": MetadataTable(_M.TAGS, _M.tags, of_snapshot=False),
    "branches": MetadataTable(_M.BRANCHES, _M.branches, of_snapshot=False),
    "consumers": MetadataTable(_M.CONSUMERS, _M.consumers, of_snapshot=False),
    "statistics": MetadataTable(_M.STATISTICS, _M.statistics),
    "aggregation_fields": MetadataTable(_M.AGGREGATION_FIELDS, _M.aggregation_fields, of_snapshot=False),
}
