import pytest

from paimon_core.codec.parquet.footer_checksum import is_sealed, sealed
from paimon_core.codec.parquet.thrift import BINARY, I32, parse_struct, serialize_struct

FOOTER = serialize_struct({1: (I32, 2), 6: (BINARY, b"someone")})
SEALED = sealed(FOOTER)


def test_a_checksum_is_a_field_of_the_footer():
    tree = parse_struct(SEALED, whole=True)
    assert {number: tree[number] for number in (1, 6)} == parse_struct(FOOTER)
    assert is_sealed(SEALED)
    assert not is_sealed(FOOTER)
    assert not is_sealed(b"")


@pytest.mark.parametrize("at", range(len(SEALED)))
def test_a_flipped_bit_is_found_or_takes_the_checksum_away(at):
    for bit in range(8):
        bad = SEALED[:at] + bytes([SEALED[at] ^ (1 << bit)]) + SEALED[at + 1 :]
        if at < len(FOOTER) - 1:
            with pytest.raises(ValueError, match="checksum"):
                is_sealed(bad)
        else:
            try:
                assert not is_sealed(bad)
            except ValueError:
                assert len(FOOTER) + 4 <= at < len(FOOTER) + 8
