"""TableContext: one table's place, schema, options and stores, as every operation receives them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_core.codec.binary_row import decode_row
from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.manifest_store import ManifestCache, ManifestStore
from paimon_core.metadata.schema_store import SchemaStore
from paimon_core.metadata.snapshot_store import SnapshotStore
from paimon_core.metadata.tag_store import TagStore
from paimon_core.options import TableOptions
from paimon_core.schema import TableSchema
from paimon_core.storage.paths import TablePaths, partition_path
from paimon_core.storage.storage import Storage
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS


@dataclass(frozen=True)
class TableContext:
    """Everything that is known of a table without looking at a snapshot; picklable when its storage is."""

    name: str
    storage: Storage
    paths: TablePaths
    schema: TableSchema
    options: TableOptions
    snapshots: SnapshotStore
    schemas: SchemaStore
    manifests: ManifestStore
    tags: TagStore

    @staticmethod
    def of(
        name: str, storage: Storage, root: str, schema: TableSchema, cache: ManifestCache | None = None
    ) -> TableContext:
        """The context of the table ``name`` at ``root`` with its current schema; ``cache`` is shared between tables.

        Raises UnsupportedFeature naming an option that could change what a read returns.
        """
        paths = TablePaths(root)
        options = TableOptions.parse(schema.options, table=name)
        if schema.primary_keys and options["bucket"] == -1:
            options = replace(options, foreign=("bucket=-1 with a primary key (dynamic bucket)", *options.foreign))
        types = [f.type for f in schema.partition_fields]
        return TableContext(
            name=name,
            storage=storage,
            paths=paths,
            schema=schema,
            options=options,
            snapshots=SnapshotStore(storage, paths),
            schemas=SchemaStore(storage, paths),
            manifests=ManifestStore(storage, paths, types, options["manifest.compression"], cache),
            tags=TagStore(storage, paths),
        )

    def with_schema(self, schema: TableSchema) -> TableContext:
        """The same table under another of its schemas, for time travel."""
        return replace(self, schema=schema)

    def partition_path(self, partition: bytes) -> str:
        """The directory of a serialized partition below the root, "" without partition keys (format 1.2)."""
        fields = self.schema.partition_fields
        if not fields:
            return ""
        types = [f.type for f in fields]
        values = partition_values(
            decode_row(partition, types),
            types,
            legacy=self.options["partition.legacy-name"],
            default_name=self.options["partition.default-name"],
        )
        return partition_path(tuple(f.name for f in fields), values)

    @property
    def is_keyed(self) -> bool:
        """Whether the table has a primary key."""
        return bool(self.schema.primary_keys)

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns that are hashed to a bucket (format 6.1); () without fixed buckets."""
        if self.options["bucket"] < 1:
            return ()
        return self.options["bucket-key"] or self.schema.trimmed_primary_keys

    def check_table(self) -> None:
        """The rules between keys and options for a new table; raises InvalidRequest naming the option."""
        buckets, keys = self.options["bucket"], self.options["bucket-key"]
        if self.is_keyed and buckets == -1:
            raise InvalidRequest(
                f"table {self.name} has a primary key and needs the option bucket = N (N >= 1): "
                "dynamic buckets (bucket = -1) are not supported",
                option="bucket",
            )
        if not self.is_keyed and buckets > 0 and not keys:
            raise InvalidRequest(
                f"table {self.name} has bucket = {buckets} and needs the option bucket-key", option="bucket-key"
            )
        if keys and buckets < 1:
            raise InvalidRequest(f"option bucket-key needs bucket = N with N >= 1, not {buckets}", option="bucket-key")
        self._check_columns()

    def _check_pairs(self) -> None:
        """Options that only mean something beside others."""
        values, options = self.options.values, self.options
        sequence = options["sequence.field"] or ()
        if len(set(sequence)) < len(sequence):
            raise InvalidRequest(f"option sequence.field = {','.join(sequence)!r} names a column twice")
        if "sequence.field.sort-order" in values and not sequence:
            raise InvalidRequest("option sequence.field.sort-order needs the option sequence.field")
        if "ignore-delete" in values and not self.is_keyed:
            raise InvalidRequest("option ignore-delete needs a table with a primary key", option="ignore-delete")
        if options["commit.min-retry-wait"] > options["commit.max-retry-wait"]:
            raise InvalidRequest("option commit.min-retry-wait is more than commit.max-retry-wait")
        missing = [k for k in self.schema.partition_keys if self.is_keyed and k not in self.schema.primary_keys]
        if missing:
            raise InvalidRequest(
                f"table {self.name}: the primary key must hold the partition key {missing[0]!r}, "
                "or one key could lie in two partitions",
                column=missing[0],
            )

    def _check_columns(self) -> None:
        schema = self.schema
        for field in schema.partition_fields:
            if field.type.root in BINARY_ROOTS and self.options["partition.legacy-name"]:
                raise UnsupportedFeature(
                    f"partition key {field.name!r} is {field.type}, which has no directory name "
                    "under partition.legacy-name = true",
                    column=field.name,
                )
        keys = self.options["bucket-key"] or ()
        for key in keys:
            if key not in schema.by_name:
                raise InvalidRequest(f"option bucket-key names {key!r}, which is no column", option="bucket-key")
            if key in schema.partition_keys or (schema.primary_keys and key not in schema.primary_keys):
                raise InvalidRequest(
                    f"option bucket-key names {key!r}, which must be a primary key column and no partition key",
                    option="bucket-key",
                )
        if len(set(keys)) < len(keys):
            raise InvalidRequest(f"option bucket-key = {','.join(keys)!r} names a column twice", option="bucket-key")
        least, most = self.options["snapshot.num-retained.min"], self.options["snapshot.num-retained.max"]
        if least > most and "snapshot.num-retained.min" in self.options.values:
            raise InvalidRequest(
                f"option snapshot.num-retained.min = {least} is more than snapshot.num-retained.max = {most}",
                option="snapshot.num-retained.min",
            )
        kind = schema.by_name.get(self.options["rowkind.field"] or "")
        if kind is not None and kind.type.root not in STRING_ROOTS:
            raise InvalidRequest(
                f"option rowkind.field names {kind.name!r}, which is {kind.type} and not text", option="rowkind.field"
            )
        self._check_pairs()
        for option in ("sequence.field", "rowkind.field"):
            value = self.options[option]
            for column in (value,) if isinstance(value, str) else value or ():
                if not self.is_keyed:
                    raise InvalidRequest(f"option {option} needs a table with a primary key", option=option)
                if column not in schema.by_name:
                    raise InvalidRequest(f"option {option} names {column!r}, which is no column", option=option)
        for column in self.options.stats_modes:
            if column not in schema.by_name:
                raise InvalidRequest(f"option fields.{column}.stats-mode names {column!r}, which is no column")
