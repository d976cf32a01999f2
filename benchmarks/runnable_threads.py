"""How many threads of a process are runnable at the same time, counted by a second process every millisecond.

On a busy machine times on the clock say nothing. If the scheduler gives every runnable thread about the same share,
the samples tell which part of the processor time was spent while no other thread of the process could run; the other
part would be halved by a second processor that is idle.

``python -m benchmarks.runnable_threads PID`` counts until its input is closed, and prints the counts as JSON. It needs
Linux.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_PAUSE = 0.001


def serial_share(work: Callable[[], object]) -> float:
    """Return the part of the processor time of ``work``, from 0 to 1, during which one thread alone was runnable."""
    command = [sys.executable, "-m", "benchmarks.runnable_threads", str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sampler:
        assert sampler.stdin is not None
        assert sampler.stdout is not None
        sampler.stdout.readline()  # it has begun
        work()
        sampler.stdin.close()
        counts = {int(threads): count for threads, count in json.loads(sampler.stdout.readline()).items()}
    return counts.get(1, 0) / max(1, sum(threads * count for threads, count in counts.items()))


def _runnable(tasks: Path) -> int:
    found = 0
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            found += (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    return found


def main() -> None:
    """Count until the input is closed."""
    tasks, counts, ended = Path(f"/proc/{sys.argv[1]}/task"), Counter[int](), threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("begun", flush=True)
    while not ended.is_set():
        counts[_runnable(tasks)] += 1
        time.sleep(_PAUSE)
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
