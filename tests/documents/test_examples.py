"""The examples run as their pages say, each in a fresh interpreter, and print what they promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.object_servers import s3_server
from tests.support.project import ROOT

pytestmark = pytest.mark.long
EXAMPLES = ROOT / "examples"
TOKEN = "token-of-the-test"


def run(*arguments: str, **variables: str) -> str:
    """Run Python in the folder of the examples and return what it printed; it must succeed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=EXAMPLES,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_incremental(tmp_path: Path) -> None:
    assert run("incremental.py", str(tmp_path / "lake")).splitlines() == [
        "2 changes read; large orders: [1]",
        "2 changes read; large orders: [2]",
        "0 changes read; large orders: [2]",
    ]


def test_write_audit_publish() -> None:
    assert run("write_audit_publish.py").splitlines() == [
        "published: 2 rows",
        "refused: [{'sku': 'pen', 'price': -2.5}]",
        "visible: [{'sku': 'ink', 'price': 4.0}, {'sku': 'pen', 'price': 2.5}]",
    ]


def test_published_together() -> None:
    assert run("published_together.py").splitlines() == [
        "published version 1",
        "orders and items of the group: (1, 1)",
        "published version 2",
        "orders and items of the group: (2, 2)",
    ]


def test_s3() -> None:
    with s3_server() as endpoint:
        printed = run("s3.py", "s3://try/lake", S3_ENDPOINT=endpoint)
    assert printed == "[{'id': 1, 'price': 7.0}, {'id': 2, 'price': 3.0}]\n"


def test_a_rest_catalog(oracle: Any, tmp_path: Path) -> None:
    step = {"op": "startRest", "name": "lake", "path": f"file://{tmp_path}/lake", "token": TOKEN}
    (answer,) = oracle.run(tmp_path / "lake", [step])
    try:
        printed = run("rest_catalog.py", answer["uri"], "lake", PAIMON_TOKEN=TOKEN)
    finally:
        oracle.run(tmp_path / "lake", [{"op": "stopRest", "uri": answer["uri"]}])
    assert printed == "['orders'] [{'id': 1, 'price': 7.0}]\n"


def test_the_notebook_runs_in_the_order_of_its_cells() -> None:
    cells = json.loads((EXAMPLES / "quickstart.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == 6
    shown = "\n".join(_printed(text) for text in code)
    assert run("-c", shown).splitlines()[1:] == [
        "[{'id': 1, 'price': 7.0}]",
        "[{'id': 1, 'price': 9.5}, {'id': 2, 'price': 3.0}]",
        "[{'rowkind': '-U', 'id': 1, 'price': 9.5}, {'rowkind': '+U', 'id': 1, 'price': 7.0}]",
        "the table has no column 'cost'; the columns are id, price",
        "[{'level': 5, 'record_count': 2}]",
    ]
    assert not any(cell.get("outputs") for cell in cells), "the notebook is kept without outputs"


def _printed(cell: str) -> str:
    """Return the code of a cell that prints the value of its last line, as a notebook shows it."""
    before, _, last = cell.rpartition("\n")
    return cell if last.startswith(" ") else f"{before}\nprint({last})"


@pytest.mark.parametrize(
    "arguments", [("s3.py",), ("s3.py", "lake"), ("rest_catalog.py", "http://127.0.0.1:1")], ids=str
)
def test_wrong_arguments_are_told(arguments: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=EXAMPLES, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("usage: ")


def test_the_list_names_every_example() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    wanted = [one.name for one in EXAMPLES.iterdir() if one.name not in ("README.md", "__pycache__")]
    assert [name for name in wanted if f"({name}" not in listed] == []
