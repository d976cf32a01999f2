"""Marks of partitions that a load completed; loads run without Spark where they write nothing."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.table.table import Table
from paimon_lake.declarations import TableSpec
from paimon_lake.loads import load as loading
from paimon_lake.loads.done import mark_loaded
from tests.support.lakes import SmallLake

DAYS = """
    columns: {month: STRING, id: BIGINT}
    primary_key: [month, id]
    partition_by: [month]
    source: {type: files, path: "in/{month}.csv"}
    partitions: {by: month, start: 2024-01-01, end: 2024-12-31, column: month}
    mark_done: true
"""


@pytest.fixture
def months(dry_lake: SmallLake) -> Table:
    """Two months with rows."""
    dry_lake.declare("shop.days", DAYS)
    table = dry_lake.create("shop.days")
    table.write(pa.table({"month": ["2024-01", "2024-02"], "id": [1, 2]}))
    return table


@pytest.fixture
def spec(dry_lake: SmallLake, months: Table) -> TableSpec:
    return dry_lake.settings.table("shop.days")


def marks(table: Table) -> list[str]:
    return sorted(path.parent.name for path in Path(table.location).glob("*/_SUCCESS"))


def test_the_loaded_partitions_are_marked(spec: TableSpec, months: Table) -> None:
    assert mark_loaded(spec, months, ("2024-02",), again=True) == 1
    assert marks(months) == ["month=2024-02"]


def test_partitions_without_rows_are_not_marked(spec: TableSpec, months: Table) -> None:
    assert mark_loaded(spec, months, ("2024-03",), again=True) == 0
    assert marks(months) == []


def test_a_load_of_the_whole_table_marks_all(spec: TableSpec, months: Table) -> None:
    assert mark_loaded(spec, months, None, again=True) == 2
    assert marks(months) == ["month=2024-01", "month=2024-02"]


@pytest.mark.parametrize(
    ("kind", "day"), [("DATE", date(2024, 1, 2)), ("TIMESTAMP(3)", datetime(2024, 1, 2)), ("STRING", "2024-01-02")]
)
def test_partitions_of_dates_and_timestamps_are_marked(dry_lake: SmallLake, kind: str, day: object) -> None:
    declared = DAYS.replace("month: STRING", f"month: {kind}")
    declared = declared.replace("by: month", "by: day").replace("{month}", "{date}")
    dry_lake.declare("shop.days", declared)
    table = dry_lake.create("shop.days")
    table.write([{"month": day, "id": 1}])
    spec = dry_lake.settings.table("shop.days")
    assert mark_loaded(spec, table, ("2024-01-02",), again=True) == 1
    assert len(marks(table)) == 1
    assert mark_loaded(spec, table, None, again=True) == 1


def test_marks_are_renewed_only_by_a_load_that_wrote(spec: TableSpec, months: Table) -> None:
    mark_loaded(spec, months, ("2024-01",), again=True)
    assert mark_loaded(spec, months, None, again=False) == 1
    assert mark_loaded(spec, months, None, again=False) == 0
    (mark,) = Path(months.location).glob("month=2024-01/_SUCCESS")
    mark.write_text("{}")
    mark_loaded(spec, months, ("2024-01",), again=False)
    assert mark.read_text() == "{}"
    mark_loaded(spec, months, ("2024-01",), again=True)
    assert mark.read_text() != "{}"


def test_a_load_that_died_before_its_mark_marks_when_it_is_repeated(
    lake: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    lake.declare("shop.days", DAYS)
    lake.file("in/2024-01.csv", "month,id\n2024-01,1\n")
    lake.file("in/2024-02.csv", "month,id\n2024-02,1\n")
    with monkeypatch.context() as patched:
        patched.setattr(loading, "mark_loaded", die)
        with pytest.raises(KeyboardInterrupt):
            lake.load("shop.days", "2024-01")
    table = lake.table("shop.days")
    assert marks(table) == []
    assert lake.load("shop.days", "2024-01").skipped == ("1 files loaded before",)
    assert marks(table) == ["month=2024-01"]
    lake.load("shop.days", "2024-02")
    assert marks(table) == ["month=2024-01", "month=2024-02"]


def test_a_table_that_does_not_ask_for_marks_has_none(lake: SmallLake) -> None:
    lake.declare("shop.days", DAYS.replace("mark_done: true", ""))
    lake.file("in/2024-01.csv", "month,id\n2024-01,1\n")
    lake.load("shop.days", "2024-01")
    assert marks(lake.table("shop.days")) == []
