"""Row ids: the ids and sequence numbers that a commit gives to the rows of its files (format 17).

The ids and numbers depend on the base of the commit, so each attempt computes them again. Two commits never assign the
same id, and the rows of the later commit have the higher sequence numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.schema import ROW_ID


def with_row_ids(
    entries: Sequence[ManifestEntry], snapshot_id: int, next_row_id: int, *, by_partition: bool
) -> tuple[list[ManifestEntry], int]:
    """Return the entries with row ids from ``next_row_id`` on, and the first id that is not used.

    Files of new rows get the id of their first row; files that contain ids keep their ids. Sequence numbers of 0 become
    ``snapshot_id``. ``by_partition``: the ids of the new rows of each partition are consecutive.
    """
    if by_partition:
        places = {partition: at for at, partition in enumerate(dict.fromkeys(e.partition for e in entries))}
        entries = sorted(entries, key=lambda e: places[e.partition])
    out = []
    for entry in entries:
        if entry.kind is FileKind.ADD:
            file = _numbered(entry.file, snapshot_id)
            if _is_new(file):
                file = replace(file, first_row_id=next_row_id)
                next_row_id += file.row_count
            entry = replace(entry, file=file)
        out.append(entry)
    return out, next_row_id


def _is_new(file: DataFile) -> bool:
    """Whether the rows of a file have no ids yet."""
    kept = file.write_cols is not None and ROW_ID in file.write_cols
    return file.file_source is not FileSource.COMPACT and file.first_row_id is None and not kept


def _numbered(file: DataFile, snapshot_id: int) -> DataFile:
    if file.min_sequence_number == 0:
        return replace(file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)
    if file.max_sequence_number == 0:
        return replace(file, max_sequence_number=snapshot_id)
    return file
