"""Fingerprints: compare the rows of two states of a bucket, independent of the order of the rows (I10, I11).

A fingerprint is the number of rows and the sum of a 64-bit hash of each row. A fingerprint needs constant memory for
any number of rows. The fingerprints of inserted rows can be added, and the fingerprints of deleted rows subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.bucket_hash import hash_rows
from paimon_core.fsck.checked_entries import Place
from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.known_deletes import has_no_deletes
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.live_files import refuse_unread
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.plan.row_ranges import pack_ranges
from paimon_core.plan.split import Packed, Packing, Split, pack_append, pack_keyed
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.schema import DataField
from paimon_core.table_indexes.live_vectors import Vectors, vectors_by_bucket, vectors_of
from paimon_core.types import NESTED_ROOTS, parse_type

_WRAP = 2**64
_TEXT = parse_type("STRING")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The number of rows, and the sum of their hashes modulo 2^64."""

    rows: int = 0
    total: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, (self.total + other.total) % _WRAP)

    def __sub__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows - other.rows, (self.total - other.total) % _WRAP)


def fingerprint(rows: pa.Table | pa.RecordBatch, fields: Sequence[DataField]) -> Fingerprint:
    """Return the fingerprint of rows; only the columns ``fields`` are hashed."""
    if not len(rows) or not fields:
        return Fingerprint(len(rows), 0)
    columns, types = [], []
    for field in fields:
        column = rows[field.name]
        if field.type.root in NESTED_ROOTS:
            columns.append(pa.array([repr(value) for value in column.to_pylist()]))
            types.append(_TEXT)
        else:
            columns.append(column)
            types.append(field.type)
    # The columns in two orders give two different 32-bit hashes: together they are 64 bits.
    high = hash_rows(columns, types).view(np.uint32).astype(np.uint64)
    low = hash_rows([*columns[::-1], columns[0]], [*types[::-1], types[0]]).view(np.uint32).astype(np.uint64)
    return Fingerprint(len(rows), int(((high << np.uint64(32)) | low).sum(dtype=np.uint64)))


def bucket_rows(
    context: TableContext, place: Place, entries: Iterable[ManifestEntry], vectors: Vectors
) -> Iterator[pa.Table]:
    """Yield the rows that a batch read returns for one bucket; raises the errors of ``read_split`` and ``plan_scan``.

    ``vectors``: the deletion vectors of the bucket's files.
    """
    schema = context.schema
    found = list(entries)
    for entry in found:
        refuse_unread(entry, context.paths, evolves=context.evolves)
    files = [e.file for e in found]
    unique = hides_level_0(schema, context.options)
    if unique:
        files = [f for f in files if f.level > 0]
    if not files or place[1] < 0:
        return
    for some, layout in _packed(context, files, unique=unique):
        chosen = vectors_of(some, vectors)
        split = Split(*place, found[0].total_buckets, 0, some, not layout, layout, vectors=chosen)
        yield from read_split(context, split, ReadRequest(schema.names))


def _packed(context: TableContext, files: list[DataFile], *, unique: bool) -> list[Packed]:
    packing = Packing(context.options["source.split.target-size"], context.options["source.split.open-file-cost"])
    if context.evolves:
        return pack_ranges(files, packing)
    is_clean = partial(has_no_deletes, options=context.options)
    if not context.is_keyed or (unique and all(map(is_clean, files))):
        return pack_append(files, packing)
    order = key_order([f.type for f in context.schema.key_fields])
    return pack_keyed(files, order, packing, is_clean=is_clean)


def vectors_at(context: TableContext, snapshot: Snapshot | None) -> Mapping[Place, Vectors]:
    """Return the deletion vectors of a snapshot by bucket; raises CorruptTable and UnsupportedFeature."""
    name = None if snapshot is None else snapshot.index_manifest
    if name is None:
        return {}
    return vectors_by_bucket(context.manifests.read_indexes(name), context.paths.manifest(name))


def state_of(
    context: TableContext,
    buckets: Iterable[tuple[Place, Iterable[ManifestEntry]]],
    fields: Sequence[DataField],
    vectors: Mapping[Place, Vectors],
) -> Fingerprint:
    """Return the fingerprint of the rows that a batch read returns for these buckets."""
    total = Fingerprint()
    for place, entries in buckets:
        for rows in bucket_rows(context, place, entries, vectors.get(place, {})):
            total += fingerprint(rows, fields)
    return total
