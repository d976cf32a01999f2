"""What is audited before it is published, and what is published together; without Spark."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import CommitConflict, StorageError
from paimon_core.group import group
from paimon_core.group.store import GroupStore
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.table.table import Table
from pipelines import audited, dimensions, source
from pipelines.audited import write_audited
from pipelines.carrier_day import CARRIER_DAY, wrong_months
from pipelines.dimensions import DIMENSIONS, dimension_group, load_dimension, load_dimensions
from pipelines.flights import FLIGHTS
from pipelines.lake import Settings, load_settings
from pipelines.protocol import AuditFailed
from pipelines.tables import open_table

LOAD: dict[str, Any] = {"user": "load", "identifier": 1, "properties": {}}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings("local", warehouse=str(tmp_path / "lake"))


def written(table: Table, rows: pa.Table) -> list[CommitMessage]:
    with table.writer() as writer:
        writer.write(rows)
        return writer.flush()


@pytest.fixture
def table(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Table:
    """Carrier days with one row; what is "written by Spark" is a table of Arrow."""
    monkeypatch.setattr(audited, "write_messages", lambda frame, table, overwrites: written(table, frame))
    table = open_table(settings, CARRIER_DAY, create=True)
    table.write(counted(1, 5))
    return table


def counted(day: int, flights: int) -> pa.Table:
    row = {"month": "2013-01", "date": date(2013, 1, day), "carrier": "UA", "flights": flights, "arrived": flights}
    return pa.Table.from_pylist([row])


def data_files(table: Table) -> set[str]:
    return {f.path for f in table.context.storage.walk(table.location)}


def test_a_failing_audit_leaves_the_table_as_it_was(table: Table) -> None:
    before = data_files(table)
    with pytest.raises(AuditFailed, match=r"dws.carrier_day was not changed.*: 7 flights in 2"):
        write_audited(counted(2, 7), table, lambda after: [f"7 flights in {after.latest_snapshot().id}"], **LOAD)
    assert data_files(table) == before
    assert table.scan(columns=["flights"]).to_arrow()["flights"].to_pylist() == [5]
    with pytest.raises(ZeroDivisionError):
        write_audited(counted(2, 7), table, lambda after: [str(1 // 0)], **LOAD)
    assert data_files(table) == before


def test_what_was_audited_is_published_once(table: Table) -> None:
    seen = []

    def fine(after: Any) -> list[str]:
        seen.append(after.scan(columns=["flights"]).to_arrow()["flights"].to_pylist())
        return []

    first = write_audited(counted(2, 7), table, fine, **LOAD)
    assert first is not None
    assert (first.id, first.commit_kind, seen) == (2, "OVERWRITE", [[7]])
    again = write_audited(counted(2, 8), table, fine, **LOAD)
    assert (again, table.latest_snapshot()) == (first, first)
    assert table.scan(columns=["flights"]).to_arrow()["flights"].to_pylist() == [7]


def test_it_is_audited_again_when_others_commit(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def disturbed(after: Any) -> list[str]:
        seen.append(after.latest_snapshot().id)
        if len(seen) == 1:
            table.write(counted(3, 1))
        return []

    snapshot = write_audited(counted(2, 7), table, disturbed, **LOAD)
    assert snapshot is not None
    assert (snapshot.id, seen) == (3, [2, 3])
    monkeypatch.setattr(audited, "_TRIES", 1)

    def always_disturbed(after: Any) -> list[str]:
        table.write(counted(3, 2))
        return []

    with pytest.raises(CommitConflict):
        write_audited(counted(4, 1), table, always_disturbed, **LOAD | {"identifier": 2})


def test_carrier_days_must_count_the_flights_there_are(settings: Settings, table: Table) -> None:
    flights = open_table(settings, FLIGHTS, create=True)
    keys = {"month": ["2013-01"] * 5, "date": [date(2013, 1, 1)] * 5, "carrier": ["UA"] * 5, "origin": ["JFK"] * 5}
    flights.write(pa.table({**keys, "flight": pa.array(range(5), pa.int32())}))
    assert wrong_months(flights, table, ["2013-01", "2013-02"]) == []
    table.write(counted(2, 1))
    assert wrong_months(flights, table, ["2013-01"]) == ["2013-01 counts 6 flights of 5"]


# -- dimensions


@pytest.fixture
def written_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tables whose files were written, in order."""
    names: list[str] = []

    def messages(spark: Any, settings: Settings, name: str) -> list[CommitMessage]:
        names.append(name)
        table = open_table(settings, name)
        key = table.schema.primary_keys[0]
        return written(table, pa.table({key: [source.fingerprint(DIMENSIONS[name]), "b"]}))

    monkeypatch.setattr(dimensions, "_messages", messages)
    return names


def none() -> Any:
    raise AssertionError("no Spark is needed")


def latest(settings: Settings) -> dict[str, int | None]:
    snapshots = {name: open_table(settings, name).latest_snapshot() for name in DIMENSIONS}
    return {name: None if snapshot is None else snapshot.id for name, snapshot in snapshots.items()}


def test_dimensions_are_one_version_and_once(settings: Settings, written_here: list[str]) -> None:
    results = load_dimensions(none, settings, properties={"dagster.run-id": "r1"})
    assert [r.commits for r in results] == [(1,)] * 3
    version = dimension_group(settings).latest()
    assert version is not None
    assert {name: member.snapshot for name, member in version.tables.items()} == dict.fromkeys(DIMENSIONS, 1)
    assert version.properties["dagster.run-id"] == "r1"
    again = load_dimensions(none, settings)
    assert [(r.commits, r.skipped) for r in again] == [((), ("rows",))] * 3
    assert written_here == list(DIMENSIONS)
    assert latest(settings) == dict.fromkeys(DIMENSIONS, 1)


def test_a_new_source_replaces_its_table_alone(
    settings: Settings, written_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_dimensions(none, settings)
    known = source.fingerprint
    monkeypatch.setattr(source, "fingerprint", lambda file: "new" if file is source.PLANES else known(file))
    load_dimensions(none, settings)
    assert written_here[3:] == ["dim.planes"]
    assert latest(settings) == {"dim.planes": 2, "dim.airlines": 1, "dim.airports": 1}
    group = dimension_group(settings)
    assert sorted(group.table("dim.planes").scan().to_arrow()["tailnum"].to_pylist()) == ["b", "new"]
    assert known(source.PLANES) in group.table("dim.planes", 1).scan().to_arrow()["tailnum"].to_pylist()
    assert load_dimension(none, settings, "dim.airlines").commits == ()


def test_a_publisher_that_died_is_finished_by_the_next(
    settings: Settings, written_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, calls = group.commit_part, []

    def dies_at_the_second(table: Table, *rest: Any) -> Any:
        calls.append(table.name)
        if len(calls) == 2:
            raise StorageError("the power went")
        return finish(table, *rest)

    monkeypatch.setattr(group, "commit_part", dies_at_the_second)
    with pytest.raises(StorageError):
        load_dimensions(none, settings)
    assert sorted(v is None for v in latest(settings).values()) == [False, True, True]
    again = load_dimensions(none, settings)
    assert [r.skipped for r in again] == [("rows",)] * 3
    assert latest(settings) == dict.fromkeys(DIMENSIONS, 1)
    assert written_here == list(DIMENSIONS), "nothing was written again"


def test_a_rollback_of_a_table_lets_it_be_loaded_again(settings: Settings, written_here: list[str]) -> None:
    table = open_table(settings, "dim.airlines", create=True)
    table.write(pa.table({"carrier": ["old"]}))
    load_dimensions(none, settings)
    open_table(settings, "dim.airlines").rollback(snapshot=1)
    assert load_dimension(none, settings, "dim.airlines").commits == (2,)
    assert written_here == [*DIMENSIONS, "dim.airlines"]


def test_old_versions_are_forgotten(
    settings: Settings, written_here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dimensions, "_VERSIONS_KEPT", 2)
    for number in range(4):
        monkeypatch.setattr(source, "fingerprint", lambda file, number=number: f"v{number}")
        load_dimensions(none, settings)
    store: GroupStore = dimension_group(settings).store
    assert store.numbers("version") == [3, 4]
    tags = [tag.name for tag in open_table(settings, "dim.planes").tags.list()]
    assert tags == ["group-dimensions-3", "group-dimensions-4"]
