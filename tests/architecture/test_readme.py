"""The README tells the truth: its Python runs, its commands exist, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import paimon_core as paimon

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
LIBRARY = (ROOT / "docs" / "library.md").read_text()
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "tests/oracle/README.md"]
DOCUMENTS += [f"docs/{name}.md" for name in ("library", "support", "benchmarks", "dagster")]


def blocks(language: str, text: str = README) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name == language]


BARE = """
import sys

class Bare:
    extras = {"pandas", "polars", "duckdb", "pyspark", "datasketches", "sqlalchemy"}
    extras |= {"s3fs", "gcsfs", "adlfs", "dagster"}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in cls.extras:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Bare)
"""


def test_the_python_of_the_readme_runs_without_extras_and_prints_what_it_says(tmp_path):
    (code,), output = blocks("python"), blocks("")
    assert run(BARE + code, tmp_path) == output[0]


def test_the_python_of_the_library_page_runs_without_extras(tmp_path):
    """All but what it says to need Spark."""
    plain = [block for block in blocks("python", LIBRARY) if "paimon_core.spark" not in block]
    assert len(plain) == len(blocks("python", LIBRARY)) - 1
    check = "assert orders.scan().to_arrow().to_pylist() == [dict(day='mon', id=1, price=6.5 * 1.1 + 2)]"
    run("\n".join([BARE, *plain, check]), tmp_path)


@pytest.mark.long
def test_the_python_of_the_library_page_runs_with_spark(tmp_path, spark, capfd):
    (block,) = (block for block in blocks("python", LIBRARY) if "paimon_core.spark" in block)
    assert LIBRARY.partition(block)[0].endswith("With Spark (extra `spark`):\n\n```python\n")
    catalog = paimon.open_catalog(str(tmp_path / "warehouse"))
    catalog.create_database("shop")
    columns = {"day": "STRING", "id": "BIGINT", "price": "DOUBLE"}
    orders = catalog.create_table("shop.orders", columns, primary_key=["id"], options={"bucket": "1"})
    orders.write([{"day": "mon", "id": 1, "price": 6.5}])
    exec(block, {"orders": orders, "spark": spark})  # noqa: S102
    assert orders.scan(columns=["id"]).to_arrow().to_pylist() == [{"id": 1}, {"id": 3}]
    assert "CompactReport(tasks=1" in capfd.readouterr().out


def run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_make_targets_of_the_documents_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
        assert named <= targets, f"{name} names make targets that do not exist: {named - targets}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_between_documents_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{name} links to {target}"
