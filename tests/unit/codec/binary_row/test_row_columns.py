"""Fields of many BinaryRows at once: the values of decode_row, or None where only decode_row may answer."""

from decimal import Decimal

import numpy as np
import pytest

from paimon_core.codec.binary_row.row_columns import RowBytes, key_ranks
from paimon_core.codec.binary_row.rows import decode_row, encode_row
from paimon_core.lsm.key_order import key_order
from paimon_core.types import parse_type

CASES = {
    "BOOLEAN": [True, False],
    "TINYINT": [-128, 127],
    "SMALLINT": [-300, 300],
    "INT": [-(2**31), 5],
    "DATE": [19_000, -1],
    "BIGINT": [-(2**63), 2**63 - 1],
    "FLOAT": [1.5, float("-inf")],
    "DOUBLE": [-0.5, 1e300],
    "DECIMAL(10, 2)": [Decimal("-12.34"), Decimal("99999999.99")],
    "TIMESTAMP(3)": [1_700_000_000_000, -1],
    "STRING": ["", "short", "longer than a slot", "é" * 9],
    "BYTES": [b"\xff\x00", b"longer than a slot"],
}


def rows_of(rows, arity):
    lengths = np.array([len(r) for r in rows], np.int64)
    starts = np.cumsum(lengths) - lengths + 3
    return RowBytes(np.frombuffer(b"xyz" + b"".join(rows), np.uint8), starts, lengths, arity)


@pytest.mark.parametrize("sql", CASES)
def test_each_type_as_decode_row(sql):
    types = (parse_type("INT"), parse_type(sql))
    rows = [encode_row([7, value], types) for value in [*CASES[sql], None, CASES[sql][0]]]
    found = rows_of(rows, 2)
    assert found.are_complete()
    assert found.values(1, types[1]) == [decode_row(r, types)[1] for r in rows]


@pytest.mark.parametrize("sql", ["DECIMAL(20, 2)", "TIMESTAMP(6)", "TIME", "ARRAY<INT>"])
def test_other_types_are_left_to_decode_row(sql):
    assert rows_of([encode_row([1], [parse_type("BIGINT")])], 1).values(0, parse_type(sql)) is None


TEXT = (parse_type("STRING"),)
LONG = encode_row(["longer than a slot"], TEXT)


@pytest.mark.parametrize(
    ("row", "sql"),
    [
        (LONG[:-8], "STRING"),
        (LONG.replace(b"longer", b"\xff\xfeabcd"), "STRING"),
        (LONG[:19] + b"\x8f" + LONG[20:], "STRING"),
        (encode_row([10**17], [parse_type("BIGINT")]), "DECIMAL(10, 2)"),
    ],
)
def test_bytes_that_decode_row_refuses_are_left_to_it(row, sql):
    assert rows_of([LONG, row] if sql == "STRING" else [row], 1).values(0, parse_type(sql)) is None


@pytest.mark.parametrize("row", [b"", LONG[:19], b"\0\0\0\2" + LONG[4:]])
def test_rows_that_are_not_complete(row):
    assert not rows_of([LONG, row], 1).are_complete()


@pytest.mark.parametrize("sqls", [["BIGINT"], ["INT", "DATE"]])
def test_key_ranks_order_keys_as_key_order_does(sqls):
    types = [parse_type(sql) for sql in sqls]
    keys = [encode_row([a, b][: len(types)], types) for a in (5, -1, 2**20) for b in (3, -(2**31), 3)]
    low, high = key_ranks(rows_of(keys, len(types)), rows_of(keys[::-1], len(types)), types)
    order = key_order(types)
    ranked = sorted(zip([*low.tolist(), *high.tolist()], [*keys, *keys[::-1]], strict=True), key=lambda pair: pair[0])
    assert [order(k) for _, k in ranked] == sorted(order(k) for k in [*keys, *keys])


@pytest.mark.parametrize(("sql", "value"), [("DOUBLE", 1.5), ("STRING", "a"), ("INT", None)])
def test_keys_of_other_types_and_nulls_have_no_ranks(sql, value):
    types = [parse_type(sql)]
    rows = rows_of([encode_row([value], types)], 1)
    assert key_ranks(rows, rows, types) is None
