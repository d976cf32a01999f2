"""Page headers by hand: what the writers of tests do not write."""

from paimon_core.codec.parquet.page_headers import page_header


def test_fields_may_have_their_number_in_full():
    """A field header without a difference to the field before is followed by the number, as a zigzag varint."""
    kind, unpacked, packed, end = b"\x05\x02\x00", b"\x05\x04\xc8\x01", b"\x05\x06\x64", b"\x00"
    found = page_header(kind + unpacked + packed + end)
    assert (found.kind, found.unpacked, found.packed, found.size) == (0, 100, 50, 11)
