import io
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.datafile.statistics.column_statistics import (
    Bounds,
    StatsEncoder,
    ValueStats,
    footer_bounds,
    least_and_greatest,
    truncate_up,
)
from paimon_core.schema import DataField
from paimon_core.types import STRING, parse_type

INT = parse_type("INT")
A, B = DataField(0, "a", INT), DataField(1, "b", STRING)


def footer(*columns: pa.Array, row_group_size: int = 1000) -> pq.FileMetaData:
    found: list[pq.FileMetaData] = []
    table = pa.table(list(columns), names=[str(n) for n in range(len(columns))])
    pq.write_table(
        table, io.BytesIO(), row_group_size=row_group_size, store_decimal_as_integer=True, metadata_collector=found
    )
    return found[0]


@pytest.mark.parametrize(
    ("text", "values", "low", "high"),
    [
        ("BOOLEAN", [True, False], False, True),
        ("TINYINT", [3, -7], -7, 3),
        ("BIGINT", [2**62, -(2**62)], -(2**62), 2**62),
        ("FLOAT", [1.5, -0.25], -0.25, 1.5),
        ("DOUBLE", [0.0, 0.0], -0.0, 0.0),
        ("DECIMAL(9, 2)", [Decimal("-1.25"), Decimal("3.50")], Decimal("-1.25"), Decimal("3.50")),
        ("DECIMAL(18, 0)", [Decimal(7), Decimal(-7)], Decimal(-7), Decimal(7)),
        ("DECIMAL(38, 3)", [Decimal("-1.125"), Decimal("9e30")], Decimal("-1.125"), Decimal("9e30")),
        ("STRING", ["b", "\uffee", "\U0001f600"], "b", "\U0001f600"),
        ("DATE", [-5, 3], -5, 3),
        ("TIME(3)", [1, 86_399_999], 1, 86_399_999),
        ("TIMESTAMP(3)", [-1, 253_402_300_799_999], -1, 253_402_300_799_999),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [-1, 1], -1, 1),
    ],
)
def test_the_footer_gives_storage_values(text, values, low, high):
    dtype = parse_type(text)
    column = pa.array([*values, None], dtype.to_arrow())
    found = footer_bounds(footer(column), 0, dtype, 1)
    assert (found.low, found.high, found.null_count) == (low, high, 1)
    assert type(found.low) is type(low)


def test_the_lower_zero_is_negative():
    assert math.copysign(1, footer_bounds(footer(pa.array([0.0])), 0, parse_type("DOUBLE"), 0).low) == -1


def test_row_groups_are_put_together_and_null_ones_skipped():
    column = pa.array([5, 9, None, None, 1, 2], pa.int32())
    assert footer_bounds(footer(column, row_group_size=2), 0, INT, 2) == Bounds(1, 9, 2)


@pytest.mark.parametrize(
    ("text", "values"),
    [("BYTES", [b"\x00", b"\xff"]), ("INT", [None, None]), ("STRING", ["a" * 5000, "b"])],
)
def test_binaries_nulls_and_texts_too_long_for_a_footer_have_no_bounds(text, values):
    dtype = parse_type(text)
    assert footer_bounds(footer(pa.array(values, dtype.to_arrow())), 0, dtype, 0) == Bounds(None, None, 0)


@pytest.mark.parametrize(
    ("text", "length", "above"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abd"),
        ("a\U0010ffff\U0010ffffb", 3, "b"),
        ("\U0010ffff\U0010ffff", 1, None),
        ("\ud7ffx", 1, "\ue000"),
        ("\U0001f600\U0001f600", 1, "\U0001f601"),
    ],
)
def test_a_cut_maximum_stays_above(text, length, above):
    assert truncate_up(text, length) == above


@pytest.mark.parametrize(
    ("mode", "low", "high", "nulls"),
    [
        ("none", None, None, None),
        ("counts", None, None, 4),
        ("full", "banana", "cherry", 4),
        ("truncate(2)", "ba", "ci", 4),
    ],
)
def test_modes(mode, low, high, nulls):
    stats = StatsEncoder([B], [mode]).encode([Bounds("banana", "cherry", 4)])
    assert decode_row(stats.min_values, [STRING]) == (low,)
    assert decode_row(stats.max_values, [STRING]) == (high,)
    assert stats.null_counts == (nulls,)


def test_a_maximum_that_cannot_be_cut_takes_the_minimum_with_it():
    stats = StatsEncoder([B], ["truncate(4)"]).encode([Bounds("a", "\U0010ffff" * 9, 0)])
    assert decode_row(stats.min_values, [STRING]) == decode_row(stats.max_values, [STRING]) == (None,)


def test_columns_without_statistics_are_left_out_and_the_rest_named():
    bounds = [Bounds(1, 2, 0), Bounds("x", "y", 0)]
    everything = ValueStats([A, B], ["full", "full"])
    assert everything.columns is None
    assert decode_row(everything.encode(bounds).max_values, [INT, STRING]) == (2, "y")
    some = ValueStats([A, B], ["none", "full"])
    assert some.columns == ("b",)
    assert decode_row(some.encode(bounds).max_values, [STRING]) == ("y",)
    nothing = ValueStats([A, B], ["none", "none"])
    assert (nothing.columns, nothing.encode(bounds).null_counts) == ((), ())
    assert decode_row(nothing.encode(bounds).min_values, []) == ()


def test_not_null_columns_may_lack_bounds():
    field = DataField(0, "a", parse_type("DOUBLE NOT NULL"))
    stats = StatsEncoder([field], ["full"]).encode([Bounds(None, None, 0)])
    assert decode_row(stats.min_values, [field.type]) == (None,)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("TINYINT", [3, -7]),
        ("BIGINT", [2**62, -(2**62)]),
        ("FLOAT", [1.5, -0.1]),
        ("DOUBLE", [0.0, 0.0]),
        ("DOUBLE", [-0.0, -0.0]),
        ("STRING", ["b", "\uffee", "\U0001f600", ""]),
        ("TIMESTAMP(3)", [-1, 253_402_300_799_999]),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [-1, 1]),
    ],
)
@pytest.mark.parametrize("times", [1, 50])
def test_few_rows_give_the_bounds_of_their_footer(text, values, times):
    dtype = parse_type(text)
    column = pa.array([values[0], *values * times], dtype.to_arrow())
    found = footer_bounds(footer(column), 0, dtype, 0)
    assert repr(least_and_greatest(pa.chunked_array([column[1:]]))) == repr((found.low, found.high))


def test_rows_with_nulls_or_long_texts_leave_the_bounds_to_the_footer():
    assert least_and_greatest(pa.chunked_array([pa.array([1, None])])) is None
    assert least_and_greatest(pa.chunked_array([pa.array(["a" * 5000, "b"])])) is None
