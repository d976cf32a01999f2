"""Targets: deletion vectors and file indexes; a container of a few bytes in their bitmaps unpacks to 65,536 rows."""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Sequence
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa

from paimon_core.errors import PaimonError
from paimon_core.fileindex import bitmap, bsi, range_bitmap
from paimon_core.fileindex.bloom import write as write_bloom
from paimon_core.fileindex.container import FileIndex, write_container
from paimon_core.fileindex.evaluate import UNPACKED_ROWS, matching_rows
from paimon_core.fileindex.keys import keys_of
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.table_indexes.vector_bitmap import decode_vector, encode_vector
from paimon_core.types import parse_type
from tests.fuzz.mutators import of_bytes
from tests.fuzz.target import Target

ROWS = 100_000
_INT, _TEXT = parse_type("BIGINT"), parse_type("STRING")
_FIELDS = (DataField(0, "k", _INT), DataField(1, "s", _TEXT))
_COLUMNS = {field.name: (field.name, field.type) for field in _FIELDS}
_WHERES = tuple(
    where.bind(_FIELDS)
    for where in (
        (col("k") > 3) & (col("s") == "city-3"),
        col("k").is_in([5, 7]) | col("s").is_null(),
        (col("k") != 4) & col("s").is_not_null(),
    )
)

_WRITERS = {"bitmap": bitmap.write, "bsi": bsi.write, "range-bitmap": range_bitmap.write, "bloom-filter": write_bloom}


def _vector(data: bytes) -> object:
    """The first four bytes are the number of rows of the data file."""
    rows = int.from_bytes(data[:4], "little") % (1 << 22)
    return decode_vector(data[4:], "index-1", rows)


def _of_vector(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    """Change the payload, and mostly write a length and a checksum that match."""
    if len(data) < 12 or chance.randrange(5) == 0:
        return of_bytes(data, chance, pool)
    payload = of_bytes(data[8:-4], chance, [p[8:-4] for p in pool])
    return data[:4] + _record(payload)


def _record(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


def _vectors() -> list[bytes]:
    sets = ([3, 5, 70_000], range(0, 200_000, 2), range(1 << 21), [])
    arrays = [np.array(rows, np.int64) for rows in sets]
    rows = struct.pack("<I", 1 << 21)
    found = [rows + encode_vector(positions, wide=wide) for positions in arrays for wide in (False, True)]
    # 400 million positions in 90 KB, as runs.
    containers = 400_000_000 >> 16
    keys = b"".join(struct.pack("<HH", n, 0xFFFF) for n in range(containers))
    runs = struct.pack("<HHH", 1, 0, 0xFFFF)
    offset = 4 + (containers + 7) // 8 + 8 * containers
    offsets = b"".join(struct.pack("<I", offset + 6 * n) for n in range(containers))
    head = struct.pack("<I", 12347 | (containers - 1) << 16) + b"\xff" * ((containers + 7) // 8)
    return [*found, rows + _record(struct.pack(">I", 1581511376) + head + keys + offsets + runs * containers)]


def _index(data: bytes) -> object:
    """The first byte chooses the number of rows of the data file."""
    rows = (ROWS, 40, UNPACKED_ROWS, 1 << 25, 1 << 31)[data[0] % 5] if data else ROWS
    index = FileIndex.of_bytes(data[1:], "index")
    for where in _WHERES:
        with contextlib.suppress(PaimonError):
            matching_rows(index, where, _COLUMNS, rows)
    return None


def _of_index(data: bytes, chance: Random, pool: Sequence[bytes]) -> bytes:
    changed = of_bytes(data[1:], chance, [p[1:] for p in pool])
    return (bytes([chance.randrange(256)]) if chance.randrange(8) == 0 else data[:1]) + changed


@cache
def _indexes() -> list[bytes]:
    found = []
    for place, rows in ((0, ROWS), (1, 40), (2, UNPACKED_ROWS)):
        values = np.arange(rows) % 9 if rows < UNPACKED_ROWS else np.full(rows, 3)
        keys = keys_of(pa.array(values), _INT)
        texts = keys_of(pa.array([f"city-{n % 9}" if n % 5 else None for n in range(min(rows, 999))]), _TEXT)
        assert keys is not None
        assert texts is not None
        settings = {"version": 2, "index-block-size": 4096, "chunk-size": 4096, "items": 50, "fpp": 0.1}
        for name, write in _WRITERS.items():
            payloads = {"k": {name: write(keys, settings)}}
            if name != "bsi" and rows == 40:
                payloads["s"] = {name: write(texts, settings)}
            found.append(bytes([place]) + write_container(payloads))
    return found


TARGETS = (
    Target("deletion-vector", _vector, _vectors, _of_vector),
    Target("file-index", _index, _indexes, _of_index),
)
