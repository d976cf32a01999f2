"""Bit flips in the footers of Parquet files, read in a separate process, because a damaged file may end the process.

``python -m tests.support.flips ours 300`` prints the outcome of each flip: found, harmless or silent.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.datafile.reading.row_groups import row_group_keys
from paimon_core.errors import CorruptTable
from paimon_core.metadata.data_file import DataFile
from paimon_core.predicate import col
from tests.support.data_files import STORAGE, Bucket, schema_of

ROWS = 400
BUCKET = Bucket(
    schema_of(
        {"k": "BIGINT NOT NULL", "i": "INT", "s": "STRING", "d": "DECIMAL(20, 2)", "f": "DOUBLE", "n": "TIMESTAMP(9)"},
    )
)
TABLE = BUCKET.table(
    {
        "k": range(ROWS),
        "i": [n % 7 if n % 5 else None for n in range(ROWS)],
        "s": [f"city-{n % 9}" for n in range(ROWS)],
        "d": list(range(ROWS)),
        "f": [n / 2 for n in range(ROWS)],
        "n": [n * 1000 for n in range(ROWS)],
    }
)


def write(kind: str) -> DataFile:
    """Write a file with this library, or with pyarrow."""
    if kind == "ours":
        writer = BUCKET.writer()
        for start in range(0, ROWS, ROWS // 2):
            writer.write(TABLE.slice(start, ROWS // 2))
            writer.flush()
        (file,) = writer.close()
        return file
    return BUCKET.put(TABLE, row_group_size=ROWS // 2, write_page_index=True, use_deprecated_int96_timestamps=True)


def seen(file: DataFile) -> tuple[pa.Table, pa.Table, object]:
    """Return everything that readers return for a file."""
    return (
        BUCKET.read(file, threads=False, batch_bytes=1 << 20),
        BUCKET.read(file, BUCKET.schema.fields[:2], where=(col("k") >= ROWS // 2).bind(BUCKET.schema.fields)),
        row_group_keys(STORAGE, BUCKET.path(file), BUCKET.schema.fields[:1]),
    )


def flip(file: DataFile, count: int) -> Counter[str]:
    """Count the outcomes of ``count`` flips in the footer."""
    chance, counts = random.Random(23), Counter[str]()
    data, intact = STORAGE.read(BUCKET.path(file)), seen(file)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(count):
        at, bit = chance.randrange(start, len(data)), chance.randrange(8)
        STORAGE.overwrite(BUCKET.path(file), data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :])
        try:
            counts["harmless" if seen(file) == intact else "silent"] += 1
        except CorruptTable:
            counts["found"] += 1
    return counts


if __name__ == "__main__":
    kind, count = sys.argv[1:]
    assert pq.read_metadata(pa.BufferReader(STORAGE.read(BUCKET.path(write(kind))))).num_row_groups == 2
    print(dict(sorted(flip(write(kind), int(count)).items())))
