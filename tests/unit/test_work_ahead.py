import threading
import time

import pytest

from paimon_core.work_ahead import made_ahead


def running():
    return [t for t in threading.enumerate() if t.name == "paimon-ahead"]


def test_the_items_in_order():
    assert list(made_ahead(iter(range(1000)))) == list(range(1000))
    assert list(made_ahead(iter([]))) == []
    assert not running()


def test_one_item_is_made_while_the_caller_works_and_no_more():
    made = []
    second = threading.Event()

    def items():
        for number in range(10):
            made.append(number)
            if number == 1:
                second.set()
            yield number

    ahead = made_ahead(items())
    assert next(ahead) == 0
    assert second.wait(10)  # made in the thread: the caller has not asked for it
    time.sleep(0.02)
    assert made == [0, 1]
    ahead.close()


def test_an_error_is_raised_in_its_place():
    def items():
        yield 1
        yield 2
        raise ValueError("damaged")

    ahead = made_ahead(items())
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(ahead)
    assert not running()


def test_a_caller_that_stops_early_ends_the_thread_and_closes_the_items():
    closed = []

    def items():
        try:
            yield from range(10)
        finally:
            closed.append(threading.current_thread().name)

    ahead = made_ahead(items())
    next(ahead)
    ahead.close()
    assert closed == ["paimon-ahead"]
    assert not running()


def test_an_error_of_closing_is_not_lost():
    def items():
        yield 1
        raise KeyError("end")

    with pytest.raises(KeyError):
        list(made_ahead(items()))
