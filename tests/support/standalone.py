"""A standalone Spark cluster on this machine: a master and two workers, each in its own JVM."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from paimon_lake.class_archive import archive_options

START_SECONDS = 120


def quick_java() -> str:
    """Return the options of a JVM that runs for seconds: it starts in a third of the processor seconds."""
    return f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {archive_options()}".strip()


class ClusterUnavailable(Exception):
    """The cluster cannot be started; the message says why."""


@contextlib.contextmanager
def standalone_cluster(
    folder: Path, workers: int = 2, *, hosts: bool = False, bound: bool = False, java: str | None = None
) -> Iterator[str]:
    """Start a master and workers with logs and ids in ``folder``, and give the URL ``spark://127.0.0.1:PORT``.

    The local files of executors are in ``folder``/local. ``hosts``: each worker has another address of this machine,
    127.0.0.2 and so on, because Spark starts a speculative copy of a task only on another host. ``bound``: each worker
    is bound to one processor of its own by ``taskset``, which its executors and their Python workers inherit.
    ``java``: the options of the JVMs (default: ``quick_java``). Raises ClusterUnavailable without Java, or when
    ``bound`` workers have too few processors.
    """
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise ClusterUnavailable("no Java: a Spark cluster needs Java 17 or later")
    cpus = sorted(os.sched_getaffinity(0)) if bound else []
    if bound and (shutil.which("taskset") is None or len(cpus) < workers):
        raise ClusterUnavailable(f"{workers} bound workers need taskset and as many processors, not {len(cpus)}")
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "JAVA_TOOL_OPTIONS": quick_java() if java is None else java,
    }
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str, host: str = "127.0.0.1", cpu: int | None = None) -> Path:
        log = folder / f"{name}.log"
        command = [str(home / "bin" / "spark-class"), *arguments, "--host", host]
        if cpu is not None:
            command = ["taskset", "-c", str(cpu), *command]
        own = environment | {"SPARK_LOCAL_IP": host}
        with log.open("wb") as out:
            running.append(subprocess.Popen(command, stdout=out, stderr=out, env=own, start_new_session=True))
        (folder / f"{name}.pid").write_text(str(running[-1].pid))
        return log

    try:
        master = start("master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0")
        url = _wait(master, r"(spark://127\.0\.0\.1:\d+)")
        logs = [
            start(
                f"worker-{number}",
                "org.apache.spark.deploy.worker.Worker",
                "--cores", "1", "--memory", "1g", "--webui-port", "0", url,
                host=f"127.0.0.{number + 2}" if hosts else "127.0.0.1",
                cpu=cpus[number] if bound else None,
            )
            for number in range(workers)
        ]  # fmt: skip
        for log in logs:
            _wait(log, "Successfully registered with master")
        yield url
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(log: Path, pattern: str) -> str:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found.group()
        time.sleep(0.1)
    raise AssertionError(f"{log.name} never said {pattern!r}: {log.read_text(errors='replace')[-2000:]}")


def processes(folder: Path, words: str) -> list[int]:
    """Return the ids of the processes below the workers of ``standalone_cluster`` whose command line has the words."""
    parents = _parents()
    below = {int(found.read_text()) for found in folder.glob("worker-*.pid")}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(pid for pid in below if words in _command(pid))


def python_workers(folder: Path) -> list[int]:
    """Return the ids of the Python workers of the executors, without the daemons that fork them."""
    found, parents = processes(folder, "pyspark.worker"), _parents()
    return [pid for pid in found if parents.get(pid) in found]


def _parents() -> dict[int, int]:
    """Return the parent of each process of this machine."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return found


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""
