"""The project without the tables of its demo: nothing of it is broken, and each command says what to do next."""

from pathlib import Path

import dagster as dg
import pytest

from assets.demo import run as demo
from paimon_dagster.lake import build_definitions
from paimon_lake.cli.main import main
from paimon_lake.declarations import environments, load_settings
from tests.support.orders_lake import environments_of_the_project

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")


@pytest.fixture
def next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = environments_of_the_project(tmp_path / "configs")
    monkeypatch.setenv("PAIMON_LAKE_CONFIGS", str(folder))
    monkeypatch.setenv("PAIMON_ENV", "local")
    monkeypatch.delenv("PAIMON_LAKE", raising=False)
    return (
        f"no table is declared in {folder}/tables: write <database>.<table>.yaml there, or begin with the example of "
        "`paimon-lake new <folder>`\n"
    )


@pytest.mark.usefixtures("next_step")
@pytest.mark.parametrize("environment", environments())
def test_the_definitions_load(environment: str) -> None:
    definitions = build_definitions(load_settings(environment))
    dg.Definitions.validate_loadable(definitions)
    assert list(definitions.resolve_all_asset_keys()) == []


def test_the_demo_says_what_to_do_and_makes_nothing(
    next_step: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main([]) == 0
    assert capsys.readouterr() == (f"demo: nothing to do: {next_step}", "")
    assert [path.name for path in tmp_path.iterdir()] == ["configs"]
    assert not (tmp_path / "configs" / "lake").exists()


def test_show_and_check_say_what_to_do(next_step: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show"]) == 2
    assert capsys.readouterr() == ("", f"paimon-lake show: {next_step}")
    assert main(["check"]) == 0
    assert capsys.readouterr() == (next_step, "")
