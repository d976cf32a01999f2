"""Index checks: index manifest, statistics file and deletion vectors of a snapshot (I6, I16)."""

from __future__ import annotations

from paimon_core.errors import PaimonError
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.metadata.manifests.index_manifest import IndexEntry, IndexFile, decode_indexes
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table_indexes.vector_file import read_vector


def check_indexes(run: CheckRun, files: CheckedFiles, snapshot: Snapshot, location: Location) -> None:
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
        for entry in decode_indexes(context.storage.read(path), path):
            exists = _check_index(run, entry.file, location)
            _check_vectors(run, files, entry, seen, location, readable=exists)


def _check_index(run: CheckRun, file: IndexFile, location: Location) -> bool:
    """Check that an index file exists; return whether it can be read."""
    if file.external_path is not None or not run.plain(file.file_name, location):
        return False
    index = run.context.paths.index(file.file_name)
    run.reached.add(index)
    return run.has_file(index, location, file.file_size)


def _check_vectors(
    run: CheckRun, files: CheckedFiles, entry: IndexEntry, seen: dict[str, str], location: Location, *, readable: bool
) -> None:
    live = files.live.row_counts((entry.partition, entry.bucket)) if entry.file.vectors else {}
    for vector in entry.file.vectors or ():
        name, count = vector.data_file, vector.cardinality
        run.collector.check("I16")
        problem, level = None, Level.ERROR
        if name in seen:
            problem = f"has two of them, in {seen[name]} and in {entry.file.file_name}"
        elif name not in live:
            problem, level = "is not live in its bucket", Level.WARNING  # left by Java's full compactions
        elif count is not None and not 0 < count <= live[name]:
            problem = f"has {live[name]} rows, {count} of them deleted"
        elif run.deep and readable and (entry.file.file_name, vector.offset) not in run.vectors:
            run.vectors.add((entry.file.file_name, vector.offset))
            try:
                read_vector(run.context, entry.file.file_name, vector, live[name])
            except PaimonError as error:
                run.broken.add(name)
                problem = f"cannot be read with it: {error}"
        seen[name] = entry.file.file_name
        if problem is not None:
            run.collector.find(
                "I16", location, f"{location.holder}: deletion vector for {name}: the file {problem}", level=level
            )
