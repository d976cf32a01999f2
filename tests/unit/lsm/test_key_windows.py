import threading

import pyarrow as pa
import pytest

from paimon_core.errors import CorruptTable
from paimon_core.lsm import key_windows
from paimon_core.lsm.key_windows import windows


def run(*batches, kind=None):
    return iter([pa.record_batch({"k": pa.array(b, kind)}) for b in batches])


def cut(*runs, rows):
    return [[piece["k"].to_pylist() for piece in pieces] for pieces in windows(runs, ["k"], rows)]


def test_all_runs_are_cut_at_the_smallest_last_key():
    assert cut(run([1, 2], [3, 9]), run([2, 5], [6]), rows=2) == [
        [[1, 2], [2]],
        [[3], [5, 6]],
        [[9]],
    ]


def test_rows_of_a_finished_run_wait_for_their_window():
    assert cut(run([8]), run([1], [2], [9]), rows=2) == [[[1, 2]], [[8], [9]]]


def test_one_window_when_everything_fits():
    assert cut(run([1], [3]), run([2]), rows=10) == [[[1, 3], [2]]]


def test_empty_batches_and_empty_runs():
    assert cut(run([], [1], []), run(), run([]), rows=5) == [[[1]]]
    assert cut(run(), rows=1) == []
    assert cut(rows=1) == []


def test_a_large_row_fills_a_window_alone(monkeypatch):
    monkeypatch.setattr(key_windows, "WINDOW_BYTES", 1)
    assert cut(run([1], [3]), run([2], [4]), rows=100) == [[[1]], [[2]], [[3]], [[4]]]


def test_nanoseconds_are_distinguished():
    ns = pa.timestamp("ns")
    runs = [pa.record_batch({"k": pa.array(k, pa.int64()).cast(ns)}) for k in ([1, 3], [2, 4])]
    found = list(windows([iter([b]) for b in runs], ["k"], 1))
    assert [[p["k"].cast(pa.int64()).to_pylist() for p in pieces] for pieces in found] == [[[1, 3], [2]], [[4]]]


@pytest.mark.parametrize("batches", [([1, 5], [4]), ([1], [1])])
def test_a_run_that_falls_back_is_corrupt(batches):
    with pytest.raises(CorruptTable, match="ascending by k"):
        cut(run(*batches), run([9]), rows=1)


def cut_repeating(*runs, rows):
    found = windows(runs, ["k"], rows, repeats=True)
    return [[piece["k"].to_pylist() for piece in pieces] for pieces in found]


def test_a_key_that_repeats_is_in_one_window_with_all_of_its_rows():
    assert cut_repeating(run([1, 2, 2], [2, 2], [2, 3], [3]), run([2, 2], [4]), rows=2) == [
        [[1]],
        [[2, 2, 2, 2, 2], [2, 2]],
        [[3, 3], [4]],
    ]


def test_a_run_of_one_key_is_loaded_to_its_end():
    assert cut_repeating(run([1], [1], [1]), run([0], [1], [2]), rows=1) == [[[0]], [[1, 1, 1], [1]], [[2]]]


def test_a_repeating_run_that_falls_back_is_corrupt():
    with pytest.raises(CorruptTable, match="ascending by k"):
        cut_repeating(run([1, 5], [4]), run([9]), rows=1)


def test_the_bytes_of_a_window_are_shared_by_the_runs(monkeypatch):
    monkeypatch.setattr(key_windows, "WINDOW_BYTES", 32)
    runs = [run([1, 2], [3, 4], [5, 6]), run([1, 2], [3, 4], [5, 6])]
    assert cut(*runs, rows=100) == [[[1, 2], [1, 2]], [[3, 4], [3, 4]], [[5, 6], [5, 6]]]
    assert cut(run([1, 2], [3, 4], [5, 6]), rows=100) == [[[1, 2, 3, 4]], [[5, 6]]]


def test_texts_that_share_a_dictionary_count_as_decoded(monkeypatch):
    monkeypatch.setattr(key_windows, "WINDOW_BYTES", 10_000)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 4, pa.int32()), ["x" * 1000])
    batches = [pa.record_batch({"k": pa.array(range(n, n + 4)), "s": texts}) for n in range(0, 40, 4)]
    found = [len(piece) for pieces in windows([iter(batches)], ["k"], 1000) for piece in pieces]
    assert found == [12, 12, 12, 4]


def test_runs_that_are_read_at_the_same_time_make_the_same_windows():
    parts = [([1, 2], [3, 9]), ([2, 5], [6]), ([4], [7, 8])]
    assert list(windows([run(*p) for p in parts], ["k"], 2, threads=3)) == list(
        windows([run(*p) for p in parts], ["k"], 2)
    )


def test_at_most_so_many_runs_are_read_at_the_same_time():
    two = threading.Barrier(2)

    def batches(keys):
        two.wait(timeout=60)  # no run is read before the other one
        yield from run(keys)

    assert [len(window) for window in windows([batches([1]), batches([2])], ["k"], 2, threads=2)] == [2]
    two.abort()
    with pytest.raises(threading.BrokenBarrierError):
        list(windows([batches([1]), batches([2])], ["k"], 2))
