import gc
import threading
import time
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.read.parallel_batches import parallel_batches
from tests.support.examples import examples

ROWS = 100
"""Rows of each batch; each takes 8 bytes."""


ITEMS = st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=9)


def batch(number):
    return pa.record_batch({"n": pa.array([number] * ROWS, pa.int64())})


def numbers(batches):
    return [b["n"][0].as_py() for b in batches]


def reading_threads():
    return [t for t in threading.enumerate() if t.name == "paimon-read"]


@settings(deadline=None, max_examples=examples(50))
@given(ITEMS, st.integers(1, 4), st.sampled_from([1, 900, None]))
def test_ordered_output_equals_a_serial_read_and_unordered_output_its_batches(items, threads, held):
    def read(item):
        return map(batch, item)

    serial = [n for item in items for n in item]
    settings = {"threads": threads, "held_bytes": held}
    assert numbers(parallel_batches(read, items, **settings)) == serial
    assert Counter(numbers(parallel_batches(read, items, ordered=False, **settings))) == Counter(serial)
    assert not reading_threads()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("held", [1, 3 * 8 * ROWS, 20 * 8 * ROWS])
def test_the_batches_that_wait_are_bounded_by_bytes(ordered, held):
    """At most ``held`` bytes wait, and one batch per thread, which was read while there was room."""
    threads, produced, most = 3, [], 0
    lock = threading.Lock()

    def read(item):
        for _ in range(30):
            with lock:
                produced.append(item)
            yield batch(item)

    taken = 0
    for _ in parallel_batches(read, range(6), threads=threads, held_bytes=held, ordered=ordered):
        taken += 1
        with lock:
            most = max(most, len(produced) - taken)
    assert taken == 180
    assert most <= held // (8 * ROWS) + 1 + threads


@pytest.mark.parametrize("ordered", [True, False])
def test_a_consumer_that_stops_early_leaves_no_thread_and_closes_what_was_open(ordered):
    opened, closed = [], []

    def read(item):
        opened.append(item)
        try:
            for _ in range(1000):
                yield batch(item)
        finally:
            closed.append(item)

    batches = parallel_batches(read, range(8), threads=3, held_bytes=1, ordered=ordered)
    next(batches)
    assert reading_threads()
    del batches
    gc.collect()
    assert not reading_threads()
    assert opened
    assert sorted(opened) == sorted(closed)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_first_error_is_raised_and_ends_all_threads(ordered):
    failed = threading.Event()

    def read(item):
        if item == 1:
            failed.set()
            raise KeyError("first")
        assert failed.wait(timeout=60)
        while True:
            yield batch(item)

    batches = parallel_batches(read, range(4), threads=2, ordered=ordered, held_bytes=1 << 16)
    with pytest.raises(KeyError, match="first"):
        for _ in batches:
            pass
    assert not reading_threads()


def test_one_thread_reads_in_the_calling_thread():
    used = []

    def read(item):
        used.append(threading.get_ident())
        yield batch(item)

    assert numbers(parallel_batches(read, [1, 2], threads=1)) == [1, 2]
    assert set(used) == {threading.get_ident()}


def test_a_stream_that_a_reading_thread_collects_as_garbage_ends_all_threads():
    is_dropped = threading.Event()

    class Batch:
        @property
        def nbytes(self):  # read while the lock is held
            if is_dropped.is_set():
                gc.collect()
            return 1

    def read(item):
        for _ in range(1000):
            time.sleep(0.001)
            yield Batch()

    def drop_in_cycle():
        stream = parallel_batches(read, range(4), threads=4, ordered=False)
        next(stream)
        cycle = [stream]
        cycle.append(cycle)

    drop_in_cycle()
    is_dropped.set()
    until = time.monotonic() + 10
    while reading_threads() and time.monotonic() < until:
        time.sleep(0.01)
    assert not reading_threads()
