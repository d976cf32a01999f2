"""Inspect: the metadata of a table as Arrow tables, such as one row per snapshot, file, manifest or bucket."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from paimon_core.display import Displayed, Summary
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.summaries import place
from paimon_core.table.system.metadata_tables import METADATA_TABLES
from paimon_core.table.system.source import Source


@dataclass(frozen=True, repr=False)
class Inspect(Displayed):
    """The system tables of metadata; tables about one snapshot describe the pinned snapshot, or the latest.

    Every method returns one Arrow table with the columns that docs/system-tables.md lists. ``Table.system`` reads the
    same tables with a filter and with some columns only.
    """

    context: TableContext
    pinned: Snapshot | None = None

    def _summary(self) -> Summary:
        return Summary(place(self.context, self.pinned))

    def _read(self, name: str) -> pa.Table:
        table = METADATA_TABLES[name]
        fields = table.fields(self.context)
        found = list(table.tables(Source(self.context, self.pinned), fields))
        return pa.concat_tables([pa.schema([f.arrow for f in fields]).empty_table(), *found])

    def snapshots(self) -> pa.Table:
        """One row per snapshot that has not expired, oldest first."""
        return self._read("snapshots")

    def schemas(self) -> pa.Table:
        """One row per schema version; fields, keys and options are JSON texts."""
        return self._read("schemas")

    def options(self) -> pa.Table:
        """One row per option in the schema file, with its effect in this library: see ``paimon_core.options.Use``."""
        return self._read("options")

    def manifests(self) -> pa.Table:
        """One row per manifest of the base, delta and changelog list; a missing changelog list gives no rows."""
        return self._read("manifests")

    def files(self) -> pa.Table:
        """One row per live data file; keys and statistics are texts in the format of Java Paimon."""
        return self._read("files")

    def file_key_ranges(self) -> pa.Table:
        """One row per live data file, with its smallest and its largest key."""
        return self._read("file_key_ranges")

    def file_indexes(self) -> pa.Table:
        """One row per data file, indexed column and kind of index."""
        return self._read("file_indexes")

    def partitions(self) -> pa.Table:
        """One row per partition: physical rows (before merging), bytes, files."""
        return self._read("partitions")

    def buckets(self) -> pa.Table:
        """One row per bucket: physical rows (before merging), bytes, files, level-0 files and sorted runs."""
        return self._read("buckets")

    def table_indexes(self) -> pa.Table:
        """One row per table index file: hash indexes and deletion vectors."""
        return self._read("table_indexes")

    def tags(self) -> pa.Table:
        """One row per tag, sorted by name."""
        return self._read("tags")

    def branches(self) -> pa.Table:
        """One row per branch except main, sorted by name."""
        return self._read("branches")

    def consumers(self) -> pa.Table:
        """One row per consumer, sorted by name."""
        return self._read("consumers")

    def statistics(self) -> pa.Table:
        """The statistics of the last ANALYZE: one row; no row without statistics."""
        return self._read("statistics")

    def aggregation_fields(self) -> pa.Table:
        """One row per column, with the options of its merge function."""
        return self._read("aggregation_fields")
