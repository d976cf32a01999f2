from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.codec.binary_row import cells
from paimon_core.codec.binary_row.bucket_hash import bucket_of, hash_images, hash_rows
from paimon_core.codec.binary_row.rows import encode_row, row_images, to_array
from paimon_core.errors import InvalidRequest
from paimon_core.types import parse_type

ZERO = "0000000000000000"
# The worked examples of format 6.5, each with its bucket out of 4.
EXAMPLES = [
    (["INT"], [1], f"{ZERO} 0100000000000000", 1465514398, 2),
    (["BIGINT"], [1], f"{ZERO} 0100000000000000", 1465514398, 2),
    (["BOOLEAN"], [True], f"{ZERO} 0100000000000000", 1465514398, 2),
    (["INT"], [42], f"{ZERO} 2a00000000000000", 907821237, 1),
    (["INT"], [-5], f"{ZERO} fbffffff00000000", -343067111, 3),
    (["BIGINT"], [1234567890123], f"{ZERO} cb04fb711f010000", -1873221036, 0),
    (["STRING"], ["abc"], f"{ZERO} 6162630000000083", -101922419, 3),
    (["STRING"], ["abcdefg"], f"{ZERO} 6162636465666787", -1431907323, 3),
    (["STRING"], ["abcdefgh"], f"{ZERO} 0800000010000000 6162636465666768", -843760178, 2),
    (["STRING"], ["hello world"], f"{ZERO} 0b00000010000000 68656c6c6f20776f726c640000000000", 161593394, 2),
    (["STRING"], [""], f"{ZERO} 0000000000000080", 302122119, 3),
    (["STRING"], ["中文"], f"{ZERO} e4b8ade696870086", 1956728004, 0),
    (["INT"], [None], f"0001000000000000 {ZERO}", -1748325344, 0),
    (["STRING"], [None], f"0001000000000000 {ZERO}", -1748325344, 0),
    (
        ["INT", "STRING"],
        [7, "hello world"],
        f"{ZERO} 0700000000000000 0b00000018000000 68656c6c6f20776f726c640000000000",
        1628449581,
        1,
    ),
    (["STRING", "BIGINT"], ["k1", None], f"0002000000000000 6b31000000000082 {ZERO}", -796155713, 1),
    (["DECIMAL(10, 2)"], [Decimal("12.34")], f"{ZERO} d204000000000000", -1096042293, 1),
    (
        ["DECIMAL(20, 2)"],
        [Decimal("12.34")],
        f"{ZERO} 0200000010000000 04d20000000000000000000000000000",
        -531788649,
        1,
    ),
    (
        ["DECIMAL(20, 2)"],
        [Decimal("-12.34")],
        f"{ZERO} 0200000010000000 fb2e0000000000000000000000000000",
        809605724,
        0,
    ),
    (["DECIMAL(20, 2)"], [None], f"0001000000000000 0000000010000000 {ZERO} {ZERO}", -1380280760, 0),
    (["DATE"], [19737], f"{ZERO} 194d000000000000", -942671814, 2),
    (["TIMESTAMP(3)"], [1705314600123], f"{ZERO} bbc4ab0c8d010000", -2081424573, 1),
    (["TIMESTAMP(6)"], [1705314600123456], f"{ZERO} 40f5060010000000 bbc4ab0c8d010000", -1072718560, 0),
    (["TIMESTAMP(6)"], [None], f"0001000000000000 0000000010000000 {ZERO}", -340882661, 1),
    (["TIMESTAMP(9)"], [1705314600123456789], f"{ZERO} 55f8060010000000 bbc4ab0c8d010000", 158311826, 2),
    (["FLOAT"], [1.5], f"{ZERO} 0000c03f00000000", -173842779, 3),
    (["DOUBLE"], [1.5], f"{ZERO} 000000000000f83f", 1860889473, 1),
]


@pytest.mark.parametrize(
    ("texts", "values", "image", "expected", "bucket"), EXAMPLES, ids=[f"{e[0]} {e[1]}" for e in EXAMPLES]
)
def test_the_worked_examples_of_the_format(texts, values, image, expected, bucket):
    kinds = [parse_type(text) for text in texts]
    columns = [to_array([value], kind) for value, kind in zip(values, kinds, strict=True)]
    data = bytes.fromhex(image.replace(" ", ""))
    assert encode_row(values, kinds)[4:] == data
    assert row_images(columns, kinds)[0].tobytes() == data
    hashes = hash_rows(columns, kinds)
    assert hashes.dtype == np.int32
    assert hashes.tolist() == [expected]
    assert bucket_of(hashes, 4).tolist() == [bucket]


def test_the_empty_row():
    hashes = hash_images(np.zeros(8, np.uint8), np.array([0, 8]))
    assert hashes.tolist() == [-1670924195]
    assert bucket_of(hashes, 4).tolist() == [3]


def test_rows_of_many_lengths_keep_their_order():
    texts = ["hello world", "abc", None, "", "abcdefgh", "abc"]
    assert hash_rows([pa.array(texts)], [parse_type("STRING")]).tolist() == [
        161593394,
        -101922419,
        -1748325344,
        302122119,
        -843760178,
        -101922419,
    ]


def test_more_rows_than_a_block():
    numbers = [1, 42, -5] * 30_000
    assert hash_rows([pa.array(numbers, pa.int32())], [parse_type("INT")]).tolist() == (
        [1465514398, 907821237, -343067111] * 30_000
    )
    texts = ["abc", "hello world", "abcdefgh"] * 30_000
    assert hash_rows([pa.array(texts)], [parse_type("STRING")]).tolist() == (
        [-101922419, 161593394, -843760178] * 30_000
    )


def test_no_rows():
    assert hash_rows([pa.array([], pa.int32())], [parse_type("INT")]).tolist() == []
    assert hash_rows([pa.array([], pa.string())], [parse_type("STRING")]).tolist() == []
    assert hash_rows([], []).tolist() == []


def test_a_bucket_is_the_remainder_without_its_sign():
    hashes = np.array([-343067111, -1, 7, -(2**31), 2**31 - 1], np.int32)
    assert bucket_of(hashes, 4).tolist() == [3, 1, 3, 0, 3]
    assert bucket_of(hashes, 1).tolist() == [0, 0, 0, 0, 0]
    with pytest.raises(InvalidRequest, match="not 0"):
        bucket_of(hashes, 0)


@pytest.mark.parametrize("width", [8, 15, 16, 17, 24, 36, 37])
def test_texts_of_one_width_hash_as_texts_of_several(width):
    """Values of one width are copied without offsets; one longer value makes the others take the general way."""
    letters = np.random.default_rng(width).integers(97, 123, (50, width), dtype=np.uint8)
    texts = [row.tobytes().decode() for row in letters]
    kinds = [parse_type("STRING")]
    mixed = hash_rows([pa.array([*texts, "x" * 99])], kinds)
    for array in (pa.array(texts), pa.array(["y" * width, *texts])[1:]):
        assert hash_rows([array], kinds).tolist() == mixed.tolist()[:-1]


@pytest.mark.parametrize(("least", "most"), [(9, 16), (57, 64), (65, 72), (0, 40), (8, 24)])
def test_texts_are_hashed_alike_in_blocks_and_alone(monkeypatch, least, most):
    monkeypatch.setattr(cells, "_BLOCK_ROWS", 16)
    lengths = np.random.default_rng(most).integers(least, most + 1, 100)
    texts = ["".join(chr(97 + (n * at) % 26) for at in range(length)) for n, length in enumerate(lengths.tolist())]
    kind = parse_type("STRING")
    found = hash_rows([pa.array(["before", *texts, "after"]).slice(1, 100)], [kind])
    images = [np.frombuffer(encode_row([text], [kind])[4:], np.uint8) for text in texts]
    assert found.tolist() == [hash_images(image, np.array([0, len(image)]))[0] for image in images]
