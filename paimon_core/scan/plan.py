"""plan_scan: snapshot → manifests → pruned files → splits, with counts of what was left out (format 8.7, 8.8).

Planning reads metadata only. A plan is complete: its splits together contain every row of the snapshot that the filter
selects, exactly once. They may contain other rows too, which the reader filters out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.live_vectors import Vectors, vectors_by_bucket, vectors_of
from paimon_core.metadata.manifest import ManifestEntry, ManifestFile
from paimon_core.metadata.manifest_file import live_entries
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.options import COMBINING_ENGINES, TableOptions
from paimon_core.predicate import Predicate
from paimon_core.scan.prune import PartitionPruner, Pruners, Schemas, ValuePruner
from paimon_core.scan.row_ranges import pack_ranges
from paimon_core.scan.split import Packed, Packing, Split, pack_append, pack_keyed
from paimon_core.schema import ROW_ID, TableSchema
from paimon_core.storage.paths import POSTPONE_BUCKET, TablePaths


@dataclass(frozen=True, slots=True)
class ScanCounts:
    """The numbers of manifests and files that a plan reads and leaves out."""

    manifests_total: int = 0
    manifests_read: int = 0
    files_total: int = 0
    """Live files of the snapshot, as counted by the manifest lists."""
    files_selected: int = 0
    pruned_by_partition: int = 0
    pruned_by_bucket: int = 0
    pruned_by_key: int = 0
    pruned_by_value: int = 0
    awaiting_compaction: int = 0
    """Level-0 files of a table with merge-engine first-row or deletion vectors: batch reads see their rows after a
    compaction (format 8.7)."""


@dataclass(frozen=True)
class ScanPlan:
    """The splits of a scan, and the reasons why other files are left out."""

    snapshot: Snapshot | None
    """None: the table has no snapshot, and the plan no splits."""
    schema: TableSchema
    where: Predicate | None
    splits: tuple[Split, ...]
    counts: ScanCounts

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of all splits."""
        return tuple(f for split in self.splits for f in split.files)

    @property
    def row_count(self) -> int:
        """The rows in the files of all splits: the upper limit of what a read returns."""
        return sum(s.row_count for s in self.splits)

    def explain(self) -> str:
        """Return a few lines of text: what is read, what was left out and why, what must be merged."""
        if self.snapshot is None:
            return "nothing to scan: the table has no snapshot"
        n, s = self.counts, self.snapshot
        at = datetime.fromtimestamp(s.time_millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        pruned = [
            f"{count:,} by {what}"
            for count, what in (
                (n.pruned_by_partition, "partition"),
                (n.pruned_by_bucket, "bucket"),
                (n.pruned_by_key, "key range"),
                (n.pruned_by_value, "value range or file index"),
                (n.awaiting_compaction, "level 0, until they are compacted"),
            )
            if count
        ]
        raw = [x for x in self.splits if x.raw]
        merged = [x for x in self.splits if not x.raw]
        depth = max((len(section) for x in merged for section in x.layout), default=0)
        lines = [
            f"scan of snapshot {s.id} ({s.commit_kind}, {at}), schema {self.schema.id}",
            f"  where      {self.where if self.where is not None else 'everything'}",
            f"  manifests  {n.manifests_read:,} of {n.manifests_total:,} read",
            f"  files      {n.files_selected:,} of {n.files_total:,} selected"
            + (f"; left out: {', '.join(pruned)}" if pruned else ""),
            f"  read raw   {_amount(raw)}",
        ]
        if self.schema.primary_keys or merged:
            lines.append(f"  merge      {_amount(merged)}" + (f", up to {depth} sorted runs at once" if merged else ""))
        if self.schema.primary_keys:
            lines.append(f"  levels     {_levels(self.files)}")
        return "\n".join(lines)


def _amount(splits: Collection[Split]) -> str:
    if not splits:
        return "nothing"
    files, rows = sum(len(s.files) for s in splits), sum(s.row_count for s in splits)
    return (
        f"{_counted(len(splits), 'split')} of {_counted(files, 'file')}, {_counted(rows, 'row')}, "
        f"{_size(sum(s.size_bytes for s in splits))}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def _levels(files: Iterable[DataFile]) -> str:
    counts: dict[int, int] = {}
    for f in files:
        counts[f.level] = counts.get(f.level, 0) + 1
    return ", ".join(f"L{level}: {_counted(counts[level], 'file')}" for level in sorted(counts)) or "none"


def plan_scan(
    *,
    snapshot: Snapshot | None,
    schema: TableSchema,
    options: TableOptions,
    manifests: ManifestStore,
    schemas: Schemas,
    where: Predicate | None = None,
    buckets: Collection[int] | None = None,
) -> ScanPlan:
    """Return the splits that contain the rows of ``snapshot`` that ``where`` selects; None ``buckets``: all of them.

    ``where`` is bound to the columns of ``schema``; ``schemas`` returns the schema of a file by its id. Raises
    SchemaMismatch for a filter that does not fit, UnsupportedFeature for files with only some of the columns,
    SnapshotNotFound when the snapshot expires during the call, CorruptTable for metadata that does not decode.
    """
    pruners = Pruners.of(where, schema, options, schemas)
    engine = options["merge-engine"] if schema.primary_keys else None
    unique = hides_level_0(schema, options)
    evolves = bool(options["data-evolution.enabled"]) and not schema.primary_keys
    if snapshot is None:
        return ScanPlan(None, schema, where, (), ScanCounts())
    with manifests.reading(snapshot):
        vectors = _read_vectors(manifests, snapshot)
        found = _read_files(manifests, snapshot, pruners, buckets, level_0=not unique, evolves=evolves)
    order = key_order([f.type for f in schema.key_fields]) if schema.primary_keys else None
    packing = Packing(options["source.split.target-size"], options["source.split.open-file-cost"])
    combines = engine in COMBINING_ENGINES
    delta_list = snapshot.delta_manifest_list
    splits = tuple(
        Split(
            partition,
            bucket,
            entries[0].total_buckets,
            snapshot.id,
            files,
            not layout,
            layout,
            delta_list,
            vectors_of(files, vectors.get((partition, bucket), {})),
        )
        for (partition, bucket), entries in found.buckets.items()
        for files, layout in (
            _pack_ranges(entries, packing, pruners.value)
            if evolves
            else _pack(entries, order, packing, pruners.value, combines=combines, unique=unique)
        )
    )
    selected = sum(len(s.files) for s in splits)
    in_buckets = sum(map(len, found.buckets.values()))
    counts = replace(found.counts, files_selected=selected, pruned_by_value=in_buckets - selected)
    return ScanPlan(snapshot, schema, where, splits, counts)


def hides_level_0(schema: TableSchema, options: TableOptions) -> bool:
    """Whether batch reads leave out level 0, because only above it each key is visible once (format 8.7).

    With deletion vectors, a compaction of level 0 marks the older rows of its keys in higher levels as deleted.
    """
    if not schema.primary_keys:
        return False
    if options["deletion-vectors.enabled"]:
        return not options["deletion-vectors.merge-on-read"]
    return bool(options["merge-engine"] == "first-row")


@dataclass(frozen=True, slots=True)
class _Found:
    """The files left before value statistics are tested, by (partition, bucket)."""

    buckets: dict[tuple[bytes, int], list[ManifestEntry]]
    counts: ScanCounts


def _read_files(
    manifests: ManifestStore,
    snapshot: Snapshot,
    pruners: Pruners,
    buckets: Collection[int] | None,
    *,
    level_0: bool,
    evolves: bool,
) -> _Found:
    """Read the entries of the files that are not pruned; without ``level_0``, files of level 0 are left out.

    ``evolves``: a file may contain only some of the columns.
    """
    listed = manifests.manifests_of(snapshot)
    partition, hashed, key = pruners.partition, pruners.bucket, pruners.key
    in_partitions = [m for m in listed if partition is None or partition.keeps_manifest(m)]
    opened = [m for m in in_partitions if buckets is None or _holds_bucket(m, buckets)]
    by_bucket = max(_count(in_partitions) - _count(opened), 0)
    by_key = kept = waiting = 0
    grouped: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in _live(manifests, opened, partition, evolves=evolves):
        # Rows in the postpone bucket are not read until a compaction moves them to other buckets (format 11.3).
        if (
            entry.bucket == POSTPONE_BUCKET
            or (buckets is not None and entry.bucket not in buckets)
            or (hashed is not None and not hashed.keeps(entry))
        ):
            by_bucket += 1
        elif key is not None and not key.keeps(entry.file):
            by_key += 1
        elif not level_0 and entry.file.level == 0:
            waiting += 1
        else:
            grouped.setdefault((entry.partition, entry.bucket), []).append(entry)
            kept += 1
    total = max(_count(listed), kept + by_bucket + by_key + waiting)
    return _Found(
        grouped,
        ScanCounts(
            manifests_total=len(listed),
            manifests_read=len(opened),
            files_total=total,
            pruned_by_partition=total - kept - by_bucket - by_key - waiting,
            pruned_by_bucket=by_bucket,
            pruned_by_key=by_key,
            awaiting_compaction=waiting,
        ),
    )


def _count(manifests: Iterable[ManifestFile]) -> int:
    return sum(m.num_added_files - m.num_deleted_files for m in manifests)


def _holds_bucket(manifest: ManifestFile, buckets: Collection[int]) -> bool:
    low, high = manifest.min_bucket, manifest.max_bucket
    return low is None or high is None or any(low <= b <= high for b in buckets)


def _live(
    manifests: ManifestStore,
    opened: Iterable[ManifestFile],
    partition: PartitionPruner | None,
    *,
    evolves: bool,
) -> Iterator[ManifestEntry]:
    """Yield the live files in the wanted partitions: added by a manifest and deleted by none; the oldest first.

    A file's ADD and DELETE entries have the same partition and bucket, so that either both are read or neither.
    """
    entries: list[ManifestEntry] = []
    for manifest in opened:
        found = manifests.read_manifest(manifest.file_name, manifest.file_size)
        entries += found if partition is None else partition.select(found, manifests.paths.manifest(manifest.file_name))
    for entry in live_entries(entries):
        refuse_unread(entry, manifests.paths, evolves=evolves)
        yield entry


def refuse_unread(entry: ManifestEntry, paths: TablePaths, *, evolves: bool = False) -> None:
    """Raise UnsupportedFeature for a file that cannot be read, InvalidRequest for one outside of the allowed roots.

    ``evolves``: the caller reads each column from the file that contains it (``row_ranges``).
    """
    if entry.file.file_name.endswith(".blob") or ".vector." in entry.file.file_name:
        what = "large objects" if entry.file.file_name.endswith(".blob") else "vectors"
        raise UnsupportedFeature(
            f"file {entry.file.file_name} of {paths.root} contains {what}: not supported", file=entry.file.file_name
        )
    if entry.file.external_path is not None:
        paths.external.resolve(entry.file.external_path, entry.file.file_name)
    if not evolves and entry.file.write_cols is not None and ROW_ID not in entry.file.write_cols:
        raise UnsupportedFeature(
            f"file {entry.file.file_name} of {paths.root} holds only some columns: not supported",
            file=entry.file.file_name,
        )


def _pack(
    entries: Sequence[ManifestEntry],
    order: KeyOrder | None,
    packing: Packing,
    value: ValuePruner | None,
    *,
    combines: bool,
    unique: bool,
) -> list[Packed]:
    """Return the splits of one bucket; ``unique``: each key exists in one file only."""
    files = [e.file for e in entries]
    may_match = None if value is None else partial(value.keeps, entries[0].partition)
    if order is None or (unique and all(f.delete_row_count == 0 for f in files)):
        return pack_append([f for f in files if may_match is None or may_match(f)], packing)
    return pack_keyed(files, order, packing, may_match, combines=combines)


def _pack_ranges(entries: Sequence[ManifestEntry], packing: Packing, value: ValuePruner | None) -> list[Packed]:
    """Return the splits of one bucket of a table with data evolution."""
    may_match = None if value is None else partial(value.keeps_range, entries[0].partition)
    return pack_ranges([e.file for e in entries], packing, may_match)


def _read_vectors(manifests: ManifestStore, snapshot: Snapshot) -> dict[tuple[bytes, int], Vectors]:
    """Return the deletion vectors of each (partition, bucket); other table indexes serve writers only (format 4.4)."""
    name = snapshot.index_manifest
    if name is None:
        return {}
    return {**vectors_by_bucket(manifests.read_indexes(name), manifests.paths.manifest(name))}
