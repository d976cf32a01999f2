import struct
import zlib

import numpy as np
import pytest

from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.table_indexes.vector_bitmap import decode_vector, encode_vector

POSITIONS = np.array([0, 7, 14, 21, 28], np.int64)
# Written by Java Paimon 1.4.2.
NARROW = bytes.fromhex("0000001e5e43f2d03a3000000100000000000400100000000000070" + "00e0015001c00684686cf")
WIDE = bytes.fromhex(
    "0000002ad1d339640100000000000000000000003a3000000100000000000400100000000000070" + "00e0015001c007f11ccb9"
)


def record(payload):
    return struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))


@pytest.mark.parametrize(("wide", "data"), [(False, NARROW), (True, WIDE)])
def test_the_bytes_are_those_of_java(wide, data):
    assert encode_vector(POSITIONS, wide=wide) == data
    positions, is_wide = decode_vector(data, "index-1")
    assert positions.tolist() == POSITIONS.tolist()
    assert is_wide is wide


def test_positions_beyond_31_bits_need_the_wide_kind():
    far = np.array([1, 2**31, 2**33 + 5], np.int64)
    with pytest.raises(InvalidRequest, match=r"deletion-vectors\.bitmap64"):
        encode_vector(far, wide=False)
    assert decode_vector(encode_vector(far, wide=True), "index-1")[0].tolist() == far.tolist()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "only 0 bytes"),
        (NARROW[:-1], "states a payload of 30"),
        (NARROW[:10] + b"\x01" + NARROW[11:], "checksum"),
        (record(b"\0\0\0\0" + NARROW[8:-4]), "no known magic number"),
        (record(NARROW[4:-6]), "does not decode"),
        (record(NARROW[4:-4] + b"\0"), "1 bytes after its bitmap"),
        (record(WIDE[4:-4] + b"\0"), "1 bytes after its bitmaps"),
        (record(WIDE[4:10]), "cut off"),
        (record(WIDE[4:16]), "cut off"),
        (record(WIDE[4:8] + b"\xff" * 8), "states 18446744073709551615 bitmaps"),
        (record(WIDE[4:16] + b"\xff" * 4 + WIDE[20:-4]), "key 4294967295 after -1"),
    ],
)
def test_damaged_records_are_refused(data, problem):
    with pytest.raises(CorruptTable, match=f"index-1: .*{problem}"):
        decode_vector(data, "index-1")
