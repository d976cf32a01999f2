"""The buckets that a snapshot changed: one number of buckets a partition, disjoint levels (I12, I15)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.live_files import LiveFiles, Place
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifest import ManifestEntry


class Buckets:
    """Checks the buckets of one branch; remembers the number of buckets of each partition."""

    def __init__(self, run: CheckRun) -> None:
        self._survey = run
        fields = run.context.schema.key_fields if run.context.is_keyed else ()
        self._order: KeyOrder | None = key_order([f.type for f in fields]) if fields else None

    def check(self, files: LiveFiles, added: Iterable[ManifestEntry], location: Location) -> None:
        """Check where a snapshot has added these files; what only loses files stays as right as it was."""
        found = list(added)
        self._check_totals(files, found, location)
        if self._order is None:
            return
        with self._survey.collector.guarding("I12", location):
            for entry in found:
                self._survey.collector.check("I12")
                if self._order(entry.file.min_key) > self._order(entry.file.max_key):
                    self._find(
                        location,
                        (entry.partition, entry.bucket),
                        f"file {entry.file.file_name} has a least key above its greatest",
                    )
            for partition, bucket, level in {(e.partition, e.bucket, e.file.level) for e in found if e.file.level}:
                live = files.buckets.get((partition, bucket), {})
                self._check_level(
                    [e.file for e in live.values() if e.file.level == level], (partition, bucket), location
                )

    def _check_totals(self, files: LiveFiles, added: Iterable[ManifestEntry], location: Location) -> None:
        """Of what was there before, one file a bucket is enough: all of it was checked when it came."""
        totals: dict[bytes, set[int]] = {}
        for entry in added:
            if entry.bucket >= 0:
                totals.setdefault(entry.partition, set()).add(entry.total_buckets)
        for (partition, bucket), entries in files.buckets.items():
            if partition in totals and bucket >= 0 and entries:
                totals[partition].add(next(iter(entries.values())).total_buckets)
        for partition, found in totals.items():
            self._survey.collector.check("I15")
            if len(found) > 1:
                where = self._survey.context.partition_path(partition) or "the table"
                message = f"the files of {where} count {sorted(found)} buckets: one number is right"
                self._survey.collector.find("I15", location, f"{location.holder}: {message}")

    def _check_level(self, files: list[DataFile], place: Place, location: Location) -> None:
        order = self._order
        assert order is not None
        for before, after in pairwise(sorted(files, key=lambda f: order(f.min_key))):
            if order(after.min_key) <= order(before.max_key):
                both = f"files {before.file_name} and {after.file_name} of level {after.level}"
                self._find(location, place, f"{both} share keys")

    def _find(self, location: Location, place: Place, message: str) -> None:
        where = self._survey.context.partition_path(place[0])
        self._survey.collector.find(
            "I12", location, f"{location.holder}, {where}/bucket-{place[1]}: {message}".replace(" /", " ")
        )
