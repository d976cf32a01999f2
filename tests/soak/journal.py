"""Journal: a file per process with one JSON line for each operation that it starts and for each result.

A line is written to the kernel immediately, so it is kept when the process is killed; an incomplete last line is
ignored. Lines contain the monotonic clock of the machine, which orders the lines of all processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Journal:
    """The journal of one process of a worker."""

    def __init__(self, folder: Path, worker: str, life: int) -> None:
        self.folder = folder
        path = folder / "journal" / f"{worker}-{life:05}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.worker = worker

    def note(self, what: str, **facts: Any) -> None:
        line = {"what": what, "at": time.monotonic_ns(), "worker": self.worker, **facts}
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def keep_content(self, digest: str, rows: list[list[Any]]) -> None:
        """Store the rows of a read, once for each content."""
        path = self.folder / "content" / digest[:2] / digest
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{digest}.{os.getpid()}")
        temporary.write_bytes(zlib.compress(json.dumps(rows).encode(), 1))
        os.replace(temporary, path)


def content_of(folder: Path, digest: str) -> list[list[Any]]:
    rows: list[list[Any]] = json.loads(zlib.decompress((folder / "content" / digest[:2] / digest).read_bytes()))
    return rows


def lines_of(path: Path) -> list[Line]:
    out = []
    for text in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            out.append(json.loads(text))
    return out


def all_lines(folder: Path) -> list[Line]:
    """Return the lines of all workers, in order of time."""
    found = [line for path in sorted((folder / "journal").glob("*.jsonl")) for line in lines_of(path)]
    return sorted(found, key=lambda line: line["at"])
