"""The flights as declared: their assets, what they depend on, partitions, checks and jobs."""

import dagster as dg
import pytest

from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import environments, load_settings
from tests.support.project import CONFIGS

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

FETCHED = {
    "dim.airlines",
    "dim.airports",
    "dim.planes",
    "ods.cancellations",
    "ods.flights",
    "ods.weather",
}
TABLES = FETCHED | {"dwd.flight_wide", "dws.carrier_day"}


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(load_settings("local", warehouse="/nowhere/lake", configs=CONFIGS))


def asset(definitions: dg.Definitions, name: str) -> dg.AssetsDefinition:
    return definitions.resolve_assets_def(dg.AssetKey(name.split(".")))


@pytest.mark.parametrize("environment", environments(CONFIGS))
def test_the_definitions_load_in_each_environment(environment: str) -> None:
    dg.Definitions.validate_loadable(build_definitions(load_settings(environment, configs=CONFIGS)))


def test_the_tables_their_checks_and_their_jobs(definitions: dg.Definitions) -> None:
    keys = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    sources = {f"source/{name.replace('.', '/')}" for name in FETCHED}
    assert keys == {name.replace(".", "/") for name in TABLES} | sources | {"lake/health"}
    graph = definitions.resolve_asset_graph()
    checks = {name: set[str]() for name in TABLES}
    for key in graph.asset_check_keys:
        checks[".".join(key.asset_key.path)].add(key.name)
    audits = {"rows", "keys", "files", "fsck", "health", "unique"}
    own = {
        "dwd.flight_wide": {"parts_complete_time_hour", "stale"},
        "dws.carrier_day": {"counts_every_flight", "stale"},
        "ods.flights": {"not_null_dep_time", "accepted_values_origin"},
        "ods.weather": {"range_humid"},
    }
    assert checks == {name: audits | own.get(name, set()) for name in TABLES}
    jobs = {job.name for job in definitions.resolve_all_job_defs() if not job.name.startswith("_")}
    compactions = {f"compact__{name.replace('.', '_')}" for name in TABLES}
    assert jobs == {
        *compactions,
        "nightly",
        "sweep",
        "doctor",
        "maintain",
        "audit",
        *("health", "sort", "rescale", "expire", "tag", "branch", "delete", "rollback", "reload"),
        "load__dwd_flight_wide",
        "load__dws_carrier_day",
    }
    sensors = {sensor.name for sensor in definitions.get_repository_def().sensor_defs}
    assert sensors == {"compaction", "commits", "inputs", "stale_partitions"}


def test_partitions_and_backfill_policies(definitions: dg.Definitions) -> None:
    found = {}
    for name in TABLES:
        one = asset(definitions, name)
        if one.partitions_def is not None:
            assert one.backfill_policy is not None
            keys = one.partitions_def.get_partition_keys()
            found[name] = (len(keys), keys[0], keys[-1], one.backfill_policy.max_partitions_per_run)
    assert found == {
        "ods.flights": (365, "2013-01-01", "2013-12-31", 92),
        "ods.cancellations": (365, "2013-01-01", "2013-12-31", 92),
        "ods.weather": (12, "2013-01", "2013-12", 12),
        "dwd.flight_wide": (12, "2013-01", "2013-12", 12),
        "dws.carrier_day": (12, "2013-01", "2013-12", 12),
    }


def test_wide_flights_need_the_inputs_of_all_parts(definitions: dg.Definitions) -> None:
    deps = {dep.asset_key.to_user_string() for dep in asset(definitions, "dwd.flight_wide").get_asset_spec().deps}
    assert deps == {"dim/planes", "ods/flights", "ods/weather"}


def test_a_month_of_carrier_days_needs_its_days_of_flights(definitions: dg.Definitions) -> None:
    (dep,) = asset(definitions, "dws.carrier_day").get_asset_spec().deps
    assert dep.asset_key == dg.AssetKey(["ods", "flights"])
    assert isinstance(dep.partition_mapping, dg.TimeWindowPartitionMapping)
    flights, months = (asset(definitions, name).partitions_def for name in ("ods.flights", "dws.carrier_day"))
    assert flights is not None
    assert months is not None
    mapped = dep.partition_mapping.get_upstream_mapped_partitions_result_for_partitions(
        months.subset_with_partition_keys(["2013-02"]), months, flights
    )
    days = list(mapped.partitions_subset.get_partition_keys())
    assert (len(days), days[0], days[-1]) == (28, "2013-02-01", "2013-02-28")
