"""Measuring: runs cases in turns, and keeps the run of each case with the fewest processor seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence

import psutil

from benchmarks.processes import Processes
from benchmarks.spark.case import Case, Measured
from benchmarks.spark.lake import Lake

SAMPLE_SECONDS = 0.2


def measured(lake: Lake, cases: Sequence[Case], repeats: int) -> dict[str, Measured]:
    """Return the best of ``repeats`` runs of each case, by name; an additional first round warms up."""
    processes = Processes()
    found: dict[str, Measured] = {}
    for repeat in range(repeats + 1):
        for case in cases:
            if case.once and repeat:
                continue
            spent = run(lake, case, processes)
            print(f"round {repeat}: {case.name}: {spent.wall:.1f} s on the clock", file=sys.stderr, flush=True)
            if (repeat or case.once) and (
                case.name not in found or case.compared(spent) < case.compared(found[case.name])
            ):
                found[case.name] = spent
    return found


def run(lake: Lake, case: Case, processes: Processes) -> Measured:
    """Run a case once."""
    if case.prepare is not None:
        case.prepare(lake)
    with most_memory() if case.memory else contextlib.nullcontext() as peaks:
        start, clock = processes.used(), time.perf_counter()
        result = case.run(lake)
        spent = Measured(processes.used().since(start), time.perf_counter() - clock)
    if isinstance(result, Measured):
        return result
    if peaks is None:
        return spent
    return Measured(spent.seconds, spent.wall, (peaks["jvm"], peaks["worker"], peaks["driver"]))


@contextlib.contextmanager
def most_memory() -> Iterator[dict[str, int]]:
    """Give the most resident bytes of the JVM, of one worker and of the driver; sampled every SAMPLE_SECONDS."""
    peaks = {"jvm": 0, "worker": 0, "driver": 0}
    ended = threading.Event()

    def note(kind: str, process: psutil.Process) -> None:
        with contextlib.suppress(psutil.Error):
            peaks[kind] = max(peaks[kind], process.memory_info().rss)

    def sample() -> None:
        own = psutil.Process()
        while True:
            note("driver", own)
            for process in own.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    note("jvm" if process.name() == "java" else "worker", process)
            if ended.wait(SAMPLE_SECONDS):
                return

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()
