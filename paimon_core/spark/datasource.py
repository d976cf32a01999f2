"""``format("paimon")``: a Spark data source for users of the DataFrame reader and writer.

    spark.dataSource.register(PaimonDataSource)
    spark.read.format("paimon").option("warehouse", "lake").load("ods.flights")
    df.write.format("paimon").option("warehouse", "lake").mode("append").save("ods.flights")

Columns are not pruned automatically: pass the option ``columns``. ``pushFilters`` is not overridden on purpose: in
Spark 4.3.0, pushed filters also apply to other reads of the same DataFrame, which gives wrong results. Rows are not
shuffled by bucket before they are written. So there are more and smaller files than with ``write_spark``, and when one
write contains several rows of a key, any of them may be the last.

A Python data source has no stage between the tasks that write and the commit. Rows whose buckets depend on all rows of
the job (dynamic buckets, fixed buckets of a postponed table) are therefore staged by the tasks, and written to their
buckets by the process that commits, alone. That suits small writes: ``write_spark`` does it in tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from paimon_core.arrow import gather
from paimon_core.catalog.open import open_catalog
from paimon_core.errors import InvalidOption
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.read.split_reader import read_split
from paimon_core.scan.split import Split
from paimon_core.spark.merged_schema import MERGE_OPTIONS, merge_rules, merged_for, parsed_bool
from paimon_core.spark.placement import in_this_process, place
from paimon_core.spark.reference import TableReference
from paimon_core.spark.types import arrow_schema, spark_schema, to_spark
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.write.staging import Staged, StagingWriter, is_staged, rows_wait
from paimon_core.write.table_writer import TableWriter

_READ_OPTIONS = frozenset({"warehouse", "path", "columns", "snapshot", "tag", "timestampsinmicros"})
_WRITE_OPTIONS = frozenset({"warehouse", "path", "kinds"}) | MERGE_OPTIONS


class PaimonDataSource(DataSource):
    """The data source ``paimon``.

    Options of reads: warehouse, columns, snapshot, tag, timestampsInMicros (as in ``read_spark``); of writes:
    warehouse, kinds, and mergeSchema or write.merge-schema with its parts type-widening and explicit-cast.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "paimon"

    def schema(self) -> StructType:
        """Return the schema of the columns that are read."""
        table = self._table(_READ_OPTIONS).reading()
        seen = in_microseconds(table.context) if self._cuts() else table.context
        return spark_schema(seen.schema.select(self._columns(table)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of one snapshot."""
        table = self._table(_READ_OPTIONS).reading()
        return PaimonReader(table, self._columns(table), cuts=self._cuts())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return a writer; ``overwrite`` replaces the partitions in the data, or the table (``overwrite_spec``).

        A write that merges schemas alters the table here, on the driver, before its tasks start.
        """
        table, kinds = self._table(_WRITE_OPTIONS), self.options.get("kinds")
        rules = merge_rules(table, self.options)
        table = merged_for(table, schema, False if rules is None else rules, {kinds} if kinds else ())
        return PaimonWriter(table, kinds, overwrite)

    def _table(self, allowed: frozenset[str]) -> Table:
        for option in self.options:
            if option.lower() not in allowed:
                raise InvalidOption(
                    f"option {option!r} is not supported; the options are {', '.join(sorted(allowed))}", option=option
                )
        for needed in ("warehouse", "path"):
            if needed not in self.options:
                word = "the table: .load('db.table')" if needed == "path" else "the option warehouse"
                raise InvalidOption(f'format("paimon") needs {word}', option=needed)
        table = open_catalog(self.options["warehouse"]).table(self.options["path"])
        snapshot, tag = self.options.get("snapshot"), self.options.get("tag")
        if snapshot is None and tag is None:
            return table
        if snapshot is not None and not snapshot.isdecimal():
            raise InvalidOption(f"option snapshot = {snapshot!r} is not a snapshot id", option="snapshot")
        return table.at(snapshot=None if snapshot is None else int(snapshot), tag=tag)

    def _cuts(self) -> bool:
        return parsed_bool("timestampsInMicros", self.options.get("timestampsInMicros", "false"))

    def _columns(self, table: Table) -> Sequence[str]:
        text = self.options.get("columns")
        return [c.strip() for c in text.split(",")] if text else table.schema.names


@dataclass
class SplitPartition(InputPartition):
    """One split, serialized, as a Spark input partition; None for a read without splits."""

    split: bytes | None = None


class PaimonReader(DataSourceReader):
    """Reads the splits of one plan."""

    def __init__(self, table: Table, columns: Sequence[str], *, cuts: bool) -> None:
        self._reference = TableReference.of(table.context)
        self._columns = list(columns)
        self._cuts = cuts
        self._splits = [s.to_bytes() for s in table.scan(columns, timestamps_in_micros=cuts).splits()]
        self._schema = arrow_schema(self._seen(table.context).schema.select(columns))

    def _seen(self, context: TableContext) -> TableContext:
        return in_microseconds(context) if self._cuts else context

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition per split."""
        return [SplitPartition(s) for s in self._splits] or [SplitPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one split."""
        assert isinstance(partition, SplitPartition)
        if partition.split is not None:
            for table in read_split(
                self._seen(self._reference.open()), Split.from_bytes(partition.split), self._columns
            ):
                yield from to_spark(table, self._schema).to_batches()


@dataclass
class Messages(WriterCommitMessage):
    """The serialized commit messages of one task (``Staged``)."""

    messages: bytes


class PaimonWriter(DataSourceArrowWriter):
    """Writes files in the tasks and commits on the driver."""

    def __init__(self, table: Table, kinds: str | None, overwrite: bool) -> None:
        table.context.options.check_writable(table.name)
        self._reference = TableReference.of(table.context)
        self._kinds = kinds
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the files of one task and return their messages; deletes the files when it fails."""
        task = TaskContext.get()
        lane = 0 if task is None else task.partitionId()
        context = self._reference.open()
        staging = StagingWriter(context) if _is_placed_at_commit(context) else None
        with staging or TableWriter(context, ignore_existing=self._overwrite, lane=lane) as writer:
            for rows in gather(iterator):
                writer.write(rows, self._kinds)
            found = staging.finish() if staging else Staged(tuple(writer.flush()))
            return Messages(found.to_bytes())

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the messages of all tasks in one commit; staged rows are written to their buckets before."""
        table = Table(self._reference.open())
        written = [Staged.from_bytes(m.messages) for m in messages if isinstance(m, Messages)]
        if _is_placed_at_commit(table.context):
            found = place(table.context, written, in_this_process, overwrites=self._overwrite)
        else:
            found = [message for one in written for message in one.messages]
        request = CommitRequest.of(table.context, None, None, None)
        table.complete(request, found, table.overwrite_spec() if self._overwrite else None)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Keep the files: Spark also calls this when ``commit`` raises after the commit has succeeded."""


def _is_placed_at_commit(context: TableContext) -> bool:
    """Whether the tasks stage their rows; rows that wait for a compaction stay where they are."""
    return is_staged(context) and not rows_wait(context)
