import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm import gather


def test_values_at_positions_over_chunks():
    column = pa.chunked_array([["a", None], ["c"]])
    taken = gather.take(column, np.array([2, 0, 1]))
    assert taken.type == pa.string()
    assert taken.to_pylist() == ["c", "a", None]


def test_one_array_of_a_slice():
    assert gather.contiguous(pa.chunked_array([pa.array([1, 2, 3]).slice(1)])).to_pylist() == [2, 3]


def test_long_texts_are_taken_in_parts_without_a_copy_of_their_column(monkeypatch):
    monkeypatch.setattr(gather, "BATCH_BYTES", 5000)
    texts = [None if n % 7 == 3 else f"{n:02000}" for n in range(20)]
    column = pa.chunked_array([texts[:8], [], texts[8:]], pa.string())
    positions = np.random.default_rng(1).permutation(20).astype(np.int32)[:15]
    taken = gather.take(column, positions)
    assert taken.to_pylist() == [texts[at] for at in positions]
    assert taken.num_chunks > 4
    assert gather.take(column, positions[:0]).to_pylist() == []
    some = gather.take(column, pa.array([None, 2, 19, None, 3]))
    assert some.to_pylist() == [None, texts[2], texts[19], None, None], "null positions"


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_text_beyond_one_array_goes_through_the_large_type(monkeypatch, kind):
    monkeypatch.setattr(gather, "_PIECE_BYTES", 8)
    column = pa.chunked_array([["aaaa", "bbbb", None], ["cccccccccccc", "", "d"]]).cast(kind)
    taken = gather.take(column, np.array([3, 5, 2, 0, 4, 1]))
    assert taken.type == kind
    assert [chunk.nbytes - 4 * (len(chunk) + 1) <= 8 + 12 + 1 for chunk in taken.chunks] == [True] * 3
    expected = ["cccccccccccc", "d", None, "aaaa", "", "bbbb"]
    assert taken.cast(pa.string()).to_pylist() == expected


CODES = [
    pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int32()), ["aaaa", "bbbb"]),
    pa.DictionaryArray.from_arrays(pa.array([1, 0, 0, 1], pa.int32()), ["", "cccccccccccc"]).slice(1),
]


@pytest.mark.parametrize("piece_bytes", [1 << 30, 8])
def test_dictionaries_of_their_own_are_decoded_where_they_are_taken(monkeypatch, piece_bytes):
    monkeypatch.setattr(gather, "_PIECE_BYTES", piece_bytes)
    taken = gather.take(pa.chunked_array(CODES), np.array([5, 0, 2, 3, 1]))
    assert taken.type == pa.string()
    assert taken.to_pylist() == ["cccccccccccc", "aaaa", None, "", "bbbb"]


def test_a_dictionary_in_which_all_is_null():
    column = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), pa.array([], pa.string()))
    assert gather.take(pa.chunked_array([column]), np.array([1])).to_pylist() == [None]


def test_a_column_that_is_a_dictionary_in_some_tables_is_decoded():
    some, plain = pa.table({"s": CODES[0]}), pa.table({"s": ["d"]})
    rows = gather.joined([some, plain])
    assert rows == pa.table({"s": ["aaaa", "bbbb", None, "d"]})
    assert gather.joined([some, some]).schema == some.schema
    assert gather.decoded(some) == pa.table({"s": ["aaaa", "bbbb", None]})
