import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.codec.binary_row.rows import decode_row, encode_row, encode_rows, row_images, storage_values, to_array
from paimon_core.errors import CorruptTable, SchemaMismatch, UnsupportedFeature
from paimon_core.types import parse_type


def types(*texts: str):
    return [parse_type(text) for text in texts]


def row(*words: str) -> bytes:
    return bytes.fromhex("".join(words).replace(" ", ""))


ONE_VALUE = [
    ("BOOLEAN", True, "0100000000000000"),
    ("TINYINT", -5, "fb00000000000000"),
    ("SMALLINT", -2, "feff000000000000"),
    ("INT", -5, "fbffffff00000000"),
    ("BIGINT", -1, "ffffffffffffffff"),
    ("FLOAT", 1.5, "0000c03f00000000"),
    ("DOUBLE", 1.5, "000000000000f83f"),
    ("DATE", -1, "ffffffff00000000"),
    ("TIME(0)", 0, "0000000000000000"),
    ("TIME(3)", 86_399_999, "ff5b260500000000"),
    ("DECIMAL(18, 2)", Decimal("-0.01"), "ffffffffffffffff"),
    ("DECIMAL(19, 0)", Decimal(128), "0200000010000000 00800000000000000000000000000000"),
    ("DECIMAL(38, 0)", Decimal(-(10**38) + 1), "1000000010000000 b4c4b357a5793b85f675ddc000000001"),
    ("TIMESTAMP(3)", -1, "ffffffffffffffff"),
    ("TIMESTAMP(6)", -1, "583e0f0010000000 ffffffffffffffff"),
    ("TIMESTAMP(9)", -1, "3f420f0010000000 ffffffffffffffff"),
    ("TIMESTAMP(4) WITH LOCAL TIME ZONE", 1_001, "e803000010000000 0100000000000000"),
    ("CHAR(3)", "", "0000000000000080"),
    ("STRING", "abcdefg", "6162636465666787"),
    ("STRING", "abcdefgh", "0800000010000000 6162636465666768"),
    ("VARCHAR(20)", "abcdefghi", "0900000010000000 61626364656667686900000000000000"),
    ("BYTES", b"\x00\xff", "00ff000000000082"),
]


@pytest.mark.parametrize(("text", "value", "words"), ONE_VALUE, ids=[f"{t} {v!r}" for t, v, _ in ONE_VALUE])
def test_one_value_of_each_type(text, value, words):
    data = row("00000001 0000000000000000", words)
    assert encode_row([value], types(text)) == data
    assert decode_row(data, types(text)) == (value,)
    assert encode_rows([to_array([value], parse_type(text))], types(text)) == [data]


NULLS = [
    ("INT", "0000000000000000"),
    ("STRING", "0000000000000000"),
    ("DECIMAL(18, 2)", "0000000000000000"),
    ("TIMESTAMP(3)", "0000000000000000"),
    ("DECIMAL(20, 2)", "0000000010000000 00000000000000000000000000000000"),
    ("TIMESTAMP(6)", "0000000010000000 0000000000000000"),
    ("TIMESTAMP(9) WITH LOCAL TIME ZONE", "0000000010000000 0000000000000000"),
]


@pytest.mark.parametrize(("text", "words"), NULLS, ids=[text for text, _ in NULLS])
def test_null_keeps_its_room_in_wide_types_only(text, words):
    data = row("00000001 0001000000000000", words)
    assert encode_row([None], types(text)) == data
    assert decode_row(data, types(text)) == (None,)
    assert encode_rows([pa.nulls(1, parse_type(text).to_arrow())], types(text)) == [data]


STATISTICS = types("INT", "STRING", "DECIMAL(20, 2)", "TIMESTAMP(6)", "STRING")
STATISTICS_ROW = row(
    "00000005 0000000000000000 0200000000000000 0900000030000000 0200000040000000",
    "78e0010050000000 323032342f303087 76616c75652d322d 3000000000000000",
    "00e10000000000000000000000000000 0268e5cf8b010000",
)
STATISTICS_VALUES = (2, "value-2-0", Decimal("2.25"), 1_700_000_000_002_123, "2024/00")


def test_the_worked_dump_of_the_format():
    assert encode_row(STATISTICS_VALUES, STATISTICS) == STATISTICS_ROW
    assert decode_row(STATISTICS_ROW, STATISTICS) == STATISTICS_VALUES


def test_the_empty_row_is_twelve_zero_bytes():
    assert encode_row((), []) == bytes(12)
    assert decode_row(bytes(12), []) == ()


@pytest.mark.parametrize(("arity", "head"), [(56, 8), (57, 16), (120, 16), (121, 24)])
def test_null_bits_grow_with_the_arity(arity, head):
    values = [None] * (arity - 1) + [7]
    data = encode_row(values, types(*["INT"] * arity))
    assert len(data) == 4 + head + 8 * arity
    assert data[4:12] == b"\x00" + b"\xff" * 7 if arity > 56 else b"\x00" + b"\xff" * 6 + b"\x7f"
    assert list(decode_row(data, types(*["INT"] * arity))) == values
    columns = [pa.array([value], pa.int32()) for value in values]
    assert encode_rows(columns, types(*["INT"] * arity)) == [data]


def test_columns_of_rows_that_differ_in_length():
    kinds = types("STRING", "BIGINT", "BYTES", "DECIMAL(38, 4)", "TIMESTAMP(6)")
    rows = [
        ("short", 1, b"also a long binary", Decimal("1.5"), 5),
        (None, None, None, None, None),
        ("a text of more than eight", -1, b"", Decimal("-99999999999999999999.9999"), -5),
        ("", 2, b"12345678", None, 0),
    ]
    columns = [to_array(list(values), kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    assert encode_rows(columns, kinds) == [encode_row(values, kinds) for values in rows]
    flat, offsets = row_images(columns, kinds)
    assert flat.dtype == np.uint8
    assert offsets.dtype == np.int64
    assert offsets.tolist() == [0, 96, 168, 272, 352]
    assert flat.tobytes() == b"".join(encode_row(values, kinds)[4:] for values in rows)


def test_sliced_chunked_and_foreign_columns():
    kinds = types("STRING", "INT", "BOOLEAN", "DECIMAL(20, 1)")
    table = pa.table(
        {
            "s": pa.array(["zero", "one is the first", None, "three", "four is longer again"], pa.large_string()),
            "i": pa.array([0, 1, None, 3, 4], pa.int64()),
            "b": pa.array([True, False, None, True, False]),
            "d": pa.array([Decimal(0), Decimal(1), None, Decimal(3), Decimal(4)], pa.decimal128(20, 0)),
        }
    )
    chunked = pa.concat_tables([table[1:3], table[3:5]])
    expected = [
        encode_row(v, kinds)
        for v in [
            ("one is the first", 1, False, Decimal(1)),
            (None, None, None, None),
            ("three", 3, True, Decimal(3)),
            ("four is longer again", 4, False, Decimal(4)),
        ]
    ]
    assert encode_rows(chunked.columns, kinds) == expected
    conformed = [column.cast(kind.to_arrow()).combine_chunks() for column, kind in zip(table, kinds, strict=True)]
    assert encode_rows([column.slice(1, 4) for column in conformed], kinds) == expected


def test_values_under_nulls_do_not_leak():
    hidden = pa.Array.from_buffers(
        pa.int32(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1, 99], np.int32).tobytes())]
    )
    assert encode_rows([hidden], types("INT"))[1] == encode_row([None], types("INT"))
    ends = pa.py_buffer(np.array([0, 9, 18], np.int32).tobytes())
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x01"), ends, pa.py_buffer(b"a long one" * 2)])
    assert encode_rows([hidden], types("STRING"))[1] == encode_row([None], types("STRING"))


def test_no_rows():
    for text in ("INT", "STRING", "DECIMAL(20, 2)", "TIMESTAMP(6)"):
        flat, offsets = row_images([pa.array([], parse_type(text).to_arrow())], types(text))
        assert (len(flat), offsets.tolist()) == (0, [0])
    assert encode_rows([], []) == []


UNFIT = [
    ("TINYINT", 128),
    ("INT", 2**31),
    ("INT", 1.5),
    ("BOOLEAN", 1),
    ("FLOAT", 1e39),
    ("STRING", b"bytes"),
    ("STRING", "\ud800"),
    ("BYTES", 5),
    ("DECIMAL(4, 2)", Decimal("1.234")),
    ("DECIMAL(4, 2)", Decimal("100")),
    ("DECIMAL(20, 2)", Decimal("NaN")),
    ("DECIMAL(4, 2)", "1.00"),
    ("TIMESTAMP(6)", 2**80),
    ("TIMESTAMP(6)", "2024"),
]


@pytest.mark.parametrize(("text", "value"), UNFIT, ids=[f"{t} {v!r}" for t, v in UNFIT])
def test_a_value_outside_its_type_is_refused_by_name(text, value):
    with pytest.raises(SchemaMismatch) as caught:
        encode_row([1, value], types("INT", text))
    assert f"({parse_type(text)})" in str(caught.value)


def test_a_row_has_a_value_per_type():
    with pytest.raises(SchemaMismatch, match="INT, INT"):
        encode_row([1], types("INT", "INT"))


HOSTILE = [
    ("nothing", b"", ["INT"]),
    ("half an arity", bytes(2), ["INT"]),
    ("another arity", row("00000002", "00" * 24), ["INT"]),
    ("little-endian arity", row("01000000", "00" * 16), ["INT"]),
    ("a slot cut short", row("00000001 0000000000000000 01000000"), ["INT"]),
    ("an offset outside", row("00000001 0000000000000000 0800000018000000 6162636465666768"), ["STRING"]),
    ("a length outside", row("00000001 0000000000000000 0900000010000000 6162636465666768"), ["STRING"]),
    ("a huge length", row("00000001 0000000000000000 ffffffff10000000 6162636465666768"), ["BYTES"]),
    ("8 bytes inline", row("00000001 0000000000000000 6162636465666788"), ["STRING"]),
    ("text that is not UTF-8", row("00000001 0000000000000000 ff00000000000081"), ["STRING"]),
    ("a decimal of 17 bytes", row("00000001 0000000000000000 1100000010000000", "00" * 24), ["DECIMAL(20, 0)"]),
    ("a decimal outside", row("00000001 0000000000000000 0200000010000000"), ["DECIMAL(20, 0)"]),
    ("a decimal too wide", row("00000001 0000000000000000 1000000010000000", "7f" * 16), ["DECIMAL(20, 0)"]),
    ("a compact decimal too wide", row("00000001 0000000000000000 ffffffffffffff7f"), ["DECIMAL(4, 2)"]),
    ("a compact decimal of one digit too many", row("00000001 0000000000000000 1027000000000000"), ["DECIMAL(4, 2)"]),
    ("the same below zero", row("00000001 0000000000000000 f0d8ffffffffffff"), ["DECIMAL(4, 2)"]),
    ("a time before midnight", row("00000001 0000000000000000 ffffffff00000000"), ["TIME(0)"]),
    ("a million nanoseconds", row("00000001 0000000000000000 40420f0010000000 0000000000000000"), ["TIMESTAMP(6)"]),
    ("milliseconds outside", row("00000001 0000000000000000 0000000014000000 0000000000000000"), ["TIMESTAMP(6)"]),
    ("a time after midnight", row("00000001 0000000000000000 005c260500000000"), ["TIME(0)"]),
]


@pytest.mark.parametrize(("data", "texts"), [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_impossible_bytes_are_refused(data, texts):
    with pytest.raises(CorruptTable):
        decode_row(data, types(*texts))


def test_what_lies_in_a_null_slot_is_not_read():
    assert decode_row(row("00000001 0001000000000000 ffffffffffffff7f"), types("STRING")) == (None,)


def test_flipped_bits_give_values_or_corrupt_table():
    for bit in range(8 * len(STATISTICS_ROW)):
        data = bytearray(STATISTICS_ROW)
        data[bit // 8] ^= 1 << bit % 8
        try:
            assert len(decode_row(bytes(data), STATISTICS)) == 5
        except CorruptTable as error:
            assert "BinaryRow" in str(error)  # noqa: PT017 - either outcome is right


STORAGE = [
    ("DATE", [19737, None, -1]),
    ("TIME(3)", [0, 86_399_999, None]),
    ("TIMESTAMP(3)", [1, None]),
    ("TIMESTAMP(9)", [2**62 + 1, None]),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [-1, None]),
    ("DECIMAL(38, 10)", [Decimal("1234567890123456789012345678.0123456789"), None]),
    ("STRING", ["a", None]),
]


@pytest.mark.parametrize(("text", "values"), STORAGE, ids=[text for text, _ in STORAGE])
def test_storage_values_and_arrow(text, values):
    kind = parse_type(text)
    array = to_array(values, kind)
    assert array.type == kind.to_arrow()
    assert storage_values(array, kind) == values
    assert storage_values(pa.chunked_array([array, array]), kind) == values + values


def test_a_timestamp_that_arrow_cannot_hold_is_refused_by_name():
    kind = parse_type("TIMESTAMP(9)")
    last = 253_402_300_799_999_999_999
    (value,) = decode_row(encode_row([last], [kind]), [kind])
    assert value == last
    with pytest.raises(UnsupportedFeature, match=r"TIMESTAMP\(9\)"):
        to_array([value], kind)


def test_not_a_number_keeps_its_bits():
    for text, slot in (("FLOAT", "0000c07f00000000"), ("DOUBLE", "000000000000f87f")):
        data = row("00000001 0000000000000000", slot)
        assert encode_row([math.nan], types(text)) == data
        assert encode_rows([to_array([math.nan], parse_type(text))], types(text)) == [data]
        assert math.isnan(decode_row(data, types(text))[0])
