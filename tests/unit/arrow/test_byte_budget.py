import numpy as np
import pyarrow as pa
import pytest

from paimon_core.arrow.byte_budget import cut, decoded_bytes, joined, row_sizes, rows_for

TEXT = "x" * 1000


def table(**columns):
    return pa.table(columns)


def test_rows_for_a_budget_are_at_least_one_and_at_most_the_limit():
    assert [rows_for(1000, width, 50) for width in (10, 100, 5000, 0.5, 0)] == [50, 10, 1, 50, 50]


@pytest.mark.parametrize("encoded", [False, True])
def test_parts_fit_the_decoded_bytes_and_contain_all_rows(encoded):
    texts = pa.array([TEXT, "", None, TEXT] * 25)
    rows = table(n=pa.array(range(100), pa.int64()), s=texts.dictionary_encode() if encoded else texts)
    parts = list(cut(rows, 5000))
    assert pa.concat_tables(parts)["n"].to_pylist() == list(range(100))
    assert 9 < len(parts) < 16
    assert all(decoded_bytes(part) <= 5100 for part in parts)
    assert pa.concat_tables(parts).equals(rows)


def test_rows_within_the_budget_stay_whole_and_a_row_above_it_is_alone():
    rows = table(s=["a", TEXT, TEXT, "b", "c"])
    assert next(cut(rows, 1 << 20)) is rows
    assert [part["s"].to_pylist() for part in cut(rows, 100)] == [["a"], [TEXT], [TEXT], ["b", "c"]]
    assert [len(part) for part in cut(rows.slice(0, 0), 100)] == [0]


def test_a_dictionary_counts_as_the_texts_that_it_stands_for():
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), [TEXT])
    assert texts.nbytes < 10_000
    assert decoded_bytes(table(s=texts)) == 2000 * 1004
    empty = pa.DictionaryArray.from_arrays(pa.nulls(3, pa.int32()), pa.array([], pa.string()))
    assert decoded_bytes(table(s=empty)) == 12


def test_sizes_of_nested_values_follow_their_slices():
    kinds = [
        pa.list_(pa.string()),
        pa.map_(pa.string(), pa.int32()),
        pa.struct([("a", pa.string()), ("b", pa.int64())]),
    ]
    values = [
        [["abc"], None, ["", "de"], []],
        [[("k", 1)], None, [], [("kk", 2), ("l", 3)]],
        [{"a": "abc", "b": 1}, None, {"a": None, "b": 2}, {"a": "x", "b": None}],
    ]
    sizes = [[11, 4, 14, 4], [13, 4, 4, 23], [15, 12, 12, 13]]
    for kind, column, expected in zip(kinds, values, sizes, strict=True):
        rows = table(v=pa.array(column, kind))
        assert np.abs(row_sizes(rows) - expected).max() <= 1  # null bits
        assert np.abs(row_sizes(rows.slice(1, 2)) - expected[1:3]).max() <= 1


def test_small_tables_are_joined_in_order_and_slices_count_with_their_buffers():
    small = [table(n=pa.array([n], pa.int64())) for n in range(100)]
    parts = list(joined(iter(small), 80))
    assert [len(part) for part in parts] == [10] * 10
    assert pa.concat_tables(parts)["n"].to_pylist() == list(range(100))
    large = table(n=pa.array(range(1000), pa.int64()))
    assert [len(part) for part in joined([large.slice(n, 1) for n in range(5)], 16_000)] == [2, 2, 1]
    assert [len(part) for part in joined([large, small[0], large], 100)] == [1000, 1, 1000]
    assert list(joined([], 10)) == []
