"""plan_scan: snapshot → manifests → pruned files → splits, with the numbers of pruned files (format 8.7, 8.8).

Planning reads metadata only. A plan is complete: its splits together contain every row of the snapshot that the filter
selects, exactly once. The splits may also contain rows that the filter does not select; the reader leaves these rows
out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from paimon_core.display import Displayed, Summary
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.known_deletes import records_deletes
from paimon_core.metadata.manifests.gc_pause import gc_paused
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.options import COMBINING_ENGINES, TableOptions
from paimon_core.plan.entry_table import EntryTable, Mask
from paimon_core.plan.file_packing import FileColumns, PackedFiles, PackingRule, pack_files
from paimon_core.plan.lazy_files import FilesAhead, LazyFiles
from paimon_core.plan.live_files import LiveFiles, ScanCounts, SelectedFiles, read_live_files
from paimon_core.plan.prune import Pruners, Schemas, ValuePruner
from paimon_core.plan.row_ranges import pack_ranges
from paimon_core.plan.split import Layout, Packing, Split
from paimon_core.plan.stats_columns import value_matches
from paimon_core.predicate import Predicate
from paimon_core.schema import TableSchema
from paimon_core.table_indexes.live_vectors import Vectors, vectors_by_bucket, vectors_of
from paimon_core.types import DataType


@dataclass(frozen=True, repr=False)
class ScanPlan(Displayed):
    """The splits of a scan, and the numbers of the files that are left out, by reason."""

    snapshot: Snapshot | None
    """None: the table has no snapshot, so the plan has no splits."""
    schema: TableSchema
    where: Predicate | None
    splits: tuple[Split, ...]
    counts: ScanCounts

    def _summary(self) -> Summary:
        files = self.files
        facts = (
            ("where", self.where),
            ("splits", len(self.splits)),
            ("files", len(files)),
            ("bytes", sum(f.file_size for f in files)),
            ("rows_in_files", self.row_count),
        )
        return Summary("no snapshot" if self.snapshot is None else f"snapshot {self.snapshot.id}", facts)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files of all splits."""
        return tuple(f for split in self.splits for f in split.files)

    @property
    def row_count(self) -> int:
        """The number of rows in the files of all splits: a read returns at most this number of rows."""
        return sum(s.row_count for s in self.splits)


def plan_scan(
    *,
    snapshot: Snapshot | None,
    schema: TableSchema,
    options: TableOptions,
    manifests: ManifestStore,
    schemas: Schemas,
    where: Predicate | None = None,
    buckets: Collection[int] | None = None,
    created_from: int | None = None,
) -> ScanPlan:
    """Return the plan of a read of the rows of ``snapshot`` that ``where`` selects.

    ``buckets``: the only buckets to read; None: all buckets. ``created_from``: epoch milliseconds; only the files that
    were created at this time or later are read.

    ``where`` is bound to the columns of ``schema``; ``schemas`` returns the schema of a file by its id. Raises
    SchemaMismatch for a filter that does not fit, UnsupportedFeature for files of an unsupported kind or with only some
    of the columns, InvalidRequest for files outside of the allowed roots, SnapshotNotFound when the snapshot expires
    during the call, CorruptTable for metadata that does not decode.
    """
    pruners = Pruners.of(where, schema, options, schemas)
    engine = options["merge-engine"] if schema.primary_keys else None
    unique = hides_level_0(schema, options)
    evolves = bool(options["data-evolution.enabled"]) and not schema.primary_keys
    if snapshot is None:
        return ScanPlan(None, schema, where, (), ScanCounts())
    with manifests.reading(snapshot):
        vectors = _read_vectors(manifests, snapshot)
        found = read_live_files(
            manifests,
            snapshot,
            pruners,
            buckets,
            level_0=not unique,
            evolves=evolves,
            created_from=created_from,
            divided=not evolves,
        )
    packing = Packing(options["source.split.target-size"], options["source.split.open-file-cost"])
    combines = engine in COMBINING_ENGINES
    rule = PackingRule(packing, bool(schema.primary_keys), unique, combines, records_deletes(options))
    packed = _pack_ranges(found.table, packing, pruners.value) if evolves else _pack(found, schema, rule, pruners)
    with gc_paused():  # thousands of splits are created, and none of them is garbage
        splits = tuple(_splits(snapshot, packed, vectors))
    selected = len(found) if pruners.value is None else sum(len(s.files) for s in splits)
    counts = replace(found.counts, files_selected=selected, pruned_by_value=len(found) - selected)
    return ScanPlan(snapshot, schema, where, splits, counts)


_Place = tuple[bytes, int, int]
"""A serialized partition, a bucket, and the number of buckets of the partition."""
_Packed = tuple[_Place, Sequence[DataFile], Layout]
_PackedBucket = tuple[int, _Place, PackedFiles]
"""The position of the first file of the bucket, the bucket, and the files of one split."""


def _splits(
    snapshot: Snapshot, packed: Iterable[_Packed], vectors: Mapping[tuple[bytes, int], Vectors]
) -> Iterator[Split]:
    number, delta = snapshot.id, snapshot.delta_manifest_list
    for (partition, bucket, total), files, layout in packed:
        known = vectors.get((partition, bucket)) if vectors else None
        found = vectors_of(files, known) if known else {}
        yield Split(partition, bucket, total, number, files, not layout, layout, delta, found)


def hides_level_0(schema: TableSchema, options: TableOptions) -> bool:
    """Whether batch reads leave out level 0, because each key is visible only once in the levels above 0 (format 8.7).

    With deletion vectors, a compaction of level 0 marks the older rows of its keys in higher levels as deleted.
    """
    if not schema.primary_keys:
        return False
    if options["deletion-vectors.enabled"]:
        return not options["deletion-vectors.merge-on-read"]
    return bool(options["merge-engine"] == "first-row")


def _pack(found: LiveFiles, schema: TableSchema, rule: PackingRule, pruners: Pruners) -> Iterator[_Packed]:
    """Yield the splits, bucket by bucket; the ``DataFile`` values of a split are created when they are used.

    Buckets are in the order of their first files, whatever part the bucket is in.
    """
    types = tuple(f.type for f in schema.key_fields)
    ordered: list[tuple[int, _Packed]] = []
    for part in found.parts:
        if pruners.value is None:
            table, packed = _kept_splits(part, types, rule)
        else:
            table = part.taken()
            packed = list(_packed(table, types, rule, value_matches(pruners.value, table)))
        splits = _lazy(table, packed)
        if len(found.parts) == 1:
            yield from splits
            return
        in_table = table is part.table
        places = [part.place(first, in_table=in_table) for first, *_ in packed]
        ordered += zip(places, splits, strict=True)
    ordered.sort(key=itemgetter(0))
    for _, split in ordered:
        yield split


def _lazy(table: EntryTable, packed: Sequence[_PackedBucket]) -> Iterator[_Packed]:
    ahead = FilesAhead(table.files, [some.files for *_, some in packed])
    for number, (_, place, some) in enumerate(packed):
        yield place, LazyFiles(len(some.files), some.row_count, some.size_bytes, ahead, number), some.layout


def _kept_splits(
    part: SelectedFiles, types: tuple[DataType, ...], rule: PackingRule
) -> tuple[EntryTable, list[_PackedBucket]]:
    """Return the table of a part and its splits; the splits of a whole table are cached with the table."""
    whole = part.at is None or part.only_unchanged
    table = part.table if whole else part.taken()
    packed = table.packed.get((rule, types), [])
    if not packed:
        packed = list(_packed(table, types, rule, None))
        table.packed.clear()  # one rule at a time: a cached packing may take as much memory as the entries
        table.packed[rule, types] = packed
    if whole and part.changed is not None:
        gone = part.changed
        packed = [split for split in packed if not gone[split[0]]]
    return table, packed


def _packed(
    table: EntryTable, key_types: Sequence[DataType], rule: PackingRule, matches: Mask | None
) -> Iterator[_PackedBucket]:
    groups, first = table.buckets()
    columns = FileColumns(
        groups,
        len(first),
        table.level,
        table.file_size,
        table.row_count,
        table.min_sequence_number,
        table.max_sequence_number,
        table.clean if rule.trusts_counts else table.clean & table.compacted,
        lambda at: table.key_ranks(at, key_types),
    )
    places = _places(table, first)
    return ((first[some.group], places[some.group], some) for some in pack_files(columns, rule, matches))


def _places(table: EntryTable, at: list[int]) -> list[_Place]:
    partitions = [table.partitions[code] for code in table.partition[at].tolist()]
    return list(zip(partitions, table.bucket[at].tolist(), table.total_buckets[at].tolist(), strict=True))


def _pack_ranges(table: EntryTable, packing: Packing, value: ValuePruner | None) -> Iterator[_Packed]:
    """Yield the splits of a table with data evolution, bucket by bucket."""
    groups, first = table.buckets()
    order = np.argsort(groups, kind="stable")
    each = np.split(order, np.searchsorted(groups[order], np.arange(1, len(first))))
    for place, at in zip(_places(table, first), each if first else [], strict=True):
        may_match = None if value is None else partial(value.keeps_range, place[0])
        for files, layout in pack_ranges(list(table.files(at)), packing, may_match):
            yield place, files, layout


def _read_vectors(manifests: ManifestStore, snapshot: Snapshot) -> dict[tuple[bytes, int], Vectors]:
    """Return the deletion vectors of each (partition, bucket); only writers use other table indexes (format 4.4)."""
    name = snapshot.index_manifest
    if name is None:
        return {}
    return {**vectors_by_bucket(manifests.read_indexes(name), manifests.paths.manifest(name))}
