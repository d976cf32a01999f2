import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.lsm import write_buffer
from paimon_core.lsm.engines.deduplicate import Deduplicate
from paimon_core.lsm.merge_order import MergeOrder
from paimon_core.lsm.write_buffer import WriteBuffer, drain_together


def rows(keys, first, *, kinds=None, **columns):
    return pa.table(
        {
            "_KEY_k": pa.array(keys, pa.int64()),
            "_SEQUENCE_NUMBER": pa.array(range(first, first + len(keys)), pa.int64()),
            "_VALUE_KIND": pa.array(kinds or [0] * len(keys), pa.int8()),
        }
        | {name: pa.array(values, pa.int64()) for name, values in columns.items()}
    )


class Shelf:
    """A RunStore in memory for at most ``size`` runs; ``runs`` are those that are not deleted."""

    def __init__(self, size=100):
        self.size = size
        self.runs = []

    @property
    def has_room(self):
        return len(self.runs) < self.size

    def put(self, schema, batches):
        run = Run(self, list(batches))
        self.runs.append(run)
        return run

    def contents(self):
        return [[batch.column(1).to_pylist() for batch in run.held] for run in self.runs]


class Run:
    def __init__(self, shelf, held):
        self.shelf = shelf
        self.held = held

    def batches(self):
        return iter(self.held)

    def delete(self):
        self.shelf.runs.remove(self)


def test_long_rows_are_spilled_and_drained_in_parts():
    texts = pa.array([f"{n:04}" * 5_000 for n in range(1000)])
    for raw in (False, True):
        for shelf in (None, Shelf()):
            held = buffer(store=shelf, keeps_raw=raw, folds_early=True)
            for step in range(2):
                new = rows(range(0, 2000, 2), 1000 * step)
                held.add(new.append_column("v", pa.chunked_array([texts])))
                if shelf is not None and not step:
                    assert held.spill()
                    assert max(b.nbytes for b in shelf.runs[0].held) <= write_buffer.BATCH_BYTES
            parts = list(held.drain())
            assert len(parts) > 1 or shelf is not None
            merged = pa.concat_tables([part.merged for part in parts])
            assert merged["_SEQUENCE_NUMBER"].to_pylist() == list(range(1000, 2000))
            assert merged["v"].combine_chunks() == texts
            if raw:
                assert sum(len(part.raw) for part in parts) == 2000


def buffer(order=None, **settings):
    return WriteBuffer(["_KEY_k"], order or MergeOrder(), Deduplicate(), **settings)


def sequences(tables):
    return [table["_SEQUENCE_NUMBER"].to_pylist() for table in tables]


def test_it_drains_to_the_last_row_of_each_key():
    held = buffer()
    assert list(held.drain()) == []
    held.add(rows([3, 1], first=0))
    assert held.nbytes == 34
    held.add(rows([3, 2], first=2))
    assert held.nbytes == 68
    (drained,) = held.drain()
    assert drained.merged.to_pydict() == {
        "_KEY_k": [1, 2, 3],
        "_SEQUENCE_NUMBER": [1, 3, 2],
        "_VALUE_KIND": [0, 0, 0],
    }
    assert drained.raw is None
    assert (held.nbytes, list(held.drain())) == (0, [])


def test_the_last_row_of_a_key_stays_whatever_its_kind():
    held = buffer()
    held.add(rows([3, 1, 3, 2], first=0, kinds=[0, 0, 3, 1]))
    (drained,) = held.drain()
    assert drained.merged["_SEQUENCE_NUMBER"].to_pylist() == [1, 3, 2]
    assert drained.merged["_VALUE_KIND"].to_pylist() == [0, 1, 3]


def test_the_last_row_is_that_of_the_largest_sequence_field_then_number():
    held = buffer(MergeOrder(("v",)))
    held.add(rows([1, 1], first=0, v=[9, 1]))
    assert sequences(d.merged for d in held.drain()) == [[0]]
    held = buffer()
    held.add(rows([1], first=5))
    held.add(rows([1], first=4))
    assert sequences(d.merged for d in held.drain()) == [[5]]


def test_no_rows_add_nothing():
    held = buffer(store=Shelf())
    held.add(rows([], first=0))
    assert held.spill()
    assert list(held.drain()) == []


def test_without_a_store_or_room_nothing_is_spilled():
    for held in (buffer(), buffer(store=Shelf(size=0))):
        held.add(rows([1], first=0))
        assert not held.spill()
        assert held.nbytes == 17
        assert sequences(d.merged for d in held.drain()) == [[0]]


def test_spilled_rows_and_those_in_memory_are_merged_and_deleted():
    shelf = Shelf()
    held = buffer(store=shelf)
    held.add(rows([5, 3, 5], first=0))
    assert held.spill()
    assert (held.nbytes, shelf.contents()) == (0, [[[1, 0, 2]]])
    held.add(rows([3, 9], first=3))
    assert sequences(d.merged for d in held.drain()) == [[3, 2, 4]]
    assert (shelf.runs, list(held.drain())) == ([], [])


def test_a_run_may_hold_the_choice_of_each_key_alone():
    shelf = Shelf()
    held = buffer(store=shelf, folds_early=True)
    held.add(rows([5, 3, 5], first=0))
    held.spill()
    assert shelf.contents() == [[[1, 2]]]
    held.add(rows([5], first=3))
    assert sequences(d.merged for d in held.drain()) == [[1, 3]]


@pytest.mark.parametrize("spills", [False, True])
def test_raw_rows_come_by_key_and_in_merge_order(spills):
    held = buffer(MergeOrder(("v",)), store=Shelf(), keeps_raw=True, folds_early=True)
    for part in (rows([2, 1, 2], 0, v=[9, 5, 7]), rows([2, 1], 3, v=[8, 5])):
        held.add(part)
        assert not spills or held.spill()
    (drained,) = held.drain()
    assert sequences([drained.raw, drained.merged]) == [[1, 4, 2, 3, 0], [4, 0]]


def test_many_runs_are_joined_before_the_merge(monkeypatch):
    monkeypatch.setattr(write_buffer, "FAN_IN", 2)
    monkeypatch.setattr(write_buffer, "BATCH_BYTES", 40)
    monkeypatch.setattr(write_buffer, "WINDOW_ROWS", 2)
    shelf = Shelf()
    held = buffer(store=shelf, keeps_raw=True)
    for first in range(0, 15, 3):
        held.add(rows([1, first, 7], first))
        held.spill()
    parts = list(held.drain())
    assert len(parts) > 1
    raw = pa.concat_tables(d.raw for d in parts)
    by_key = [(0, 1), (1, 0), (1, 3), (1, 6), (1, 9), (1, 12), (3, 4), (6, 7)]
    by_key += [(7, 2), (7, 5), (7, 8), (7, 11), (7, 14), (9, 10), (12, 13)]
    assert list(zip(*(raw[c].to_pylist() for c in ("_KEY_k", "_SEQUENCE_NUMBER")), strict=True)) == by_key
    assert sequences([pa.concat_tables(d.merged for d in parts)]) == [[1, 12, 4, 7, 14, 10, 13]]
    assert shelf.runs == []


def test_discard_deletes_all_rows():
    shelf = Shelf()
    held = buffer(store=shelf)
    held.add(rows([1], first=0))
    held.spill()
    held.add(rows([2], first=1))
    held.discard()
    assert (held.nbytes, shelf.runs, list(held.drain())) == (0, [], [])


@pytest.mark.parametrize("order", [MergeOrder(), MergeOrder(("s",))])
def test_buffers_drained_together_give_what_each_gives(order):
    def filled():
        buffers = [buffer(order) for _ in range(3)]
        buffers[0].add(rows([5, 1, 5], 900, s=[2, 0, 1]))
        buffers[1].add(rows([1, -7], 10, s=[0, 0]))
        buffers[1].add(rows([1], 12, kinds=[3], s=[-1]))
        buffers[2].add(rows([5], 0, s=[0]))
        return buffers

    each = [next(b.drain()).merged for b in filled()]
    together = filled()
    assert all(b.drains_together for b in together)
    assert [t.to_pylist() for t in drain_together(together)] == [t.to_pylist() for t in each]
    assert not any(b.nbytes or b.drains_together for b in together)


def test_buffers_with_runs_or_raw_rows_drain_alone():
    spilled, raw = buffer(store=Shelf()), buffer(keeps_raw=True)
    for one in (spilled, raw):
        one.add(rows([1], 0))
    spilled.spill()
    spilled.add(rows([1], 1))
    assert not spilled.drains_together
    assert not raw.drains_together


def test_columns_that_several_threads_copy_are_the_same(monkeypatch):
    monkeypatch.setattr(write_buffer, "_MANY_ROWS", 4)
    found = {}
    for processors in (1, 3):
        monkeypatch.setattr("paimon_core.processors.usable", lambda processors=processors: processors)
        held = buffer()
        held.add(rows([3, 1, 2, 3], 0, v=[7, None, 8, 9]))
        held.add(rows([2, 5], 4, v=[10, 11]))
        (found[processors],) = [drained.merged for drained in held.drain()]
    assert found[1].equals(found[3])
    assert found[3]["v"].to_pylist() == [None, 10, 9, 11]


def test_equal_memory_of_a_key_and_its_value_is_copied_once(monkeypatch):
    monkeypatch.setattr(write_buffer, "_MANY_ROWS", 1)
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 3)
    parts = []

    class Noting(Deduplicate):
        def fold(self, rows, groups, columns):
            parts.append(tuple(columns))
            return super().fold(rows, groups, columns)

    held = WriteBuffer(["_KEY_k"], MergeOrder(), Noting())
    key = pa.array([2, 1])
    held.add(
        pa.table({"_KEY_k": key, "_SEQUENCE_NUMBER": [0, 1], "_VALUE_KIND": pa.array([0, 0], pa.int8()), "k": key})
    )
    (drained,) = held.drain()
    assert drained.merged["k"].to_pylist() == [1, 2]
    assert sorted(parts) == [("_KEY_k", "k"), ("_SEQUENCE_NUMBER",), ("_VALUE_KIND",)]


def test_the_first_runs_have_larger_batches(monkeypatch):
    monkeypatch.setattr(write_buffer, "BATCH_BYTES", 1000)
    monkeypatch.setattr(write_buffer, "_LARGE_BATCH_BYTES", 4000)
    monkeypatch.setattr(write_buffer, "_LARGE_BATCH_RUNS", 2)
    largest = []
    for count in (1000, 4000, 10_000):
        shelf = Shelf()
        held = buffer(store=shelf)
        for first in range(0, 3 * count, count):
            held.add(rows(range(count), first))
            assert held.spill()
        largest.append([max(batch.nbytes for batch in run.held) for run in shelf.runs])
        assert sum(len(part.merged) for part in held.drain()) == count
    small, middle, large = largest
    assert max(small) <= 1000
    assert 1000 < middle[0] == middle[1] <= 4000 * 17 // 32
    assert 3900 < large[0] == large[1] <= 4000
    assert middle[2] <= 1000
    assert large[2] <= 1000


@pytest.mark.parametrize("spills", [False, True])
def test_a_column_is_freed_when_it_is_copied(monkeypatch, spills):
    monkeypatch.setattr(write_buffer, "own_processors", lambda: 1)
    taken = []

    class Noting(Deduplicate):
        def fold(self, rows, groups, columns):
            found = super().fold(rows, groups, columns)
            taken.append(pa.total_allocated_bytes() - before)
            return found

    count, before = 1 << 17, pa.total_allocated_bytes()
    numbers = pa.array(np.arange(count) * 7919 % count)
    first = rows([], 0).schema
    table = pa.table([numbers, numbers, pa.nulls(count, pa.int8()).fill_null(0)], schema=first)
    for at in range(20):
        table = table.append_column(f"v{at}", pc.add(numbers, at))
    held = WriteBuffer(["_KEY_k"], MergeOrder(), Noting(), store=Shelf(), folds_early=True)
    held.add(table)
    del table
    size = held.nbytes
    assert held.spill() if spills else list(held.drain())
    assert len(taken) > 20
    assert max(taken) < 1.3 * size, "all columns are in memory twice"
    held.discard()
