"""Other Python libraries that write and read these tables, each in its own environment, created with uv."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

REQUIREMENTS = {
    "rust": ["pypaimon-rust==0.4.0", "pyarrow>=19", "numpy>=2"],
    "pypaimon": ["pypaimon==2.1.0", "pyarrow==19.0.1", "numpy>=2"],
}
NAMES = {"rust": "pypaimon-rust 0.4", "pypaimon": "pypaimon 2.1"}
_SCRIPT = Path(__file__).with_name("peer_side.py")
_SECONDS = 3600


def run_peer(library: str, warehouse: str, table: str, *numbers: int) -> dict[str, Any]:
    """Return the seconds of each ``write`` and ``read``, and the ``rows`` read; raises RuntimeError with the cause."""
    command = [_python(library), "-W", "ignore", str(_SCRIPT), library, warehouse, table, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{NAMES[library]} failed: {done.stderr[-800:]}")
    answer = next(line for line in done.stdout.splitlines() if line.startswith("ANSWER"))
    found: dict[str, Any] = json.loads(answer.removeprefix("ANSWER"))
    return found


def _python(library: str) -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / f"paimon-peer-{library}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    wanted = "\n".join(REQUIREMENTS[library])
    complete = folder / "complete"
    if not complete.exists() or complete.read_text() != wanted:
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        shutil.rmtree(folder, ignore_errors=True)
        for arguments in (
            ["venv", "-q", "--python", sys.executable, str(folder)],
            ["pip", "install", "-q", "--python", str(python), *REQUIREMENTS[library]],
        ):
            done = subprocess.run([uv, *arguments], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{NAMES[library]} cannot be installed: {done.stderr[-400:]}")
        complete.write_text(wanted)
    return str(python)
