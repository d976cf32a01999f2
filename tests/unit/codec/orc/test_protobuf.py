import pytest

from paimon_core.codec.orc.protobuf import BYTES, NUMBER, NUMBERS, one, parse

FIELDS = {1: NUMBER, 2: NUMBERS, 3: BYTES, 4: {1: NUMBER}}


def test_fields_by_number_packed_or_not_and_others_left_out():
    data = b"\x08\x96\x01" + b"\x12\x02\x03\x04\x10\x05" + b"\x1a\x01x" + b"\x22\x02\x08\x07" + b"\x28\x01"
    data += b"\x31" + bytes(8) + b"\x3d" + bytes(4) + b"\x42\x01y"
    found = parse(data, FIELDS)
    assert found == {1: [150], 2: [3, 4, 5], 3: [b"x"], 4: [{1: [7]}]}
    assert one(found, 1) == 150
    assert one(found, 9, 8) == 8
    assert parse(b"", FIELDS) == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x00\x01", "a protobuf field 0"),
        (b"\x0b", "the wire type 3"),
        (b"\x0f", "the wire type 7"),
        (b"\x0a\x01x", "field 1 of the wire type 2"),
        (b"\x18\x01", "field 3 of the wire type 0"),
        (b"\x1a\x02x", "truncated"),
        (b"\x31\x00", "truncated"),
        (b"\x08\x80", "a number that does not end"),
        (b"\x08" + b"\x80" * 10 + b"\x01", "a number that does not end"),
        (b"\x12\x01\x80", "a number that does not end"),
    ],
)
def test_what_is_no_message(data, message):
    with pytest.raises(ValueError, match=message):
        parse(data, FIELDS)


def test_a_value_that_is_not_one():
    with pytest.raises(ValueError, match="0 protobuf fields 1"):
        one({}, 1)
    with pytest.raises(ValueError, match="2 protobuf fields 1"):
        one({1: [1, 2]}, 1, 3)
