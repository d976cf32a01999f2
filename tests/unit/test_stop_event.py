"""A signal ends a wait, also one that begins in the same moment, and its handler never blocks."""

import os
import queue
import signal
import threading

import pytest

from paimon_core import stop_event
from paimon_core.stop_event import StopEvent, stop_by_signal


def test_a_wait_lasts_for_its_time_or_until_the_event_is_set():
    stop = StopEvent()
    assert (stop.wait(0), stop.wait(-1), stop.wait(0.01)) == (False, False, False)
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    assert stop.wait(1e300)
    assert (stop.is_set(), stop.wait(0), stop.wait(1e300)) == (True, True, True)
    timer.join()


def test_a_signal_that_no_wait_has_noticed_ends_it_soon(monkeypatch):
    """The handler of a signal runs between two short waits, of which none is woken."""
    stop, waits = StopEvent(), []

    class NeverWoken:
        def put(self, _):
            pass

        def get(self, timeout):
            waits.append(timeout)
            if len(waits) == 3:
                stop.set()
            raise queue.Empty

    stop._wake = NeverWoken()
    assert stop.wait(1e300)
    assert waits == [stop_event.LONGEST_WAIT] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_set_the_event_and_the_second_may_interrupt(number):
    before = signal.getsignal(number)
    with stop_by_signal(second_interrupts=True) as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(60)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    with stop_by_signal(second_interrupts=False) as stop:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert stop.wait(60)
    assert signal.getsignal(number) is before


def test_a_handler_may_interrupt_set_and_wait_in_the_same_thread():
    """With the lock of threading.Event, one of these handlers waits for ever for the wait that it interrupts."""
    stop = StopEvent()
    before = signal.signal(signal.SIGALRM, lambda *_: stop.set())
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 3e-5)
    try:
        for _ in range(2_000):
            stop._is_set = False
            assert stop.wait(60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_another_thread_gets_an_event_without_signals():
    found = []

    def run():
        with stop_by_signal(second_interrupts=False) as stop:
            found.append(stop.wait(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]
