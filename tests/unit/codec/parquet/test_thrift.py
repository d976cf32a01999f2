import pytest

from paimon_core.codec.parquet.thrift import (
    BINARY,
    DOUBLE,
    FALSE,
    I32,
    I64,
    LIST,
    MAX_DEPTH,
    STRUCT,
    TRUE,
    parse_struct,
    serialize_struct,
)

TREE = {
    1: (I32, -1),
    2: (BINARY, b"name"),
    3: (TRUE, None),
    4: (FALSE, None),
    20: (I64, 2**63 - 1),
    21: (DOUBLE, b"\x00" * 8),
    22: (LIST, (I32, list(range(20)))),
    23: (LIST, (STRUCT, [{1: (I32, 5)}, {}])),
    1000: (STRUCT, {5: (LIST, (BINARY, [b""]))}),
}


def test_a_tree_survives_its_bytes():
    assert parse_struct(serialize_struct(TREE)) == TREE


def test_the_bytes_of_a_small_struct():
    assert serialize_struct({1: (I32, 3), 2: (BINARY, b"a"), 20: (I32, -1)}) == b"\x15\x06\x18\x01a\x05\x28\x01\x00"


@pytest.mark.parametrize("end", range(len(serialize_struct(TREE))))
def test_cut_short_it_is_refused(end):
    with pytest.raises(ValueError, match="truncated"):
        parse_struct(serialize_struct(TREE)[:end])


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"\x1b\x00\x00", "unsupported thrift type 11"), (b"\x1c" * 200, "nested too deeply"), (b"\x19" * 200, "deeply")],
)
def test_maps_and_endless_nesting_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        parse_struct(data)


@pytest.mark.parametrize("byte", range(0, 256, 5))
def test_bytes_are_refused_or_survive(byte):
    """Whatever one byte is changed to: the struct is refused, or the same struct comes from its own bytes."""
    data = serialize_struct(TREE)
    for at in range(len(data)):
        try:
            found = parse_struct(data[:at] + bytes([byte]) + data[at + 1 :])
        except ValueError:
            continue
        assert parse_struct(serialize_struct(found)) == found


def test_numbers_of_all_lengths_survive():
    numbers = [sign * (2**bits + add) for bits in range(64) for sign in (1, -1) for add in (-1, 0)]
    tree = {at: (I64, number) for at, number in enumerate(numbers, 1)}
    assert parse_struct(serialize_struct(tree)) == tree


def test_structs_may_be_as_deep_as_the_limit():
    tree = {1: (I32, 1)}
    for _ in range(MAX_DEPTH):
        tree = {1: (STRUCT, tree)}
    assert parse_struct(serialize_struct(tree)) == tree
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_struct(serialize_struct({1: (STRUCT, tree)}))
