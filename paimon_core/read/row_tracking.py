"""Row tracking: the ids and sequence numbers of the rows of a data file (format 17).

A file whose rows were never rewritten has no columns for the ids and sequence numbers. Then the id of a row is the id
of the file's first row plus the position of the row, and the sequence number of a row is the largest sequence number of
the file. In a file that has these columns, nulls are replaced by ids and sequence numbers that are computed in this
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import CorruptTable
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import ROW_ID, SEQUENCE_NUMBER, TRACKING_IDS, DataField, TableSchema

_POSITION = "\x00row"


@dataclass(frozen=True, slots=True)
class Tracked:
    """Computes the columns of row tracking in the batches of one file."""

    file: DataFile
    path: str
    position: str
    """The name of the column with the position of each row in the file."""
    keeps_position: bool
    evolves: bool
    """Whether the table has data evolution. Then the ids of the manifest entry are used.

    The ids in the file may be out of date.
    """

    @staticmethod
    def of(
        file: DataFile, fields: Sequence[DataField], path: str, position: str | None, *, evolves: bool
    ) -> Tracked | None:
        """Return a Tracked for the columns of row tracking among ``fields``; None when there are none.

        ``position``: the name of the position column that the read requests, or None.
        """
        if TRACKING_IDS.isdisjoint(f.id for f in fields):
            return None
        return Tracked(file, path, position or _POSITION, position is not None, evolves)

    def schema_of(self, schema: TableSchema) -> TableSchema:
        """Return ``schema`` with the columns of row tracking, in which any value may be null, to read the file."""
        return schema.tracked(id_nullable=True, sequence_nullable=True)

    def filled(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with missing row ids and sequence numbers filled in; raises CorruptTable without an id."""
        for name in (ROW_ID, SEQUENCE_NUMBER):
            at = batch.schema.get_field_index(name)
            if at < 0:
                continue
            column, field = batch.column(at), batch.schema.field(at)
            if name == ROW_ID and self.evolves:
                batch = batch.set_column(at, field, self._ids(batch))
            elif column.null_count:
                default = self._ids(batch) if name == ROW_ID else pa.scalar(self.file.max_sequence_number)
                batch = batch.set_column(at, field, pc.coalesce(column, default))
        return batch if self.keeps_position else batch.drop_columns([self.position])

    def _ids(self, batch: pa.RecordBatch) -> pa.Array:
        if self.file.first_row_id is None:
            raise CorruptTable(
                f"data file {self.path} has rows without an id: neither its manifest entry nor the rows contain ids",
                path=self.path,
            )
        return pc.add(batch.column(self.position), pa.scalar(self.file.first_row_id, pa.int64()))
