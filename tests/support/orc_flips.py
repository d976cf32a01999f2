"""Bits that flip in ORC files, read in a process of its own, which a bad one may end.

``python -m tests.support.orc_flips ours 300`` prints what became of each: found, harmless or silent. In a foreign file
only bits of the metadata flip: nothing could find the others.
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
    """A file that we wrote, or one that pyarrow did; its metadata is packed as its rows are."""
    if kind == "ours":
        (file,) = BUCKET.write(TABLE)
        return file
    sink = pa.BufferOutputStream()
    orc.write_table(TABLE, sink, compression=codec)
    return BUCKET.put_bytes(sink.getvalue().to_pybytes(), ROWS, "foreign.orc")


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """``data`` with another bit."""
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def outcome(file: DataFile, intact: pa.Table, data: bytes) -> str:
    """What becomes of these bytes in place of the file, of which ``intact`` was read."""
    STORAGE.overwrite(BUCKET.path(file), data)
    try:
        return "harmless" if BUCKET.read(file).equals(intact) else "silent"
    except (CorruptTable, UnsupportedFeature):
        return "found"


def metadata_start(data: bytes) -> int:
    """Where the first stripe footer begins, in a file of one stripe."""
    file = orc.ORCFile(pa.BufferReader(data))
    tail = 1 + file.file_postscript_length + file.file_footer_length + file.stripe_statistics_length
    return data.index(b"\x0a\x06\x08\x06\x10\x00", 0, len(data) - tail)


def flip(file: DataFile, count: int, start: int = 0) -> Counter[str]:
    """What became of ``count`` flips behind ``start``."""
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
