"""Thresholds: the values from which on a measure is a finding; each can be set."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidRequest

_MIB, _GIB = 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The values from which on something is a finding; docs/health.md says where each default comes from."""

    avoidable_files: int = 50
    """Files that a full compaction would save: a finding if they are at least half of all files."""
    hot_bucket_ratio: float = 5.0
    """Bytes of the largest bucket of a partition, divided by the mean of its other buckets."""
    hot_bucket_bytes: int = 64 * _MIB
    """A smaller bucket is never hot: reading it takes less than a second."""
    bucket_bytes_least: int = 20 * _MIB
    """Mean bytes of a bucket: a tenth of 200 MB, the least size that Paimon recommends."""
    buckets_least: int = 8
    """A partition with fewer buckets never has too many."""
    bucket_bytes_most: int = 10 * _GIB
    """Mean bytes of a bucket: ten times 1 GB, the largest size that Paimon recommends."""
    small_partitions: int = 500
    """Partitions, if their mean size is below ``partition_bytes_least``."""
    partition_bytes_least: int = 16 * _MIB
    """Mean bytes of a partition: an eighth of the default ``target-file-size``."""
    deleted_share: float = 0.2
    """Deleted rows that files still have, as a share of all rows in files."""
    deleted_rows: int = 1_000
    """With fewer deleted rows there is no finding."""
    level_0_hours: float = 24.0
    """The age of the oldest file of level 0 or of the postpone bucket: a nightly compaction has not run."""
    snapshots: int = 500
    """Snapshots that have not expired."""
    tags: int = 30
    """Tags without a time of retention: with so many, some are forgotten."""
    tag_days: float = 90.0
    """The age from which on a tag without a time of retention is a finding, if it holds bytes of its own."""
    branch_days: float = 30.0
    """The time since the last commit to a branch."""
    consumer_days: float = 7.0
    """The time since a streaming reader wrote its position."""
    manifests: int = 100
    """Manifests of one version: more than three times ``manifest.merge-min-count``, so commits do not merge them."""
    dead_entries_ratio: float = 3.0
    """Entries in manifests, divided by live files."""
    held_ratio: float = 0.5
    """Bytes that only old snapshots hold, as a share of the live bytes."""
    held_bytes: int = 64 * _MIB
    """Old snapshots that hold fewer bytes are no finding because of these bytes, and fewer held bytes do not lower
    ``score``.
    """

    filter_scans: int = 100
    """Recorded scans with a filter: with fewer, nothing is concluded from them."""
    filter_read_share: float = 0.5
    """The share of the files that the plans of scans with a filter keep."""
    filter_days: float = 30.0
    """The days in which no recorded scan filtered an indexed column."""

    def __post_init__(self) -> None:
        """Raise InvalidRequest for a value that is negative, not a number or of another type than the default."""
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            kinds = (int, float) if f.type == "float" else (int,)
            if type(value) not in kinds or not 0 <= value < float("inf"):
                what = "a number of 0 or more" if f.type == "float" else "a whole number of 0 or more"
                raise InvalidRequest(f"the threshold {f.name} must be {what}, not {value!r:.60}", threshold=f.name)

    @staticmethod
    def of(values: Mapping[str, Any]) -> Thresholds:
        """Return the thresholds with some values set; raises InvalidRequest for an unknown name or a bad value."""
        names = {f.name for f in dataclasses.fields(Thresholds)}
        if unknown := sorted(set(values) - names):
            known = ", ".join(sorted(names))
            raise InvalidRequest(f"there is no threshold {unknown[0]!r:.60}; there are {known}", threshold=unknown[0])
        return Thresholds(**values)
