"""The index manifest and the statistics file of a snapshot; deletion vectors as far as metadata tells (I6, I16)."""

from __future__ import annotations

from typing import Any

from paimon_core.codec.record_file import read_records
from paimon_core.errors import CorruptTable
from paimon_core.fsck.check_context import Survey
from paimon_core.fsck.finding_collector import Spot
from paimon_core.fsck.live_files import LiveFiles
from paimon_core.metadata.snapshot import Snapshot

VECTORS = "DELETION_VECTORS"


def check_indexes(survey: Survey, files: LiveFiles, snapshot: Snapshot, spot: Spot) -> None:
    """Each index file is there; each deletion vector is of one live file of its bucket, and not larger than that."""
    context, notes = survey.context, survey.notes
    if snapshot.statistics is not None and survey.plain(snapshot.statistics, spot):
        path = context.paths.statistics(snapshot.statistics)
        survey.reached.add(path)
        survey.has_file(path, spot)
    name = snapshot.index_manifest
    if name is None or not survey.plain(name, spot):
        return
    path = context.paths.manifest(name)
    survey.reached.add(path)
    if not survey.has_file(path, spot):
        return
    with notes.guarding("I6", spot, path):
        told: dict[str, str] = {}
        for record in read_records(context.storage.read(path), path):
            _check_index(survey, record, path, spot)
            if record.get("_INDEX_TYPE") == VECTORS:
                survey.has_vectors = True
                _check_vectors(survey, files, record, told, spot)


def _check_index(survey: Survey, record: dict[str, Any], path: str, spot: Spot) -> None:
    try:
        name, size = record["_FILE_NAME"], record["_FILE_SIZE"]
    except KeyError as error:
        raise CorruptTable(f"{path}: its records have no field {error}", path=path) from None
    if record.get("_EXTERNAL_PATH") is None and survey.plain(name, spot):
        index = survey.context.paths.index(name)
        survey.reached.add(index)
        survey.has_file(index, spot, size)


def _check_vectors(survey: Survey, files: LiveFiles, record: dict[str, Any], told: dict[str, str], spot: Spot) -> None:
    place = (record["_PARTITION"], record["_BUCKET"])
    live = {e.file.file_name: e.file for e in files.buckets.get(place, {}).values()}
    for invariant in ("I16", "I17"):
        survey.notes.skip(invariant, "the positions in deletion vectors are not read")
    for item in record.get("_DELETIONS_VECTORS_RANGES") or ():
        name, count = item["f0"], item.get("_CARDINALITY")
        survey.notes.check("I16")
        problem = None
        if name in told:
            problem = f"has two: in {told[name]} and in {record['_FILE_NAME']}"
        elif name not in live:
            problem = "is not live in its bucket"
        elif count is not None and not 0 < count <= live[name].row_count:
            problem = f"has {live[name].row_count} rows, {count} of them deleted"
        told[name] = record["_FILE_NAME"]
        if problem is not None:
            survey.notes.find("I16", spot, f"{spot.holder}: deletion vector for {name}: the file {problem}")
