"""The sensor of commits that Dagster did not make: real commits, and the ticks of a daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from paimon_core.table.table import Table
from paimon_dagster.lake import build_definitions
from paimon_dagster.sensors import commits_sensor as sensor
from paimon_lake.declarations import Settings
from paimon_lake.loads import outside_commits
from paimon_lake.tables import open_lake, open_table
from tests.support.declared_lakes import written_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

DAYS, PLAIN = "ods.days", "ods.plain"
TABLES = {
    DAYS: """\
partition_by: [day]
columns: {day: DATE, id: BIGINT}
primary_key: [day, id]
options: {bucket: '1', write-only: 'true'}
partitions: {by: day, start: 2024-01-01, end: 2024-01-09, column: day}
""",
    PLAIN: "options: {bucket: '1'}\ncolumns: {id: BIGINT}\nprimary_key: [id]\n",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = written_lake(tmp_path / "lake", TABLES)
    for name in found.tables:
        open_table(found, name, create=True)
    return found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@dataclass
class Daemon:
    """Ticks as the daemon runs them: it stores the events, then the cursor."""

    instance: dg.DagsterInstance
    settings: Settings
    cursor: str | None = None
    skipped: list[str] = field(default_factory=list)

    def tick(self, *, dies: bool = False) -> list[tuple[str, str | None, int]]:
        """Return (table, partition, snapshot) of the materializations; a daemon that ``dies`` stores no cursor."""
        definitions = build_definitions(self.settings)
        lake = definitions.resources["lake"]  # type: ignore[index]
        with dg.build_sensor_context(self.instance, cursor=self.cursor, resources={"lake": lake}) as context:
            found = definitions.resolve_sensor_def("commits").evaluate_tick(context)
        self.skipped.append(found.skip_message or "")
        for event in found.asset_events:
            self.instance.report_runless_asset_event(event)
        if not dies:
            self.cursor = found.cursor
        return [
            (e.asset_key.path[-1], e.partition, int(str(e.metadata["paimon/snapshot_id"].value)))
            for e in found.asset_events
            if isinstance(e, dg.AssetMaterialization)
        ]


@pytest.fixture
def daemon(instance: dg.DagsterInstance, settings: Settings) -> Daemon:
    return Daemon(instance, settings)


def write(settings: Settings, name: str = DAYS, days: tuple[int, ...] = (1,), **more: Any) -> Table:
    table = open_table(settings, name)
    columns: dict[str, Any] = {"id": range(len(days))}
    if name == DAYS:
        columns["day"] = pa.array([19722 + day for day in days], pa.int32()).cast(pa.date32())
    table.write(pa.table(columns), **more)
    return table


def test_commits_appear_once_as_materializations_of_their_partitions(daemon: Daemon, settings: Settings) -> None:
    assert daemon.tick() == []
    write(settings, days=(1, 2))
    write(settings, PLAIN)
    write(settings, days=(2,), properties={"dagster.run-id": "7"})
    assert daemon.tick() == [("days", "2024-01-01", 1), ("days", "2024-01-02", 1), ("plain", None, 1)]
    assert daemon.tick() == []
    write(settings, days=(3,))
    restarted = Daemon(daemon.instance, settings, daemon.cursor)
    assert restarted.tick() == [("days", "2024-01-03", 3)]
    assert restarted.tick() == []
    asset = dg.AssetKey(["ods", "days"])
    assert daemon.instance.get_materialized_partitions(asset) == {"2024-01-01", "2024-01-02", "2024-01-03"}
    event = daemon.instance.get_latest_materialization_event(asset)
    assert event is not None
    made = event.asset_materialization
    assert made is not None
    assert (made.tags or {})["dagster/data_version"] == "snapshot-3"
    assert "data:image/svg+xml" in str(made.metadata["paimon/health"].value)
    assert made.metadata["paimon/rows_in_files_added"].value == 1


def test_a_daemon_that_ends_before_its_cursor_and_a_reset_cursor_report_nothing_twice(
    daemon: Daemon, settings: Settings
) -> None:
    for day in (1, 2, 3):
        write(settings, days=(day,))
    assert len(daemon.tick(dies=True)) == 3
    assert daemon.tick() == []
    daemon.cursor = None
    write(settings, days=(4,))
    assert daemon.tick() == [("days", "2024-01-04", 4)]
    daemon.cursor = '{"ods.days": "damaged"}'
    assert daemon.tick() == []


def test_compactions_and_statistics_are_no_materializations(daemon: Daemon, settings: Settings) -> None:
    for _ in range(2):
        table = write(settings)
    table.compact(full=True)
    table.analyze()
    table.maintenance.compact_manifests()
    assert table.latest_snapshot().id >= 4  # type: ignore[union-attr]
    assert [snapshot for _, _, snapshot in daemon.tick()] == [1, 2]
    assert daemon.tick() == []


def test_a_table_that_was_created_again_starts_anew(daemon: Daemon, settings: Settings) -> None:
    for day in (1, 2):
        write(settings, days=(day,))
    assert len(daemon.tick()) == 2
    open_lake(settings).drop_table(DAYS)
    assert daemon.tick() == []
    open_table(settings, DAYS, create=True)
    for day in (5, 6, 7):
        write(settings, days=(day,))
    assert [key for _, key, _ in daemon.tick()] == ["2024-01-05", "2024-01-06", "2024-01-07"]
    assert "ods.days: the table was dropped and created again" in daemon.skipped[-1]
    assert daemon.tick() == []


def test_after_a_rollback_only_new_commits_are_reported(daemon: Daemon, settings: Settings) -> None:
    for day in (1, 2, 3):
        table = write(settings, days=(day,))
    assert len(daemon.tick()) == 3
    table.rollback(snapshot=1)
    assert daemon.tick() == []
    assert "ods.days: it was rolled back to snapshot 1" in daemon.skipped[-1]
    write(settings, days=(8,))
    assert daemon.tick() == [("days", "2024-01-08", 2)]
    table.refresh().rollback(snapshot=1)
    write(settings, days=(9,))
    write(settings, days=(9,))
    assert daemon.tick() == [("days", "2024-01-09", 2), ("days", "2024-01-09", 3)]
    assert daemon.tick() == []


def test_a_rollback_of_more_snapshots_than_are_remembered(
    daemon: Daemon, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_commits, "REMEMBERED", 2)
    for day in (1, 2, 3, 4):
        table = write(settings, days=(day,))
    assert len(daemon.tick()) == 4
    table.rollback(snapshot=1)
    write(settings, days=(8,))
    assert daemon.tick() == [("days", "2024-01-08", 2)], "the first commit was reported before"
    assert "rolled back below snapshot 3" in daemon.skipped[-1]


def test_snapshots_that_expired_between_two_looks_are_told(
    daemon: Daemon, settings: Settings, instance: dg.DagsterInstance
) -> None:
    write(settings)
    daemon.tick()
    for day in (2, 3, 4):
        table = write(settings, days=(day,))
    table.expire_snapshots(keep_last=1, keep_max=1)
    assert daemon.tick() == [("days", "2024-01-04", 4)]
    assert "ods.days: snapshots 2 to 3 expired before they were seen" in daemon.skipped[-1]
    (record,) = instance.fetch_observations(dg.AssetKey(["ods", "days"]), limit=9).records
    assert record.asset_observation is not None
    assert record.asset_observation.metadata["paimon/missed_snapshots"].value == 2
    assert daemon.tick() == []
    assert len(instance.fetch_observations(dg.AssetKey(["ods", "days"]), limit=9).records) == 1


def test_a_tick_is_bounded_and_the_next_continues_within_a_commit(
    daemon: Daemon, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensor, "MOST_EVENTS", 2)
    write(settings, days=(1, 2, 3, 4, 5))
    write(settings, days=(6,))
    write(settings, PLAIN)
    ticks = [daemon.tick() for _ in range(5)]
    assert [len(found) for found in ticks] == [2, 2, 2, 1, 0]
    found = [one for tick in ticks for one in tick]
    days = [("days", f"2024-01-0{day}", 2 if day == 6 else 1) for day in range(1, 7)]
    assert found == [*days, ("plain", None, 1)]
    assert "ods.plain: is looked at in the next tick" in daemon.skipped[0]


def test_a_damaged_table_does_not_stop_the_others(daemon: Daemon, settings: Settings) -> None:
    write(settings)
    write(settings, PLAIN)
    for path in Path(open_table(settings, DAYS).location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    assert daemon.tick() == [("plain", None, 1)]
    assert "ods.days: " in daemon.skipped[-1]
    assert DAYS not in json.loads(daemon.cursor or "")


def test_partitions_outside_of_the_declaration_are_told(daemon: Daemon, settings: Settings) -> None:
    write(settings, days=(9, 20))
    assert daemon.tick() == [("days", "2024-01-09", 1)]
    write(settings, days=(21,))
    assert daemon.tick() == [("days", None, 2)]
    event = daemon.instance.get_latest_materialization_event(dg.AssetKey(["ods", "days"]))
    assert event is not None
    assert event.asset_materialization is not None
    note = event.asset_materialization.metadata["paimon/note"].value
    assert note == "it also wrote partitions that Dagster does not have: 2024-01-21"
