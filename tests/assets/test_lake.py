"""Definitions of lakes from any folder: an empty one, one table after another, and lakes that cannot be."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import LakeResource, place_of
from paimon_lake.declarations import SettingsError
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

BY_HAND = {"health", "sort", "rescale", "expire", "tag", "branch", "delete", "rollback", "reload"}
FILES = "source: {type: files, path: 'data/*.csv'}\n"


def query(*inputs: str) -> str:
    return f"source: {{type: sql, query: select 1, inputs: [{', '.join(inputs)}]}}\n"


def test_an_empty_lake_loads_and_its_jobs_say_what_to_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    definitions = build_definitions(declared_lake(tmp_path / "lake", {}))
    dg.Definitions.validate_loadable(definitions)
    assert list(definitions.resolve_all_asset_keys()) == []
    assert {job.name for job in definitions.resolve_all_job_defs()} == {
        "nightly",
        "sweep",
        "maintain",
        "doctor",
        "audit",
    }
    for job in ("nightly", "sweep", "maintain", "doctor", "audit"):
        assert definitions.resolve_job_def(job).execute_in_process().success
        assert f"no table is declared in {tmp_path}/lake/tables" in capfd.readouterr().err


def test_a_table_without_a_source_is_kept_by_others_but_checked_and_compacted(tmp_path: Path) -> None:
    definitions = build_definitions(declared_lake(tmp_path / "lake", {"ods.t": ""}))
    (spec,) = [one for one in definitions.resolve_all_asset_specs() if one.group_name != "health"]
    assert not definitions.resolve_asset_graph().get(spec.key).is_materializable
    checks = {key.name for key in definitions.resolve_asset_graph().asset_check_keys}
    assert checks == {"keys", "files", "fsck", "health"}
    assert definitions.resolve_job_def("compact__ods_t")


def test_a_part_of_a_lake_depends_on_the_rest_by_key(tmp_path: Path) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.a": FILES, "ods.b": query("ods.a"), "ods.c": FILES})
    definitions = build_definitions(settings, tables=["ods.b"])
    dg.Definitions.validate_loadable(definitions)
    spec = definitions.resolve_assets_def(dg.AssetKey(["ods", "b"])).get_asset_spec()
    assert [dep.asset_key.to_user_string() for dep in spec.deps] == ["ods/a"]
    jobs = {job.name for job in definitions.resolve_all_job_defs()}
    assert {name for name in jobs if not name.startswith("_")} == {
        "compact__ods_b",
        "nightly",
        "sweep",
        "maintain",
        "doctor",
        "audit",
        *BY_HAND,
    }


def test_resources_of_another_process_read_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.a": FILES})
    monkeypatch.chdir("/")
    found = LakeResource(**place_of(settings)).settings
    assert (found.folder, found.warehouse) == (settings.folder, str(tmp_path / "lake" / "warehouse"))
    assert list(found.tables) == ["ods.a"]


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({"a_b.c": FILES, "a.b_c": FILES}, "would have the same jobs"),
        ({"ods.größe": FILES}, "Dagster takes only"),
        (
            {"ods.a": FILES + "checks: [{type: sql, name: keys, query: select 1}]\n"},
            "the name 'keys' of a check is taken",
        ),
        (
            {"ods.a": FILES + "schedule: {on: files}\npartitions: {by: day, start: 2024-01-01}\n"},
            "needs a placeholder for the partition",
        ),
    ],
)
def test_declarations_that_cannot_be_used_together_are_one_sentence(
    tmp_path: Path, tables: dict[str, str], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        build_definitions(declared_lake(tmp_path / "lake", tables))


def test_the_jobs_and_sensors_follow_the_schedules(tmp_path: Path) -> None:
    tables = {
        "ods.a": FILES + "schedule: {on: files}\n",
        "ods.b": FILES + "schedule: '0 5 * * *'\n",
        "ods.c": query("ods.a") + "schedule: {on: inputs}\n",
        "ods.d": FILES,
    }
    base = "warehouse: w\ndagster: {automation_on: true}\n"
    definitions = build_definitions(declared_lake(tmp_path / "lake", tables, base))
    jobs = {job.name for job in definitions.resolve_all_job_defs() if job.name.startswith("load__")}
    assert jobs == {"load__ods_a", "load__ods_b"}
    repository = definitions.get_repository_def()
    assert {sensor.name: sensor.default_status.value for sensor in repository.sensor_defs} == {
        "compaction": "RUNNING",
        "commits": "RUNNING",
        "files": "RUNNING",
        "inputs": "RUNNING",
    }
    schedule = definitions.resolve_schedule_def("load__ods_b_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 5 * * *", "UTC")
    assert schedule.default_status.value == "RUNNING"
    assert len(repository.schedule_defs) == 4
