"""ChangedPlace: a bucket or partition whose files differ between two versions, with its files in each version.

To find the changed partitions, only manifests in one of the two versions are read: a manifest that is in both
versions has the same entries in both. Then all files of the changed partitions are listed. Files of both versions are
also listed, because they may contain rows with the keys of changed rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paimon_core.lsm.lookup import holds_states
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, bytes_from_plain, bytes_to_plain, from_plain, to_plain
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.index_manifest import VectorRange
from paimon_core.metadata.member_types import checked
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.plan.live_files import refuse_unread
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.table_indexes.live_vectors import (
    Vectors,
    vectors_by_bucket,
    vectors_from_plain,
    vectors_of,
    vectors_to_plain,
)
from paimon_core.table_indexes.vector_file import read_vector

_VISIBILITY = ("deletion-vectors.enabled", "deletion-vectors.merge-on-read")
PLACE_VERSION = 1
Place = tuple[bytes, int | None]
"""A serialized partition and a bucket; the bucket None stands for all buckets of the partition together."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a version of the table, with its deletion vector in this version."""

    bucket: int
    total_buckets: int
    file: DataFile
    vector: tuple[str, VectorRange] | None = None

    @property
    def vectors(self) -> Vectors:
        """The deletion vector of the file, by file name; empty when the file has no vector."""
        return {} if self.vector is None else {self.file.file_name: self.vector}


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """The files of one bucket or partition whose rows may have changed from version ``before`` to version ``after``."""

    place: Place
    common: tuple[Part, ...]
    """Files that both versions have, with the same deletion vectors."""
    before: tuple[Part, ...]
    after: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """All files of the place: a comparison of the two versions may read each file."""
        return (*self.common, *self.before, *self.after)

    def to_bytes(self) -> bytes:
        """Return versioned JSON, to be sent to another process."""
        sides = [[_part_to_plain(part) for part in side] for side in (self.common, self.before, self.after)]
        partition, bucket = self.place
        return pack(PLACE_VERSION, {"partition": bytes_to_plain(partition), "bucket": bucket, "sides": sides})

    @staticmethod
    def from_bytes(data: bytes) -> ChangedPlace:
        """Return the place that ``to_bytes`` encoded.

        Raises InvalidRequest for other bytes, UnsupportedFeature for another version.
        """
        with unpacked(data, "changed place", PLACE_VERSION) as value:
            common, before, after = (tuple(map(_part_from_plain, side)) for side in value["sides"])
            place = bytes_from_plain(value["partition"]), value["bucket"]
            return checked(ChangedPlace(place, common, before, after))


def _part_to_plain(part: Part) -> list[Any]:
    return [part.bucket, part.total_buckets, to_plain(part.file), vectors_to_plain(part.vectors)]


def _part_from_plain(value: Any) -> Part:
    bucket, total_buckets, file, vectors = value
    found = list(vectors_from_plain(vectors).values())
    return checked(Part(bucket, total_buckets, from_plain(file), found[0] if found else None))


def changed_places(
    context: TableContext,
    before: Snapshot | None,
    after: Snapshot | None,
    keeps: Callable[[bytes], bool] = lambda partition: True,
    *,
    least_level: int | None = None,
) -> Iterator[ChangedPlace]:
    """Yield the places in which files differ, in order of partition and bucket, of the partitions that ``keeps``
    accepts.

    Only files of level ``least_level`` or a higher level are compared; None: the levels that a batch read of the
    version reads. A place is a bucket, or a partition when its keys may have moved between buckets. Raises
    SnapshotNotFound for a version that expired, CorruptTable for damaged metadata, UnsupportedFeature for files that
    this library cannot read.
    """
    least = [int(_hides(context, s)) if least_level is None else least_level for s in (before, after)]
    both = before is not None and after is not None
    among = None if both and least[0] != least[1] else _changed_partitions(context, before, after)
    left, right = (_parts(context, s, among, keeps, level) for s, level in zip((before, after), least, strict=True))
    for partition in sorted({*left, *right}, key=context.partition_path):
        yield from _places(context, partition, left.get(partition, []), right.get(partition, []))


def reading_context(context: TableContext, snapshot: Snapshot) -> TableContext:
    """Return ``context`` with the options of deletion vectors from the schema of ``snapshot``.

    These options decide whether a batch read of the snapshot shows level 0. The columns and all other options are the
    same as in ``context``.
    """
    if snapshot.schema_id == context.schema.id:
        return context
    own = context.with_schema(context.schemas.read(snapshot.schema_id)).options
    return context.with_values({key: own[key] for key in _VISIBILITY})


def _hides(context: TableContext, snapshot: Snapshot | None) -> bool:
    return snapshot is not None and hides_level_0(context.schema, reading_context(context, snapshot).options)


def _changed_partitions(context: TableContext, before: Snapshot | None, after: Snapshot | None) -> set[bytes]:
    left, right = _manifests(context, before), _manifests(context, after)
    net: Counter[object] = Counter()
    partitions: dict[object, bytes] = {}
    for snapshot, own, other, sign in ((before, left, right, -1), (after, right, left, 1)):
        for entry in _entries(context, snapshot, [m for name, m in own.items() if name not in other]):
            net[entry.identity] += sign if entry.kind is FileKind.ADD else -sign
            partitions[entry.identity] = entry.partition
    found = {partitions[identity] for identity, count in net.items() if count}
    old, new = _vectors(context, before), _vectors(context, after)
    return found | {place[0] for place in {*old, *new} if old.get(place) != new.get(place)}


def _manifests(context: TableContext, snapshot: Snapshot | None) -> dict[str, ManifestFile]:
    if snapshot is None:
        return {}
    with context.manifests.reading(snapshot):
        return {m.file_name: m for m in context.manifests.manifests_of(snapshot)}


def _entries(
    context: TableContext, snapshot: Snapshot | None, files: Sequence[ManifestFile]
) -> Iterator[ManifestEntry]:
    if snapshot is not None:
        with context.manifests.reading(snapshot):
            for manifest in files:
                yield from context.manifests.read_manifest(manifest.file_name, manifest.file_size)


def _vectors(
    context: TableContext, snapshot: Snapshot | None
) -> dict[tuple[bytes, int], dict[str, tuple[str, VectorRange]]]:
    name = None if snapshot is None else snapshot.index_manifest
    if snapshot is None or name is None:
        return {}
    with context.manifests.reading(snapshot):
        return vectors_by_bucket(context.manifests.read_indexes(name), context.paths.manifest(name))


def _parts(
    context: TableContext,
    snapshot: Snapshot | None,
    among: set[bytes] | None,
    keeps: Callable[[bytes], bool],
    least_level: int,
) -> dict[bytes, list[Part]]:
    if snapshot is None:
        return {}
    found: dict[bytes, list[Part]] = {}
    vectors = _vectors(context, snapshot)
    for entry in context.manifests.entries_of(snapshot, among):
        if entry.bucket < 0 or entry.file.level < least_level or not keeps(entry.partition):
            continue
        refuse_unread(entry, context.paths, evolves=context.evolves)
        chosen = vectors_of([entry.file], vectors.get((entry.partition, entry.bucket), {}))
        part = Part(entry.bucket, entry.total_buckets, entry.file, chosen.get(entry.file.file_name))
        found.setdefault(entry.partition, []).append(part)
    return found


def _places(
    context: TableContext, partition: bytes, left: Sequence[Part], right: Sequence[Part]
) -> Iterator[ChangedPlace]:
    common, before, after = _compared(context, left, right)
    changed = sorted({part.bucket for part in (*before, *after)})
    if not changed:
        return
    totals = [{part.total_buckets for part in side} for side in (left, right)]
    may_move = context.has_dynamic_buckets or totals[0] != totals[1] or len(totals[0]) > 1
    if len(changed) > 1 and left and right and may_move:
        yield ChangedPlace((partition, None), tuple(common), tuple(before), tuple(after))
        return
    for bucket in changed:
        sides = ([part for part in side if part.bucket == bucket] for side in (common, before, after))
        yield ChangedPlace((partition, bucket), *map(tuple, sides))


def _compared(
    context: TableContext, left: Sequence[Part], right: Sequence[Part]
) -> tuple[list[Part], list[Part], list[Part]]:
    """Return the parts that are in both versions, the parts only in ``left``, and the parts only in ``right``."""
    leveled = holds_states(context.options)

    def identity(part: Part) -> object:
        return part.bucket, part.file.file_name, part.file.external_path, part.file.level if leveled else 0

    known = {identity(part): part for part in left}
    common: list[Part] = []
    after: list[Part] = []
    for part in right:
        same = known.get(identity(part))
        if same is not None and _same_rows(context, same, part):
            common.append(part)
            del known[identity(part)]
        else:
            after.append(part)
    return common, list(known.values()), after


def _same_rows(context: TableContext, one: Part, other: Part) -> bool:
    """Whether two parts of one file have the same deleted rows, even if their vectors are in different index files."""
    if one.vector == other.vector:
        return True
    if one.vector is None or other.vector is None:
        return False
    rows = one.file.row_count
    return np.array_equal(read_vector(context, *one.vector, rows), read_vector(context, *other.vector, rows))
