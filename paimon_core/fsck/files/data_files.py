"""Data file checks: files exist with their recorded size, names are unique, entries are valid (I6, I9, I13, I15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from paimon_core.codec.avro.columns import Mask
from paimon_core.codec.avro.items import texts_of
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import CheckedEntries
from paimon_core.fsck.files.listed_files import listed
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.known_names import name_hashes, share_none
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.storage.paths import POSTPONE_BUCKET

DEEPEST_LEVEL = 100
"""The highest valid level; files at a higher level are reported."""
_VALUES = 10_000
"""The number of entries of which values are created at a time."""
Visit = Callable[[ManifestEntry, str], None]
"""A function that is called with the entry and the path of each new file that exists."""


def check_files(run: CheckRun, parts: Iterable[CheckedEntries], location: Location, visit: Visit | None = None) -> None:
    """Check each file that was not checked before; call ``visit`` for each of these files that exists.

    In a check without ``visit``, values are created only of entries for which there may be a finding.
    """
    found = [part for part in parts if len(part)]
    compared = [_compared(run, part) for part in found]
    seen = [np.zeros(len(part), bool) for part in found]
    if visit is None:
        usual = [is_new & ~_may_be_wrong(run, part.columns) for part, (is_new, _) in zip(found, compared, strict=True)]
        seen = listed(run, found, usual)
    for part, (is_new, conflicts), is_seen in zip(found, compared, seen, strict=True):
        run.collector.check("I9", len(part))
        for invariant in ("I6", "I12", "I13", "I15", "I18", "I35"):
            run.collector.check(invariant, int(np.count_nonzero(is_seen)))
        _check_alone(run, part, conflicts | (is_new & ~is_seen), conflicts, location, visit)


def _check_alone(
    run: CheckRun, part: CheckedEntries, chosen: Mask, conflicts: Mask, location: Location, visit: Visit | None
) -> None:
    rows = np.flatnonzero(chosen)
    for some in np.split(rows, range(_VALUES, len(rows), _VALUES)):
        for conflict, entry in zip(conflicts[some].tolist(), part.columns.entries(some), strict=True):
            if conflict:
                run.collector.find(
                    "I9",
                    location,
                    f"{location.holder}: file {entry.file.file_name} of bucket {entry.bucket} is recorded elsewhere "
                    "with another partition, bucket, size, number of rows or schema: one name is used for two files",
                )
                continue
            with run.collector.guarding("I6", location):
                _check_record(run, entry, location)
                _check_file(run, entry, location, visit)


def _compared(run: CheckRun, part: CheckedEntries) -> tuple[Mask, Mask]:
    """Record the names of the files; return which files are new, and which have the name of another file (I9)."""
    names, what = part.columns.name_digest, part.what
    is_extra = run.extra_files.find(names)[0] | _extra_before(run, part)
    known, before = run.files.find(names)
    if share_none(names):
        is_new = ~known & ~is_extra
        run.files.add(names[is_new], what[is_new])
        return is_new, is_extra | (known & (before != what))
    _, first, group = np.unique(names, return_index=True, return_inverse=True)
    earlier = np.ones(len(part), bool)
    earlier[first] = False
    is_new = ~known & ~is_extra & ~earlier
    before = np.where(known, before, what[first][group])
    run.files.add(names[is_new], what[is_new])
    return is_new, is_extra | (~is_new & (before != what))


def _extra_before(run: CheckRun, part: CheckedEntries) -> Mask:
    """Record the names of extra files; return which files have the name of one of their or an earlier entry."""
    out = np.zeros(len(part), bool)
    codes, _ = part.columns.codes("extra_files")
    _, rows = np.unique(codes, return_index=True)
    first: dict[str, int] = {}
    for row, extras in zip(rows.tolist(), part.columns.column("extra_files", rows), strict=True):
        for name in extras:
            first[name] = min(row, first.get(name, row))
    if first:
        hashes = name_hashes([name.encode() for name in first])
        run.extra_files.add(*np.unique(hashes, return_index=True))
        order = np.argsort(hashes)
        at = np.minimum(np.searchsorted(hashes[order], part.columns.name_digest), len(order) - 1)
        since = np.array(list(first.values()))[order][at]
        out = (hashes[order][at] == part.columns.name_digest) & (np.arange(len(part)) >= since)
    return out


def _may_be_wrong(run: CheckRun, columns: EntryColumns) -> Mask:
    """Return a mask of the entries that are checked as values: unusual ones, and those with invalid numbers."""
    numbers = columns.numbers
    bucket, total, deletes = numbers["bucket"], numbers["total_buckets"], numbers["delete_row_count"]
    out = (bucket < POSTPONE_BUCKET) | (bucket == -1) | ((total > 0) & (bucket >= total))
    out |= numbers["min_sequence_number"] > numbers["max_sequence_number"]
    out |= numbers["level"] > DEEPEST_LEVEL
    wrong = (deletes < 0) | (deletes > numbers["row_count"])
    out |= wrong & ~columns.nulls["delete_row_count"] if "delete_row_count" in columns.nulls else wrong
    out |= ~np.isin(numbers["schema_id"], list(run.schema_ids))
    out |= columns.spans["external_path"].lengths >= 0
    codes, extras = columns.codes("extra_files")
    mask: Mask = out | np.array([bool(texts_of(text)) for text in extras], bool)[codes]
    return mask


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
