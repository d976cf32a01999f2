from pathlib import Path

import pytest

from paimon_dagster.instance import prepare_home, process_environment
from paimon_lake.protocol import PipelineError
from tests.support.declared_lakes import declared_lake


def test_the_home_lies_in_the_lake_and_is_made_once(tmp_path: Path) -> None:
    settings = declared_lake(tmp_path, {}, "warehouse: lake\n")
    home = prepare_home(settings)
    assert home == tmp_path / "lake" / "dagster"
    (home / "dagster.yaml").write_text("mine")
    assert (prepare_home(settings) / "dagster.yaml").read_text() == "mine"


def test_a_remote_lake_has_its_home_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = declared_lake(tmp_path / "configs", {}, "warehouse: s3://lake/w\n")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with pytest.raises(PipelineError, match="set DAGSTER_HOME yourself"):
        prepare_home(settings)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    assert prepare_home(settings) == tmp_path / "home"
    assert "telemetry" in (tmp_path / "home" / "dagster.yaml").read_text()


def test_another_process_gets_the_folder_of_the_declarations(tmp_path: Path) -> None:
    settings = declared_lake(tmp_path / "lake", {})
    environment = process_environment(settings, tmp_path)
    assert environment["PAIMON_LAKE_CONFIGS"] == str(tmp_path / "lake")
