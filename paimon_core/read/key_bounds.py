"""KeyBounds: restricts the reading of a bucket to a range of keys, so that several tasks share one bucket.

The files of a sorted run are sorted by key, so the rows of a range are a slice of each batch. Row groups without a key
of the range are not decoded (Parquet); the files of the other formats are decoded up to the end of the range.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row, storage_values
from paimon_core.datafile.formats import format_of
from paimon_core.datafile.reading.row_groups import row_group_keys
from paimon_core.lsm.key_order import SortKey, sort_key
from paimon_core.lsm.key_windows import not_ascending
from paimon_core.lsm.order_codes import order_codes
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField
from paimon_core.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The keys from ``start`` (inclusive) to ``end`` (exclusive); None: no bound on this side."""

    fields: tuple[DataField, ...]
    """The key columns of the data files."""
    start: SortKey | None = None
    end: SortKey | None = None

    @staticmethod
    def of(fields: tuple[DataField, ...], start: bytes | None, end: bytes | None) -> KeyBounds:
        """Return the bounds of serialized keys; raises CorruptTable for keys that do not decode."""
        return KeyBounds(fields, *(None if key is None else _decoded(key, fields) for key in (start, end)))

    def meet(self, low: SortKey, high: SortKey) -> bool:
        """Whether a key from ``low`` to ``high`` may be within the bounds.

        ``low`` and ``high`` may have only the first columns of the key.
        """
        above = self.start is None or high >= self.start[: len(high)]
        return above and (self.end is None or low < self.end)

    def row_groups(self, storage: Storage, path: str) -> list[int] | None:
        """Return the numbers of the row groups that may have keys within the bounds; None for other formats."""
        if format_of(path) != "parquet":
            return None
        found = row_group_keys(storage, path, self.fields)
        return [number for number, keys in enumerate(found) if self.meet(sort_key(keys.low), sort_key(keys.high))]

    def inside(self, file: DataFile) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None:
        """Return a function that reduces the batches of a file to the rows within the bounds; None if all rows are.

        The key range in the manifest decides which bounds cut the file: rows outside of this range are not left out
        silently but reach the merge, which refuses a run that does not ascend. The function raises CorruptTable when
        the keys of a batch that must be cut do not ascend.
        """
        start = self.start if self.start is not None and _decoded(file.min_key, self.fields) < self.start else None
        end = self.end if self.end is not None and _decoded(file.max_key, self.fields) >= self.end else None
        if start is None and end is None:
            return None
        return lambda batches: _slices(batches, self.fields, start, end)


def _decoded(key: bytes, fields: Sequence[DataField]) -> SortKey:
    return sort_key(decode_row(key, tuple(f.type for f in fields)))


def _slices(
    batches: Iterable[pa.RecordBatch], fields: Sequence[DataField], start: SortKey | None, end: SortKey | None
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if not len(batch):
            continue
        rows = range(len(batch))

        def key_at(row: int, batch: pa.RecordBatch = batch) -> SortKey:
            return sort_key(storage_values(batch[f.name].slice(row, 1), f.type)[0] for f in fields)

        first, last = key_at(0), key_at(-1 % len(batch))
        if end is not None and first >= end:
            return
        if start is not None and last < start:
            continue
        low, high = 0, len(batch)
        if (start is not None and first < start) or (end is not None and last >= end):
            _check_ascending(batch, [f.name for f in fields])
            low = 0 if start is None else bisect_left(rows, start, key=key_at)
            high = len(batch) if end is None else bisect_left(rows, end, key=key_at)
        if low < high:
            yield batch.slice(low, high - low)


def _check_ascending(batch: pa.RecordBatch, key: Sequence[str]) -> None:
    codes = order_codes([batch[name] for name in key])
    if np.any(codes[1:] <= codes[:-1]):
        raise not_ascending(key)
