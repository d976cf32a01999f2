"""Runs: starts workers, learns from their end which input crashed them, and stores findings in the corpus."""

from __future__ import annotations

import atexit
import base64
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.worker import ADDRESS_SPACE_MB, CPU_SECONDS, Finding, shortened

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).with_name("corpus")
_UNLIMITED = 10**12
_CRASH_TRIES = 12
_MOST_CRASHES = 6
_STUCK_SECONDS = 600
_ENVIRONMENT = {"PYTHONPATH": str(ROOT), "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
"""Other allocators, and an arena for each thread, reserve more address space than they use."""


@dataclass
class Report:
    """The executions of one target, the lines of the project that they executed, and the findings."""

    count: int = 0
    lines: int = 0
    findings: list[Finding] = field(default_factory=list)


def corpus(name: str) -> list[Path]:
    """Return the kept inputs of a target."""
    return sorted(p for p in (CORPUS / name).glob("*") if p.is_file())


def kept(name: str, finding: Finding) -> Path:
    """Store the input of a finding in the corpus."""
    path = CORPUS / name / f"{finding.kind.lower()}-{hashlib.sha256(finding.data).hexdigest()[:12]}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(finding.data)
    return path


def replay(
    inputs: Sequence[tuple[str, Path]], address_space_mb: int = ADDRESS_SPACE_MB
) -> list[tuple[str, Path, Finding]]:
    """Run these inputs of targets, and return the findings; a crash does not stop the rest."""
    found = []
    start = 0
    while start < len(inputs):
        part = inputs[start:]
        with tempfile.TemporaryDirectory() as folder:
            task = {
                "inputs": [(name, str(path)) for name, path in part],
                "current": f"{folder}/current",
                "address_space_mb": address_space_mb,
            }
            lines, died = _work(task)
            found += [(*part[line["input"]], _finding(line)) for line in lines if "input" in line]
            if died is None:
                return found
            data = _current(folder)
            at = next(n for n, (_, path) in enumerate(part) if path.read_bytes() == data)
            found.append((*part[at], Finding(died, "", data)))
            start += at + 1
    return found


def explore(
    name: str, seconds: float, seed: int, most: int = _UNLIMITED, *, address_space_mb: int = ADDRESS_SPACE_MB
) -> Report:
    """Fuzz one target; a worker that ends is started again for the rest of the time."""
    report = Report()
    left, crashes = seconds, 0
    while left > 0.1 and crashes < _MOST_CRASHES:
        with tempfile.TemporaryDirectory() as folder:
            task = {
                "target": name,
                "corpus": [str(p) for p in corpus(name)],
                "current": f"{folder}/current",
                "seed": seed + 1000 * crashes,
                "seconds": left,
                "most": most - report.count,
                "address_space_mb": address_space_mb,
            }
            started = os.times().elapsed
            lines, died = _served(task, left + _STUCK_SECONDS)
            left -= os.times().elapsed - started
            report.findings += [_finding(line) for line in lines if "input" in line]
            for line in lines:
                report.count += line.get("count", 0)
                report.lines = max(report.lines, line.get("lines", 0))
            if died is None:
                break
            crashes += 1
            if (finding := _confirmed(name, _current(folder), address_space_mb)) is not None:
                report.findings.append(finding)
    return report


def _confirmed(name: str, data: bytes, address_space_mb: int) -> Finding | None:
    """Run the input that a worker ended with again, without tracing, and return a short one with the same outcome."""
    first = _alone(name, data, address_space_mb)
    if first is None:
        return None

    def same(other: bytes) -> bool:
        found = _alone(name, other, address_space_mb)
        return found is not None and found.kind == first.kind

    small = shortened(data, same, _CRASH_TRIES)
    return Finding(first.kind, first.place, small, first.detail)


def _alone(name: str, data: bytes, address_space_mb: int) -> Finding | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(data)
        return next((finding for _, _, finding in replay([(name, path)], address_space_mb)), None)


def _current(folder: str) -> bytes:
    held = Path(folder, "current").read_bytes()
    return held[4 : 4 + int.from_bytes(held[:4], "little")]


def _finding(line: dict[str, Any]) -> Finding:
    return Finding(line["kind"], line["place"], base64.b64decode(line["data"]), line["detail"])


def _work(task: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Return what a worker reported, and how it ended: None, or ``time`` or the name of a signal."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.worker"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | _ENVIRONMENT,
    )
    return _outcome(list(_lines(done.stdout)), done.returncode, done.stderr)


def _served(task: dict[str, Any], timeout: float) -> tuple[list[dict[str, Any]], str | None]:
    """Return the same as ``_work``, from a process that a server forks: it need not import the targets."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    stuck = threading.Timer(timeout, server.kill)
    stuck.start()
    try:
        server.stdin.write(json.dumps(task) + "\n")
        server.stdin.flush()
        lines: list[dict[str, Any]] = []
        for text in server.stdout:
            lines += _lines(text)
            if lines and "ended" in lines[-1]:
                return _outcome(lines[:-1], lines[-1]["ended"], "")
    finally:
        stuck.cancel()
    raise RuntimeError(f"the server of workers ended: {lines[-1:]}")


@functools.cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.worker", "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=os.environ | _ENVIRONMENT,
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    server.kill()
    server.communicate()


def _outcome(lines: list[dict[str, Any]], code: int, errors: str) -> tuple[list[dict[str, Any]], str | None]:
    if code == 0:
        return lines, None
    if code > 0:
        raise RuntimeError(f"the worker failed: {lines[-1:]} {errors[-2000:]}")
    number = signal.Signals(-code)
    return lines, f"more-than-{CPU_SECONDS:g}-s" if number in (signal.SIGPROF, signal.SIGALRM) else number.name


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield json.loads(line)
