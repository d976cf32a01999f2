"""PartitionAssigner: keeps each key in one partition when the primary key lacks partition columns (format 11.2).

When the first rows arrive, the assigner reads the partition and bucket of each key of the table. For a row whose key is
in another partition, the merge engine decides: deduplicate deletes the key in the other partition, partial-update and
aggregation write the row to the other partition, first-row drops the row. The commit messages name the snapshot that
the assigner read. The commit conflicts if another commit changed rows after that snapshot, because it may have added
the same keys to any partition. There are no hash index files.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import one_nan
from paimon_core.codec.binary_row.rows import decode_row, to_array
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.lsm.gather import take_rows
from paimon_core.metadata.commit_message import Assignment, Position, position_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.schema import VALUE_KIND, RowKind
from paimon_core.table_indexes.key_index import KeyIndex, image_hashes, key_images
from paimon_core.table_indexes.partition_buckets import BucketLimits, PartitionBuckets, check_bucket

_SHIFT, _MASK = 16, 2**16 - 1
_Ints = npt.NDArray[np.int64]
LiveKeys = Callable[[TableContext, Snapshot], Iterator[tuple[bytes, int, pa.Table]]]
"""Yields the primary keys of the visible rows of a snapshot, with the partition and the bucket of each table."""


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows to write: row i belongs to the partition ``partitions[codes[i]]`` and the bucket ``buckets[i]``."""

    rows: pa.Table
    codes: _Ints
    partitions: list[bytes]
    buckets: npt.NDArray[np.int32]


class PartitionAssigner:
    """Assigns the rows of one table to partitions and buckets; uses the memory of a KeyIndex of all keys.

    While the keys of the table are read, the serialized keys (images) are also in memory, outside of the index.
    """

    def __init__(self, context: TableContext, live_keys: LiveKeys | None, *, ignore_existing: bool = False) -> None:
        """Create an assigner; with ``ignore_existing``, for an overwrite of all partitions, all keys are new.

        Raises UnsupportedFeature without ``live_keys``.
        """
        if live_keys is None:
            raise UnsupportedFeature(
                f"table {context.name} has bucket=-1 and a primary key without the partition keys (cross-partition "
                "upsert), which this writer cannot write: use write, overwrite or writer of the table",
                table=context.name,
            )
        self._context, self._live_keys, self._ignore_existing = context, live_keys, ignore_existing
        self._engine = context.options["merge-engine"]
        self._limits = BucketLimits.of(context.options)
        self.reset()

    def reset(self) -> None:
        """Forget all keys: the next rows are assigned from the latest snapshot."""
        self._index: KeyIndex | None = None
        self._read: Position | None = None
        self._name = uuid.uuid4().hex
        self._codes: dict[bytes, int] = {}
        self._partitions: list[bytes] = []
        self._buckets: list[PartitionBuckets] = []

    def assignment(self) -> Assignment:
        """Return the assignment for the messages of the next flush: the snapshot from which the keys were read."""
        return Assignment(self._name, keys_of=self._read)

    def place(self, rows: pa.Table, codes: _Ints, partitions: list[bytes]) -> PlacedRows:
        """Return the rows to write; the partition of row i of ``rows`` is ``partitions[codes[i]]``.

        The result may have more or fewer rows, or other values in the partition columns. Raises CorruptTable when a key
        of the table is in two partitions, InvalidRequest when too many buckets are needed.
        """
        index = self._loaded()
        wanted = np.array([self._code(p) for p in partitions], np.int64)[codes]
        fields = self._context.schema.select(self._context.schema.primary_keys)
        images = key_images([rows[f.name] for f in fields], [f.type for f in fields])
        encoded = pc.dictionary_encode(images)
        keys, key = encoded.dictionary, np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
        known = index.numbers(keys)
        if self._engine == "deduplicate":
            return self._moved(index, rows, wanted, keys, key, known)
        return self._kept(index, rows, wanted, keys, key, known)

    def _kept(
        self, index: KeyIndex, rows: pa.Table, wanted: _Ints, keys: pa.Array, key: _Ints, known: _Ints
    ) -> PlacedRows:
        """Place rows by key: a known key stays in its bucket; a new key is placed in the partition of its first row."""
        first = np.unique(key, return_index=True)[1]  # keys are numbered in order of arrival
        new = np.flatnonzero(known < 0)
        places = known.copy()
        places[new] = self._new_places(wanted[first[new]], keys.take(pa.array(new)))
        index.put(keys, places)
        at = places[key]
        elsewhere = at >> _SHIFT != wanted
        if elsewhere.any():
            if self._engine == "first-row":
                rows, at = rows.filter(pa.array(~elsewhere)), at[~elsewhere]
            else:
                rows = self._with_partitions(rows, at >> _SHIFT)
        return self._result(rows, at)

    def _moved(
        self, index: KeyIndex, rows: pa.Table, wanted: _Ints, keys: pa.Array, key: _Ints, known: _Ints
    ) -> PlacedRows:
        """Place rows for deduplicate: a key moves to the partition of its last row, and a row -D is written to the
        former partition.
        """
        order = np.argsort(key, kind="stable")  # puts the rows of each key together, in order of arrival
        of_key, part = key[order], wanted[order]
        starts = np.concatenate(([True], of_key[1:] != of_key[:-1]))
        before = np.where(known >= 0, known >> _SHIFT, -1)[of_key]
        before[~starts] = part[:-1][~starts[1:]]
        moves = before != part  # a new key also counts as moved
        run = np.cumsum(starts | moves) - 1
        runs = np.flatnonzero(starts | moves)
        places = known[of_key[runs]]
        leaves = moves & (before >= 0)
        self._release(known[of_key[leaves & starts]])
        new = np.flatnonzero(moves[runs])
        new = new[np.argsort(order[runs[new]], kind="stable")]
        places[new] = self._new_places(part[runs[new]], keys.take(pa.array(of_key[runs[new]])))
        at = np.empty(len(key), np.int64)
        at[order] = places[run]
        last = np.concatenate((starts[1:], [True]))
        index.put(keys.take(pa.array(of_key[last])), places[run[last]])
        if not leaves.any():
            return self._result(rows, at)
        left = np.where(starts, known[of_key], places[np.maximum(run - 1, 0)])[leaves]
        self._release(left[~starts[leaves]])
        deleted = order[leaves]
        deletes = self._with_partitions(take_rows(rows, deleted, rows.column_names), left >> _SHIFT)
        kinds = pa.repeat(pa.scalar(RowKind.DELETE, pa.int8()), len(deletes))
        deletes = deletes.set_column(deletes.schema.get_field_index(VALUE_KIND), VALUE_KIND, kinds)
        merged = np.argsort(np.concatenate((2 * deleted, 2 * np.arange(len(rows)) + 1)), kind="stable")
        both = take_rows(pa.concat_tables([deletes.cast(rows.schema), rows]), merged, rows.column_names)
        return self._result(both, np.concatenate((left, at))[merged])

    def _result(self, rows: pa.Table, places: _Ints) -> PlacedRows:
        present, codes = np.unique(places >> _SHIFT, return_inverse=True)
        partitions = [self._partitions[p] for p in present.tolist()]
        return PlacedRows(rows, codes.reshape(-1).astype(np.int64), partitions, (places & _MASK).astype(np.int32))

    def _code(self, partition: bytes) -> int:
        code = self._codes.setdefault(partition, len(self._partitions))
        if code == len(self._partitions):
            self._partitions.append(partition)
            self._buckets.append(PartitionBuckets(self._limits))
        return code

    def _new_places(self, codes: _Ints, keys: pa.Array) -> _Ints:
        """Return the places of new keys in the partitions ``codes``; buckets are filled in order of arrival."""
        out, hashes = np.zeros(len(codes), np.int64), image_hashes(keys)
        for code in np.unique(codes).tolist():
            mine = np.flatnonzero(codes == code)
            out[mine] = (code << _SHIFT) | self._buckets[code].place(hashes[mine])
        return out

    def _release(self, places: _Ints) -> None:
        """Reduce the number of keys of each bucket by the keys that leave the bucket."""
        for place, gone in zip(*(a.tolist() for a in np.unique(places, return_counts=True)), strict=True):
            self._buckets[place >> _SHIFT].count(place & _MASK, -gone)

    def _with_partitions(self, rows: pa.Table, codes: _Ints) -> pa.Table:
        """Return the rows with the partition columns changed to the values of the partitions ``codes``."""
        present, at = np.unique(codes, return_inverse=True)
        fields = self._context.schema.partition_fields
        types = [f.type for f in fields]
        values: list[tuple[Any, ...]] = [decode_row(self._partitions[p], types) for p in present.tolist()]
        for number, field in enumerate(fields):
            column = to_array([v[number] for v in values], field.type).take(pa.array(at.reshape(-1)))
            place = rows.schema.get_field_index(field.name)
            rows = rows.set_column(place, rows.schema.field(place), column.cast(rows.schema.field(place).type))
        return rows

    def _loaded(self) -> KeyIndex:
        """Return the index of the place of each key; the first call reads the keys from the latest snapshot."""
        if self._index is None:
            if self._ignore_existing:
                self._index = KeyIndex()
            else:
                self._index = read_latest(self._context.snapshots, self._load)
        return self._index

    def _load(self, latest: Snapshot | None) -> KeyIndex:
        self._codes, self._partitions, self._buckets = {}, [], []
        self._read = position_of(latest)
        index = KeyIndex()
        if latest is None:
            return index
        fields = self._context.schema.select(self._context.schema.primary_keys)
        images: list[pa.Array] = []
        places: list[_Ints] = []
        for partition, bucket, keys in self._live_keys(self._context, latest):
            self._check_bucket(partition, bucket, latest)
            code = self._code(partition)
            keys = one_nan(keys, [f.name for f in fields])
            images.append(key_images([keys[f.name] for f in fields], [f.type for f in fields]))
            places.append(np.full(len(keys), (code << _SHIFT) | bucket, np.int64))
            self._buckets[code].count(bucket, len(keys))
        if images:
            index.put(pa.concat_arrays(images), np.concatenate(places))
            self._check_distinct(index, latest)
        return index

    def _check_bucket(self, partition: bytes, bucket: int, latest: Snapshot) -> None:
        try:
            check_bucket(bucket)
        except CorruptTable as error:
            place = self._context.bucket_path(partition, bucket)
            raise CorruptTable(f"snapshot {latest.id} of table {self._context.name}: {place}: {error}") from error

    def _check_distinct(self, index: KeyIndex, latest: Snapshot) -> None:
        if (repeated := index.repeated()) is None:
            return
        path = self._context.partition_path
        places = [f"{path(self._partitions[p >> _SHIFT])}/bucket-{p & _MASK}" for p in sorted(repeated)]
        raise CorruptTable(
            f"snapshot {latest.id} of table {self._context.name}: a key is in two places: {', '.join(places)}"
        )
