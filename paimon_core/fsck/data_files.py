"""The data files that a snapshot reaches: there, of the recorded size, named once, sound records (I6, I9, I13, I15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paimon_core.fsck.check_context import Survey
from paimon_core.fsck.finding_collector import Spot
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.storage.paths import POSTPONE_BUCKET

DEEPEST_LEVEL = 100
Visit = Callable[[ManifestEntry, str], None]
"""What is done with each file that is met for the first time, and its path."""


def check_files(survey: Survey, entries: Iterable[ManifestEntry], spot: Spot, visit: Visit | None = None) -> None:
    """Check each file that was not met before; ``visit`` those that are there."""
    for entry in entries:
        file = entry.file
        what = hash((entry.partition, entry.bucket, file.file_size, file.row_count, file.schema_id))
        survey.notes.check("I9")
        if file.file_name not in survey.data:
            survey.data[file.file_name] = what
            with survey.notes.guarding("I6", spot):
                _check_record(survey, entry, spot)
                _check_file(survey, entry, spot, visit)
        elif survey.data[file.file_name] != what:
            survey.notes.find(
                "I9",
                spot,
                f"{spot.holder}: file {file.file_name} of bucket {entry.bucket} is recorded elsewhere with another "
                "partition, bucket, size, number of rows or schema: one name stands for two files",
            )


def _check_file(survey: Survey, entry: ManifestEntry, spot: Spot, visit: Visit | None) -> None:
    context, file = survey.context, entry.file
    if file.external_path is not None:
        _check_external(survey, file.external_path, spot)
        return
    names = (file.file_name, *file.extra_files)
    plain = [survey.plain(name, spot) for name in names]
    if not all(plain):
        return
    partition = context.partition_path(entry.partition)
    for beside in file.extra_files:
        survey.data[beside] = 0
        survey.has_file(context.paths.data_file(partition, entry.bucket, beside), spot)
    path = context.paths.data_file(partition, entry.bucket, file.file_name)
    if not survey.has_file(path, spot, file.file_size):
        survey.broken.add(file.file_name)
    elif visit is not None:
        visit(entry, path)


def _check_external(survey: Survey, path: str, spot: Spot) -> None:
    """A file outside of the table is allowed where the table names the place; it is not looked for."""
    allowed = survey.context.schema.options.get("data-file.external-paths", "")
    places = [place.strip().rstrip("/") + "/" for place in allowed.split(",") if place.strip()]
    survey.notes.check("I35")
    if ".." in path.split("/") or not any(path.startswith(place) for place in places):
        survey.notes.find("I35", spot, f"{spot.holder}: file {path:.120} lies outside of the table", path=path)
    else:
        survey.notes.skip("I6", "some files lie at external paths, which are not looked at")


def _check_record(survey: Survey, entry: ManifestEntry, spot: Spot) -> None:
    """What an entry says must make sense before anything is read."""
    file, total, notes = entry.file, entry.total_buckets, survey.notes
    notes.check("I15")
    if entry.bucket < POSTPONE_BUCKET or entry.bucket == -1 or (total > 0 and entry.bucket >= total):
        notes.find("I15", spot, f"{spot.holder}: file {file.file_name} lies in bucket {entry.bucket} of {total}")
    notes.check("I13")
    if file.min_sequence_number > file.max_sequence_number:
        notes.find(
            "I13",
            spot,
            f"{spot.holder}: file {file.file_name} has sequence numbers from {file.min_sequence_number} "
            f"to {file.max_sequence_number}",
        )
    notes.check("I12")
    if file.level > DEEPEST_LEVEL:
        notes.find("I12", spot, f"{spot.holder}: file {file.file_name} lies at level {file.level}")
    notes.check("I18")
    if file.delete_row_count is not None and not 0 <= file.delete_row_count <= file.row_count:
        notes.find(
            "I18",
            spot,
            f"{spot.holder}: file {file.file_name} has {file.row_count} rows, {file.delete_row_count} of them deletes",
        )
    if file.schema_id not in survey.schema_ids:
        notes.find("I25", spot, f"{spot.holder}: file {file.file_name} has schema {file.schema_id}, which is missing")
