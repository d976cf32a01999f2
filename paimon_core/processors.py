"""Processors: how many processors this process may keep busy at the same time.

A machine may have more: a process can be bound to some of them (``taskset``, a cpuset), a container can have a quota of
processor time, and a task of Spark shares its executor with other tasks.
"""

from __future__ import annotations

import contextlib
import os
import sys
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

_GROUPS, _GROUP_OF_PROCESS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def usable() -> int:
    """Return the number of processors that this process may use, at least 1.

    It is the number of processors of the machine, or fewer if the calling thread is bound to fewer, or if the quota of
    a control group (version 2, ``cpu.max``) gives less time; a part of a processor counts as one. The quota is read
    once.
    """
    count = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        count = min(count, len(os.sched_getaffinity(0)))
    quota = _own_quota()
    return max(1, count if quota is None else min(count, ceil(quota)))


def usable_by_task() -> int:
    """Return the processors of the Spark task that this process runs (``spark.task.cpus``), or ``usable`` elsewhere."""
    module: Any = sys.modules.get("pyspark.taskcontext")  # imported in each process that runs a task
    task = None if module is None else module.TaskContext.get()
    return usable() if task is None else max(1, min(usable(), task.cpus() or 1))


def quota(groups: Path, group_of_process: Path) -> float | None:
    """Return the processors that the quotas of control groups (version 2) leave to this process; None: no quota.

    ``groups``: the directory of all groups. ``group_of_process``: the file with the path of the group of this process.
    The smallest quota of this group and the groups around it counts. Files that are missing, or that do not have the
    form of a quota, state none.
    """
    found: list[float] = []
    with contextlib.suppress(OSError, ValueError):  # also a path that is not below ``groups``
        for line in group_of_process.read_text().splitlines():
            if line.startswith("0::/"):
                inner = groups / line.removeprefix("0::/")
                around = [inner, *inner.parents]
                # Inside of a container the path may be that of the host: then only the outermost directory exists.
                found += filter(None, map(_stated, around[: around.index(groups) + 1]))
    return min(found, default=None)


def _stated(group: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError, ArithmeticError):
        time, period = (group / "cpu.max").read_text().split()
        return None if time == "max" else int(time) / int(period)
    return None


@lru_cache(maxsize=1)
def _own_quota() -> float | None:
    return quota(_GROUPS, _GROUP_OF_PROCESS)
