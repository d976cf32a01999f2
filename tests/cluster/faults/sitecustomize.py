"""Faults of Spark tasks: Python imports this module when it starts, if its folder is in PYTHONPATH.

The variable TASK_FAULTS names the folder of the cluster. A file ``armed`` in it says which work of a task is disturbed
once, after the work is done and before Spark gets its result:

- ``lose``: all shuffle files of the executors are deleted, as if the disk of a machine were lost
- ``hang``: the task never ends by itself; only a speculative copy of the task can end the stage
- ``race``: the task waits until a copy of it has done the same work, so that both copies end at nearly the same time
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAIT_SECONDS = 60.0


def disturbed(folder: Path, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``work``, which the fault of the file ``armed`` follows when the file names it."""

    @functools.wraps(work)
    def run(*arguments: Any, **options: Any) -> Any:
        result = work(*arguments, **options)
        from pyspark import TaskContext

        task = TaskContext.get()
        if task is not None:
            follow(folder, name, f"{task.stageId()}-{task.partitionId()}")
        return result

    return run


def follow(folder: Path, name: str, task: str) -> None:
    """Do the fault if this is the first task that has done the work; ``task``: equal for the copies of a task."""
    armed = folder / "armed"
    try:
        fault = json.loads(armed.read_text())
        if fault["work"] == name:
            armed.rename(folder / "done")  # one process does it
        else:
            fault = None
    except FileNotFoundError:
        fault = None
    if fault is None:
        (folder / f"copy-{task}").touch()
    elif fault["kind"] == "lose":
        for path in folder.glob("local/**/shuffle_*.data"):
            path.unlink(missing_ok=True)
    else:
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until and not (fault["kind"] == "race" and (folder / f"copy-{task}").exists()):
            time.sleep(0.005)


if os.environ.get("TASK_FAULTS"):
    from paimon_core.compact import parts, range_sort
    from paimon_core.table.rows import row_changes
    from paimon_core.write.table_writer import TableWriter

    _folder = Path(os.environ["TASK_FAULTS"])
    TableWriter.flush = disturbed(_folder, "write", TableWriter.flush)  # type: ignore[method-assign]
    parts.run_part = disturbed(_folder, "compact", parts.run_part)
    range_sort.written = disturbed(_folder, "sort", range_sort.written)
    row_changes.without = disturbed(_folder, "remove", row_changes.without)
