"""A declared group in Dagster: an asset that publishes after its tables, and not when one of them failed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from paimon_core.errors import StorageError
from paimon_core.group.group import Group
from paimon_dagster import resources
from paimon_dagster.factories import groups
from paimon_dagster.instance import open_instance
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import SparkResource
from paimon_dagster.translator import PLAIN
from paimon_lake.declarations import SettingsError
from paimon_lake.loads import write_tasks
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")
ORDERS = "columns: {id: INT}\nprimary_key: id\nsource: {type: files, path: 'orders/*.csv'}\n"
DAYS = "columns: {id: INT}\nprimary_key: id\nsource: {type: files, path: 'NAME/{date}.csv'}\n"
BY_DAY = "partitions: {by: day, start: 2024-01-01, end: 2024-01-09}\n"
GROUPS = "warehouse: warehouse\ngroups: {sales: {tables: [a.orders, b.items], schedule: '0 5 * * *'}}\n"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    made = small_lake(tmp_path / "lake")
    made.declare("a.orders", ORDERS)
    made.declare("b.items", ORDERS.replace("orders", "items"))
    (made.folder / "base.yaml").write_text(GROUPS)
    for folder in ("orders", "items"):
        made.file(f"{folder}/1.csv", "id\n1\n")
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    monkeypatch.setattr(resources, "start_session", lambda settings: session)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    monkeypatch.setenv("DAGSTER_HOME", "")
    Path(made.settings.warehouse).mkdir()
    return made


@pytest.fixture
def instance(lake: SmallLake) -> Iterator[dg.DagsterInstance]:
    with open_instance(lake.settings) as opened:
        yield opened


def shown(lake: SmallLake) -> dict[str, int]:
    version = open_lake(lake.settings).group("sales").latest()
    return {} if version is None else {name: one.snapshot for name, one in version.tables.items()}


def run(lake: SmallLake, instance: dg.DagsterInstance, job: str = "group__sales") -> dg.ExecuteInProcessResult:
    found = build_definitions(lake.settings).resolve_job_def(job)
    return found.execute_in_process(instance=instance, raise_on_error=False)


def test_the_job_loads_the_tables_and_publishes_them(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    done = run(lake, instance)
    assert done.success
    made = done.get_asset_materialization_events()[-1].step_materialization_data.materialization
    assert made.asset_key == dg.AssetKey(["group", "sales"])
    assert made.metadata["paimon/version"].value == 1
    assert made.metadata["paimon/snapshot_of/a.orders"].value == 1
    assert shown(lake) == {"a.orders": 1, "b.items": 1}


def test_old_versions_that_are_not_deleted_are_told_beside_the_published_version(
    lake: SmallLake, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise StorageError("the store is down")

    monkeypatch.setattr(Group, "expire", down)
    done = run(lake, instance)
    assert done.success
    made = done.get_asset_materialization_events()[-1].step_materialization_data.materialization
    assert made.metadata["paimon/version"].value == 1
    assert made.metadata["paimon/old_versions_not_deleted"].value == "the store is down"
    assert "published, but its old versions were not deleted: the store is down" in str(
        made.metadata["paimon/note"].value
    )
    assert shown(lake) == {"a.orders": 1, "b.items": 1}


def test_a_table_that_fails_leaves_the_group_as_it_was(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    assert run(lake, instance).success
    lake.file("orders/2.csv", "id\n2\n")
    lake.file("items/2.csv", "id\nmany\n")
    failed = run(lake, instance)
    assert not failed.success
    (made,) = failed.get_asset_materialization_events()
    assert made.step_materialization_data.materialization.asset_key == dg.AssetKey(["a", "orders"])
    assert shown(lake) == {"a.orders": 1, "b.items": 1}
    assert lake.rows("a.orders") == [(1,), (2,)]


def test_a_run_publishes_the_snapshots_of_its_own_loads(
    lake: SmallLake, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = groups.publish_group

    def later(*arguments: object) -> object:
        lake.table("a.orders").write([{"id": 9}])  # another run has loaded orders, and its items are not there yet
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(groups, "publish_group", later)
    assert run(lake, instance).success
    assert shown(lake) == {"a.orders": 1, "b.items": 1}


def test_tables_with_the_same_days_are_loaded_by_day(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    for name, folder in (("a.orders", "orders"), ("b.items", "items")):
        lake.declare(name, DAYS.replace("NAME", folder) + BY_DAY)
        lake.file(f"{folder}/2024-01-02.csv", "id\n2\n")
    definitions = build_definitions(lake.settings)
    schedule = definitions.resolve_schedule_def("group__sales_schedule")
    with dg.build_schedule_context(
        instance=instance,
        scheduled_execution_time=datetime(2024, 1, 4, 5, tzinfo=UTC),
        repository_def=definitions.get_repository_def(),
    ) as context:
        requests = schedule.evaluate_tick(context).run_requests
    assert [one.partition_key for one in requests or ()] == ["2024-01-03"]
    job = definitions.resolve_job_def("group__sales")
    done = job.execute_in_process(instance=instance, partition_key="2024-01-02")
    assert done.success
    assert shown(lake) == {"a.orders": 1, "b.items": 1}


def test_different_partitions_have_no_job(lake: SmallLake) -> None:
    lake.declare("a.orders", DAYS.replace("NAME", "orders") + BY_DAY)
    assert build_definitions(lake.settings).resolve_job_def("group__sales") is not None
    lake.declare("b.items", DAYS.replace("NAME", "items") + BY_DAY.replace("01-09", "01-08"))
    with pytest.raises(SettingsError, match=r"groups.sales.schedule: its tables have different partitions"):
        build_definitions(lake.settings)
    (lake.folder / "base.yaml").write_text(GROUPS.replace(", schedule: '0 5 * * *'", ""))
    definitions = build_definitions(lake.settings)
    assert "group__sales" not in {job.name for job in definitions.jobs or ()}
    assert dg.AssetKey(["group", "sales"]) in definitions.resolve_all_asset_keys()


def test_a_location_with_some_tables_has_only_whole_groups(lake: SmallLake) -> None:
    definitions = build_definitions(lake.settings, tables=["a.orders"])
    assert dg.AssetKey(["group", "sales"]) not in definitions.resolve_all_asset_keys()


def test_a_table_with_the_key_of_a_group_is_refused(lake: SmallLake) -> None:
    lake.declare("group.sales", ORDERS)
    with pytest.raises(SettingsError, match=r"group.sales and the group sales would have the same asset key"):
        build_definitions(lake.settings)


def test_a_run_from_a_failure_has_the_loads_of_the_failed_run(lake: SmallLake) -> None:
    def made(table: str, snapshot: int) -> SimpleNamespace:
        metadata = {"paimon/snapshot_id": dg.MetadataValue.int(snapshot)}
        event = dg.AssetMaterialization(dg.AssetKey(table.split(".")), metadata=metadata)
        return SimpleNamespace(asset_materialization=event)

    logs = {"first": [made("a.orders", 5), made("a.orders", 6)], "second": [made("b.items", 3)]}
    first = SimpleNamespace(run_id="first", parent_run_id=None)
    instance = SimpleNamespace(all_logs=lambda run_id, of_type: logs[run_id], get_run_by_id=lambda _: first)
    context = SimpleNamespace(run=SimpleNamespace(run_id="second", parent_run_id="first"), instance=instance)
    specs = list(lake.settings.tables.values())
    assert groups._loaded(context, specs, PLAIN) == {"a.orders": 6, "b.items": 3}  # type: ignore[arg-type]
