"""SystemReader: reads a system table in Spark.

System tables of metadata are computed on the driver when the read is planned, and sent to tasks as Arrow data. System
tables with rows of the table (``audit_log``, ``binlog``, ``ro``, ``row_tracking``) are read by the tasks, one split
each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from paimon_core.spark.reference import TableReference
from paimon_core.spark.types import arrow_schema, to_spark
from paimon_core.table.system.row_tables import SplitRows, row_table
from paimon_core.table.system.system_table import MetadataRows, SystemTable


@dataclass
class Part(InputPartition):
    """One part of the rows, as an input partition; ``data`` is None for a system table without rows."""

    data: bytes | None = None


class SystemReader(DataSourceReader):
    """Reads some columns of a system table."""

    def __init__(self, table: SystemTable, columns: Sequence[str]) -> None:
        scan = table.scan(columns)
        self._columns = list(columns)
        self._parts = scan.parts()
        self._schema = arrow_schema(scan.fields)
        self._kind, self._name = table.name.rpartition("$")[2], table.name
        self._reference = TableReference.of(scan.rows.context) if isinstance(scan.rows, SplitRows) else None

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition per part."""
        return [Part(data) for data in self._parts] or [Part()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one part."""
        assert isinstance(partition, Part)
        if partition.data is None:
            return
        if self._reference is None:
            tables = MetadataRows.read_part(partition.data)
        else:
            system = row_table(self._reference.open(), None, self._kind, self._name)
            tables = system.scan(self._columns).read(partition.data)
        for table in tables:
            yield from to_spark(table.select(self._columns), self._schema).to_batches()
