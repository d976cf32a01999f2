"""One measure of ``benchmarks.planning`` in a process of its own; prints a JSON object of the numbers it found."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_mb() -> float:
    """Return the peak resident memory of this process; ``ru_maxrss`` would include its parent's memory."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def main(warehouse: str, name: str, what: str, partitions: int) -> dict[str, float]:
    import fsspec.implementations.local
    import pyarrow as pa

    import paimon_core
    from benchmarks.workload import MANY

    pa.scalar(1)  # pyarrow imports pandas, if it is installed, when it converts the first value
    fsspec.filesystem("file")  # imported when the first storage is opened
    imports = time.process_time()
    catalog = paimon_core.open_catalog(warehouse)
    middle = partitions // 2
    one = paimon_core.col("p") == middle
    where = {"partition": one, "key": one & (paimon_core.col("id") == 500)}.get(what)
    if what == "commit":
        row = pa.table([[middle], [10**12], ["v"]], schema=MANY)
        return {"commit": seconds(lambda: catalog.table(f"db.{name}").write(row)), "imports": imports}
    before = peak_mb()

    def plan() -> None:
        assert catalog.table(f"db.{name}").scan(where=where).splits() or what == "key"

    cold = seconds(plan)
    if what != "whole":
        return {what: cold, "imports": imports}
    memory = peak_mb() - before
    return {"cold": cold, "warm": min(seconds(plan) for _ in range(3)), "memory": memory, "imports": imports}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))))
