"""Bit flips in ORC files, read in a separate process, because a damaged file may end the process.

``python -m tests.support.orc_flips ours 300`` prints the outcome of each flip: found, harmless or silent. In files of
other writers only metadata is changed, because flips in their rows cannot be detected.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import pyarrow as pa
from pyarrow import orc

from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.data_file import DataFile
from tests.support.data_files import STORAGE, Bucket, schema_of

ROWS = 400
BUCKET = Bucket(
    schema_of(
        {
            "k": "BIGINT NOT NULL",
            "s": "STRING",
            "d": "DECIMAL(20, 2)",
            "f": "DOUBLE",
            "t": "TIMESTAMP(3)",
            "l": {"type": "ARRAY", "element": "INT"},
        },
        options={"file.format": "orc"},
    )
)
TABLE = BUCKET.table(
    {
        "k": range(ROWS),
        "s": [f"city-{n % 9}" if n % 5 else None for n in range(ROWS)],
        "d": list(range(ROWS)),
        "f": [n / 2 for n in range(ROWS)],
        "t": [n * 1000 for n in range(ROWS)],
        "l": [[n] * (n % 3) for n in range(ROWS)],
    }
)


def write(kind: str, codec: str = "uncompressed") -> DataFile:
    """Write a file with this library, or with pyarrow and the compression ``codec``."""
    if kind == "ours":
        (file,) = BUCKET.write(TABLE)
        return file
    sink = pa.BufferOutputStream()
    orc.write_table(TABLE, sink, compression=codec)
    return BUCKET.put_bytes(sink.getvalue().to_pybytes(), ROWS, "foreign.orc")


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """Return ``data`` with one bit changed."""
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def outcome(file: DataFile, intact: pa.Table, data: bytes) -> str:
    """Return the outcome of reading these bytes instead of the file, whose correct rows are ``intact``."""
    STORAGE.overwrite(BUCKET.path(file), data)
    try:
        return "harmless" if BUCKET.read(file).equals(intact) else "silent"
    except (CorruptTable, UnsupportedFeature):
        return "found"


def metadata_start(data: bytes) -> int:
    """Return the offset of the stripe footer in a file of one stripe."""
    file = orc.ORCFile(pa.BufferReader(data))
    tail = 1 + file.file_postscript_length + file.file_footer_length + file.stripe_statistics_length
    return data.index(b"\x0a\x06\x08\x06\x10\x00", 0, len(data) - tail)


def flip(file: DataFile, count: int, start: int = 0) -> Counter[str]:
    """Count the outcomes of ``count`` flips after ``start``."""
    chance, counts = random.Random(23), Counter[str]()
    data, intact = STORAGE.read(BUCKET.path(file)), BUCKET.read(file)
    for _ in range(count):
        at, bit = chance.randrange(start, len(data)), chance.randrange(8)
        counts[outcome(file, intact, flipped(data, at, bit))] += 1
    return counts


if __name__ == "__main__":
    kind, count = sys.argv[1:]
    file = write(kind)
    start = 0 if kind == "ours" else metadata_start(STORAGE.read(BUCKET.path(file)))
    print(dict(sorted(flip(file, int(count), start).items())))
