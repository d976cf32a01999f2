"""Pruning: the partitions, buckets and files that a scan may leave out because of its filter (format 8.8).

All tests are conservative: a file is left out only if it cannot contain a row that the filter selects; a file without
statistics is kept. Statistics are decoded only for columns that the filter uses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from paimon_core.codec.binary_row.bucket_function import buckets_of, function_problem
from paimon_core.codec.binary_row.rows import encode_row, row_decoder, to_array
from paimon_core.errors import CorruptTable
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.manifests.entry_columns import Entries
from paimon_core.metadata.manifests.recorded_bounds import recorded_bounds
from paimon_core.options import TableOptions
from paimon_core.plan.index_filter import IndexFilter
from paimon_core.plan.row_ranges import column_ids
from paimon_core.predicate import BoundPredicate, Predicate
from paimon_core.schema import ROW_ID, SEQUENCE_NUMBER, DataField, TableSchema
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, DataType, TypeRoot

MAX_HASHED_KEYS = 10_000
"""The largest number of combinations of column values for which the hashes or the serialized rows are computed."""

_WIDER = {
    TypeRoot.TINYINT: {TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT},
    TypeRoot.SMALLINT: {TypeRoot.INT, TypeRoot.BIGINT},
    TypeRoot.INT: {TypeRoot.BIGINT},
    TypeRoot.FLOAT: {TypeRoot.DOUBLE},
}
"""For each type, the wider types to which a cast does not change the value."""

Schemas = Callable[[int], TableSchema]
Bounds = dict[str, tuple[Any, Any, int | None]]


@dataclass(frozen=True, slots=True)
class Pruners:
    """The tests by partition, bucket, key and value.

    A test is None when the filter does not restrict the partition, the bucket, the key or the values.
    """

    partition: PartitionPruner | None = None
    bucket: BucketPruner | None = None
    key: KeyPruner | None = None
    value: ValuePruner | None = None

    @staticmethod
    def of(where: Predicate | None, schema: TableSchema, options: TableOptions, schemas: Schemas) -> Pruners:
        """Return the tests that a filter on ``schema`` allows; raises SchemaMismatch when the filter does not fit the
        schema.
        """
        if where is None:
            return Pruners()
        bound = where.bind(schema.fields)
        bucket_keys = (options["bucket-key"] or schema.trimmed_primary_keys) if options["bucket"] > 0 else ()
        return Pruners(
            PartitionPruner.of(bound, schema.partition_fields),
            BucketPruner.of(bound, schema.select(bucket_keys), schema, schemas, options["bucket-function.type"]),
            KeyPruner.of(bound, schema.key_fields),
            ValuePruner.of(bound, schema, schemas, IndexFilter.of(bound, schema, options, schemas)),
        )


@dataclass(frozen=True, slots=True)
class StatsRow:
    """Decodes the columns that a filter uses from serialized rows of statistics; created once for many rows."""

    arity: int
    names: tuple[tuple[int, str, DataType], ...]
    """The positions, names and types of the columns to decode."""
    decode: Callable[[bytes], tuple[Any, ...]]

    @staticmethod
    def of(fields: Sequence[DataField], names: Collection[str]) -> StatsRow:
        """Return the decoder for rows of ``fields``; only the columns ``names`` are decoded."""
        wanted = tuple((at, f.name, f.type) for at, f in enumerate(fields) if f.name in names)
        return StatsRow(len(fields), wanted, row_decoder(tuple(f.type for f in fields)))

    def bounds(self, stats: ColumnStats, file_name: str) -> Bounds:
        """Return a dict from column to minimum, maximum and null count; the dict is empty without statistics.

        Raises CorruptTable, which names the file, for statistics that do not decode.
        """
        if not self.names or not any(stats.min_values[:4]):
            return {}
        try:
            low, high = self.decode(stats.min_values), self.decode(stats.max_values)
        except CorruptTable as error:
            raise CorruptTable(f"the statistics of {file_name} do not decode: {error}", file=file_name) from error
        nulls = stats.null_counts
        if len(nulls) != self.arity:
            nulls = (None,) * self.arity
        return {name: recorded_bounds(low[at], high[at], nulls[at], dtype) for at, name, dtype in self.names}

    def constant(self, row: bytes, row_count: int, file_name: str) -> Bounds:
        """Return the statistics of ``row_count`` rows that all have the values of ``row``, the partition of a file.

        Raises CorruptTable, which names the file, for a partition that does not decode.
        """
        if not self.names:
            return {}
        try:
            values = self.decode(row)
        except CorruptTable as error:
            raise CorruptTable(f"a partition in {file_name} does not decode: {error}", file=file_name) from error
        return {name: (values[at], values[at], row_count if values[at] is None else 0) for at, name, _ in self.names}


@dataclass(frozen=True)
class PartitionPruner:
    """Tests partitions; each distinct partition is decoded and tested once."""

    where: BoundPredicate
    """A filter that uses only partition columns."""
    row: StatsRow
    columns: tuple[str, ...]
    """All partition columns."""
    known: dict[bytes, bool] = field(default_factory=dict)

    @staticmethod
    def of(where: BoundPredicate, fields: Sequence[DataField]) -> PartitionPruner | None:
        """Return the test of partitions, or None when no part of the conjunction uses only the partition ``fields``."""
        names = tuple(f.name for f in fields)
        part = where.only(names)
        return None if part is None else PartitionPruner(part, StatsRow.of(fields, part.columns), names)

    def keeps_manifest(self, manifest: ManifestFile) -> bool:
        """Whether an entry of the manifest may be in a partition that the filter selects."""
        entries = manifest.num_added_files + manifest.num_deleted_files
        return self.where.may_match(self.row.bounds(manifest.partition_stats, manifest.file_name), entries)

    def texts(self, types: Sequence[DataType]) -> tuple[bytes, ...] | None:
        """Return byte strings; each serialized partition that the filter selects contains at least one of the strings.

        ``types``: the types of all partition columns. For a single text column, the strings are the texts, because a
        text may be stored in a slot of the row or after the slots. Otherwise the strings are the whole rows. Return
        None when the filter does not list the selected partitions, or lists too many partitions.
        """
        columns = [self.where.equality_values(name) for name in self.columns]
        known = [values for values in columns if values is not None]
        if len(known) < len(columns) or prod(map(len, known)) > MAX_HASHED_KEYS:
            return None
        if len(types) == 1 and types[0].root in STRING_ROOTS:
            return tuple(value.encode() for value in known[0])
        return tuple(encode_row(values, types) for values in product(*known))

    def select(self, entries: Entries, manifest: str) -> Entries:
        """Return the entries whose partitions may contain selected rows.

        ``manifest``: the path of the manifest that contains the entries, for errors.
        """
        if isinstance(entries, tuple):
            return tuple(e for e in entries if self.keeps(e.partition, manifest))
        return entries.of_partitions(lambda partition: self.keeps(partition, manifest))

    def keeps(self, partition: bytes, found_in: str = "a commit") -> bool:
        """Whether the partition may contain selected rows; ``found_in`` names the source of the partition in errors."""
        if partition not in self.known:
            self.known[partition] = self.where.may_match(self.row.constant(partition, 1, found_in), 1)
        return self.known[partition]


@dataclass(frozen=True)
class BucketPruner:
    """Tests whether a bucket can contain one of the bucket keys that a filter allows, by their hashes (format 6)."""

    keys: tuple[DataField, ...]
    values: tuple[tuple[Any, ...], ...]
    """For each key column, the values that the filter allows."""
    schema: TableSchema
    schemas: Schemas
    function: str
    """The value of option bucket-function.type."""
    buckets: dict[int, frozenset[int]] = field(default_factory=dict)
    comparable: dict[int, bool] = field(default_factory=dict)

    @staticmethod
    def of(
        where: BoundPredicate, keys: tuple[DataField, ...], schema: TableSchema, schemas: Schemas, function: str
    ) -> BucketPruner | None:
        """Return the test; None if the filter does not list all values of the bucket key, or lists too many values."""
        values = [where.equality_values(f.name) for f in keys]
        known = tuple(v for v in values if v is not None)
        if not keys or len(known) < len(keys) or prod(map(len, known)) > MAX_HASHED_KEYS:
            return None
        if function_problem(function, [f.type for f in keys]):
            return None
        return BucketPruner(keys, known, schema, schemas, function)

    def keeps(self, bucket: int, total_buckets: int, schema_id: int) -> bool:
        """Whether a file of a bucket may contain one of the keys; ``total_buckets`` may differ between files."""
        if total_buckets < 1 or not self._hashes_alike(schema_id):
            return True
        allowed = self.buckets.get(total_buckets)
        if allowed is None:
            allowed = self._allowed(total_buckets)
            self.buckets[total_buckets] = allowed
        return bucket in allowed

    def _allowed(self, total: int) -> frozenset[int]:
        rows = list(product(*self.values))
        if not rows:
            return frozenset()
        types = [f.type for f in self.keys]
        columns = [to_array(list(column), t) for column, t in zip(zip(*rows, strict=True), types, strict=True)]
        return frozenset(buckets_of(columns, types, self.function, total).tolist())

    def _hashes_alike(self, schema_id: int) -> bool:
        """Whether the keys in files of this schema have the current types: -5 as INT and as BIGINT have different
        hashes.
        """
        if schema_id == self.schema.id:
            return True
        if schema_id not in self.comparable:
            old = {f.id: f for f in self.schemas(schema_id).fields}
            self.comparable[schema_id] = all(f.id in old and _same_type(old[f.id].type, f.type) for f in self.keys)
        return self.comparable[schema_id]


@dataclass(frozen=True)
class KeyPruner:
    """Tests files of a primary-key table by the range of their keys."""

    where: BoundPredicate
    """A filter that uses only columns of the trimmed primary key."""
    row: StatsRow

    @staticmethod
    def of(where: BoundPredicate, fields: Sequence[DataField]) -> KeyPruner | None:
        """Return the test of key ranges, or None when no part of the conjunction uses only the key ``fields``."""
        part = where.only([f.name for f in fields])
        return None if part is None else KeyPruner(part, StatsRow.of(fields, part.columns))

    def keeps(self, file: DataFile) -> bool:
        """Whether the file may contain a selected key.

        All files that may contain a selected key are kept, so that a merge has all rows of the key.
        """
        return self.where.may_match(self.row.bounds(file.key_stats, file.file_name), file.row_count)


@dataclass(frozen=True)
class ValuePruner:
    """Tests files against the whole filter, with the statistics and indexes in their manifest entries."""

    where: BoundPredicate
    schema: TableSchema
    schemas: Schemas
    partition: StatsRow
    key: StatsRow
    index: IndexFilter | None = None
    covers: dict[tuple[int, tuple[str, ...] | None], Cover] = field(default_factory=dict)
    """A cache of ``Cover`` values by (schema id, columns that have statistics); None means all columns."""

    @staticmethod
    def of(
        where: BoundPredicate, schema: TableSchema, schemas: Schemas, index: IndexFilter | None = None
    ) -> ValuePruner:
        """Return the test for files of ``schema`` or of any older schema in ``schemas``."""
        partition = StatsRow.of(schema.partition_fields, where.columns)
        return ValuePruner(where, schema, schemas, partition, StatsRow.of(schema.key_fields, where.columns), index)

    def keeps(self, partition: bytes, file: DataFile) -> bool:
        """Whether a row of the file may match, by its statistics and by the indexes in its manifest entry."""
        if not self.where.may_match(self.bounds(partition, file), file.row_count):
            return False
        return self.index is None or self.index.may_match(file)

    def bounds(self, partition: bytes, file: DataFile) -> Bounds:
        """Return the minimum, maximum and null count that the manifest entry states for the filter's columns."""
        bounds = self._value_bounds(file)
        if self.schema.is_tracked:
            bounds.update(tracked_bounds(file))
        bounds.update(self.key.bounds(file.key_stats, file.file_name))
        bounds.update(self.partition.constant(partition, file.row_count, file.file_name))
        return bounds

    def keeps_range(self, partition: bytes, files: Sequence[DataFile]) -> bool:
        """Whether a row whose columns are distributed over ``files`` may match; the newest file comes first.

        For each column, only the statistics of the newest file that contains it are used.
        """
        if len(files) == 1:
            return self.keeps(partition, files[0])
        newest = files[0]
        bounds = tracked_bounds(newest) if self.schema.is_tracked else {}
        asked = {f.id: f.name for f in self.schema.untracked.fields if f.name in self.where.columns}
        for file in files:
            known = self._value_bounds(file)
            for number in column_ids(file, self.schemas(file.schema_id)).intersection(asked):
                name = asked.pop(number)
                if name in known:
                    bounds[name] = known[name]
        bounds.update(self.partition.constant(partition, newest.row_count, newest.file_name))
        return self.where.may_match(bounds, newest.row_count)

    def cover(self, schema_id: int, names: tuple[str, ...] | None) -> Cover:
        """Return the decoder of the value statistics in files of a schema; ``names``: the columns with statistics."""
        cover = self.covers.get((schema_id, names))
        if cover is None:
            old = self.schema if schema_id == self.schema.id else self.schemas(schema_id)
            cover = self.covers[schema_id, names] = _cover(self.schema, old, names, self.where.columns)
        return cover

    def _value_bounds(self, file: DataFile) -> Bounds:
        cover = self.cover(file.schema_id, file.write_cols if file.value_stats_cols is None else file.value_stats_cols)
        out = cover.row.bounds(file.value_stats, file.file_name)
        for name in cover.absent:
            out[name] = (None, None, file.row_count)
        return out


@dataclass(frozen=True, slots=True)
class Cover:
    """Maps the value statistics of the files of one schema to the columns of a filter (format 2.4)."""

    row: StatsRow
    """Decodes the columns of the filter that have statistics, under their current names.

    Columns whose bounds a cast to the current type could change are left out.
    """
    absent: tuple[str, ...]
    """The current names of the columns that the schema of the files does not have: in these files, all values of such a
    column are null.
    """


def _cover(schema: TableSchema, old: TableSchema, names: tuple[str, ...] | None, columns: frozenset[str]) -> Cover:
    covered: tuple[DataField, ...] = ()
    old = old.untracked
    by_name = old.by_name if names is None or ROW_ID not in names else old.tracked().by_name
    if names is None:
        covered = old.fields
    elif all(name in by_name for name in names):
        covered = tuple(by_name[name] for name in names)
    asked = {f.id: f for f in schema.untracked.fields if f.name in columns}
    known = {f.id for f in old.fields}
    wanted = tuple(
        (at, asked[f.id].name, f.type)
        for at, f in enumerate(covered)
        if f.id in asked and _keeps_bounds(f.type, asked[f.id].type)
    )
    row = StatsRow(len(covered), wanted, row_decoder(tuple(f.type for f in covered)))
    return Cover(row, tuple(f.name for f in asked.values() if f.id not in known))


def tracked_bounds(file: DataFile) -> Bounds:
    """Return the bounds of the row tracking columns, from the manifest entry, if the file does not contain the columns.

    For a file with the columns, the result is empty, because Java 1.4 records sequence numbers that differ from the
    sequence numbers of the rows.
    """
    columns = file.write_cols or ()
    out: Bounds = {}
    if SEQUENCE_NUMBER not in columns:
        out[SEQUENCE_NUMBER] = (file.max_sequence_number, file.max_sequence_number, 0)
    if file.first_row_id is not None and ROW_ID not in columns:
        out[ROW_ID] = (file.first_row_id, file.first_row_id + file.row_count - 1, 0)
    return out


def _same_type(a: DataType, b: DataType) -> bool:
    return a.with_nullable(True) == b.with_nullable(True)


def _keeps_bounds(old: DataType, new: DataType) -> bool:
    """Whether a cast from ``old`` to ``new`` changes no value, so that the bounds stay valid after the cast."""
    if _same_type(old, new):
        return True
    if old.root in _WIDER:
        return new.root in _WIDER[old.root]
    if old.root is TypeRoot.DECIMAL and new.root is TypeRoot.DECIMAL:
        return old.scale == new.scale and old.precision < new.precision
    if new.root in (TypeRoot.VARCHAR, TypeRoot.VARBINARY):
        family = STRING_ROOTS if new.root is TypeRoot.VARCHAR else BINARY_ROOTS
        return old.root in family and old.length <= new.length
    return False
