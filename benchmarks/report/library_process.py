"""Library processes: one process for each library, in an environment of its own, that runs one operation at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.support.pypaimon_env import (
    CONSTRAINTS,
    PypaimonUnavailable,
    environment,
    environment_folder,
)

_HERE = Path(__file__).resolve().parent
PEERS: dict[str, tuple[str, str, tuple[str, ...], Path]] = {
    "pypaimon": ("pypaimon", "2.1.0", (), CONSTRAINTS / "pypaimon-constraints.txt"),
    "rust": ("pypaimon-rust", "0.4.0", ("numpy",), _HERE / "constraints" / "pypaimon-rust.txt"),
    "duckdb": ("duckdb", "2.0.1", ("numpy",), _HERE / "constraints" / "duckdb.txt"),
    "delta": ("deltalake", "1.6.6", ("numpy",), _HERE / "constraints" / "deltalake.txt"),
    "iceberg": ("pyiceberg", "0.12.0", ("numpy", "sqlalchemy"), _HERE / "constraints" / "pyiceberg.txt"),
}
"""By name of the side: the package, its version, further requirements, and the file with all versions."""

START_SECONDS = 120.0


class PeerUnavailable(Exception):
    """A library cannot be started; the message says why."""


def python_of(library: str, *, install: bool) -> str:
    """Return the Python of a library's environment; without ``install``, a missing one is PeerUnavailable."""
    if library not in PEERS:
        return sys.executable
    package, version, more, constraints = PEERS[library]
    purpose = "" if constraints.parent == CONSTRAINTS else "bench-"
    if not install and not (environment_folder(package, version, purpose) / "complete").exists():
        raise PeerUnavailable(f"{package} {version} is not installed, and a smoke run installs nothing")
    try:
        return environment(package, version, constraints, *more, purpose=purpose)
    except PypaimonUnavailable as reason:
        raise PeerUnavailable(str(reason)) from None


class LibraryProcess:
    """The process of one library; an operation that takes too long ends it, and the next one starts another."""

    def __init__(self, library: str, folder: Path, limit_seconds: float, *, install: bool) -> None:
        python = python_of(library, install=install)
        self._library, self._limit = library, limit_seconds
        self._command = [python, "-W", "ignore", str(_HERE / "sides" / "serve.py"), library, str(folder)]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, encoding="utf-8"
        )
        try:
            self.versions: dict[str, str] = json.loads(self._line("READY", START_SECONDS))
        except TimeoutError as reason:
            raise PeerUnavailable(f"{self._library} does not start: {reason}") from None

    def ask(self, op: str, *arguments: object, **more: object) -> dict[str, Any]:
        """Return the answer to one operation; ``failed`` tells why there is none."""
        if self._process.poll() is not None:
            self._start()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"op": op, "arguments": arguments, **more}) + "\n")
            self._process.stdin.flush()
            found: dict[str, Any] = json.loads(self._line("ANSWER", self._limit))
        except (TimeoutError, BrokenPipeError) as reason:
            return {"failed": str(reason)}
        return found

    def _line(self, head: str, seconds: float) -> str:
        assert self._process.stdout is not None
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        late = not timer.is_alive()
        timer.cancel()
        if line.startswith(head):
            return line.removeprefix(head)
        self._process.kill()
        status = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        raise TimeoutError(f"no end after {seconds:.0f} s" if late else f"ended with status {status}: {last}")

    def close(self) -> None:
        """End the process by closing its input."""
        close_process(self._process)
        self._errors.close()


def close_process(process: subprocess.Popen[str]) -> None:
    """End a process by closing its input, and kill it after 10 seconds."""

    try:
        process.communicate(timeout=10)
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.wait()
