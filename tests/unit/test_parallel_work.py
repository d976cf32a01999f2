import threading
import time

import greenlet
import pytest

from paimon_core import parallel_work
from paimon_core.parallel_work import own_processors, run_parallel


def test_results_come_in_the_order_of_the_items(monkeypatch):
    monkeypatch.setattr(parallel_work, "thread_count", lambda items: 3)
    assert run_parallel(lambda n: n * n, range(50)) == [n * n for n in range(50)]
    assert run_parallel(str, []) == []


def test_several_threads_work_at_once(monkeypatch):
    monkeypatch.setattr(parallel_work, "thread_count", lambda items: 2)
    both = threading.Barrier(2)
    # neither item is finished before the other one has started
    assert sorted(run_parallel(lambda _: both.wait(timeout=60), "ab")) == [0, 1]


def test_a_failure_is_raised_when_all_threads_have_ended(monkeypatch):
    monkeypatch.setattr(parallel_work, "thread_count", lambda items: 2)
    both, done = threading.Barrier(2), []

    def work(item):
        both.wait(timeout=60)
        if item == "fails":
            raise ValueError(item)
        done.append(item)

    with pytest.raises(ValueError, match="fails"):
        run_parallel(work, ["fails", "works"])
    assert done == ["works"]


def test_after_a_failure_no_item_is_started(monkeypatch):
    monkeypatch.setattr(parallel_work, "thread_count", lambda items: 1)
    started = []

    def work(item):
        started.append(item)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_parallel(work, range(9))
    assert started == [0]


def test_one_processor_means_one_thread(monkeypatch):
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 1)
    assert run_parallel(lambda _: threading.get_ident(), range(3)) == [threading.get_ident()] * 3


@pytest.mark.parametrize("most", [1, 2, 5])
def test_at_most_so_many_at_the_same_time(most):
    lock, state = threading.Lock(), {"now": 0, "peak": 0}

    def work(item):
        with lock:
            state["now"] += 1
            state["peak"] = max(state["peak"], state["now"])
        time.sleep(0.02)
        with lock:
            state["now"] -= 1
        return item

    assert run_parallel(work, range(8), most) == list(range(8))
    assert state["peak"] == most


def test_coroutines_of_one_thread_leave_no_share_of_the_processors_behind(monkeypatch):
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 2)

    def switched():
        return run_parallel(lambda _: greenlet.getcurrent().parent.switch(), range(1))

    several = [greenlet.greenlet(switched) for _ in range(2)]
    for each in (*several, *several):
        each.switch()
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 4)
    assert own_processors() == 4
