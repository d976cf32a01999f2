"""Inspect: the metadata of a table as Arrow tables, such as one row per snapshot, file, manifest or bucket."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from paimon_core.codec.binary_row import decode_row
from paimon_core.errors import SnapshotNotFound
from paimon_core.lsm.levels import Levels, num_levels
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifest import ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table, same_table, within_same_table
from paimon_core.schema import DataField

_TIME = pa.timestamp("ms", tz="UTC")
_LOCAL_TIME = pa.timestamp("ms")
_T = TypeVar("_T")


def _table(columns: Sequence[tuple[str, pa.DataType]], rows: Sequence[Sequence[Any]]) -> pa.Table:
    arrays = [pa.array([row[at] for row in rows], kind) for at, (_, kind) in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


@dataclass(frozen=True)
class Inspect:
    """The metadata of one table; files, manifests, partitions and buckets are those of the pinned or latest snapshot.

    Every method returns one Arrow table.
    """

    context: TableContext
    pinned: Snapshot | None = None

    def _of_snapshot(self, read: Callable[[Snapshot | None], _T]) -> _T:
        with within_same_table(self.context):
            return read_latest(self.context.snapshots, read) if self.pinned is None else read(self.pinned)

    def _entries(self) -> list[ManifestEntry]:
        return self._of_snapshot(lambda s: self.context.manifests.entries_of(s) if s else [])

    def snapshots(self) -> pa.Table:
        """One row per snapshot that has not expired, oldest first; times are UTC."""
        columns = [
            ("snapshot_id", pa.int64()),
            ("schema_id", pa.int64()),
            ("commit_user", pa.string()),
            ("commit_identifier", pa.int64()),
            ("commit_kind", pa.string()),
            ("commit_time", _TIME),
            ("total_record_count", pa.int64()),
            ("delta_record_count", pa.int64()),
            ("changelog_record_count", pa.int64()),
            ("watermark", pa.int64()),
            ("properties", pa.map_(pa.string(), pa.string())),
        ]
        found = []
        for snapshot_id in self.context.snapshots.ids():
            with contextlib.suppress(SnapshotNotFound):  # it has expired
                found.append(self.context.snapshots.read(snapshot_id))
        check_same_table(self.context)
        return _table(
            columns,
            [
                (
                    s.id,
                    s.schema_id,
                    s.commit_user,
                    s.commit_identifier,
                    str(s.commit_kind),
                    s.time_millis,
                    s.total_record_count,
                    s.delta_record_count,
                    s.changelog_record_count,
                    s.watermark,
                    list(s.properties.items()),
                )
                for s in found
            ],
        )

    def files(self) -> pa.Table:
        """One row per live data file; key ranges as JSON; ``creation_time`` is the writer's local time."""
        columns = [
            ("partition", pa.string()),
            ("bucket", pa.int32()),
            ("file_name", pa.string()),
            ("level", pa.int32()),
            ("record_count", pa.int64()),
            ("file_size_in_bytes", pa.int64()),
            ("min_key", pa.string()),
            ("max_key", pa.string()),
            ("min_sequence_number", pa.int64()),
            ("max_sequence_number", pa.int64()),
            ("delete_row_count", pa.int64()),
            ("schema_id", pa.int64()),
            ("creation_time", _LOCAL_TIME),
            ("file_source", pa.string()),
        ]
        keys = self.context.schema.key_fields
        return _table(
            columns,
            [
                (
                    self.context.partition_path(e.partition),
                    e.bucket,
                    e.file.file_name,
                    e.file.level,
                    e.file.row_count,
                    e.file.file_size,
                    _json(keys, e.file.min_key),
                    _json(keys, e.file.max_key),
                    e.file.min_sequence_number,
                    e.file.max_sequence_number,
                    e.file.delete_row_count,
                    e.file.schema_id,
                    e.file.creation_time_millis,
                    None if e.file.file_source is None else e.file.file_source.name,
                )
                for e in self._entries()
            ],
        )

    def manifests(self) -> pa.Table:
        """One row per manifest of the base, delta and changelog list; a missing changelog list is left out."""
        columns = [
            ("file_name", pa.string()),
            ("file_size", pa.int64()),
            ("num_added_files", pa.int64()),
            ("num_deleted_files", pa.int64()),
            ("schema_id", pa.int64()),
            ("list", pa.string()),
        ]
        found = self._of_snapshot(self._manifests)
        rows = [(m.file_name, m.file_size, m.num_added_files, m.num_deleted_files, m.schema_id, w) for w, m in found]
        return _table(columns, rows)

    def _manifests(self, snapshot: Snapshot | None) -> list[tuple[str, ManifestFile]]:
        """Return the manifests of each list that exists, with the list's name."""
        lists = [("base", snapshot.base_manifest_list), ("delta", snapshot.delta_manifest_list)] if snapshot else []
        changelog = snapshot.changelog_manifest_list if snapshot else None
        if changelog is not None and self.context.storage.exists(self.context.paths.manifest(changelog)):
            lists.append(("changelog", changelog))
        return [(which, m) for which, name in lists for m in self.context.manifests.read_list(name)]

    def partitions(self) -> pa.Table:
        """One row per partition, sorted by its directory: physical rows (before merging), bytes, files."""
        columns = [
            ("partition", pa.string()),
            ("record_count", pa.int64()),
            ("file_size_in_bytes", pa.int64()),
            ("file_count", pa.int64()),
            ("last_update_time", _LOCAL_TIME),
        ]
        groups: dict[bytes, list[ManifestEntry]] = {}
        for entry in self._entries():
            groups.setdefault(entry.partition, []).append(entry)
        rows = [
            (
                self.context.partition_path(partition),
                sum(e.file.row_count for e in entries),
                sum(e.file.file_size for e in entries),
                len(entries),
                max((e.file.creation_time_millis or 0) for e in entries),
            )
            for partition, entries in groups.items()
        ]
        return _table(columns, sorted(rows))

    def buckets(self) -> pa.Table:
        """One row per bucket: physical rows (before merging), bytes, files, level-0 files and sorted runs."""
        columns = [
            ("partition", pa.string()),
            ("bucket", pa.int32()),
            ("record_count", pa.int64()),
            ("file_size_in_bytes", pa.int64()),
            ("file_count", pa.int64()),
            ("level0_files", pa.int64()),
            ("sorted_runs", pa.int64()),
        ]
        groups: dict[tuple[bytes, int], list[ManifestEntry]] = {}
        for entry in self._entries():
            groups.setdefault((entry.partition, entry.bucket), []).append(entry)
        levels = num_levels(self.context.options)
        rows = [
            (
                self.context.partition_path(partition),
                bucket,
                sum(e.file.row_count for e in entries),
                sum(e.file.file_size for e in entries),
                len(entries),
                sum(e.file.level == 0 for e in entries),
                len(Levels.of([e.file for e in entries], levels).runs) if self.context.is_keyed else len(entries),
            )
            for (partition, bucket), entries in groups.items()
        ]
        return _table(columns, sorted(rows))

    def options(self) -> pa.Table:
        """One row per option in the schema file, with how it is used here: see ``paimon_core.options.Use``."""
        uses = self.context.options.uses
        return _table(
            [("key", pa.string()), ("value", pa.string()), ("use", pa.string())],
            [(key, value, uses.get(key)) for key, value in sorted(self.context.schema.options.items())],
        )

    def schemas(self) -> pa.Table:
        """One row per schema version; fields and options as JSON."""
        columns = [
            ("schema_id", pa.int64()),
            ("fields", pa.string()),
            ("partition_keys", pa.list_(pa.string())),
            ("primary_keys", pa.list_(pa.string())),
            ("options", pa.string()),
            ("comment", pa.string()),
            ("update_time", _TIME),
        ]
        return _table(
            columns,
            [
                (
                    s.id,
                    json.dumps([f.to_json() for f in s.fields]),
                    list(s.partition_keys),
                    list(s.primary_keys),
                    json.dumps(dict(s.options)),
                    s.comment,
                    s.time_millis,
                )
                for s in same_table(self.context).schemas.all()
            ],
        )

    def tags(self) -> pa.Table:
        """One row per tag, sorted by name."""
        columns = [
            ("tag_name", pa.string()),
            ("snapshot_id", pa.int64()),
            ("schema_id", pa.int64()),
            ("commit_time", _TIME),
            ("record_count", pa.int64()),
            ("create_time", _LOCAL_TIME),
            ("time_retained", pa.duration("ms")),
        ]
        return _table(
            columns,
            [
                (
                    t.name,
                    t.snapshot.id,
                    t.snapshot.schema_id,
                    t.snapshot.time_millis,
                    t.snapshot.total_record_count,
                    t.create_time_millis,
                    t.retained_millis,
                )
                for t in same_table(self.context).tags.list()
            ],
        )


def _json(fields: Sequence[DataField], row: bytes) -> str | None:
    if not fields:
        return None
    return json.dumps(list(decode_row(row, [f.type for f in fields])), default=str)
