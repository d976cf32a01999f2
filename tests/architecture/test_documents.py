"""The code of the documents: it names only what it imports or the page gives, and what can run here does."""

from __future__ import annotations

import ast
import builtins
import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import paimon_core as paimon
from paimon_core.table.stream.table_stream import TableStream
from paimon_lake.cli.main import _parser
from paimon_lake.declarations import load_settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GIVEN = {"catalog", "orders", "spark"}
"""What a reader of a page has: a catalog, a table, and with Spark a session."""


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


def page(name: str) -> Path:
    return ROOT / "docs" / name


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "python")], ids=lambda path: path.name)
def test_code_imports_what_it_uses(path: Path) -> None:
    known = {*GIVEN, *dir(builtins), "__name__"}
    for text in blocks(path, "python"):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                known |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                known |= {node.name}
            elif isinstance(node, ast.arg):
                known |= {node.arg}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                known |= {node.id}
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert used <= known, f"{path.name} uses {sorted(used - known)} and does not import it: {text}"


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A catalog in the working directory, and a table of orders with a tag."""
    monkeypatch.chdir(tmp_path)
    catalog = paimon.open_catalog("warehouse")
    catalog.create_database("shop")
    columns = {"id": "BIGINT", "price": "DECIMAL(10, 2)", "note2": "STRING"}
    orders = catalog.create_table("shop.orders", columns, primary_key=["id"], options={"bucket": "1"})
    orders.write([{"id": 1, "price": 2, "note2": "x"}])
    orders.tags.create("monday")
    return {"catalog": catalog, "orders": orders}


@pytest.mark.parametrize("name", ["alter.md", "system-tables.md", "streams.md"])
def test_code_that_needs_a_table_runs(given: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableStream, "follow", lambda self, interval: [self.poll()])  # a real one waits without end
    for text in blocks(page(name), "python"):
        if "spark" not in text:
            exec(text, given)  # noqa: S102


def test_catalogs_that_are_here_are_opened(given: dict[str, Any], tmp_path: Path) -> None:
    (text,) = blocks(page("catalogs.md"), "python")
    opened = []
    for statement in ast.parse(text.replace("/srv/lake/", f"{tmp_path}/")).body:
        code = ast.unparse(statement)
        if not re.search("s3://|https://", code):
            opened.append(code)
            exec(code, given)  # noqa: S102
    assert len(opened) == 3
    assert (tmp_path / "catalog.db").exists()


def test_declarations_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each YAML block is the file of a table, or a part of base.yaml, and the functions beside it are found."""
    texts = blocks(page("declarations.md"), "yaml")
    (environment,) = blocks(page("catalogs.md"), "yaml")
    monkeypatch.setenv("LAKE_PASSWORD", "x")
    monkeypatch.setenv("SHOP_PASSWORD", "x")
    (tmp_path / "tables").mkdir()
    of_base = [text for text in texts if text.startswith("# base.yaml")]
    texts = [text for text in texts if text not in of_base]
    (tmp_path / "base.yaml").write_text("\n".join([environment, *of_base]))
    (tmp_path / "local.yaml").write_text("")
    for number, text in enumerate(texts):
        name = "shop.orders" if number == 0 else f"shop.t{number}"
        (tmp_path / "tables" / f"{name}.yaml").write_text(text)
    (tmp_path / "tables" / "dim.planes.yaml").write_text("columns: {id: STRING, model: STRING}\nprimary_key: id\n")
    customers = "columns: {id: BIGINT, name: STRING, city: STRING}\nprimary_key: id\n"
    (tmp_path / "tables" / "ods.customers.yaml").write_text(customers)
    (tmp_path / "tables" / "ods.orders.yaml").write_text("columns: {id: BIGINT, customer: BIGINT}\nprimary_key: id\n")
    (tmp_path / "tables" / "shop.items.yaml").write_text("columns: {id: BIGINT}\nprimary_key: id\n")
    settings = load_settings("local", configs=tmp_path)
    assert len(settings.tables) == len(texts) + 4 > 8


def test_the_function_that_brings_files_brings_them(tmp_path: Path) -> None:
    bring, daily, _ = blocks(page("declarations.md"), "python")
    found: dict[str, Any] = {}
    exec(bring, found)  # noqa: S102
    exec(daily, found)  # noqa: S102
    found["urlopen"] = lambda address: io.BytesIO(address.encode())
    found["bring"](SimpleNamespace(partitions=["2024-01-01"], landing=tmp_path))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["2024-01-01.csv"]


def test_tables_are_published_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = paimon.open_catalog("warehouse")
    catalog.create_database("shop")
    for name in ("shop.orders", "shop.items"):
        catalog.create_table(name, {"id": "BIGINT"}, primary_key="id").write([{"id": 1}])
    exec(blocks(page("declarations.md"), "python")[-1], {})  # noqa: S102
    assert capsys.readouterr().out == "1\n"
    version = catalog.group("shop").latest()
    assert version is not None
    assert sorted(version.tables) == ["shop.items", "shop.orders"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_of_shell_blocks_are_accepted(path: Path) -> None:
    lines = [line for text in blocks(path, "bash") for line in text.splitlines()]
    for line in lines:
        found = re.search(r"paimon-lake ([^#]+)", line)
        if found is not None:
            assert _parser().parse_args(found[1].split()).command
