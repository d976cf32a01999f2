"""The hex literals were written by Java's RoaringBitmap64 of Apache Paimon 1.4.2, for the values next to them."""

import struct

import pyroaring
import pytest

from paimon_core.lsm.aggregates.bitmaps.bitmap64 import BITS, RUNS, VALUES, from_portable, to_portable
from paimon_core.lsm.aggregates.bitmaps.bitmap64_tree import read_tree, write_tree

BLOCK = 1 << 16
TWO_KEYS = (  # 0 and 2**32
    "010200000000000000000200030000000000010004000000000000000000000000000000000004000000000000010000010000000000"
    "000001000000fe020000000102010000000000010201000000000002000000000000000000000001000000"
)
FIVE_KEYS_OF_JAVA = (  # 0, 65536, ... 262144; Java leaves a sixth place empty
    "0105000000000000000105000500000000000000000403020100000000000000000004000000000000000000000000000000000004000000"
    "000000000001010000000000000004000000000000000002020000000000000004000000000000000003030000000000000004000000000000"
    "000004040000000000000001000000fe060000000102010000000000010201000000000001020100000000000102010000000000010201"
    "00000000000005000000000000000000000004000000"
)


def of(values):
    bitmap = pyroaring.BitMap64(values)
    bitmap.run_optimize()
    return write_tree(from_portable(bitmap.serialize()))


def values_of(data):
    return list(pyroaring.BitMap64.deserialize(to_portable(read_tree(data))))


def test_two_keys_have_the_bytes_that_java_writes():
    assert of([0, 1 << 32]).hex() == TWO_KEYS
    assert values_of(bytes.fromhex(TWO_KEYS)) == [0, 1 << 32]


def test_an_empty_place_among_the_containers_is_passed_over():
    assert values_of(bytes.fromhex(FIVE_KEYS_OF_JAVA)) == [n * BLOCK for n in range(5)]
    ours = of(n * BLOCK for n in range(5)).hex()
    assert ours == FIVE_KEYS_OF_JAVA.replace("fe06", "fe05").replace("000000000000050000", "0000000000050000")


def test_no_value_is_one_byte():
    assert of([]) == b"\0"
    assert values_of(b"\0") == []


@pytest.mark.parametrize("children", [1, 2, 4, 5, 16, 17, 48, 49, 256])
@pytest.mark.parametrize("step", [1 << 16, 1 << 40, 1 << 56])
def test_nodes_of_every_size(children, step):
    values = [n * step + 5 for n in range(children)]
    assert values_of(of(values)) == values


def test_containers_of_every_kind():
    values = [*range(10_000), *range(BLOCK, 2 * BLOCK, 3), 2 * BLOCK, 2**64 - 1]
    containers = read_tree(of(values))
    assert [c.kind for c in containers] == [RUNS, BITS, VALUES, VALUES]
    assert [c.high for c in containers] == [0, 1, 2, 2**48 - 1]
    assert values_of(of(values)) == values


@pytest.mark.parametrize("at", range(20))
def test_a_wrong_byte_in_the_tree_is_seen_or_changes_the_values(at):
    data = bytearray.fromhex(TWO_KEYS)
    data[at] ^= 0x55
    try:
        values = values_of(bytes(data))
    except (ValueError, struct.error):
        return
    assert all(isinstance(v, int) for v in values)
