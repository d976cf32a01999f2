"""pypaimon and pypaimon-rust, each in a separate environment: other Python readers of the tables of this project.

An environment is created once, with uv if it is installed, otherwise with venv and pip, in ``PYPAIMON_CACHE``
(default: ``~/.cache``) as ``paimon-<package>-<version>-py<version>``. It shares no packages with the project's
environment. ``PypaimonUnavailable`` says why it could not be created.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.one_at_a_time import one_at_a_time

CONSTRAINTS = Path(__file__).resolve().parent
INSTALL_SECONDS = 900
READ_SECONDS = 300

_READ = """
import json, sys
import pypaimon
warehouse, tables, want_rows = json.load(sys.stdin)
catalog = pypaimon.CatalogFactory.create({"warehouse": warehouse})
answer = []
for name, columns, condition in tables:
    builder = catalog.get_table(name).new_read_builder()
    if columns is not None:
        builder = builder.with_projection(columns)
    if condition is not None:
        method, *literals = condition
        builder = builder.with_filter(getattr(builder.new_predicate_builder(), method)(*literals))
    splits = builder.new_scan().plan().splits()
    table = builder.new_read().to_arrow(splits)
    answer.append(table.to_pylist() if want_rows else table.num_rows)
print("ANSWER" + json.dumps(answer, default=str))
"""
_READ_RUST = """
import json, sys
from pypaimon_rust.datafusion import SQLContext
warehouse, queries = json.load(sys.stdin)
context = SQLContext()
context.register_catalog("paimon", {"warehouse": warehouse})
answer = [[row for batch in context.sql(query) for row in batch.to_pylist()] for query in queries]
print("ANSWER" + json.dumps(answer, default=str))
"""


class PypaimonUnavailable(Exception):
    """The package could not be installed; the message says why."""


class _Peer:
    def __init__(self, package: str, version: str) -> None:
        self.python = environment(package, version, CONSTRAINTS / f"{package}-constraints.txt")

    def ask(self, script: str, request: Any) -> Any:
        """Return what a script prints after ANSWER, in a separate process; ``request`` is its input in JSON."""
        done = subprocess.run(
            [self.python, "-W", "ignore", "-c", script],
            input=json.dumps(request, default=str),
            capture_output=True,
            text=True,
            timeout=READ_SECONDS,
            check=False,
        )
        answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
        assert done.returncode == 0, f"the other reader failed on {str(request)[:500]}: {done.stderr[-2000:]}"
        return json.loads(answers[-1].removeprefix("ANSWER"))


class Pypaimon(_Peer):
    """Reads tables with pypaimon in a separate process."""

    def __init__(self) -> None:
        super().__init__("pypaimon", "2.1.0")

    def count(self, warehouse: str | Path, table: str) -> int:
        """Return the number of rows that pypaimon reads from ``db.table``."""
        return self.counts(warehouse, [table])[table]

    def counts(self, warehouse: str | Path, tables: list[str]) -> dict[str, int]:
        """Return the number of rows that pypaimon reads from each table, in one process."""
        answer = self.ask(_READ, [str(warehouse), [[name, None, None] for name in tables], False])
        return dict(zip(tables, answer, strict=True))

    def rows(self, warehouse: str | Path, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """Return the rows as dictionaries; values that JSON does not support are ``str(value)``."""
        return self.reads(warehouse, [(table, columns, None)])[0]

    def reads(
        self, warehouse: str | Path, tables: Sequence[tuple[str, list[str] | None, Sequence[Any] | None]]
    ) -> list[list[dict[str, Any]]]:
        """Return the rows of each table, projection and filter, such as ``("is_null", "c")``."""
        rows: list[list[dict[str, Any]]] = self.ask(_READ, [str(warehouse), tables, True])
        return rows


class PypaimonRust(_Peer):
    """Reads tables with pypaimon-rust (SQL) in a separate process."""

    def __init__(self) -> None:
        super().__init__("pypaimon-rust", "0.4.0")

    def queries(self, warehouse: str | Path, queries: Sequence[str]) -> list[list[dict[str, Any]]]:
        """Return the rows of each query; a table is ``paimon.db.table``; other values than JSON's as ``str(value)``."""
        rows: list[list[dict[str, Any]]] = self.ask(_READ_RUST, [str(warehouse), list(queries)])
        return rows


def environment(package: str, version: str, constraints: Path, *more: str, purpose: str = "") -> str:
    """Return the Python of the environment of a package, which is created if it is missing.

    ``constraints`` is a file with the versions of all packages, ``more`` are further requirements beside pyarrow.
    Environments of another ``purpose``, such as ``bench-``, are separate.
    """
    folder = environment_folder(package, version, purpose)
    with one_at_a_time(folder.with_name(f"{folder.name}.lock")):
        return _environment(folder, [f"{package}=={version}", "pyarrow", *more], constraints)


def environment_folder(package: str, version: str, purpose: str = "") -> Path:
    """Return where the environment of a package is; the file ``complete`` in it says that it was created."""
    base = Path(os.environ.get("PYPAIMON_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / f"paimon-{purpose}{package}-{version}-py{sys.version_info.major}.{sys.version_info.minor}"


def _environment(folder: Path, requirements: list[str], constraints: Path) -> str:
    python = folder / "bin" / "python"
    complete = folder / "complete"
    package = requirements[0]
    wanted = constraints.read_text()
    if not complete.exists() or complete.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        requirement = [*requirements, "-c", str(constraints)]
        uv = shutil.which("uv")
        if uv is not None:
            _install([uv, "venv", "-q", "--python", sys.executable, str(folder)], package)
            _install([uv, "pip", "install", "-q", "--python", str(python), *requirement], package)
        else:
            _install([sys.executable, "-m", "venv", str(folder)], package)
            _install([str(python), "-m", "pip", "install", "-q", *requirement], package)
        complete.write_text(wanted)
    return str(python)


def _install(command: list[str], package: str) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise PypaimonUnavailable(f"{package} was not installed within {INSTALL_SECONDS} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise PypaimonUnavailable(f"{package} cannot be installed: {lines[0][:300] if lines else command}")
