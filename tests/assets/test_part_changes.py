"""Runs of Dagster that load a wide table whose parts follow tables of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import psycopg
import pytest

from paimon_dagster import resources
from paimon_dagster.instance import open_instance
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import SparkResource
from paimon_lake.loads import write_tasks
from paimon_lake.loads.ledger.ledger import read_ledger
from tests.support.lakes import SmallLake, small_lake
from tests.support.postgres import PASSWORD, PostgresServer, remove_followed, running_server
from tests.support.tasks import in_this_process

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")
server = pytest.fixture(running_server, scope="module")
KEY = dg.AssetKey(["d", "wide"])
WIDE = """
    columns: {id: BIGINT, a: INT, a_at: BIGINT, b: STRING, b_at: BIGINT, c: INT, c_at: INT}
    primary_key: id
    parts:
      first:
        source: {type: postgres_changes, url: "URL", table: s.a, schema_changes: apply}
        columns: a
        order_by: a_at
      second: {source: {type: postgres_changes, url: "URL", table: s.b}, columns: b, order_by: b_at}
      third: {source: {type: files, path: "c/*.csv"}, columns: c, order_by: c_at}
    schedule: {on: changes}
    checks: [{type: lag, max_bytes: 0}]
"""
Run = Callable[[], dg.ExecuteInProcessResult]


@pytest.fixture
def database(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection[Any]]:
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with psycopg.connect(server.uri().replace("+psycopg", ""), autocommit=True) as connection:
        remove_followed(connection)
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.a (id int PRIMARY KEY, a int)")
        connection.execute("CREATE TABLE s.b (id int PRIMARY KEY, b text)")
        connection.execute("INSERT INTO s.a VALUES (1, 10), (2, 20)")
        connection.execute("INSERT INTO s.b VALUES (2, 'x'), (3, 'y')")
        yield connection
        remove_followed(connection)


@pytest.fixture
def lake(tmp_path: Path, server: PostgresServer, database: psycopg.Connection[Any]) -> SmallLake:
    made = small_lake(tmp_path / "lake")
    url = server.uri().replace("+psycopg", "").replace(PASSWORD, "${DATABASE_PASSWORD}")
    made.declare("d.wide", WIDE.replace("URL", url))
    made.file("c/1.csv", "id,c,c_at\n1,5,1\n")
    Path(made.settings.warehouse).mkdir()
    return made


@pytest.fixture
def run(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    monkeypatch.setattr(resources, "start_session", lambda settings: session)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    monkeypatch.setenv("DAGSTER_HOME", "")
    job = build_definitions(lake.settings).resolve_implicit_global_asset_job_def()
    with open_instance(lake.settings) as instance:
        yield lambda: job.execute_in_process(instance=instance, raise_on_error=False, asset_selection=[KEY])


def metadata_of(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    (event,) = result.get_asset_materialization_events()
    found = event.step_materialization_data.materialization.metadata
    return {name: value.value for name, value in found.items()}


def failure_of(result: dg.ExecuteInProcessResult) -> tuple[str, dict[str, Any]]:
    """Return the sentence and the metadata of the only failure of a run."""
    assert not result.success
    (event,) = [event for event in result.all_events if event.is_step_failure]
    data = event.step_failure_data.user_failure_data
    assert data is not None
    return str(data.description), {name: value.value for name, value in data.metadata.items()}


def position(lake: SmallLake, part: str) -> str:
    found: Any = read_ledger(lake.table("d.wide"), f"d.wide part {part}").position
    return str(found["lsn"])


def test_the_asset_has_a_source_for_each_part_and_no_password(lake: SmallLake) -> None:
    definitions = build_definitions(lake.settings)
    specs = {spec.key.to_user_string(): spec for spec in definitions.resolve_all_asset_specs()}
    (wide,) = (spec for name, spec in specs.items() if name == "d/wide")
    assert {dep.asset_key.to_user_string() for dep in wide.deps} == {
        "source/d/wide/first",
        "source/d/wide/second",
        "source/d/wide/third",
    }
    assert specs["source/d/wide/first"].metadata["paimon/table"] == "s.a"
    assert specs["source/d/wide/second"].kinds == {"postgres"}
    assert PASSWORD not in str(specs)


def test_a_run_loads_all_parts_and_tells_the_position_and_the_lag_of_each(
    lake: SmallLake, run: Run, database: psycopg.Connection[Any]
) -> None:
    copied = metadata_of(run())
    assert [(row[0], row[1], row[3], row[5]) for row in lake.rows("d.wide")] == [
        (1, 10, None, 5),
        (2, 20, "x", None),
        (3, None, "y", None),
    ]
    assert (copied["paimon/rows_written"], copied["dagster/row_count"]) == (5, 3)
    database.execute("UPDATE s.a SET a = 11 WHERE id = 1")
    database.execute("INSERT INTO s.a VALUES (3, 30)")
    database.execute("DELETE FROM s.b WHERE id = 3")
    database.execute("ALTER TABLE s.a ADD d int")
    database.execute("UPDATE s.a SET d = 7 WHERE id = 2")
    changed = metadata_of(run())
    assert [(row[0], row[1], row[3], row[5], row[7]) for row in lake.rows("d.wide")] == [
        (1, 11, None, 5, None),
        (2, 20, "x", None, 7),
        (3, 30, None, None, None),
    ]
    assert (changed["paimon/changes"], changed["paimon/transactions"]) == (4, 4)
    assert changed["paimon/first_schema_changes"] == "the new column d of the source is INT in the table"
    assert changed["paimon/part_third"] == "1 files loaded before"
    idle = metadata_of(run())
    for told in (copied, changed, idle):
        for part in ("first", "second"):
            assert told[f"paimon/{part}_lag_bytes"] == 0
            assert told[f"paimon/{part}_lag_seconds"] == 0.0
            assert told[f"paimon/{part}_slot_bytes"] >= 0
    for part in ("first", "second"):
        assert changed[f"paimon/{part}_position"] == position(lake, part)
        assert idle[f"paimon/{part}_position"] == position(lake, part)
    # "all changes" when the server itself has written to its log meanwhile
    assert idle["paimon/part_second"].startswith(
        tuple(f"{x} changes of postgresql://127.0.0.1:" for x in ("no", "all"))
    )


def test_a_part_that_fails_fails_the_step_and_the_commits_of_the_others_stay(
    lake: SmallLake, run: Run, database: psycopg.Connection[Any]
) -> None:
    assert run().success
    database.execute("UPDATE s.a SET a = 12 WHERE id = 1")
    database.execute("ALTER TABLE s.b ADD e int")
    database.execute("UPDATE s.b SET b = 'z', e = 1 WHERE id = 2")
    before = position(lake, "second")
    failed = run()
    text, told = failure_of(failed)
    assert "part second failed: d.wide: postgresql://127.0.0.1:" in text
    assert "s.b has new columns: e." in text
    assert "part first failed" not in text
    assert PASSWORD not in str(failed.all_events)
    assert told["paimon/first_position"] == position(lake, "first")
    assert told["paimon/part_second"].startswith("failed: d.wide: ")
    kept = metadata_of(failed)
    assert (kept["paimon/rows_written"], kept["paimon/first_lag_bytes"]) == (1, 0)
    assert position(lake, "second") == before
    assert [(row[0], row[1], row[3]) for row in lake.rows("d.wide")] == [(1, 12, None), (2, 20, "x"), (3, None, "y")]
    database.execute("ALTER TABLE s.b DROP e")
    database.execute("UPDATE s.b SET b = 'again' WHERE id = 3")
    text, _ = failure_of(run())
    assert "part second failed" in text
    path = lake.folder / "tables" / "d.wide.yaml"
    path.write_text(path.read_text().replace("table: s.b", "table: s.b, schema_changes: ignore"))
    done = metadata_of(run_of(lake))
    assert done["paimon/part_second"].startswith("2 rows written in snapshot 5, all changes of ")
    assert [(row[0], row[1], row[3]) for row in lake.rows("d.wide")] == [
        (1, 12, None),
        (2, 20, "z"),
        (3, None, "again"),
    ]


def test_all_parts_that_fail_are_named_and_nothing_is_materialized(
    lake: SmallLake, run: Run, database: psycopg.Connection[Any]
) -> None:
    assert run().success
    database.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    failed = run()
    text, told = failure_of(failed)
    for part in ("first", "second"):
        assert f"part {part} failed: d.wide: " in text
        assert "does not exist, so changes may be missing: load the table with reload" in told[f"paimon/part_{part}"]
    assert failed.get_asset_materialization_events() == []


def test_the_sensor_requests_a_run_for_a_part_that_is_behind_and_the_check_of_the_lag_names_it(
    lake: SmallLake, run: Run, database: psycopg.Connection[Any]
) -> None:
    assert run().success
    definitions = build_definitions(lake.settings)
    repository = definitions.get_repository_def()

    def tick(instance: dg.DagsterInstance) -> Any:
        with dg.build_sensor_context(
            instance_ref=instance.get_ref(),
            resources={"lake": definitions.resources["lake"]},  # type: ignore[index]
            repository_def=repository,
        ) as context:
            return definitions.resolve_sensor_def("changes").evaluate_tick(context)

    def checked(instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
        job = definitions.resolve_implicit_global_asset_job_def()
        only = job.get_subset(asset_check_selection={dg.AssetCheckKey(KEY, "lag")}, asset_selection=set())
        (found,) = only.execute_in_process(instance=instance, raise_on_error=False).get_asset_check_evaluations()
        return found

    with open_instance(lake.settings) as instance:
        assert not tick(instance).run_requests
        database.execute("UPDATE s.b SET b = 'later'")
        (request,) = tick(instance).run_requests
        assert request.job_name == "load__d_wide"
        evaluation = checked(instance)
    told: dict[str, Any] = {name: value.value for name, value in evaluation.metadata.items()}
    assert not evaluation.passed
    assert told["paimon/first_lag_bytes"] == 0
    assert told["paimon/second_lag_bytes"] > 0
    assert "part second" in str(evaluation.description)


def run_of(lake: SmallLake) -> dg.ExecuteInProcessResult:
    """Run the asset as it is declared now."""
    job = build_definitions(lake.settings).resolve_implicit_global_asset_job_def()
    with open_instance(lake.settings) as instance:
        return job.execute_in_process(instance=instance, raise_on_error=False, asset_selection=[KEY])
