"""plan_scan: snapshot → manifests → pruned files → splits, and an account of what was left out (format 8.7, 8.8).

Planning reads metadata only. A plan is complete: together its splits give every row of the snapshot that the filter
selects, each once, though they may hold others too; the reader filters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from paimon_core.codec.avro_file import read_avro
from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.key_order import KeyOrder, key_order
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifest_store import ManifestStore, merge_entries
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options import TableOptions
from paimon_core.predicate import Predicate
from paimon_core.scan.prune import BucketPruner, KeyPruner, PartitionPruner, Schemas, ValuePruner
from paimon_core.scan.split import Packed, Packing, Split, pack_append, pack_keyed
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.paths import POSTPONE_BUCKET


@dataclass(frozen=True, slots=True)
class ScanCounts:
    """What a plan read and left out."""

    manifests_total: int = 0
    manifests_read: int = 0
    files_total: int = 0
    """Live files of the snapshot, as the manifest lists count them."""
    files_selected: int = 0
    pruned_by_partition: int = 0
    pruned_by_bucket: int = 0
    pruned_by_key: int = 0
    pruned_by_value: int = 0


@dataclass(frozen=True)
class ScanPlan:
    """What a scan will read, and why not more."""

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
        """The rows in the files of all splits: the most that a read returns."""
        return sum(s.row_count for s in self.splits)

    def explain(self) -> str:
        """A few lines for a person: what is read, what was left out and by what, what needs a merge."""
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
                (n.pruned_by_value, "value range"),
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
        if self.schema.primary_keys:
            lines.append(f"  merge      {_amount(merged)}" + (f", up to {depth} sorted runs at once" if merged else ""))
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
    """The splits that read what ``where`` selects of ``snapshot``, of these ``buckets`` or of all.

    ``schema`` names the columns of ``where``; ``schemas`` gives the schema of a file by its id. Raises SchemaMismatch
    for a filter that does not fit, UnsupportedFeature for deletion vectors and files of some columns only, CorruptTable
    for metadata that does not decode.
    """
    bound = where.bind(schema.fields) if where is not None else None
    if snapshot is None:
        return ScanPlan(None, schema, where, (), ScanCounts())
    _refuse_deletion_vectors(manifests, snapshot)
    partitions = PartitionPruner.of(bound, schema.partition_fields) if bound is not None else None
    hashed = BucketPruner.of(bound, _bucket_keys(schema, options), schema, schemas) if bound is not None else None
    keys = KeyPruner.of(bound, schema.key_fields) if bound is not None else None

    listed = manifests.read_list(snapshot.base_manifest_list) + manifests.read_list(snapshot.delta_manifest_list)
    in_partitions = [m for m in listed if partitions is None or partitions.keeps_manifest(m)]
    opened = [m for m in in_partitions if buckets is None or _holds_bucket(m, buckets)]
    entries = _live(manifests, opened, partitions)

    grouped: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    by_bucket = max(_count(in_partitions) - _count(opened), 0)
    by_key = 0
    for entry in entries:
        if not ((buckets is None or entry.bucket in buckets) and (hashed is None or hashed.keeps(entry))):
            by_bucket += 1
        elif keys is not None and not keys.keeps(entry.file):
            by_key += 1
        else:
            grouped.setdefault((entry.partition, entry.bucket), []).append(entry)

    values = ValuePruner.of(bound, schema, schemas) if bound is not None else None
    order = key_order([f.type for f in schema.key_fields]) if schema.primary_keys else None
    packing = Packing(options["source.split.target-size"], options["source.split.open-file-cost"])
    splits = tuple(
        Split(partition, bucket, of_bucket[0].total_buckets, snapshot.id, files, not layout, layout)
        for (partition, bucket), of_bucket in grouped.items()
        for files, layout in _pack(of_bucket, order, packing, values)
    )
    selected = sum(len(s.files) for s in splits)
    in_groups = sum(map(len, grouped.values()))
    total = max(_count(listed), in_groups + by_bucket + by_key)
    counts = ScanCounts(
        manifests_total=len(listed),
        manifests_read=len(opened),
        files_total=total,
        files_selected=selected,
        pruned_by_partition=total - in_groups - by_bucket - by_key,
        pruned_by_bucket=by_bucket,
        pruned_by_key=by_key,
        pruned_by_value=in_groups - selected,
    )
    return ScanPlan(snapshot, schema, where, splits, counts)


def _count(manifests: Iterable[ManifestFile]) -> int:
    return sum(m.num_added_files - m.num_deleted_files for m in manifests)


def _bucket_keys(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns that are hashed to a bucket (format 6.1)."""
    return schema.select(options["bucket-key"] or schema.trimmed_primary_keys)


def _holds_bucket(manifest: ManifestFile, buckets: Collection[int]) -> bool:
    low, high = manifest.min_bucket, manifest.max_bucket
    return low is None or high is None or any(low <= b <= high for b in buckets)


def _live(
    manifests: ManifestStore, opened: Iterable[ManifestFile], partitions: PartitionPruner | None
) -> list[ManifestEntry]:
    """The files that the manifests add and none of them deletes, of the partitions wanted; the oldest first.

    An entry and the one that deletes it share partition and bucket, so that both are read or neither.
    """
    entries: list[ManifestEntry] = []
    for manifest in opened:
        found = manifests.read_manifest(manifest.file_name, manifest.file_size)
        entries += found if partitions is None else [e for e in found if partitions.keeps(e.partition)]
    live = [e for e in merge_entries(entries) if e.kind is FileKind.ADD and e.bucket != POSTPONE_BUCKET]
    for entry in live:
        if entry.file.write_cols is not None:
            raise UnsupportedFeature(
                f"file {entry.file.file_name} holds only some of the columns, which is not supported",
                file=entry.file.file_name,
            )
    return live


def _pack(
    entries: list[ManifestEntry], order: KeyOrder | None, packing: Packing, values: ValuePruner | None
) -> list[Packed]:
    files = [e.file for e in entries]
    partition = entries[0].partition

    def may_match(file: DataFile) -> bool:
        return values is None or values.keeps(partition, file)

    if order is not None:
        return pack_keyed(files, order, packing, may_match if values is not None else None)
    return pack_append([f for f in files if may_match(f)], packing)


def _refuse_deletion_vectors(manifests: ManifestStore, snapshot: Snapshot) -> None:
    """Other table indexes only speed up writers (format 4.4, 11.1)."""
    if snapshot.index_manifest is None:
        return
    path = manifests.paths.manifest(snapshot.index_manifest)
    for record in read_avro(manifests.storage.read(path), path):
        if record.get("_INDEX_TYPE") == "DELETION_VECTORS":
            raise UnsupportedFeature(
                f"snapshot {snapshot.id} has deletion vectors, which are not supported", snapshot=snapshot.id
            )
