"""Row ids: with row tracking, every live row has a different id, below the snapshot's next id (I36, format 17)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from paimon_core.errors import PaimonError, UnsupportedFeature
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import Place
from paimon_core.fsck.files.row_fingerprints import vectors_at
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import ROW_ID, ROW_ID_FIELD
from paimon_core.table_indexes.live_vectors import Vectors


def check_row_ids(run: CheckRun, files: CheckedFiles, snapshot: Snapshot, location: Location) -> None:
    """Check the row ids that the manifest entries state; a deep check also reads the row ids stored in files.

    Uses 8 bytes for each row of the files that contain ids or have deleted rows.
    """
    if not run.context.tracks_rows:
        run.collector.skip("I36", "the table has no row tracking")
        return
    run.collector.check("I36")
    vectors = vectors_at(run.context, snapshot)
    ranges, read = [], [np.zeros(0, np.int64)]
    for place, entries in files.live.buckets():
        for file in (e.file for e in entries):
            deleted = file.file_name in vectors.get(place, {})
            stated = file.first_row_id is not None and ROW_ID not in (file.write_cols or ())
            if stated:
                ranges.append((file.first_row_id or 0, (file.first_row_id or 0) + file.row_count, file, deleted))
            elif file.first_row_id is None and ROW_ID not in (file.write_cols or ()):
                _find(run, location, f"the rows of {file.file_name} have no ids")
            if run.deep and (not stated or deleted) and file.file_name not in run.broken:
                read += _ids(run, place, file, vectors)
    following = snapshot.next_row_id or 0
    ranges.sort(key=lambda r: r[:2])
    for at, (first, end, file, _) in enumerate(ranges):
        if first < 0 or end > following:
            _find(run, location, f"{file.file_name} has ids up to {end - 1}, and the next id is {following}")
        if at and first < ranges[at - 1][1] and not run.context.evolves:
            _find(run, location, f"{file.file_name} and {ranges[at - 1][2].file_name} have ids from {first} on")
    if run.deep and not run.context.evolves:
        whole = [(first, end) for first, end, _, deleted in ranges if not deleted]
        for problem in _problems(np.sort(np.concatenate(read)), whole, following):
            _find(run, location, problem)


def _ids(run: CheckRun, place: Place, file: DataFile, vectors: Mapping[Place, Vectors]) -> list[np.ndarray]:
    """Return the ids of the live rows of a file; [] for an unreadable file, which the check of I6 or I10 reports."""
    reader = BucketReader(run.context, *place, vectors=vectors.get(place, {}))
    try:
        return [batch.column(0).to_numpy() for batch in reader.file(file, [ROW_ID_FIELD])]
    except UnsupportedFeature as error:
        run.collector.skip("I36", str(error))
    except PaimonError:
        pass
    return []


def _problems(ids: np.ndarray, whole: Iterable[tuple[int, int]], following: int) -> list[str]:
    """Return a message for each error in the sorted ``ids``.

    ``whole`` contains the ranges of ids of the files whose ids were not read, in ascending order.
    """
    found = []
    if len(ids) and not 0 <= ids[0] <= ids[-1] < following:
        found.append(f"rows have ids from {ids[0]} to {ids[-1]}, and the next id is {following}")
    twice = ids[1:][ids[1:] == ids[:-1]]
    if not len(twice):
        bounds = np.array(list(whole), np.int64).reshape(-1, 2)
        at = np.searchsorted(bounds[:, 0], ids, side="right") - 1
        twice = ids[(at >= 0) & (ids < bounds[at, 1])] if len(bounds) else twice
    if len(twice):
        found.append(f"two rows have the id {twice[0]}")
    return found


def _find(run: CheckRun, location: Location, message: str) -> None:
    run.collector.find("I36", location, f"{location.holder}: {message}")
