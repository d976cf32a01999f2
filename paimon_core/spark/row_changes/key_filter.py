"""Key filter: a Bloom filter of the keys of a source, by which tasks leave out most rows that match no source row.

Rows that pass may still match nothing: the join decides. The driver receives 8 bytes for each key of the source, at
most ``MOST_KEYS`` keys, and sends one bit array of at most 16 bits for each key to the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_core.arrow import conform, gather
from paimon_core.schema import DataField
from paimon_core.spark.tasks import map_batches
from paimon_core.spark.writes.batch_settings import large_batches
from paimon_core.table.changes.row_hashes import row_hashes

MOST_KEYS = 4_000_000
"""A source with more keys has no filter."""
_LEAST_BITS = 1 << 10
_BITS_OF_A_KEY = 8

Positions = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class KeyFilter:
    """The bits of two hashes of each key, eight in a byte; the number of bits is a power of two."""

    fields: tuple[DataField, ...]
    bits: npt.NDArray[np.uint8]

    def may_match(self, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Return for each row False only if its key is not a key of the source."""
        first, second = _positions(rows, self.fields, 8 * len(self.bits))
        return self._is_set(first) & self._is_set(second)

    def _is_set(self, at: Positions) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (self.bits[at >> 3] >> (at & 7).astype(np.uint8) & 1).astype(np.bool_)
        return found


def filter_of_keys(keys: DataFrame, fields: Sequence[DataField], count: int) -> KeyFilter | None:
    """Run a job that returns the filter of ``count`` keys; None for more than ``MOST_KEYS``.

    ``keys`` has the columns ``fields``, with the types that these columns have in Spark.
    """
    if count > MOST_KEYS:
        return None
    size = max(_LEAST_BITS, 1 << (_BITS_OF_A_KEY * count - 1).bit_length())
    hashed = tuple(replace(field, type=field.type.with_nullable(True), default=None) for field in fields)

    def positions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in gather(batches):
            typed = conform(rows, hashed)  # Spark's timestamps and times have other units than the table's
            data = np.unique(np.concatenate(_positions(typed, hashed, size))).tobytes()
            yield pa.record_batch([pa.array([data], pa.binary())], ["positions"])

    bits = np.zeros(size, np.bool_)
    with large_batches(keys):
        rows = map_batches(keys, positions, "positions binary").collect()
    for row in rows:
        bits[np.frombuffer(row[0], np.uint32)] = True
    return KeyFilter(hashed, np.packbits(bits, bitorder="little"))


def _positions(rows: pa.Table, fields: Sequence[DataField], size: int) -> tuple[Positions, Positions]:
    hashes, mask = row_hashes(rows, fields), np.uint64(size - 1)
    return (hashes & mask).astype(np.uint32), ((hashes >> np.uint64(32)) & mask).astype(np.uint32)
