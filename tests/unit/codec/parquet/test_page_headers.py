"""Page headers by hand: what the writers of tests do not write."""

import re
from random import Random

import pytest

from paimon_core.codec.parquet import page_headers
from paimon_core.codec.parquet.page_headers import page_header
from paimon_core.codec.parquet.thrift import BINARY, I32, I64, STRUCT, TRUE, serialize_struct


def test_fields_may_have_their_number_in_full():
    """A field header without a difference to the field before is followed by the number, as a zigzag varint."""
    kind, unpacked, packed, end = b"\x05\x02\x00", b"\x05\x04\xc8\x01", b"\x05\x06\x64", b"\x00"
    found = page_header(kind + unpacked + packed + end)
    assert (found.kind, found.unpacked, found.packed, found.size) == (0, 100, 50, 11)


STATISTICS = {1: (BINARY, b"12345678"), 2: (BINARY, b"1"), 3: (I64, 5), 5: (BINARY, b"hello"), 6: (BINARY, b"")}
DATA = {1: (I32, 20_000), 2: (I32, 8), 3: (I32, 3), 4: (I32, 3)}
USUAL = [
    {1: (I32, 0), 2: (I32, 35_464), 3: (I32, 20_000), 4: (I32, -1_234_567_890), 5: (STRUCT, DATA)},
    {1: (I32, 0), 2: (I32, 35_464), 3: (I32, 20_000), 5: (STRUCT, {**DATA, 5: (STRUCT, STATISTICS)})},
    {1: (I32, 2), 2: (I32, 35_464), 3: (I32, 200), 7: (STRUCT, {1: (I32, 20), 2: (I32, 0)})},
    {1: (I32, 2), 2: (I32, 354), 3: (I32, 20), 4: (I32, 5), 7: (STRUCT, {1: (I32, 20), 2: (I32, 0), 3: (TRUE, None)})},
]


@pytest.mark.parametrize("header", USUAL)
def test_a_usual_header_is_matched_as_a_whole(header, monkeypatch):
    monkeypatch.setattr(page_headers, "_fields", None)
    data = serialize_struct(header)
    found = page_header(data + b"\x15")
    inner = header[5 if 5 in header else 7][1]
    assert found == (header[1][1], header[2][1], header[3][1], inner[1][1], inner[2][1], len(data))


@pytest.mark.parametrize("count", [3000, pytest.param(200_000, marks=pytest.mark.long)])
def test_a_damaged_header_means_what_the_loop_over_its_bytes_reads(count, monkeypatch):
    chance, pool, usual = Random(3), [serialize_struct(header) for header in USUAL], page_headers._USUAL
    damaged = []
    for _ in range(count):
        data = bytearray(chance.choice(pool))
        for _ in range(chance.choice((0, 1, 2, 3))):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(2)] = bytes([chance.choice((0, 4, 8, 0x11, 0x15, 0x18, 0x1C, 0x3C, 0x80))])
        damaged.append(bytes(data))
    assert sum(usual.match(data) is not None for data in damaged) > count // 5
    found = [read(data) for data in damaged]
    monkeypatch.setattr(page_headers, "_USUAL", re.compile(rb"(?!)"))
    assert found == [read(data) for data in damaged]


def read(data: bytes) -> object:
    try:
        return page_header(data)
    except (ValueError, IndexError) as error:
        return type(error)
