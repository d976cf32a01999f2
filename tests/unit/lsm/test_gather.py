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


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_text_beyond_one_array_goes_through_the_large_type(monkeypatch, kind):
    monkeypatch.setattr(gather, "_PIECE_BYTES", 8)
    column = pa.chunked_array([["aaaa", "bbbb", None], ["cccccccccccc", "", "d"]]).cast(kind)
    taken = gather.take(column, np.array([3, 5, 2, 0, 4, 1]))
    assert taken.type == kind
    assert [chunk.nbytes - 4 * (len(chunk) + 1) <= 8 + 12 + 1 for chunk in taken.chunks] == [True] * 3
    expected = ["cccccccccccc", "d", None, "aaaa", "", "bbbb"]
    assert taken.cast(pa.string()).to_pylist() == expected
