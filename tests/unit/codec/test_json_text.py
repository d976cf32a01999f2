"""The strict JSON parser: which texts are accepted, and which raise ValueError."""

import json
from decimal import Decimal

import pytest

from paimon_core.codec.json_text import parse_json
from paimon_core.limits import METADATA_BYTES, METADATA_DEPTH


@pytest.mark.parametrize("value", [None, True, 1, -(2**70), 1.5, "ä\U0001f600", [], {}, {"a": [{"b": None}]}])
def test_values_come_back(value):
    assert parse_json(json.dumps(value).encode()) == value


def test_floats_may_be_read_exactly():
    assert parse_json(b"[0.1]", Decimal) == [Decimal("0.1")]


def nested(depth, opening=b"[", closing=b"]"):
    return opening * depth + closing * depth


def test_as_deep_as_allowed():
    assert parse_json(nested(METADATA_DEPTH)) is not None
    assert parse_json(b'{"a":' * (METADATA_DEPTH - 1) + b"{}" + b"}" * (METADATA_DEPTH - 1)) is not None


def test_as_long_as_allowed():
    assert parse_json(b"{}".rjust(METADATA_BYTES)) == {}


BAD = {
    "nothing": (b"", "Expecting value"),
    "blank": (b"  ", "Expecting value"),
    "cut short": (b'{"a"', "char"),
    "two values": (b"{} {}", "Extra data"),
    "no UTF-8": (b'"\xff"', "utf-8"),
    "UTF-16": ("{}".encode("utf-16"), "utf-8"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "NaN": (b"NaN", "NaN is not a JSON number"),
    "an infinity": (b"[Infinity]", "Infinity is not a JSON number"),
    "a member twice": (b'{"a": 1, "b": 2, "a": 3}', "'a' appears twice"),
    "a member twice inside": (b'[{"a": 1, "a": 1}]', "'a' appears twice"),
    "too deep": (nested(METADATA_DEPTH + 1), "nests deeper than 104"),
    "too deep in objects": (b'{"a":' * 105 + b"1" + b"}" * 105, "nests deeper than 104"),
    "200 kB of [": (b"[" * 200_000, "nests deeper than 104"),
    "a number of 5,000 digits": (b"9" * 5000, "digits"),
    "too long": (b" " * (METADATA_BYTES + 1), "more than the 16777216"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_refused(data, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_json(data)
    assert len(str(caught.value)) < 200


def test_a_repeated_member_among_many_is_found_quickly():
    data = b"{" + b",".join(b'"k%d": 1' % n for n in range(100_000)) + b', "k99999": 2}'
    with pytest.raises(ValueError, match="'k99999' appears twice"):
        parse_json(data)
