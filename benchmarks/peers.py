"""Queries by pypaimon in the environment in which tests run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.pypaimon_env import Pypaimon

_SECONDS = 3600


def run_queries(warehouse: str, queries: list[list[Any]]) -> list[dict[str, Any]]:
    """Return the rows, checksums and seconds of queries by pypaimon; raises RuntimeError with the cause."""
    script = Path(__file__).with_name("peer_queries.py")
    command = [Pypaimon().python, "-W", "ignore", str(script), warehouse]
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"pypaimon failed: {done.stderr[-800:]}")
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    return [json.loads(line.removeprefix("ANSWER")) for line in answers]
