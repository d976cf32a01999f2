"""Other Python libraries that write and read these tables, each in the environment in which tests run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.pypaimon_env import Pypaimon, PypaimonRust

NAMES = {"rust": "pypaimon-rust 0.4", "pypaimon": "pypaimon 2.1"}
_SCRIPT = Path(__file__).with_name("peer_side.py")
_SECONDS = 3600


def run_peer(library: str, warehouse: str, table: str, *numbers: int) -> dict[str, Any]:
    """Return the seconds of each ``write`` and ``read``, and the ``rows`` read; raises RuntimeError with the cause."""
    return _answer(library, warehouse, table, *map(str, numbers))


def time_plan(library: str, warehouse: str, table: str) -> list[float]:
    """Return the processor seconds of three plans of the whole table by one process, the first with a new catalog."""
    seconds: list[float] = _answer(library, warehouse, table, "plan")["plan"]
    return seconds


def _answer(library: str, *arguments: str) -> dict[str, Any]:
    python = (PypaimonRust() if library == "rust" else Pypaimon()).python
    command = [python, "-W", "ignore", str(_SCRIPT), library, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{NAMES[library]} failed: {done.stderr[-800:]}")
    answer = next(line for line in done.stdout.splitlines() if line.startswith("ANSWER"))
    found: dict[str, Any] = json.loads(answer.removeprefix("ANSWER"))
    return found


def run_queries(warehouse: str, queries: list[list[Any]]) -> list[dict[str, Any]]:
    """Return the rows, checksums and seconds of queries by pypaimon; raises RuntimeError with the cause."""
    script = Path(__file__).with_name("peer_queries.py")
    command = [Pypaimon().python, "-W", "ignore", str(script), warehouse]
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{NAMES['pypaimon']} failed: {done.stderr[-800:]}")
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    return [json.loads(line.removeprefix("ANSWER")) for line in answers]
