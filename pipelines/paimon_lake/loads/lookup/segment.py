"""Segments: rows of a dimension in mapped files, found by their key.

The rows are in an Arrow file, in the order in which they were read. Two arrays have the hashes of the keys in ascending
order, and for each hash the number of its row. The files are removed as soon as they are mapped, so their disk space is
free when the process ends, even if it is killed. While a segment is made, it needs memory for one batch, and 24 bytes
for each row; the operating system may keep pages of the files in free memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import gather
from paimon_core.codec.binary_row.bucket_hash import Hashes, hash_rows
from paimon_core.types import DataType

Rows = npt.NDArray[np.int64]
"""Row numbers; -1 stands for no row."""
DELETED = "__deleted"
"""The name of a column of segments: its value says whether the row with the key was deleted."""
INDEX_BYTES = 12
"""The bytes of the index for each row."""
_CHUNK_BYTES = 8 << 20
_Number = TypeVar("_Number", bound=np.generic)


class TooLarge(Exception):
    """Raised when the rows need more bytes than the bound."""


@dataclass(frozen=True)
class Segment:
    """Rows with distinct keys; the first ``key`` columns are the key."""

    rows: pa.Table
    key: tuple[DataType, ...]
    hashes: Hashes
    order: Rows
    """The row of each hash."""
    starts: Rows
    """The number of the first row of each chunk, and at the end the number of all rows."""
    size_bytes: int

    @staticmethod
    def of(batches: Iterable[pa.RecordBatch], schema: pa.Schema, key: Sequence[DataType], most_bytes: int) -> Segment:
        """Write rows with distinct keys into files and map them.

        Raises TooLarge before more than ``most_bytes`` are written.
        """
        found: list[Hashes] = [np.zeros(0, np.int32)]
        starts, size = [0], 0
        with tempfile.TemporaryDirectory(prefix="paimon-lookup-") as folder:
            path = Path(folder, "rows.arrow")
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                for table in gather(batches, _CHUNK_BYTES):
                    size += table.nbytes + INDEX_BYTES * len(table)
                    if size > most_bytes:
                        raise TooLarge
                    (batch,) = table.combine_chunks().to_batches() or [None]
                    if batch is not None:
                        writer.write_batch(batch)
                        found.append(hash_rows(batch.columns[: len(key)], key))
                        starts.append(starts[-1] + len(batch))
            hashes = np.concatenate(found)
            order = np.argsort(hashes, kind="stable")
            rows = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            sorted_hashes = _mapped(Path(folder, "hashes.npy"), hashes[order])
            order = _mapped(Path(folder, "order.npy"), order)
        return Segment(rows, tuple(key), sorted_hashes, order, np.array(starts), size)

    def find(self, keys: Sequence[pa.Array], hashes: Hashes) -> Rows:
        """Return the row of each key, or -1 for a key without a row; ``hashes`` are the hashes of the keys."""
        found = np.full(len(hashes), -1, np.int64)
        at = np.searchsorted(self.hashes, hashes)
        left = np.arange(len(hashes))
        while True:
            inside = at < len(self.hashes)
            left, at = left[inside], at[inside]
            same = self.hashes[at] == hashes[left]
            left, at = left[same], at[same]
            if not len(left):
                return found
            rows, equal = self.order[at], np.ones(len(left), bool)
            for column, key in enumerate(keys):
                test = pc.equal(self.take(column, rows), key.take(pa.array(left)))
                equal &= test.fill_null(False).to_numpy(zero_copy_only=False)
            found[left[equal]] = rows[equal]
            left, at = left[~equal], at[~equal] + 1  # the hash of another key is the same: try the next row

    def take(self, column: int | str, rows: Rows) -> pa.Array:
        """Return the values of a column in the given rows, all of which exist.

        Only the chunks of these rows are read; ``ChunkedArray.take`` would copy the whole column.
        """
        chunks = self.rows[column].chunks
        if not len(rows):
            return pa.array([], self.rows[column].type)
        if len(chunks) == 1:
            return chunks[0].take(pa.array(rows))
        order = np.argsort(rows, kind="stable")
        sorted_rows = rows[order]
        cuts = np.searchsorted(sorted_rows, self.starts)
        parts = [
            chunks[n].take(pa.array(sorted_rows[cuts[n] : cuts[n + 1]] - self.starts[n]))
            for n in np.flatnonzero(np.diff(cuts)).tolist()
        ]
        places = np.empty(len(rows), np.int64)
        places[order] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(pa.array(places))


def _mapped(path: Path, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    if not len(values):
        return values
    np.save(path, values, allow_pickle=False)
    mapped: npt.NDArray[_Number] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped
