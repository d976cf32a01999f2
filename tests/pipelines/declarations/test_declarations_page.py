"""docs/declarations.md: its example is a lake, and it describes every key."""

import re
from pathlib import Path

import pytest

from paimon_lake.declarations import load_settings
from paimon_lake.declarations.agreement import disagreements
from paimon_lake.declarations.json_schema import table_schema
from tests.support.project import ROOT

PAGE = (ROOT / "docs" / "declarations.md").read_text()


def test_the_examples_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "x")
    examples, functions = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("yaml", "python"))
    names = ("shop.orders", "shop.stock", "shop.products", "shop.sales", "shop.followed", "ods.flights")
    (tmp_path / "tables").mkdir()
    for name, example in zip(names, examples, strict=True):
        (tmp_path / "tables" / f"{name}.yaml").write_text(example)
    (tmp_path / "tables" / "dim.planes.yaml").write_text("columns: {id: STRING, model: STRING}\nprimary_key: id\n")
    (tmp_path / "shop.py").write_text(functions[0])
    (tmp_path / "sales.py").write_text(functions[1])
    (tmp_path / "base.yaml").write_text("")
    (tmp_path / "local.yaml").write_text("")
    settings = load_settings(configs=tmp_path)
    modes = [settings.table(name).write_mode for name in names]
    assert (modes, disagreements(settings)) == (["upsert", "changes", "changes", *["upsert"] * 3], [])


def test_every_link_of_the_page_leads_to_a_heading() -> None:
    headings = {
        re.sub(r"[^a-z_ ]", "", one.lower()).replace(" ", "-") for one in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#(.*?)\)", PAGE))
    assert len(links) > 15
    assert links <= headings


def test_every_key_is_on_the_page() -> None:
    schema = table_schema()
    keys = {name for part in (schema, *schema["$defs"].values()) for name in part["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in PAGE} == set()
