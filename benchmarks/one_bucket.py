"""One bucket on several processors: wall time of a merge, a full compaction and a write, with one and with all.

A table with one bucket gets several runs that are not compacted. With one processor, the library and Arrow use one
thread. The sides alternate, and the least of the rounds is stated: other work of the machine makes times longer.

``--samples 40`` estimates the time on two idle processors from the threads that are runnable (``runnable_threads``).

``python -m benchmarks.one_bucket --rows 1000000 --runs 5 --rounds 9``
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import paimon_core
from benchmarks.runnable_threads import serial_share
from benchmarks.workload import SCHEMA, batch
from paimon_core import Table
from paimon_core import processors as machine
from paimon_core.compact.compactor import run_tasks
from paimon_core.compact.planning import plan
from paimon_core.metadata.abort import abort
from paimon_core.write.table_writer import TableWriter

PROCESSORS = machine.usable()


def wall(work: Callable[[], Callable[[], None]], processors: int) -> tuple[float, float]:
    """Return the seconds and the processor seconds of ``work`` with a number of processors; the work returns what to
    do afterwards.
    """
    known = machine.usable
    machine.usable = lambda: processors
    pa.set_cpu_count(processors)
    try:
        before, spent = time.perf_counter(), time.process_time()
        after = work()
        found = time.perf_counter() - before, time.process_time() - spent
    finally:
        machine.usable = known
        pa.set_cpu_count(PROCESSORS)
    after()
    return found


def works(table: Table, rows: pa.Table) -> dict[str, Callable[[], Callable[[], None]]]:
    """Return the work by name."""
    context = table.context

    def merge() -> Callable[[], None]:
        table.scan().to_arrow()
        return lambda: None

    def compaction() -> Callable[[], None]:
        messages = run_tasks(context, plan(context, full=True))
        return lambda: abort(messages, context)

    def write() -> Callable[[], None]:
        writer = TableWriter(context)
        writer.write(rows)
        messages = writer.flush()
        return lambda: abort(messages, context)

    return {"merge": merge, "compaction": compaction, "write": write}


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--samples", type=int, help="runs whose runnable threads are counted: for a busy machine")
    parser.add_argument("--only", choices=["merge", "compaction", "write"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        catalog = paimon_core.open_catalog(str(Path(folder) / "lake"))
        catalog.create_database("db")
        options = {"bucket": "1", "write-only": "true"}
        table = catalog.create_table("db.t", SCHEMA, primary_key=["id"], options=options)
        share = args.rows // args.runs
        for k in range(args.runs):
            table.write(batch(k, share, 2 * share))
        print(f"{args.rows:,} rows, {args.runs} runs; load {os.getloadavg()[0]:.1f} on {PROCESSORS} processors")
        for name, work in works(table, batch(9, args.rows, 2 * args.rows)).items():
            if args.only not in (None, name):
                continue
            wall(work, PROCESSORS)
            pairs = [(wall(work, 1), wall(work, PROCESSORS)) for _ in range(args.rounds)]
            one, all_ = min(a for a, _ in pairs), min(b for _, b in pairs)
            middle = sorted(a[0] / b[0] for a, b in pairs)[len(pairs) // 2]
            print(
                f"{name:11} one processor {one[0] * 1000:6.0f} ms, all {all_[0] * 1000:6.0f} ms: "
                f"{one[0] / all_[0]:.2f} times as fast (middle of the rounds {middle:.2f}); "
                f"processor ms {one[1] * 1000:.0f} and {all_[1] * 1000:.0f}",
                flush=True,
            )
            if args.samples:
                serial = serial_share(lambda work=work: [wall(work, PROCESSORS) for _ in range(args.samples)])
                spent = min(a[1] for a, _ in pairs), min(b[1] for _, b in pairs)
                ideal = spent[1] * (serial + (1 - serial) / 2)
                print(
                    f"{'':11} one thread alone is runnable in {serial:.2f} of the processor time: "
                    f"two idle processors would take {ideal * 1000:.0f} ms, {spent[0] / ideal:.2f} times as fast",
                    flush=True,
                )


if __name__ == "__main__":
    main()
