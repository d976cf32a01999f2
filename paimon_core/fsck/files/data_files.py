"""Data file checks: files exist with their recorded size, names are unique, entries are valid (I6, I9, I13, I15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.storage.paths import POSTPONE_BUCKET

DEEPEST_LEVEL = 100
"""The highest valid level; files at a higher level are reported."""
Visit = Callable[[ManifestEntry, str], None]
"""A function that is called with the entry and the path of each new file that exists."""


def check_files(
    run: CheckRun, entries: Iterable[ManifestEntry], location: Location, visit: Visit | None = None
) -> None:
    """Check each file that was not checked before; call ``visit`` for each of these files that exists."""
    for entry in entries:
        file = entry.file
        what = hash((entry.partition, entry.bucket, file.file_size, file.row_count, file.schema_id))
        run.data.update(dict.fromkeys(file.extra_files, 0))
        run.collector.check("I9")
        if file.file_name not in run.data:
            run.data[file.file_name] = what
            with run.collector.guarding("I6", location):
                _check_record(run, entry, location)
                _check_file(run, entry, location, visit)
        elif run.data[file.file_name] != what:
            run.collector.find(
                "I9",
                location,
                f"{location.holder}: file {file.file_name} of bucket {entry.bucket} is recorded elsewhere with another "
                "partition, bucket, size, number of rows or schema: one name is used for two files",
            )


def _check_file(run: CheckRun, entry: ManifestEntry, location: Location, visit: Visit | None) -> None:
    context, file = run.context, entry.file
    if file.external_path is not None:
        _check_external(run, file.external_path, location)
        if context.paths.external.find(file.external_path) is None:
            run.collector.skip("I6", "some files are at external paths outside of allowed_roots, which are not checked")
            return
    names = (file.file_name, *file.extra_files)
    plain = [run.plain(name, location) for name in names]
    if not all(plain):
        return
    path, *extras = context.file_paths(entry.partition, entry.bucket, file)
    for extra in extras:
        run.data[extra.rpartition("/")[2]] = 0
        run.has_file(extra, location)
    if not run.has_file(path, location, file.file_size):
        run.broken.add(file.file_name)
    elif visit is not None:
        visit(entry, path)


def _check_external(run: CheckRun, path: str, location: Location) -> None:
    """Check that a file outside of the table is below an allowed root, or a path of ``data-file.external-paths``."""
    run.collector.check("I35")
    named = any(path.startswith(f"{place}/") for place in run.context.options["data-file.external-paths"])
    if (".." in path.split("/") or not named) and run.context.paths.external.find(path) is None:
        run.collector.find("I35", location, f"{location.holder}: file {path:.120} is outside of the table", path=path)


def _check_record(run: CheckRun, entry: ManifestEntry, location: Location) -> None:
    """Check the values of a manifest entry, without reading the data file."""
    file, total, collector = entry.file, entry.total_buckets, run.collector
    collector.check("I15")
    if entry.bucket < POSTPONE_BUCKET or entry.bucket == -1 or (total > 0 and entry.bucket >= total):
        collector.find(
            "I15", location, f"{location.holder}: file {file.file_name} is in bucket {entry.bucket} of {total}"
        )
    collector.check("I13")
    if file.min_sequence_number > file.max_sequence_number:
        collector.find(
            "I13",
            location,
            f"{location.holder}: file {file.file_name} has sequence numbers from {file.min_sequence_number} "
            f"to {file.max_sequence_number}",
        )
    collector.check("I12")
    if file.level > DEEPEST_LEVEL:
        collector.find("I12", location, f"{location.holder}: file {file.file_name} is at level {file.level}")
    collector.check("I18")
    if file.delete_row_count is not None and not 0 <= file.delete_row_count <= file.row_count:
        collector.find(
            "I18",
            location,
            f"{location.holder}: file {file.file_name} has {file.row_count} rows, {file.delete_row_count} of them "
            "deletes",
        )
    if file.schema_id not in run.schema_ids:
        collector.find(
            "I25", location, f"{location.holder}: file {file.file_name} has schema {file.schema_id}, which is missing"
        )
