"""The asset with the health of all tables: the worst first, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from paimon_dagster.factories.lake_health import MOST_LETTERS, shortened
from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import Settings, SettingsError
from paimon_lake.tables import open_table
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
OPTIONS = "options: {bucket: '1', write-only: 'true'}\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A healthy table, one with many runs, one that cannot be read and one that does not exist."""
    found = declared_lake(tmp_path / "lake", {f"ods.{name}": OPTIONS for name in ("good", "ill", "lost", "new")})
    for name, commits in (("good", 1), ("ill", 12), ("lost", 1)):
        table = open_table(found, f"ods.{name}", create=True)
        for _ in range(commits):
            table.write(pa.table({"id": [1]}))
    for path in Path(open_table(found, "ods.lost").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    return found


def run(settings: Settings, name: str = "", **config: Any) -> dg.ExecuteInProcessResult:
    definitions = build_definitions(settings, name=name)
    prefix = f"{name}_" if name else ""
    step = f"{name or 'lake'}__health"
    with dg.DagsterInstance.ephemeral() as instance:
        return definitions.resolve_job_def(f"{prefix}health").execute_in_process(
            instance=instance, run_config={"ops": {step: {"config": config}}}, raise_on_error=False
        )


def metadata(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    (event,) = result.get_asset_materialization_events()
    found = event.step_materialization_data.materialization
    return {
        "asset": found.asset_key.to_user_string(),
        **{key.removeprefix("paimon/"): value.value for key, value in found.metadata.items()},
    }


def test_all_tables_are_listed_the_worst_first_and_the_page_is_written(settings: Settings) -> None:
    found = metadata(run(settings))
    assert found["asset"] == "lake/health"
    assert (found["tables"], found["tables_with_findings"], found["tables_unreadable"]) == (3, 1, 1)
    lines = found["health"].splitlines()
    assert [line.split(" ")[2] for line in lines] == [r"ods\.lost:", r"ods\.ill:", r"ods\.good:"]
    assert lines[0].startswith("- **unreadable** ")
    assert "**many-sorted-runs**" in lines[1]
    assert found["lowest_score"] == int(lines[1].split(" ")[1])
    assert lines[2].startswith(r"- 100 ods\.good: no findings; ")
    assert found["report"] == "health.html"
    page = Path(settings.warehouse) / "dagster" / "health.html"
    assert "ods.ill" in page.read_text()


def test_the_page_goes_where_the_config_says(settings: Settings, tmp_path: Path) -> None:
    found = metadata(run(settings, name="shop", report=str(tmp_path / "own" / "page.html")))
    assert found["asset"] == "shop/health"
    assert found["report"] == "page.html"
    assert (tmp_path / "own" / "page.html").is_file()
    (failure,) = [e for e in run(settings, report="page.txt").all_events if e.is_step_failure]
    assert "report is 'page.txt': the name of the file must end with .html" in str(
        failure.step_failure_data.error_display_string
    )


def test_a_table_with_the_key_of_the_asset_is_refused(tmp_path: Path) -> None:
    found = declared_lake(tmp_path / "lake", {"lake.health": OPTIONS})
    with pytest.raises(
        SettingsError, match=r"lake\.health: the asset key lake/health is that of the health of the lake"
    ):
        build_definitions(found)
    assert build_definitions(found, name="shop")


def test_long_words_are_shortened_between_hyphens() -> None:
    name = "warehouse_of_the_north.very_long_name_of_a_table"
    assert shortened(f"{name} a") == "warehouse_of_th…_name_of_a_table a"
    assert len(shortened(name)) == MOST_LETTERS
    assert shortened("x" * 32 + "-" + "y" * 32) == "x" * 32 + "-" + "y" * 32
    assert shortened("many-sorted-runs in ods.t") == "many-sorted-runs in ods.t"


def test_no_word_of_the_list_is_wider_than_the_page_of_dagster(tmp_path: Path) -> None:
    name = "warehouse_of_the_north.a_very_long_name_of_a_table_with_events"
    found = declared_lake(tmp_path / "lake", {name: OPTIONS, f"{name}_lost": OPTIONS})
    for one in (name, f"{name}_lost"):
        open_table(found, one, create=True).write(pa.table({"id": [1]}))
    for path in Path(open_table(found, f"{name}_lost").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    shown = metadata(run(found))
    words = shown["health"].replace("\\", "").replace("-", " ").split()
    assert max(map(len, words)) <= MOST_LETTERS + 1, "with a colon"
    page = (Path(found.warehouse) / "dagster" / "health.html").read_text()
    assert name in page
