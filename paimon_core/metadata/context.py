"""TableContext: the path, schema, options and stores of one table, which every operation receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import CorruptTable
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.log_ignored_options import log_ignored_options
from paimon_core.metadata.opening_rules import opened_options
from paimon_core.metadata.stores.branch_store import BranchStore
from paimon_core.metadata.stores.changelog_store import ChangelogStore
from paimon_core.metadata.stores.consumer_store import ConsumerStore
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.metadata.stores.schema_store import SchemaPublisher, SchemaStore
from paimon_core.metadata.stores.snapshot_store import Publisher, SnapshotStore
from paimon_core.metadata.stores.tag_store import TagStore
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.storage.external_roots import NO_ROOTS, ExternalRoots
from paimon_core.storage.fsspec_storage import confined
from paimon_core.storage.paths import MAIN, TablePaths, bucket_directory, partition_path
from paimon_core.storage.storage import Storage

_KNOWN_PATHS = 1 << 14
"""Maximum number of partition directories that a context caches."""


@dataclass(frozen=True)
class TableContext:
    """The schema, options and stores of a table, but no snapshot. It can be pickled if its storage can be pickled."""

    name: str
    storage: Storage
    paths: TablePaths
    schema: TableSchema
    options: TableOptions
    snapshots: SnapshotStore
    schemas: SchemaStore
    manifests: ManifestStore
    tags: TagStore
    changelogs: ChangelogStore
    consumers: ConsumerStore
    branches: BranchStore
    dynamic: Mapping[str, str | None] = field(default_factory=dict)
    """Options of this handle only, which replace the schema's options; None removes an option of the schema."""

    @staticmethod
    def of(
        name: str,
        storage: Storage,
        root: str,
        schema: TableSchema,
        cache: ManifestCache | None = None,
        *,
        branch: str = MAIN,
        publisher: Publisher | None = None,
        schema_publisher: SchemaPublisher | None = None,
        dynamic: Mapping[str, str | None] | None = None,
        roots: ExternalRoots | None = None,
    ) -> TableContext:
        """Return the context of the table ``name`` at ``root`` with ``schema``.

        ``cache`` may be shared between tables. ``branch`` is the branch to read and write. ``publisher`` creates the
        snapshots, and ``schema_publisher`` creates all schemas after the first schema; without a publisher, the stores
        create these files. ``roots`` are the directories outside of the table that may contain its files. Raises
        UnsupportedFeature for an unsupported option that could change the result of a read.
        """
        options = opened_options(schema, dynamic or {}, table=name)
        roots = roots or NO_ROOTS
        paths = TablePaths(root, branch, options["data-file.path-directory"], roots)
        storage = confined(storage, root, roots.paths)
        log_ignored_options(name, root, options)
        types = [f.type for f in schema.partition_fields]
        return TableContext(
            name=name,
            storage=storage,
            paths=paths,
            schema=schema,
            options=options,
            snapshots=SnapshotStore(storage, paths, publisher),
            schemas=SchemaStore(storage, paths, schema_publisher),
            manifests=ManifestStore(
                storage, paths, types, options["manifest.compression"], cache, options["manifest.format"]
            ),
            tags=TagStore(storage, paths),
            changelogs=ChangelogStore(storage, paths),
            consumers=ConsumerStore(storage, paths),
            branches=BranchStore(storage, paths),
            dynamic=dynamic or {},
        )

    def with_schema(self, schema: TableSchema) -> TableContext:
        """Return the context with another schema of the table, and with the options of this schema."""
        if schema == self.schema:
            return self
        return replace(self, schema=schema, options=opened_options(schema, self.dynamic, table=self.name))

    def with_dynamic(self, dynamic: Mapping[str, str | None]) -> TableContext:
        """Return the context with ``dynamic`` instead of its present dynamic options."""
        return replace(self, dynamic=dynamic).reopened(self.schema)

    def merging_level_0(self) -> TableContext:
        """Return the context with option deletion-vectors.merge-on-read = true, so that reads merge level 0.

        The context is unchanged for a table without deletion vectors.
        """
        if not self.options["deletion-vectors.enabled"]:
            return self
        return self.with_values({"deletion-vectors.merge-on-read": True})

    def with_values(self, values: Mapping[str, Any]) -> TableContext:
        """Return the context with ``values``, which are parsed values of options, in place of the old values."""
        return replace(self, options=replace(self.options, values={**self.options.values, **values}))

    @property
    def branch(self) -> str:
        """The branch that this context reads and writes."""
        return self.paths.branch

    def on_branch(self, branch: str) -> TableContext:
        """Return the context of another branch of the table, with the latest schema of that branch.

        Raises BranchNotFound for a branch that does not exist, or that is being created, copied or deleted.
        """
        if branch == self.branch:
            return self
        try:
            schema = SchemaStore(self.storage, TablePaths(self.paths.root, branch)).latest()
        except CorruptTable:
            if branch == MAIN or self.branches.is_there(branch):
                raise
            schema = None  # the branch was deleted during the read
        if schema is None or (branch != MAIN and self.branches.is_hidden(branch)):
            raise self.branches.not_found(branch)
        base = self.name.partition("$")[0]
        name = base if branch == MAIN else f"{base}$branch_{branch}"
        return replace(self, name=name, paths=replace(self.paths, branch=branch)).reopened(schema)

    def beside(self, branch: str) -> TableContext:
        """Return the context of a branch with the schema of this context, to inspect files and not to read rows.

        The branch may be incomplete.
        """
        if branch == self.branch:
            return self
        return replace(self, paths=replace(self.paths, branch=branch)).reopened(self.schema)

    def reopened(self, schema: TableSchema, storage: Storage | None = None) -> TableContext:
        """Return a new context of the same table and branch with ``schema``; it shares the manifest cache.

        ``storage`` replaces the storage, if given.
        """
        return TableContext.of(
            self.name,
            self.storage if storage is None else storage,
            self.paths.root,
            schema,
            self.manifests.cache,
            branch=self.branch,
            publisher=self.snapshots.publisher,
            schema_publisher=self.schemas.publisher,
            dynamic=self.dynamic,
            roots=self.paths.external,
        )

    def uncached(self) -> TableContext:
        """Return the same table with an empty manifest cache: every manifest is read from the warehouse again."""
        old = self.manifests
        cache = ManifestCache(max_bytes=old.cache.max_bytes)
        fresh = ManifestStore(old.storage, old.paths, old.partition_types, old.compression, cache, old.form)
        return replace(self, manifests=fresh)

    def file_path(self, partition: bytes, bucket: int, file: DataFile, name: str | None = None) -> str:
        """Return the path of a data file, or of the file ``name`` in the same directory (format 1.4).

        Raises InvalidRequest for a file that is neither in the table nor below the allowed roots, CorruptTable for a
        name that is not a plain file name.
        """
        name = file.file_name if name is None else name
        if file.external_path is not None:
            return self.paths.external_file(file.external_path, file.file_name, name)
        return self.paths.data_file(self.partition_path(partition), bucket, name)

    def file_paths(self, partition: bytes, bucket: int, file: DataFile) -> list[str]:
        """Return the paths of a data file and of its extra files; raises as ``file_path`` does."""
        return [self.file_path(partition, bucket, file, name) for name in (file.file_name, *file.extra_files)]

    def bucket_path(self, partition: bytes, bucket: int) -> str:
        """Return the directory of a bucket below the root, such as ``day=1/bucket-0`` (format 1.2, 1.3)."""
        return "/".join(filter(None, (self.partition_path(partition), bucket_directory(bucket))))

    def partition_path(self, partition: bytes) -> str:
        """Return the directory of a serialized partition below the root; "" without partition keys (format 1.2)."""
        if not self.schema.partition_keys:
            return ""
        known: dict[bytes, str] = self.derived.setdefault(TableContext.partition_path, {})
        path = known.get(partition)
        if path is None:
            if len(known) >= _KNOWN_PATHS:
                known.clear()
            path = known[partition] = self._partition_path(partition)
        return path

    def _partition_path(self, partition: bytes) -> str:
        fields = self.schema.partition_fields
        types = [f.type for f in fields]
        values = partition_values(
            decode_row(partition, types),
            types,
            legacy=self.options["partition.legacy-name"],
            default_name=self.options["partition.default-name"],
        )
        return partition_path(tuple(f.name for f in fields), values)

    @cached_property
    def derived(self) -> dict[object, Any]:
        """A cache of values that callers compute only from schema and options; callers choose the keys.

        The cache is not pickled.
        """
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "derived"}

    @property
    def is_keyed(self) -> bool:
        """Whether the table has a primary key."""
        return bool(self.schema.primary_keys)

    @property
    def has_dynamic_buckets(self) -> bool:
        """Whether a new key is put into any bucket that has room, instead of the bucket of its hash (format 11)."""
        return self.is_keyed and self.options["bucket"] == -1

    @property
    def is_postponed(self) -> bool:
        """Whether new rows may be in the postpone bucket until a compaction moves these rows to fixed buckets."""
        return self.is_keyed and self.options["bucket"] == -2

    @property
    def is_cross_partition(self) -> bool:
        """Whether a key may move to another partition (format 11.2); the buckets are dynamic, without hash indexes."""
        return self.has_dynamic_buckets and self.schema.is_cross_partition

    @property
    def tracks_rows(self) -> bool:
        """Whether the rows of the table have ids (option row-tracking.enabled)."""
        return bool(self.options["row-tracking.enabled"]) and not self.is_keyed

    @property
    def evolves(self) -> bool:
        """Whether the columns of a row may be in several files (option data-evolution.enabled)."""
        return bool(self.options["data-evolution.enabled"]) and not self.is_keyed

    def tracked(self) -> TableContext:
        """Return the context with row ids and sequence numbers as columns; without row tracking, the same context."""
        return replace(self, schema=self.schema.tracked()) if self.tracks_rows else self

    def with_kept_ids(self) -> TableContext:
        """Return the context for writing rows that keep their ids (format 17).

        The written files contain the ids and sequence numbers of the rows. A null as sequence number stands for the id
        of the snapshot that the commit creates. The context is unchanged for a table without row tracking.
        """
        return replace(self, schema=self.schema.tracked(sequence_nullable=True)) if self.tracks_rows else self

    def with_buckets(self, count: int) -> TableContext:
        """Return the context with ``count`` fixed buckets, for a partition of a table with a postpone bucket."""
        return self.with_values({"bucket": count})

    @property
    def has_buckets(self) -> bool:
        """Whether rows belong to buckets, fixed or dynamic; False for append tables without buckets."""
        return self.is_keyed or self.options["bucket"] > 0

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns whose hash selects the bucket (format 6.1); () without fixed buckets."""
        if self.options["bucket"] < 1:
            return ()
        return self.options["bucket-key"] or self.schema.trimmed_primary_keys
