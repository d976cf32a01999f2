"""Column groups: read the rows of a range of row ids whose columns are in several files (format 17).

A column is read from the newest file that contains it; if no file contains it, its values are null. Only files with
requested columns are opened, and one batch of each opened file is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core.errors import CorruptTable
from paimon_core.lsm.merge import RowFilter
from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.row_ranges import Group, anchor, column_ids
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import ROW_ID_FIELD, TRACKING_IDS, DataField

_BATCH_ROWS = 1 << 16


def read_group(
    reader: BucketReader, group: Group, fields: Sequence[DataField], late: RowFilter | None
) -> Iterator[pa.Table]:
    """Yield the rows of one range of row ids that are not deleted and that ``late`` selects.

    ``group``: the files of the range, the newest first.

    Raises CorruptTable for a broken file, and for a NOT NULL column that no file contains.
    """
    deleted = reader.deleted(anchor(group))
    positions = {} if deleted is None else dict.fromkeys((f.file_name for f in group), deleted)
    reader = replace(reader, vectors={}, positions=positions)
    sources = [
        reader.file(file, wanted, beside=len(group))
        for file, wanted in _chosen(reader, group, fields).items()
        if wanted
    ]
    names = [f.name for f in fields]
    if not sources or not TRACKING_IDS.isdisjoint(f.id for f in fields):
        sources.append(_ids(group[0], deleted))
    newest = group[0].max_sequence_number
    for columns in _side_by_side(sources):
        count = len(next(iter(columns.values())))
        arrays = []
        for field in fields:
            array = columns.get(field.name)
            if array is None and field.id in TRACKING_IDS:
                array = pa.repeat(pa.scalar(newest, pa.int64()), count)
            arrays.append(pa.nulls(count, field.arrow.type) if array is None else array)
        rows = pa.table(arrays, names)
        yield rows if late is None else late.kept(rows)


def _chosen(reader: BucketReader, group: Group, fields: Sequence[DataField]) -> dict[DataFile, list[DataField]]:
    """Return, for each file of the group, the fields to read from it."""
    out: dict[DataFile, list[DataField]] = {file: [] for file in group}
    contents = [(file, column_ids(file, reader.context.schemas.read(file.schema_id))) for file in group]
    for field in fields:
        if field.id in TRACKING_IDS:
            continue
        file = next((file for file, ids in contents if field.id in ids), None)
        if file is not None:
            out[file].append(field)
        elif not field.type.nullable:
            raise CorruptTable(
                f"column {field.name!r} is NOT NULL, and none of the files with the row ids from "
                f"{group[0].first_row_id} on contains it: {', '.join(f.file_name for f in group)}",
                column=field.name,
            )
    return out


def _ids(file: DataFile, deleted: np.ndarray | None) -> Iterator[pa.RecordBatch]:
    """Yield the row ids of the rows of a file that are not deleted, computed without opening the file."""
    for start in range(0, file.row_count, _BATCH_ROWS):
        positions = np.arange(start, min(start + _BATCH_ROWS, file.row_count))
        if deleted is not None:
            positions = np.setdiff1d(positions, deleted, assume_unique=True)
        if len(positions):
            ids = pa.array(positions + (file.first_row_id or 0))
            yield pa.RecordBatch.from_arrays([ids], schema=pa.schema([ROW_ID_FIELD.arrow]))


def _side_by_side(sources: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[dict[str, pa.Array]]:
    """Yield the columns of all sources for the same rows, a few rows at a time.

    Raises CorruptTable when the sources have different numbers of rows.
    """
    held = [next(source, None) for source in sources]
    while all(batch is not None for batch in held):
        batches = [batch for batch in held if batch is not None]
        count = min(map(len, batches))
        yield {name: batch[name].slice(0, count) for batch in batches for name in batch.schema.names}
        held = [
            batch.slice(count) if len(batch) > count else next(source, None)
            for batch, source in zip(batches, sources, strict=True)
        ]
    if any(batch is not None for batch in held):
        raise CorruptTable("files with the same row ids have different numbers of rows")
