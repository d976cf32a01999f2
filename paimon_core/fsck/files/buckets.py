"""Bucket checks: each partition has one number of buckets, and files of a level above 0 share no key (I12, I15)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import CheckedFiles, Place
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import ManifestEntry


class Buckets:
    """Checks the buckets that the snapshots of one branch changed."""

    def __init__(self, run: CheckRun) -> None:
        self._run = run
        fields = run.context.schema.key_fields if run.context.is_keyed else ()
        self._order: KeyOrder | None = key_order([f.type for f in fields]) if fields else None

    def check(self, files: CheckedFiles, added: Iterable[ManifestEntry], location: Location) -> None:
        """Check the buckets to which a snapshot added the files ``added``; deleted files cannot break these rules."""
        found = list(added)
        self._check_totals(files, found, location)
        if self._order is None:
            return
        with self._run.collector.guarding("I12", location):
            for entry in found:
                if entry.bucket < 0:  # files of the postpone bucket are not sorted; they state their first and last key
                    continue
                self._run.collector.check("I12")
                if self._order(entry.file.min_key) > self._order(entry.file.max_key):
                    self._find(
                        location,
                        (entry.partition, entry.bucket),
                        f"file {entry.file.file_name} has a minimum key above its maximum key",
                    )
            for partition, bucket, level in {(e.partition, e.bucket, e.file.level) for e in found if e.file.level}:
                live = files.buckets.get((partition, bucket), {})
                self._check_level(
                    [e.file for e in live.values() if e.file.level == level], (partition, bucket), location
                )

    def _check_totals(self, files: CheckedFiles, added: Iterable[ManifestEntry], location: Location) -> None:
        """Check that the new files and the older files of a partition state the same number of buckets.

        Only one older file of each bucket is compared, because each older file was checked when it was added.
        """
        totals: dict[bytes, set[int]] = {}
        for entry in added:
            if entry.bucket >= 0:
                totals.setdefault(entry.partition, set()).add(entry.total_buckets)
        for (partition, bucket), entries in files.buckets.items():
            if partition in totals and bucket >= 0 and entries:
                totals[partition].add(next(iter(entries.values())).total_buckets)
        for partition, found in totals.items():
            self._run.collector.check("I15")
            if len(found) > 1:
                where = self._run.context.partition_path(partition) or "the table"
                message = f"the files of {where} have {sorted(found)} buckets: only one number can be right"
                self._run.collector.find("I15", location, f"{location.holder}: {message}")

    def _check_level(self, files: list[DataFile], place: Place, location: Location) -> None:
        order = self._order
        assert order is not None
        for before, after in pairwise(sorted(files, key=lambda f: order(f.min_key))):
            if order(after.min_key) <= order(before.max_key):
                both = f"files {before.file_name} and {after.file_name} of level {after.level}"
                self._find(location, place, f"{both} share keys")

    def _find(self, location: Location, place: Place, message: str) -> None:
        where = self._run.context.bucket_path(*place)
        self._run.collector.find("I12", location, f"{location.holder}, {where}: {message}")
