"""Tables of metadata only: manifest entries in memory, for scan plans that are never read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.metadata.column_stats import EMPTY_ROW, EMPTY_STATS, ColumnStats
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.options import TableOptions
from paimon_core.plan.plan_scan import ScanPlan, plan_scan
from paimon_core.predicate import Predicate
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from paimon_core.types import parse_type

MB = 1 << 20


def fields_of(**types: str) -> tuple[DataField, ...]:
    """Return fields with the ids 0, 1, ... in order; a ``=`` in the type sets another id: ``"INT=7"``."""
    out = []
    for at, (name, text) in enumerate(types.items()):
        kind, _, number = text.partition("=")
        out.append(DataField(int(number or at), name, parse_type(kind)))
    return tuple(out)


def schema_of(
    fields: tuple[DataField, ...],
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    schema_id: int = 0,
    **options: str,
) -> TableSchema:
    """Return options from keyword arguments, with ``_`` for ``-`` and ``__`` for a dot."""
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    highest = max(f.id for f in fields)
    return TableSchema(schema_id, fields, highest, tuple(partition_by), tuple(primary_key), named)


def stats_of(
    fields: Sequence[DataField], low: Mapping[str, Any], high: Mapping[str, Any], nulls: int = 0
) -> ColumnStats:
    """Return statistics of ``fields``; a column that is not given has no bounds and ``nulls`` nulls."""
    types = [f.type for f in fields]
    rows = [encode_row([values.get(f.name) for f in fields], types) for values in (low, high)]
    return ColumnStats(rows[0], rows[1], tuple(nulls for _ in fields))


def data_file(schema: TableSchema, name: str, **low_high: tuple[Any, Any]) -> DataFile:
    """Return a file of 10 rows and 10 MB at level 0, with the given (low, high) statistics by column."""
    low = {k: v[0] for k, v in low_high.items()}
    high = {k: v[1] for k, v in low_high.items()}
    file = DataFile(name, 10 * MB, 10, schema.id, delete_row_count=0, value_stats=stats_of(schema.fields, low, high))
    if not schema.primary_keys:
        return file
    types = [f.type for f in schema.key_fields]
    key_stats = stats_of(schema.key_fields, low, high)
    first, last = (encode_row([v.get(f.name) for f in schema.key_fields], types) for v in (low, high))
    return replace(file, min_key=first, max_key=last, key_stats=key_stats)


@dataclass
class MetadataTable:
    """A table that has only manifests; every ``commit`` is one manifest of the next snapshot."""

    schema: TableSchema
    older: tuple[TableSchema, ...] = ()
    storage: FsspecStorage = field(default_factory=lambda: FsspecStorage("memory"))
    paths: TablePaths = field(default_factory=lambda: TablePaths(f"/lake/{uuid4()}"))
    entries: list[list[ManifestEntry]] = field(default_factory=list)

    def partition(self, *values: Any) -> bytes:
        """Return a serialized partition."""
        return encode_row(values, [f.type for f in self.schema.partition_fields]) if values else EMPTY_ROW

    def entry(
        self,
        file: DataFile,
        *partition: Any,
        bucket: int = 0,
        total_buckets: int | None = None,
        kind: FileKind = FileKind.ADD,
    ) -> ManifestEntry:
        """Return an entry in the partition with these values."""
        total = TableOptions.parse(self.schema.options)["bucket"] if total_buckets is None else total_buckets
        return ManifestEntry(kind, self.partition(*partition), bucket, total, file)

    def commit(self, *entries: ManifestEntry) -> None:
        """Add one manifest."""
        self.entries.append(list(entries))

    def snapshot(self, **members: Any) -> Snapshot:
        """Return a snapshot of all commits: the last one is in the delta list, the others in the base list."""
        store = self.manifests()
        written = [store.write_manifests(entries, MB)[0] for entries in self.entries]
        base, base_size = store.write_list(written[:-1])
        delta, delta_size = store.write_list(written[-1:])
        plain = Snapshot(7, self.schema.id, base, delta, "user", 1, CommitKind.APPEND, 1_700_000_000_000, 0, 0)
        return replace(plain, base_manifest_list_size=base_size, delta_manifest_list_size=delta_size, **members)

    def manifests(self) -> ManifestStore:
        """Return a manifest store with empty caches."""
        return ManifestStore(self.storage, self.paths, [f.type for f in self.schema.partition_fields])

    def plan(
        self, where: Predicate | None = None, buckets: Collection[int] | None = None, snapshot: Snapshot | None = None
    ) -> ScanPlan:
        """Return a scan plan of all commits."""
        schemas = {s.id: s for s in (*self.older, self.schema)}
        return plan_scan(
            snapshot=snapshot or self.snapshot(),
            schema=self.schema,
            options=TableOptions.parse(self.schema.options),
            manifests=self.manifests(),
            schemas=schemas.__getitem__,
            where=where,
            buckets=buckets,
        )


def names(plan: ScanPlan) -> list[str]:
    """Return the sorted names of the files of a plan."""
    return sorted(f.file_name for f in plan.files)


def without_stats(file: DataFile) -> DataFile:
    """Return the file without statistics, as some writers create it."""
    return replace(file, value_stats=EMPTY_STATS, value_stats_cols=(), key_stats=EMPTY_STATS)
