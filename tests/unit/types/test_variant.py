"""Variants: Python values and JSON as binaries and back; the bytes of Java's and Spark's builders."""

import datetime
import enum
import math
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest

from paimon_core import InvalidRequest, Variant

EMPTY = "010000"
ID = UUID("12345678-1234-5678-1234-567812345678")


class Color(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, "00"),
        (True, "04"),
        (False, "08"),
        (-1, "0cff"),
        (300, "102c01"),
        (70_000, "1470110100"),
        (2**40, "180000000000010000"),
        (2**63, "280000000000000000800000000000000000"),
        (1.5, "1c000000000000f83f"),
        (Decimal("1.25"), "20027d000000"),
        (Decimal("-12345678901.5"), "2401e9e56641e3ffffff"),
        (datetime.date(1970, 1, 3), "2c02000000"),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), "3440420f0000000000"),
        (datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC), "3040420f0000000000"),
        (b"\x01", "3c0100000001"),
        ("", "01"),
        ("abc", "0d616263"),
        ("x" * 64, "4040000000" + "78" * 64),
        (ID, "50" + ID.hex),
        ([], "030000"),
        ([1, None], "030200020" + "30c0100"),
        ({}, "020000"),
    ],
)
def test_values_have_one_encoding(value, encoded):
    variant = Variant.of(value)
    assert (variant.value.hex(), variant.metadata.hex()) == (encoded, EMPTY)
    assert variant.to_python() == value


def test_names_are_in_the_metadata_once_and_fields_are_sorted():
    variant = Variant.of({"b": 1, "a": {"b": 2}})
    assert variant.metadata.hex() == "0102" + "000102" + b"ba".hex()
    assert variant.value.hex() == "0202" + "0100" + "020009" + "0c01" + "0201" + "00" + "0002" + "0c02"
    assert variant.to_python() == {"a": {"b": 2}, "b": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 1.50, 1e2, "é", null, true]}', {"a": [1, Decimal("1.50"), 100.0, "é", None, True]}),
        ("9223372036854775808", Decimal(2**63)),
        ("1" * 39, float("1" * 39)),
        ("0." + "1" * 39, float("0." + "1" * 39)),
        ("-0", 0),
    ],
)
def test_json_has_the_types_of_java(text, value):
    found = Variant.from_json(text).to_python()
    assert found == value
    assert repr(found) == repr(value)


def test_json_of_every_type():
    day, at = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3)
    given = {
        "d": day,
        "t": at,
        "z": at.replace(tzinfo=datetime.UTC),
        "b": b"x",
        "u": ID,
        "n": math.inf,
        "x": Decimal("1.50"),
    }
    assert Variant.of(given).to_json() == (
        '{"b":"eA==","d":"2024-02-29","n":"Infinity","t":"2024-02-29 01:02:03",'
        f'"u":"{ID}","x":1.50,"z":"2024-02-29 01:02:03+00:00"' + "}"
    )


def test_scalars_of_numpy_enums_and_tuples():
    given = {"i": np.int8(3), "f": np.float32(1.5), "e": Color.RED, "t": (1,), "a": np.array([1, 2])}
    assert Variant.of(given).to_python() == {"i": 3, "f": 1.5, "e": "red", "t": [1], "a": [1, 2]}
    assert Variant.of(np.datetime64("2024-01-01T00:00:01", "s")).to_python() == datetime.datetime(2024, 1, 1, 0, 0, 1)


def test_large_objects_and_arrays():
    given = {f"name{n}": list(range(n, n + 300)) for n in range(300)}
    assert Variant.of(given).to_python() == given


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({1, 2}, "is a set"),
        ({1: 2}, "a field named 1"),
        (datetime.time(1), "is a time"),
        (Decimal("NaN"), "finite"),
        (10**38, "more than 38 digits"),
        (Decimal("1e38"), "more than 38 digits"),
        (Decimal("1e-39"), "more than 38 digits"),
        (np.datetime64(1, "ns"), "more digits of a second"),
        ("\ud800", "not valid Unicode"),
        (nested(201), "deeper than 200"),
        (b"x" * (1 << 24), "larger than"),
    ],
)
def test_values_without_a_variant(value, why):
    with pytest.raises(InvalidRequest, match=why):
        Variant.of(value)


@pytest.mark.parametrize("text", ["{", '{"a":1,"a":2}', "NaN", "[" * 2000, ""])
def test_texts_that_are_not_json(text):
    with pytest.raises(InvalidRequest, match="is not a VARIANT"):
        Variant.from_json(text)


@pytest.mark.parametrize(
    ("value", "metadata", "why"),
    [
        ("", EMPTY, "ends too early"),
        ("00", "", "ends too early"),
        ("0c", EMPTY, "ends too early"),
        ("0c0100", EMPTY, "1 bytes after"),
        ("f8", EMPTY, "the type 62"),
        ("0961", EMPTY, "ends too early"),
        ("05ff", EMPTY, "utf-8"),
        ("20270000" + "0000", EMPTY, "scale 39"),
        ("0201" + "00" + "0001" + "00", EMPTY, "the number 0, of 0"),
        ("0202" + "0000" + "000102" + "0000", "0101000161", "two fields 'a'"),
        ("0f" + "ffffffff" * 2, EMPTY, "ends too early"),
        ("030200000100", EMPTY, None),
        ("00", "020000", "version 2"),
        ("00", "010100", "ends too early"),
        ("00", "01010500", "invalid offsets"),
        ("00", "0101000261", "invalid offsets"),
    ],
)
def test_binaries_that_are_no_variant(value, metadata, why):
    variant = Variant(bytes.fromhex(value), bytes.fromhex(metadata))
    if why is None:
        assert variant.to_python() == [None, None]
        return
    with pytest.raises(InvalidRequest, match=why):
        variant.to_python()


def test_values_that_share_bytes_do_not_grow():
    data = b"\x00"
    for _ in range(60):  # two elements at the same place: 2**60 values in 300 bytes
        data = bytes([3, 2, 0, 0, len(data)]) + data if len(data) < 250 else data
    with pytest.raises(InvalidRequest, match=r"overlap|more values than bytes"):
        Variant(data, b"\x01\x00\x00").to_python()


def test_other_types_of_the_format_are_read():
    def read(text):
        return Variant(bytes.fromhex(text), bytes.fromhex(EMPTY)).to_python()

    assert read("44" + "40420f0000000000") == datetime.time(0, 0, 1)
    assert read("4c" + "0100000000000000") == np.datetime64(1, "ns")
    assert read("34" + "ff" * 7 + "7f") == np.datetime64(2**63 - 1, "us")
    assert read("38" + "0000c03f") == 1.5
    with pytest.raises(InvalidRequest, match="outside of a day"):
        read("44" + "ff" * 8)


def test_stored_values_are_read():
    one = Variant.of([1])
    assert Variant.read({"value": one.value, "metadata": one.metadata}) == Variant.read(one) == one
    with pytest.raises(InvalidRequest, match="does not have the binaries"):
        Variant.read({"value": 1})
