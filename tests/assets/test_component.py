"""The component of dg: it is scaffolded with an example, loads a lake, and says what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster.components.testing.utils import DefsFolderSandbox, create_defs_folder_sandbox

from paimon_dagster.component import PaimonLake, load_translator
from paimon_dagster.translator import PaimonTranslator
from paimon_lake.declarations import SettingsError, TableSpec
from tests.support.declared_lakes import declared_lake

pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    # Dagster reads defs.yaml with an old function of pydantic.
    pytest.mark.filterwarnings("ignore:.*parse_obj_as.*:DeprecationWarning"),
]


@pytest.fixture
def sandbox() -> Iterator[DefsFolderSandbox]:
    with create_defs_folder_sandbox() as made:
        yield made


def test_a_scaffolded_component_is_a_lake_that_loads(sandbox: DefsFolderSandbox) -> None:
    path = sandbox.scaffold_component(component_cls=PaimonLake, defs_path="lake")
    assert "type: paimon_dagster.component.PaimonLake" in (path / "defs.yaml").read_text()
    with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
        assert isinstance(component, PaimonLake)
        dg.Definitions.validate_loadable(definitions)
        keys = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    assert keys == {"lake/health", "source/shop/orders", "shop/orders", "shop/revenue"}


def test_scaffolding_keeps_declarations_that_exist(sandbox: DefsFolderSandbox) -> None:
    declared_lake(sandbox.defs_folder_path / "lake" / "lake", {"ods.t": ""})
    path = sandbox.scaffold_component(component_cls=PaimonLake, defs_path="lake")
    assert [file.name for file in (path / "lake" / "tables").iterdir()] == ["ods.t.yaml"]


def test_the_attributes_choose_folder_translator_and_tables(
    sandbox: DefsFolderSandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Own(PaimonTranslator):
        def asset_key(self, spec: TableSpec) -> dg.AssetKey:
            return dg.AssetKey(["own", spec.ident])

    monkeypatch.setitem(sys.modules, "own_names", SimpleNamespace(Own=Own))
    declared_lake(tmp_path / "elsewhere", {"ods.a": "", "ods.b": ""})
    attributes = {
        "configs": str(tmp_path / "elsewhere"),
        "environment": "local",
        "translator": "own_names:Own",
        "tables": ["ods.b"],
    }
    path = sandbox.scaffold_component(
        component_cls=PaimonLake,
        defs_path="lake",
        defs_yaml_contents={"type": "paimon_dagster.component.PaimonLake", "attributes": attributes},
    )
    with sandbox.load_component_and_build_defs(defs_path=path) as (_, definitions):
        assert {key.to_user_string() for key in definitions.resolve_all_asset_keys()} == {"own/ods_b", "lake/health"}
        lake = (definitions.resources or {})["lake_lake"]
        assert lake.configs == str(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("name", "why"),
    [("nowhere:Own", "cannot be imported"), ("pathlib:Path", "not a subclass"), ("pathlib", "cannot be imported")],
)
def test_a_translator_that_is_none(name: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        load_translator(name)
