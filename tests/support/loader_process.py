"""A process that follows tables of a lake, until it is killed, or its JVM, or one of its Python workers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil

from paimon_lake.loads import write_tasks
from paimon_lake.sources.kafka import broker, messages
from paimon_lake.steps.follow import FAILURES
from tests.support.lakes import SmallLake
from tests.support.project import ROOT
from tests.support.tasks import in_this_process

END_SECONDS = 150
_LOOP = """
import sys
from tests.support.loader_process import load_again_and_again
load_again_and_again(*sys.argv[1:])
"""


class LoaderProcess:
    """The command ``follow`` with a Spark of its own, or a loop of loads whose tasks are in the process itself."""

    def __init__(self, folder: Path, *names: str, with_spark: bool) -> None:
        self.with_spark = with_spark
        self.log = folder / f"loader-{time.monotonic_ns()}.log"
        command = [sys.executable, "-W", "ignore", "-c", _LOOP, str(folder), *names]
        if with_spark:
            command = [
                sys.executable,
                "-m",
                "paimon_lake",
                "follow",
                "--configs",
                str(folder),
                "--every",
                "0.1",
                *names,
            ]
        paths = os.pathsep.join([str(ROOT), *sys.path])
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                command, env={**os.environ, "PYTHONPATH": paths}, stdout=output, stderr=output, cwd=folder
            )

    @property
    def loads(self) -> int:
        """The number of loads that have reported commits (with Spark), or have ended without an error."""
        return sum(line.startswith("load ") and " failed " not in line for line in self.text.splitlines())

    @property
    def text(self) -> str:
        """What the process has printed."""
        return self.log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, is_reached: Callable[[], bool], meanwhile: Callable[[], None] = lambda: time.sleep(0.1)) -> None:
        """Wait until something is reached or the process has ended."""
        deadline = time.monotonic() + END_SECONDS
        while self.is_running and not is_reached():
            assert time.monotonic() < deadline, f"the loader is not as far:\n{self.text[-3000:]}"
            meanwhile()

    def wait_for_load(self) -> None:
        """Wait for the first load that has ended without an error, or for the end of the process."""
        self.wait(lambda: self.loads > 0)

    def kill_jvm(self) -> bool:
        """Kill the JVM; return whether there was one."""
        found = [one for one in self._children() if _name(one) == "java"]
        _kill(found)
        return bool(found)

    def kill_worker(self, choice: Callable[[list[psutil.Process]], psutil.Process]) -> bool:
        """Kill a Python process of the JVM; return whether there was one."""
        found = [one for one in self._children() if _name(one).startswith("python")]
        _kill([choice(found)] if found else [])
        return bool(found)

    def kill(self) -> None:
        """Kill the process, and wait until its JVM, which notices it, has ended too."""
        children = self._children()
        self._process.kill()
        self._process.wait()
        _, left = psutil.wait_procs(children, END_SECONDS)
        _kill(left)
        assert not left, "the JVM did not end with its loader"

    def _children(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self._process.pid).children(recursive=True)
        return []


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


def _kill(processes: list[psutil.Process]) -> None:
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()


def load_again_and_again(folder: str, *names: str) -> None:
    """Load tables with tasks in this process; a load that fails, as while a server is down, is repeated."""
    write_tasks.collect_tasks = in_this_process
    broker.WAIT_SECONDS, messages.STALL_SECONDS = 2.0, 2.0
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    lake = SmallLake(Path(folder), session)
    while True:
        for name in names:
            try:
                print(lake.load(name).sentence(), flush=True)
            except FAILURES as error:
                print(f"load {name} failed and will be repeated: {error}", flush=True)
                time.sleep(0.05)
