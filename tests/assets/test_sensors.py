import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from paimon_dagster.lake import build_definitions
from paimon_dagster.sensors.compaction_sensor import Decision, decide
from paimon_lake.declarations import Compaction, Settings, TableSpec
from paimon_lake.tables import open_table
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")


@pytest.fixture
def spec() -> TableSpec:
    marks = Compaction(start_at_runs=4, stop_at_runs=2)
    return TableSpec(name="ods.orders", columns={"id": "BIGINT"}, primary_key=("id",), compaction=marks)


@pytest.mark.parametrize(
    ("runs", "pressed", "in_flight", "expected"),
    [
        (3, False, False, (False, None)),  # below the upper mark: nothing yet
        (4, False, False, (True, False)),  # at it: a minor compaction
        (12, False, False, (True, True)),  # far above it: a full one
        (3, True, False, (True, True)),  # the minor one left it above the lower mark: a full one
        (2, True, False, (False, None)),  # down to the lower mark: released
        (9, False, True, (False, None)),  # one is under way
        (9, True, True, (True, None)),
    ],
)
def test_the_rule(spec: TableSpec, runs: int, pressed: bool, in_flight: bool, expected: tuple[bool, bool]) -> None:
    decision = decide(spec, runs, pressed=pressed, in_flight=in_flight)
    assert (decision.pressed, decision.full) == expected


def test_a_compaction_that_readers_wait_for_comes_below_the_marks(spec: TableSpec) -> None:
    decision = decide(spec, 1, pressed=False, in_flight=False, awaited=True)
    assert (decision.pressed, decision.full) == (False, False)
    assert decide(spec, 1, pressed=False, in_flight=True, awaited=True).full is None
    assert decide(spec, 12, pressed=False, in_flight=False, awaited=True).full is True


def test_the_reason_names_table_and_runs(spec: TableSpec) -> None:
    assert decide(spec, 1, pressed=False, in_flight=False) == Decision(False, None, "ods.orders: 1 runs (from 4 on)")


ROWS = pa.table({"id": [1]})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two tables, each with two runs, which is too many."""
    text = "options: {bucket: '1', write-only: 'true'}\ncompaction: {start_at_runs: 2}\n"
    found = declared_lake(tmp_path / "lake", {"ods.a": text, "ods.b": text})
    for name in found.tables:
        for _ in range(2):
            open_table(found, name, create=True).write(ROWS)
    return found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def tick(instance: dg.DagsterInstance, settings: Settings, cursor: str = "[]") -> dg.SensorResult:
    definitions = build_definitions(settings)
    lake = definitions.resources["lake"]  # type: ignore[index]
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources={"lake": lake}) as context:
        found = definitions.resolve_sensor_def("compaction").evaluate_tick(context)
    return dg.SensorResult(run_requests=found.run_requests, cursor=found.cursor)


def test_a_damaged_table_does_not_stop_the_others(instance: dg.DagsterInstance, settings: Settings) -> None:
    for path in Path(open_table(settings, "ods.a").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    found = tick(instance, settings, '["ods.a"]')
    assert [request.tags["paimon/table"] for request in found.run_requests or []] == ["ods.b"]
    assert json.loads(found.cursor or "") == ["ods.a", "ods.b"], "it is still under pressure"


def test_after_a_rollback_the_same_snapshot_number_is_requested_again(
    instance: dg.DagsterInstance, settings: Settings
) -> None:
    def key() -> str | None:
        requests = tick(instance, settings).run_requests or []
        return next(request.run_key for request in requests if request.tags["paimon/table"] == "ods.a")

    before = key()
    assert before == key()
    table = open_table(settings, "ods.a")
    table.rollback(snapshot=1)
    table.write(ROWS)
    assert key() != before
