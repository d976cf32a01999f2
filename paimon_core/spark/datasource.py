"""``format("paimon")``: a Spark data source for users of the DataFrame reader and writer.

    spark.dataSource.register(PaimonDataSource)
    spark.read.format("paimon").option("warehouse", "lake").load("ods.flights")
    df.write.format("paimon").option("warehouse", "lake").mode("append").save("ods.flights")
    spark.readStream.format("paimon").option("warehouse", "lake").load("ods.flights")
    df.writeStream.format("paimon").option("warehouse", "lake").option("checkpointLocation", place).start("ods.flights")

Columns and rows are not pruned automatically: pass the options ``columns`` and ``where``. ``pushFilters`` is not
overridden on purpose: in Spark 4.3.0, pushed filters also apply to other reads of the same DataFrame, which gives wrong
results. Spark keeps the plan of a DataFrame and of a temporary view. So a view shows no rows that were committed after
its creation, not even rows that were inserted through the view. Create the view again to read newer rows. Rows are not
shuffled by bucket before they are written. So there are more and smaller files than with ``write_spark``. When one
write contains several rows of a key, it is not defined which row is the newest.

System tables are read as ``load("db.table$files")`` and ``load("sys.tables")`` (docs/system-tables.md).

A Python data source has no stage between the tasks that write and the commit. The buckets of some rows depend on all
rows of the job (dynamic buckets, fixed buckets of a table with bucket = -2). The tasks write such rows to staged files,
and the driver alone writes them to their buckets before it commits. This is suitable for small writes; ``write_spark``
writes the rows to buckets in tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StringType, StructField, StructType

from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.open import open_catalog
from paimon_core.errors import InvalidOption, InvalidRequest
from paimon_core.options.scan_position import POSITIONS
from paimon_core.query.scan import Scan
from paimon_core.read.columns import result_fields
from paimon_core.spark.packing import UNKNOWN_CORES, packed
from paimon_core.spark.reads.reader import SplitReader
from paimon_core.spark.reads.split_tasks import joined
from paimon_core.spark.reads.system_reader import SystemReader
from paimon_core.spark.reference import TableReference
from paimon_core.spark.streams.sink import USER, PaimonStreamWriter, query_user
from paimon_core.spark.streams.source import LIMITS, Limits, PaimonStreamReader
from paimon_core.spark.types import arrow_schema, spark_schema
from paimon_core.spark.writes.data_columns import check_columns
from paimon_core.spark.writes.merged_schema import MERGE_OPTIONS, merge_rules, merged_for, parsed_bool
from paimon_core.spark.writes.task_writer import placed_messages, write_task
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.system.system_table import SystemTable
from paimon_core.table.table import Table
from paimon_core.table.view import TableView

_READ_OPTIONS = frozenset({"warehouse", "path", "columns", "where", "snapshot", "tag", "timestampsinmicros"})
_CATALOG_READ_OPTIONS = frozenset({"warehouse", "path", "columns"})
"""Options of a read of a system table of the catalog, such as ``sys.tables``.

A read of a system table of a table, such as ``db.t$files``, also has the options snapshot, tag and ``_INCREMENTAL``.
"""
_WRITE_OPTIONS = frozenset({"warehouse", "path", "kinds"}) | MERGE_OPTIONS
_OF_TABLE = frozenset({*POSITIONS, "consumer-id", "consumer.ignore-progress", "streaming-read-append-overwrite"})
"""Options of a streaming read that are also options of the table."""
_CHANGELOG, _ON_OVERWRITE = "read.changelog", "on.overwrite"
_INCREMENTAL = frozenset(
    {
        "incremental-between",
        "incremental-between-scan-mode",
        "incremental-between-tag-to-snapshot",
        "incremental-between-timestamp",
        "incremental-to-auto-tag",
    }
)
"""Options of batch reads with row kinds that are also options of the table."""
_STREAM_OPTIONS = frozenset({"warehouse", "path", "columns", _CHANGELOG, _ON_OVERWRITE, *LIMITS}) | _OF_TABLE
_SINK_OPTIONS = frozenset({"warehouse", "path", "kinds", "checkpointlocation", "queryname", USER})
_KIND = StructField("rowkind", StringType(), False)


class PaimonDataSource(DataSource):
    """The data source ``paimon``.

    Options of reads: warehouse, columns, where (a text, see docs/filters.md), snapshot, tag, timestampsInMicros (as in
    ``read_spark``), read.changelog (the rows of ``$audit_log``), and together with read.changelog also incremental-*
    (as for ``$audit_log`` and ``$binlog``). Options of writes: warehouse, kinds, and mergeSchema or write.merge-schema;
    the last two also with the endings .type-widening and .explicit-cast. Options of streams are in docs/streams.md.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "paimon"

    def schema(self) -> StructType:
        """Return the Spark schema of the columns to read."""
        if self._is_system() or _INCREMENTAL & self.options.keys():
            system = self._system_table()
            return spark_schema(system.scan(self._named(system.arrow_schema.names)).fields)
        if any(option.lower() in _STREAM_OPTIONS - _READ_OPTIONS for option in self.options):
            table = self._stream_table()
            columns = spark_schema(table.schema.select(self._columns(table)))
            return StructType([_KIND, *columns.fields]) if self._with_kinds() else columns
        scan = self._scan()
        return spark_schema(result_fields(scan.context.schema, scan.columns))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of one snapshot, of a system table, or with ``read.changelog`` of rows with their kinds."""
        if self._is_system():
            system = self._system_table()
            return SystemReader(system, self._named(system.arrow_schema.names))
        if self._with_kinds():
            system = self._system_table()
            names = [name for name in self._named(system.arrow_schema.names) if name != _KIND.name]
            return SystemReader(system, [_KIND.name, *names])
        return PaimonReader(self._scan(), cuts=self._cuts())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return a writer; with ``overwrite``, it replaces the partitions that the data contains, or the whole table.

        The table's options decide which (``Table.overwrite_spec``). A write that merges schemas alters the table in
        this call, on the driver, before the tasks start.
        """
        if self._is_system():
            self._system_table().refuse("write")
        table, kinds = self._table(_WRITE_OPTIONS), self.options.get("kinds")
        rules = merge_rules(table, self.options)
        skipped = () if kinds is None else {kinds}
        table = merged_for(table, schema, False if rules is None else rules, skipped)
        check_columns(table.schema, schema, skipped)
        return PaimonWriter(table, kinds, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader that streams the changes of the table."""
        table = self._stream_table()
        rule = self.options.get(_ON_OVERWRITE)
        limits = Limits.of(self.options)
        return PaimonStreamReader(table, self._columns(table), limits, kinds=self._with_kinds(), on_overwrite=rule)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Return a writer that commits each batch exactly once.

        With ``overwrite``, each batch replaces the whole content of the table.
        """
        table = self._table(_SINK_OPTIONS)
        kinds, user = self.options.get("kinds"), query_user(self.options, table.name)
        check_columns(table.schema, schema, () if kinds is None else {kinds})
        return PaimonStreamWriter(table, kinds, user, overwrite=overwrite)

    def _stream_table(self) -> Table:
        found = {key: value for key, value in self.options.items() if key.lower() in _OF_TABLE}
        return self._table(_STREAM_OPTIONS).with_options(found)

    def _with_kinds(self) -> bool:
        return parsed_bool(_CHANGELOG, self.options.get(_CHANGELOG, "false"))

    def _is_system(self) -> bool:
        return Identifier.is_system(self.options.get("path"))

    def _system_table(self) -> SystemTable:
        """Return the system table that the path names.

        With read.changelog, return ``$audit_log`` of the table that the path names.
        """
        if not self._is_system():
            if not self._with_kinds():
                raise InvalidOption(f"options incremental-* need {_CHANGELOG} = true", option=_CHANGELOG)
            return self._audited(self.options["path"], "audit_log", {_CHANGELOG})
        text, kind = Identifier.split_system(self.options["path"])
        if text is not None:
            return self._audited(text, kind, set())
        self._check_options(_CATALOG_READ_OPTIONS)
        return open_catalog(self.options["warehouse"]).system_table(self.options["path"])

    def _audited(self, table: str, kind: str, more: set[str]) -> SystemTable:
        allowed = _CATALOG_READ_OPTIONS | {"snapshot", "tag"} | _INCREMENTAL | more
        changes = {key: value for key, value in self.options.items() if key.lower() in _INCREMENTAL}
        return self._view(allowed, table).with_options(changes).system_table(kind)

    def _table(self, allowed: frozenset[str], name: str | None = None) -> Table:
        self._check_options(allowed)
        return open_catalog(self.options["warehouse"]).table(name or self.options["path"])

    def _view(self, allowed: frozenset[str], name: str | None = None) -> TableView:
        """Return the table, or the version of the table that the options snapshot and tag select."""
        table = self._table(allowed, name)
        snapshot, tag = self.options.get("snapshot"), self.options.get("tag")
        if snapshot is None and tag is None:
            return table
        if snapshot is not None and not re.fullmatch(r"[0-9]{1,19}", snapshot):
            raise InvalidOption(f"option snapshot = {snapshot!r:.60} is not a snapshot id", option="snapshot")
        return table.at(snapshot=None if snapshot is None else int(snapshot), tag=tag)

    def _scan(self) -> Scan:
        """Return the scan of a batch read of one snapshot."""
        view = self._view(_READ_OPTIONS).reading()
        return view.scan(self._columns(view), self.options.get("where"), timestamps_in_micros=self._cuts())

    def _check_options(self, allowed: frozenset[str]) -> None:
        for option in self.options:
            if option.lower() not in allowed:
                raise InvalidOption(
                    f"option {option!r} is not supported; the options are {', '.join(sorted(allowed))}", option=option
                )
        for needed in ("warehouse", "path"):
            if needed not in self.options:
                word = "the table: .load('db.table')" if needed == "path" else "the option warehouse"
                raise InvalidOption(f'format("paimon") needs {word}', option=needed)

    def _cuts(self) -> bool:
        return parsed_bool("timestampsInMicros", self.options.get("timestampsInMicros", "false"))

    def _columns(self, table: TableView) -> Sequence[str]:
        return self._named(table.schema.names)

    def _named(self, every: Sequence[str]) -> Sequence[str]:
        text = self.options.get("columns")
        if text is None:
            return every
        names = [name.strip() for name in text.split(",")]
        for name, count in Counter(names).items():
            if count > 1:
                raise InvalidRequest(f"columns names {name!r} twice", column=name)
        return names


@dataclass
class SplitPartition(InputPartition):
    """Serialized splits as a Spark input partition; Spark runs one task for each input partition."""

    splits: tuple[bytes, ...] = ()


class PaimonReader(DataSourceReader):
    """Reads the splits of one plan."""

    def __init__(self, scan: Scan, *, cuts: bool) -> None:
        schema = arrow_schema(result_fields(scan.context.schema, scan.columns))
        self._work = SplitReader(TableReference.of(scan.context), scan.columns, scan.where, schema, cuts)
        splits = scan.splits()
        groups = packed([split.size_bytes for split in splits], UNKNOWN_CORES)
        self._tasks = [tuple(splits[at].to_bytes() for at in group) for group in groups]

    def partitions(self) -> Sequence[InputPartition]:
        """Return one input partition per task; small splits share an input partition."""
        return [SplitPartition(task) for task in self._tasks] or [SplitPartition()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the splits of a task."""
        assert isinstance(partition, SplitPartition)
        yield from joined(self._work(partition.splits))


class PaimonWriter(DataSourceArrowWriter):
    """Writes files in the tasks and commits on the driver."""

    def __init__(self, table: Table, kinds: str | None, overwrite: bool) -> None:
        table.context.options.check_writable(table.name)
        self._reference = TableReference.of(table.context)
        self._kinds = kinds
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the files of one task and return their messages; delete the files when the task fails."""
        return write_task(self._reference.open(), iterator, self._kinds, overwrite=self._overwrite)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the messages of all tasks in one commit; before that, write staged rows to their buckets."""
        table = Table(self._reference.open())
        found = placed_messages(table.context, messages, overwrites=self._overwrite)
        request = CommitRequest.of(table.context, None, None, None)
        table.complete(request, found, table.overwrite_spec() if self._overwrite else None)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Keep all files: Spark also calls this when ``commit`` raises after the commit has succeeded."""
