"""Every block of code of the documents runs in a test, or the page says why it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

import paimon_core as paimon
from paimon_dagster.component import PaimonLake
from paimon_lake.declarations import load_settings
from tests.support import pages
from tests.support.pages import DOCS, RUNNERS, Block, blocks_of
from tests.support.project import ROOT

BY_TEST = {
    "README.md": "tests/architecture/test_readme.py",
    "docs/alter.md": "tests/architecture/test_documents.py",
    "docs/catalogs.md": "tests/architecture/test_documents.py",
    "docs/dagster.md": "tests/documents/test_blocks.py",
    "docs/declarations.md": "tests/architecture/test_documents.py",
    "docs/frames.md": "tests/unit/frames/test_page.py",
    "docs/health.md": "tests/documents/test_blocks.py",
    "docs/library.md": "tests/architecture/test_readme.py",
    "docs/spark.md": "tests/spark/test_page.py",
    "docs/storage.md": "tests/documents/test_blocks.py",
    "docs/streams.md": "tests/spark/test_page.py",
    "docs/system-tables.md": "tests/architecture/test_documents.py",
    "examples/dg_project/README.md": "tests/assets/test_dg.py",
    "examples/orders_postgres/README.md": "tests/integration/test_orders_example.py",
}
"""Pages whose blocks other tests run, or read as declarations."""
CODE = {"python", "bash", "yaml", "json"}
"""The languages whose blocks must run; blocks without a language are pictures and outputs."""
EXCUSED = 7
"""How many blocks do not run; change it when a page gets or loses a reason."""
PAGES = sorted(
    [
        *DOCS.rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    ]
)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def of_page(name: str, language: str) -> list[Block]:
    return [one for one in blocks_of((DOCS / name).read_text()) if one.language == language and not one.reason]


def test_every_block_runs_or_says_why() -> None:
    run = {*map(named, pages.pages_that_run()), *BY_TEST}
    left = {
        named(path): [
            block.line for block in blocks_of(path.read_text()) if block.language in CODE and not block.reason
        ]
        for path in PAGES
        if named(path) not in run
    }
    assert {page: lines for page, lines in left.items() if lines} == {}


def test_blocks_that_do_not_run_are_counted() -> None:
    reasons = {named(path): [b.reason for b in blocks_of(path.read_text()) if b.reason] for path in PAGES}
    assert sum(map(len, reasons.values())) == EXCUSED


@pytest.mark.parametrize(("page", "test"), BY_TEST.items(), ids=str)
def test_the_tests_of_other_pages_read_them(page: str, test: str) -> None:
    folder, name = Path(page).parent.name, Path(page).name
    assert (folder if name == "README.md" and folder else name) in (ROOT / test).read_text()


def test_policies_of_stores_are_json() -> None:
    policies = [json.loads(block.code) for block in of_page("storage.md", "json")]
    assert len(policies) == 2
    assert policies[1]["Condition"] == {"Null": {"s3:if-none-match": "true"}}


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A warehouse in the working directory, with the orders of a shop."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAIMON_WAREHOUSE", "warehouse")
    catalog = paimon.open_catalog("warehouse")
    catalog.create_database("shop")
    orders = catalog.create_table("shop.orders", {"id": "BIGINT"}, primary_key="id", options={"bucket": "1"})
    orders.write([{"id": 1}])
    return {"catalog": catalog}


def test_commands_of_health_run(given: dict[str, Any]) -> None:
    for block in of_page("health.md", "bash"):
        lines = [line for line in block.code.splitlines() if not line.startswith("paimon-lake ")]  # which needs a lake
        RUNNERS["bash"](Block("bash", "\n".join(lines), block.line), given)
    assert "shop.orders" in Path("lake.html").read_text()
    (code,) = of_page("health.md", "python")
    assert "0 pieces of work" in RUNNERS["python"](code, given)


def test_settings_of_a_lake_are_accepted(tmp_path: Path) -> None:
    (maintenance,) = of_page("health.md", "yaml")
    _, pools, sample = of_page("dagster.md", "yaml")
    (tmp_path / "tables").mkdir()
    (tmp_path / "base.yaml").write_text(f"warehouse: warehouse\n{maintenance.code}")
    (tmp_path / "local.yaml").write_text("")
    table = "columns: {id: INT, email: STRING, name: STRING}\nprimary_key: id\ncompaction: {tags: [large]}\n"
    (tmp_path / "tables" / "shop.orders.yaml").write_text(table + sample.code)
    assert load_settings("local", configs=tmp_path).tables["shop.orders"].sample is not None
    deployed = yaml.safe_load((ROOT / "deploy" / "dagster.yaml").read_text())["concurrency"]
    assert yaml.safe_load(pools.code)["concurrency"]["pools"] == deployed["pools"]


def test_code_of_dagster_runs() -> None:
    component, _, _ = of_page("dagster.md", "yaml")
    assert yaml.safe_load(component.code)["type"] == f"paimon_dagster.{PaimonLake.__name__}"
    names: dict[str, Any] = {}
    for block in of_page("dagster.md", "python"):
        exec(compile(block.code, "dagster.md", "exec", dont_inherit=True), names)  # noqa: S102
    assert isinstance(names["open_orders"], dg.AssetsDefinition)
    assert names["Own"]().asset_key is not None
