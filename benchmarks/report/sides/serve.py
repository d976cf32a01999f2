"""Runs the operations of one library; started by the Python interpreter of that library's environment.

``serve.py LIBRARY FOLDER`` reads one JSON object per line: ``op``, its ``arguments``, ``times``, and ``batch``, the
numbers of a batch of the workload that is made before the clock starts. It answers with one line: the processor seconds
of all threads and the seconds on the clock of one time, the peak resident memory in bytes, and the rows and checksum of
a result; or ``unsupported`` or ``failed`` with the reason.
"""

import gc
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path

# This folder and that of workload.py; the environments of other libraries do not know the project.
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]
import pyarrow as pa  # noqa: E402
import workload  # noqa: E402
from unsupported import Unsupported  # noqa: E402

OUTPUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a library prints must not get between the answers


def peak_bytes():
    """Return the peak resident memory of this process since the last reset."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) * 1024


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(side, request):
    """Return the answer to one request."""
    batch = request.get("batch")
    side.batch = None if batch is None else workload.batch(*batch[:3], holes=len(batch) > 3)
    work, times = getattr(side, request["op"]), request.get("times", 1)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    wall, used = time.perf_counter(), processor_seconds()
    for _ in range(times):
        found = work(*request["arguments"])
    used, wall = processor_seconds() - used, time.perf_counter() - wall
    answer = {"processor": used / times, "clock": wall / times, "peak": peak_bytes()}
    if isinstance(found, pa.Table):
        names = [name for name in workload.SCHEMA.names if name in found.column_names]
        answer |= {"rows": found.num_rows, "checksum": workload.checksum_of(found.select(names))}
    elif isinstance(found, dict):
        answer |= found
    return answer


def answered(side, line):
    try:
        return measured(side, json.loads(line))
    except Unsupported as reason:
        return {"unsupported": str(reason)}
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"failed": text[:300]}


def main(library, folder):
    side = importlib.import_module(f"{library}_side").Side(folder)
    print("READY" + json.dumps(side.versions()), file=OUTPUT, flush=True)
    for line in sys.stdin:
        print("ANSWER" + json.dumps(answered(side, line)), file=OUTPUT, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
