"""Index checks: index manifest, statistics file, and the metadata of deletion vectors of a snapshot (I6, I16)."""

from __future__ import annotations

from typing import Any

from paimon_core.codec.record_file import read_records
from paimon_core.errors import CorruptTable
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import LiveFiles
from paimon_core.metadata.snapshot import Snapshot

VECTORS = "DELETION_VECTORS"


def check_indexes(run: CheckRun, files: LiveFiles, snapshot: Snapshot, location: Location) -> None:
    """Check that index files exist, and that each deletion vector fits one live data file of its bucket."""
    context, collector = run.context, run.collector
    if snapshot.statistics is not None and run.plain(snapshot.statistics, location):
        path = context.paths.statistics(snapshot.statistics)
        run.reached.add(path)
        run.has_file(path, location)
    name = snapshot.index_manifest
    if name is None or not run.plain(name, location):
        return
    path = context.paths.manifest(name)
    run.reached.add(path)
    if not run.has_file(path, location):
        return
    with collector.guarding("I6", location, path):
        seen: dict[str, str] = {}
        for record in read_records(context.storage.read(path), path):
            _check_index(run, record, path, location)
            if record.get("_INDEX_TYPE") == VECTORS:
                run.has_vectors = True
                _check_vectors(run, files, record, seen, location)


def _check_index(run: CheckRun, record: dict[str, Any], path: str, location: Location) -> None:
    try:
        name, size = record["_FILE_NAME"], record["_FILE_SIZE"]
    except KeyError as error:
        raise CorruptTable(f"{path}: its records have no field {error}", path=path) from None
    if record.get("_EXTERNAL_PATH") is None and run.plain(name, location):
        index = run.context.paths.index(name)
        run.reached.add(index)
        run.has_file(index, location, size)


def _check_vectors(
    run: CheckRun, files: LiveFiles, record: dict[str, Any], seen: dict[str, str], location: Location
) -> None:
    place = (record["_PARTITION"], record["_BUCKET"])
    live = {e.file.file_name: e.file for e in files.buckets.get(place, {}).values()}
    for invariant in ("I16", "I17"):
        run.collector.skip(invariant, "the positions in deletion vectors are not read")
    for item in record.get("_DELETIONS_VECTORS_RANGES") or ():
        name, count = item["f0"], item.get("_CARDINALITY")
        run.collector.check("I16")
        problem = None
        if name in seen:
            problem = f"has two of them, in {seen[name]} and in {record['_FILE_NAME']}"
        elif name not in live:
            problem = "is not live in its bucket"
        elif count is not None and not 0 < count <= live[name].row_count:
            problem = f"has {live[name].row_count} rows, {count} of them deleted"
        seen[name] = record["_FILE_NAME"]
        if problem is not None:
            run.collector.find("I16", location, f"{location.holder}: deletion vector for {name}: the file {problem}")
