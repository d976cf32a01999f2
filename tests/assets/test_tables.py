"""Assets of declared tables: what they depend on, how they run, and what a translator changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from paimon_dagster.factories import tables
from paimon_dagster.lake import build_definitions
from paimon_dagster.metadata import declared
from paimon_dagster.translator import PaimonTranslator
from paimon_lake.check_result import CheckResult
from paimon_lake.declarations import Settings, TableSpec, load_settings
from paimon_lake.protocol import AuditFailed, LevelSize, PipelineError, StepResult, TablesFailed
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

DAYS = "partitions: {by: day, start: 2024-01-01, end: 2024-01-31, column: day}\n"
ORDERS = "source: {type: files, path: 'data/{date}.csv'}\nbackfill_per_run: 31\nowners: ['team:shop', a@b.org]\n" + DAYS
MONTHLY = (
    "source: {type: sql, query: select 1, inputs: [ods.orders, dim.customers]}\n"
    "partitions: {by: month, start: 2024-01-01, end: 2024-01-31, column: day}\nschedule: {on: inputs}\n"
)
CUSTOMERS = (
    "source: {type: database, url: 'postgresql://me:${SHOP_PASSWORD}@host:5432/shop?sslmode=x', table: customers}\n"
)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    tables = {"ods.orders": ORDERS, "dws.monthly": MONTHLY, "dim.customers": CUSTOMERS}
    return declared_lake(
        tmp_path / "lake", tables, "warehouse: w\ndagster: {step_retries: 1, retry_delay_seconds: 0}\n"
    )


def asset(definitions: dg.Definitions, name: str) -> dg.AssetsDefinition:
    return definitions.resolve_assets_def(dg.AssetKey(name.split(".")))


def test_an_asset_has_what_its_declaration_says(settings: Settings) -> None:
    orders = asset(build_definitions(settings), "ods.orders")
    spec = orders.get_asset_spec()
    assert [dep.asset_key.to_user_string() for dep in spec.deps] == ["source/ods/orders"]
    assert spec.group_name == "ods"
    assert list(spec.owners) == ["team:shop", "a@b.org"]
    assert orders.node_def.pools == {"paimon_write__ods_orders"}
    assert orders.backfill_policy is not None
    assert orders.backfill_policy.max_partitions_per_run == 31
    assert orders.partitions_def is not None
    assert len(orders.partitions_def.get_partition_keys()) == 31
    assert orders.node_def.retry_policy is not None
    assert orders.node_def.retry_policy.max_retries == 1


def test_columns_that_must_not_be_null_are_shown_so(tmp_path: Path) -> None:
    settings = declared_lake(tmp_path / "other", {})
    text = "columns: {id: BIGINT, day: DATE NOT NULL, tags: ARRAY<INT NOT NULL>}\nprimary_key: id\n"
    (settings.folder / "tables" / "ods.t.yaml").write_text(text)
    settings = load_settings("local", configs=settings.folder)
    columns = declared(settings, settings.table("ods.t"))["dagster/column_schema"].columns
    assert {column.name: column.constraints.nullable for column in columns} == {"id": False, "day": False, "tags": True}


def test_comments_of_columns_are_their_descriptions(settings: Settings) -> None:
    text = "columns: {id: BIGINT, price: {type: DOUBLE, comment: in euros}}\nprimary_key: id\n"
    (settings.folder / "tables" / "ods.t.yaml").write_text(text)
    settings = load_settings("local", configs=settings.folder)
    columns = declared(settings, settings.table("ods.t"))["dagster/column_schema"].columns
    assert {column.name: (column.type, column.description) for column in columns} == {
        "id": ("BIGINT", None),
        "price": ("DOUBLE", "in euros"),
    }


def test_the_inputs_of_a_query_are_its_dependencies_with_mappings(settings: Settings) -> None:
    spec = asset(build_definitions(settings), "dws.monthly").get_asset_spec()
    found = {dep.asset_key.to_user_string(): type(dep.partition_mapping).__name__ for dep in spec.deps}
    assert found == {"ods/orders": "TimeWindowPartitionMapping", "dim/customers": "NoneType"}


def test_sources_are_shown_without_credentials(settings: Settings) -> None:
    definitions = build_definitions(settings)
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    database, files = specs["source/dim/customers"], specs["source/ods/orders"]
    assert database.metadata["paimon/database"] == "postgresql://host:5432/shop"
    assert files.metadata["paimon/path"] == "data/{date}.csv"
    assert {database.group_name, files.group_name} == {"source"}
    assert "secret" not in repr(specs)


def test_a_table_that_follows_postgresql_is_an_asset_with_a_schedule(settings: Settings, tmp_path: Path) -> None:
    url = "postgresql://me:${SHOP_PASSWORD}@host/shop"
    text = f"source: {{type: postgres_changes, url: '{url}', table: s.o}}\nschedule: '*/5 * * * *'\n"
    definitions = build_definitions(declared_lake(tmp_path / "other", {"ods.orders": text}))
    dg.Definitions.validate_loadable(definitions)
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    metadata = specs["source/ods/orders"].metadata
    assert (metadata["paimon/database"], metadata["paimon/table"]) == ("postgresql://host/shop", "s.o")
    assert "secret" not in repr(specs)
    assert [schedule.cron_schedule for schedule in definitions.schedules or ()].count("*/5 * * * *") == 1


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("pa/canary", "postgresql"),
        ("12?x=a/canary", "postgresql"),
        ("pa@canary", "postgresql"),
        ("pa canary", "postgresql"),
        ("[canary", "postgresql://host:5432/shop"),
    ],
)
def test_a_password_with_unusual_characters_is_not_shown_and_definitions_load(
    secret: str, shown: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", secret)
    changed = declared_lake(tmp_path / "other", {"dim.customers": CUSTOMERS})
    definitions = build_definitions(changed)
    dg.Definitions.validate_loadable(definitions)
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    assert specs["source/dim/customers"].metadata["paimon/database"] == shown
    assert "canary" not in repr(specs)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://me:a@b@host/x.csv", "s3://host/x.csv"),
        (
            "abfss://container@account.dfs.core.windows.net/x.csv",
            "abfss://container@account.dfs.core.windows.net/x.csv",
        ),
        ("s3://host:9000/a@b.csv", "s3://host:9000/a@b.csv"),
    ],
)
def test_a_password_in_a_url_is_not_shown(url: str, shown: str) -> None:
    assert tables._PASSWORD.sub("://", url) == shown


def test_a_translator_changes_keys_groups_pools_and_tags_everywhere(settings: Settings) -> None:
    class Prefixed(PaimonTranslator):
        def asset_key(self, spec: TableSpec) -> dg.AssetKey:
            return dg.AssetKey(["lake", *spec.name.split(".")])

        def group_name(self, spec: TableSpec) -> str:
            return "all"

        def pool(self, spec: TableSpec, role: str) -> str:
            return f"one_{role}"

        def tags(self, spec: TableSpec) -> dict[str, str]:
            return {"team": "shop"}

    definitions = build_definitions(settings, Prefixed())
    dg.Definitions.validate_loadable(definitions)
    monthly = asset(definitions, "lake.dws.monthly")
    spec = monthly.get_asset_spec()
    assert {dep.asset_key.to_user_string() for dep in spec.deps} == {"lake/ods/orders", "lake/dim/customers"}
    assert (spec.group_name, spec.tags["team"], monthly.node_def.pools) == ("all", "shop", {"one_write"})
    assert {key.asset_key.path[0] for key in definitions.resolve_asset_graph().asset_check_keys} == {"lake"}
    assert definitions.resolve_job_def("compact__ods_orders").graph.pools == {"one_compact"}
    assert definitions.resolve_job_def("nightly").graph.pools == {"one_maintain"}


def step_result(partitions: list[str] | None, snapshot: int | None = 7) -> StepResult:
    return StepResult(
        step="load ods.orders",
        table="ods.orders",
        snapshot_id=snapshot,
        row_count=10,
        rows_written=4,
        commits=() if snapshot is None else (snapshot,),
        levels_before={},
        levels_after={0: LevelSize(1, 10, 100)},
        seconds=0.1,
        details={"rows_read": 5, "rows_rejected": 1, "late_files": "data/2024-01-01.csv"},
    )


class FakeLoad:
    """Stands for ``load_table``: keeps its arguments, and answers by a function."""

    def __init__(self, answer: Callable[[list[str] | None], StepResult] = step_result) -> None:
        self.answer, self.calls = answer, list[dict[str, Any]]()

    def __call__(self, spark: Any, settings: Settings, name: str, partitions: Any = None, **more: Any) -> StepResult:
        self.calls.append({"name": name, "partitions": partitions, **more})
        return self.answer(partitions)


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dg.ExecuteInProcessResult]:
    definitions = build_definitions(settings)

    def execute(load: FakeLoad, name: str, **more: Any) -> dg.ExecuteInProcessResult:
        monkeypatch.setitem(sys.modules, "paimon_lake.loads.load", SimpleNamespace(load_table=load))
        job = definitions.resolve_implicit_global_asset_job_def()
        selected = dg.AssetKey(name.split("."))
        return job.get_subset(asset_selection={selected}, asset_check_selection=set()).execute_in_process(
            raise_on_error=False, **more
        )

    return execute


RANGE = {"dagster/asset_partition_range_start": "2024-01-01", "dagster/asset_partition_range_end": "2024-01-02"}


def test_a_run_loads_its_partitions_once_and_says_what_was_read(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    load = FakeLoad()
    result = run(load, "ods.orders", tags=RANGE)
    assert result.success
    (call,) = load.calls
    assert (call["name"], call["partitions"], call["reload"]) == ("ods.orders", ["2024-01-01", "2024-01-02"], False)
    assert call["run_key"] == f"{result.run_id} ods.orders 2024-01-01 2024-01-02"
    assert call["properties"]["dagster.run-id"] == result.run_id
    events = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    assert [event.partition for event in events] == ["2024-01-01", "2024-01-02"]
    said = {key: value.value for key, value in events[0].metadata.items()}
    assert [said[f"paimon/{key}"] for key in ("rows_read", "rows_written", "rows_rejected")] == [5, 4, 1]
    assert said["dagster/row_count"] == 10
    assert said["paimon/late_files"] == "data/2024-01-01.csv"
    assert (events[0].tags or {})["dagster/data_version"] == "snapshot-7"


def test_the_tables_that_a_load_brought_too_are_told(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    other = StepResult("load", "ods.orders", 7, 2, 2, (7,), {}, {0: LevelSize(1, 2, 3)}, 0.1)
    idle = replace(other, table="dws.monthly", commits=())
    result = run(lambda *_, **__: replace(other, table="dim.customers", others=(other, idle)), "dim.customers")
    told = {
        event.asset_key.to_user_string(): event.step_materialization_data.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key is not None
    }
    assert told.keys() == {"dim/customers", "ods/orders"}
    assert (told["ods/orders"].tags or {})["dagster/data_version"] == "snapshot-7"
    assert told["ods/orders"].metadata["paimon/rows_written"].value == 2


def test_what_a_load_committed_before_it_failed_is_materialized(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    kept = StepResult("load", "ods.orders", 7, 2, 2, (7,), {}, {0: LevelSize(1, 2, 3)}, 0.1)
    mine = replace(kept, table="dim.customers")
    error = TablesFailed("refused; kept", [kept, mine], {"dim.customers": PipelineError("refused")})
    calls = []

    def load(*_: Any, **__: Any) -> StepResult:
        calls.append(None)
        raise error

    result = run(load, "dim.customers")
    assert not result.success
    keys = [event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key]
    assert keys == ["ods/orders", "dim/customers"]
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    assert "refused; kept" in str(failure.event_specific_data)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("selected", "consistent", "steps"),
    [
        (("a",), "false", {"shop__a"}),
        (("a", "b"), "false", {"shop__b"}),
        (("a", "b"), "true", {"shop__a", "shop__b"}),
    ],
)
def test_a_table_that_failed_beside_the_loaded_one_fails_its_own_step_or_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, selected: tuple[str, ...], consistent: str, steps: set[str]
) -> None:
    mine = StepResult("load", "shop.a", 7, 2, 2, (7,), {}, {0: LevelSize(1, 2, 3)}, 0.1)
    refused = PipelineError("shop.b: refused")

    def load(spark: Any, settings: Settings, name: str, *_: Any, **__: Any) -> StepResult:
        raise refused if name == "shop.b" else TablesFailed("refused; kept", [mine], {"shop.b": refused})

    tables = {f"shop.{one}": f"source: {{type: postgres_changes, database: shop, table: s.{one}}}\n" for one in "ab"}
    database = f"{{url: 'postgresql://lake@db.example/shop', consistent: {consistent}}}"
    settings = declared_lake(tmp_path / "other", tables, f"warehouse: w\npostgres: {{shop: {database}}}\n")
    monkeypatch.setitem(sys.modules, "paimon_lake.loads.load", SimpleNamespace(load_table=load))
    job = build_definitions(settings).resolve_implicit_global_asset_job_def()
    keys = {dg.AssetKey(["shop", one]) for one in selected}
    job = job.get_subset(asset_selection=keys, asset_check_selection=set())
    result = job.execute_in_process(raise_on_error=False)
    assert not result.success
    assert {event.step_key for event in result.filter_events(lambda event: event.is_step_failure)} == steps
    (event,) = result.get_asset_materialization_events()
    assert event.asset_key == dg.AssetKey(["shop", "a"])


def test_a_run_of_one_partition_loads_only_this_one(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    load = FakeLoad()
    assert run(load, "ods.orders", partition_key="2024-01-02").success
    (call,) = load.calls
    assert call["partitions"] == ["2024-01-02"]
    assert call["properties"]["dagster.partitions"] == "2024-01-02"


def test_a_table_without_partitions_is_loaded_whole_in_a_run_of_partitions(
    run: Callable[..., dg.ExecuteInProcessResult],
) -> None:
    load = FakeLoad()
    assert run(load, "dim.customers", tags=RANGE).success
    assert load.calls[0]["partitions"] is None
    assert "dagster.partitions" not in load.calls[0]["properties"]


def test_a_reload_is_asked_for_in_the_config_of_the_run(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    load = FakeLoad()
    config = {"ops": {"dim__customers": {"config": {"reload": True}}}}
    assert run(load, "dim.customers", run_config=config).success
    assert (load.calls[0]["partitions"], load.calls[0]["reload"]) == (None, True)


def test_a_repeated_run_has_the_key_of_the_first(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    failing = FakeLoad(lambda keys: (_ for _ in ()).throw(OSError("the network is gone")))
    result = run(failing, "dim.customers")
    assert not result.success
    assert {call["run_key"] for call in failing.calls} == {f"{result.run_id} dim.customers"}
    assert len(failing.calls) == 2, "an error of the machine is tried again"


def test_a_failed_check_is_not_tried_again(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    failing = FakeLoad(lambda keys: (_ for _ in ()).throw(AuditFailed("3 rows are wrong")))
    result = run(failing, "dim.customers")
    assert not result.success
    assert len(failing.calls) == 1
    assert result.get_asset_materialization_events() == []


def test_checks_that_ran_inside_a_load_are_in_its_history(run: Callable[..., dg.ExecuteInProcessResult]) -> None:
    found = CheckResult("unique_id", "dim.customers", 0, "no value occurs twice")
    passed = FakeLoad(lambda keys: replace(step_result(keys), check_results=(found,)))
    refused = AuditFailed("2 rows are wrong")
    refused.check_results = (replace(found, wrong=2, sentence="2 rows repeat a value", severity="warn"),)
    failed = FakeLoad(lambda keys: (_ for _ in ()).throw(refused))
    (good,), (bad,) = (run(load, "dim.customers").get_asset_check_evaluations() for load in (passed, failed))
    assert (good.check_name, good.passed, good.description) == ("unique_id", True, "no value occurs twice")
    assert (bad.passed, bad.severity.value, bad.description) == (False, "WARN", "2 rows repeat a value")
    assert bad.asset_key == dg.AssetKey(["dim", "customers"])


def test_a_table_without_a_snapshot_has_no_data_version_of_its_own(
    run: Callable[..., dg.ExecuteInProcessResult],
) -> None:
    result = run(FakeLoad(lambda keys: step_result(keys, snapshot=None)), "dim.customers")
    (event,) = result.get_asset_materialization_events()
    version = (event.step_materialization_data.materialization.tags or {})["dagster/data_version"]
    assert "snapshot" not in version
