"""Journal: what a process was about to do and what came of it, one JSON line each, in a file that only it appends to.

A line is given to the kernel at once, so the death of its process takes nothing back; a last line that was cut is left
out. Lines carry the machine's monotonic clock, by which those of all processes have one order.
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
    """One life of one worker."""

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
        """The rows of a read, once for each content."""
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
    """Those of all workers, in order of time."""
    found = [line for path in sorted((folder / "journal").glob("*.jsonl")) for line in lines_of(path)]
    return sorted(found, key=lambda line: line["at"])
