"""pypaimon in a separate environment: a second Python reader of the tables that this project writes.

The environment is created once, with uv if it is installed, otherwise with venv and pip, in ``PYPAIMON_CACHE``
(default: ``~/.cache/paimon-pypaimon-<version>``). It shares no packages with the project's environment.
``PypaimonUnavailable`` says why it could not be created.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.one_at_a_time import one_at_a_time

VERSION = "2.1.0"
CONSTRAINTS = Path(__file__).resolve().parent / "pypaimon-constraints.txt"
INSTALL_SECONDS = 900
READ_SECONDS = 300

_READ = """
import json, sys
import pypaimon
warehouse, names, columns, want_rows = json.load(sys.stdin)
catalog = pypaimon.CatalogFactory.create({"warehouse": warehouse})
answer = {}
for name in names:
    builder = catalog.get_table(name).new_read_builder()
    if columns is not None:
        builder = builder.with_projection(columns)
    splits = builder.new_scan().plan().splits()
    table = builder.new_read().to_arrow(splits)
    rows = table.to_pylist() if want_rows else None
    answer[name] = {"count": table.num_rows, "rows": rows}
print("ANSWER" + json.dumps(answer, default=str))
"""


class PypaimonUnavailable(Exception):
    """pypaimon could not be installed; the message says why."""


class Pypaimon:
    """Reads tables with pypaimon in a separate process."""

    def __init__(self) -> None:
        with one_at_a_time(_folder().with_name(f"{_folder().name}.lock")):
            self.python = _environment(_folder())

    def count(self, warehouse: str | Path, table: str) -> int:
        """Return the number of rows that pypaimon reads from ``db.table``."""
        return self.counts(warehouse, [table])[table]

    def counts(self, warehouse: str | Path, tables: list[str]) -> dict[str, int]:
        """Return the number of rows that pypaimon reads from each table, in one process."""
        answer = self._read(warehouse, tables, None, want_rows=False)
        return {name: found["count"] for name, found in answer.items()}

    def rows(self, warehouse: str | Path, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """Return the rows as dictionaries; values that JSON does not support are ``str(value)``."""
        rows: list[dict[str, Any]] = self._read(warehouse, [table], columns, want_rows=True)[table]["rows"]
        return rows

    def _read(
        self, warehouse: str | Path, tables: list[str], columns: list[str] | None, *, want_rows: bool
    ) -> dict[str, Any]:
        done = subprocess.run(
            [self.python, "-W", "ignore", "-c", _READ],
            input=json.dumps([str(warehouse), tables, columns, want_rows]),
            capture_output=True,
            text=True,
            timeout=READ_SECONDS,
            check=False,
        )
        answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
        assert done.returncode == 0, f"pypaimon failed on {tables}: {done.stderr[-2000:]}"
        found: dict[str, Any] = json.loads(answers[-1].removeprefix("ANSWER"))
        return found


def _folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Path(os.environ.get("PYPAIMON_CACHE") or base / f"paimon-pypaimon-{VERSION}-py{version}")


def _environment(folder: Path) -> str:
    python = folder / "bin" / "python"
    complete = folder / "complete"
    wanted = CONSTRAINTS.read_text()
    if not complete.exists() or complete.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        requirement = [f"pypaimon=={VERSION}", "-c", str(CONSTRAINTS)]
        uv = shutil.which("uv")
        if uv is not None:
            _install([uv, "venv", "-q", "--python", sys.executable, str(folder)])
            _install([uv, "pip", "install", "-q", "--python", str(python), *requirement])
        else:
            _install([sys.executable, "-m", "venv", str(folder)])
            _install([str(python), "-m", "pip", "install", "-q", *requirement])
        complete.write_text(wanted)
    return str(python)


def _install(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise PypaimonUnavailable(f"pypaimon {VERSION} was not installed within {INSTALL_SECONDS} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise PypaimonUnavailable(f"pypaimon {VERSION} cannot be installed: {lines[0][:300] if lines else command}")
