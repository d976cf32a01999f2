"""Publishes snapshots and schemas through a REST server, which creates their files (format 14.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.alter.rest_changes import rest_changes
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.rest.client import RestClient
from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import AlreadyExists, CommitStateUnknown, NotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.schema_store import SchemaPublisher, SchemaStore
from paimon_core.metadata.stores.snapshot_store import Publisher
from paimon_core.schema import TableSchema
from paimon_core.storage.paths import MAIN, TablePaths
from paimon_core.storage.storage import Storage


@dataclass(frozen=True)
class RestPublisher(Publisher):
    """Sends the snapshots of one table and its branches to the server."""

    client: RestClient
    name: Identifier
    table_id: str
    """The server's id of the table, by which it refuses a commit to a table that was dropped and created again."""
    storage: Storage
    root: str
    schema: TableSchema

    @property
    def owns_history(self) -> bool:
        """True: the server records which snapshot is the latest."""
        return True

    def is_same_table(self) -> bool:
        """Whether the server's table of this name still has ``table_id``; sends one request."""
        try:
            answer = self.client.get("databases", self.name.database, "tables", self.name.object_name)
        except NotFound:
            return False
        return answer.get("id") == self.table_id

    def publish(self, path: str, snapshot: Snapshot, base: Snapshot | None) -> bool:
        """Return True when the server created the snapshot, False when a concurrent commit has used its id.

        False is also returned when ``base`` is not the server's latest snapshot.

        Raises StorageError when the server was not reached, NotFound or InvalidRequest when the server refused the
        request: in these cases, nothing was committed. Raises CommitStateUnknown when the answer was lost or the server
        failed.
        """
        name = Identifier(self.name.database, self.name.table, self._branch(path))
        body = {
            "tableId": self.table_id,
            "baseSnapshotUuid": None if base is None else base.uuid,
            "snapshot": snapshot.to_members(),
            "statistics": self._statistics(snapshot),
        }
        try:
            answer = self.client.post("databases", name.database, "tables", name.object_name, "commit", body=body)
        except AlreadyExists:
            return False
        success = answer.get("success")
        if not isinstance(success, bool):
            raise CommitStateUnknown(f"{self.client.uri} answered a commit to {name} without its result")
        return success

    def _branch(self, path: str) -> str:
        head = TablePaths(self.root).branch_directory + "/branch-"
        return path.removeprefix(head).partition("/")[0] if path.startswith(head) else MAIN

    def _statistics(self, snapshot: Snapshot) -> list[dict[str, Any]]:
        """Return the changes to the statistics of each partition; the values of deleted files are subtracted."""
        context = TableContext.of(str(self.name), self.storage, self.root, self.schema)
        manifests = context.manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        partitions: dict[bytes, list[ManifestEntry]] = {}
        for manifest in manifests:
            for entry in context.manifests.read_manifest(manifest.file_name, manifest.file_size):
                partitions.setdefault(entry.partition, []).append(entry)
        return [_partition_change(context, partition, entries) for partition, entries in partitions.items()]


def _partition_change(context: TableContext, partition: bytes, entries: list[ManifestEntry]) -> dict[str, Any]:
    fields = context.schema.partition_fields
    types = [f.type for f in fields]
    texts = partition_values(
        decode_row(partition, types),
        types,
        legacy=context.options["partition.legacy-name"],
        default_name=context.options["partition.default-name"],
    )
    signed = [(1 if e.kind is FileKind.ADD else -1, e.file) for e in entries]
    return {
        "spec": {f.name: text for f, text in zip(fields, texts, strict=True)},
        "recordCount": sum(sign * f.row_count for sign, f in signed),
        "fileSizeInBytes": sum(sign * f.file_size for sign, f in signed),
        "fileCount": sum(sign for sign, _ in signed),
        "lastFileCreationTime": max(f.creation_time_millis or 0 for _, f in signed),
        "totalBuckets": entries[-1].total_buckets,
    }


@dataclass(frozen=True)
class RestSchemaPublisher(SchemaPublisher):
    """Sends schema changes of one table and its branches to the server, which applies the changes to its own schema."""

    client: RestClient
    name: Identifier

    def publish(self, schemas: SchemaStore, schema: TableSchema, changes: Sequence[Any]) -> bool:
        """Return True: the server has altered the table, even if it made the alteration of another client before.

        Raises StorageError when the server was not reached, NotFound, AlreadyExists or InvalidRequest when the server
        refused the request: in these cases, nothing was changed. Raises CommitStateUnknown when the answer was lost or
        the server failed.
        """
        name = Identifier(self.name.database, self.name.table, schemas.paths.branch)
        body = {"changes": rest_changes(changes)}
        self.client.post("databases", name.database, "tables", name.object_name, body=body)
        return True
