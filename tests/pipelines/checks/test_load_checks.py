"""freshness, row_count and volume, and the records of loads that they use."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import CorruptTable
from paimon_core.table.table import Table
from paimon_lake.checks.context import CheckContext, LoadRecord, load_records
from paimon_lake.checks.run import run_check
from paimon_lake.declarations import TableSpec

SOURCE = {"type": "files", "path": "orders/*.csv"}
NOW = datetime(2024, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def table(warehouse: str) -> Table:
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("ods")
    columns = {"id": pa.int64(), "day": pa.date32(), "at": pa.timestamp("ns"), "seen": pa.timestamp("us", "UTC")}
    options = {"commit.force-create-snapshot": "true"}
    return catalog.create_table("ods.orders", pa.schema(columns.items()), options=options)


def properties(read: int, written: int, rejected: int) -> dict[str, str]:
    rows = {"read": read, "written": written, "rejected": rejected}
    return {f"pipeline.rows-{name}": str(count) for name, count in rows.items()}


def load(table: Table, number: int, read: int, written: int, rejected: int) -> None:
    named: dict[str, Any] = {"user": "load ods.orders", "identifier": number}
    table.write(pa.table({"id": range(written)}), properties=properties(read, written, rejected), **named)


def record(written: int, read: int | None = None, rejected: int = 0, at: datetime = NOW, number: int = 1) -> LoadRecord:
    return LoadRecord(written if read is None else read, written, rejected, number, at)


def found(table: Table, check: dict[str, Any], *history: LoadRecord, now: datetime = NOW) -> tuple[int, str]:
    spec = TableSpec.model_validate({"name": "ods.orders", "natural_key": "id", "source": SOURCE, "checks": [check]})
    finding = run_check(spec.checks[0], spec, table, context=CheckContext(now, history=history))
    return finding.wrong, finding.sentence


def test_loads_are_read_from_the_snapshots(table: Table) -> None:
    load(table, 1, 5, 4, 1)
    table.write(pa.table({"id": [1]}), user="somebody")
    load(table, 2, 2, 2, 0)
    table.write(pa.table({"id": [1]}), user="load ods.orders", identifier=3, properties={"pipeline.ledger": "x"})
    table.compact(full=True)
    records = load_records(table)
    assert [(r.rows_read, r.rows_written, r.rows_rejected, r.snapshot_id) for r in records] == [
        (5, 4, 1, 1),
        (2, 2, 0, 3),
    ]
    assert records[0].committed_at <= records[1].committed_at
    assert [r.snapshot_id for r in load_records(table.at(snapshot=2))] == [1]


def test_a_draft_is_the_newest_load(table: Table) -> None:
    load(table, 1, 5, 4, 1)
    prepared = table.prepare(
        pa.table({"id": [1]}), user="load ods.orders", identifier=2, properties=properties(9, 1, 8)
    )
    assert prepared is not None
    assert [(r.rows_read, r.rows_rejected) for r in load_records(prepared.table)] == [(5, 1), (9, 8)]
    assert len(load_records(table)) == 1


def test_figures_that_are_no_numbers_are_refused(table: Table) -> None:
    broken = properties(1, 1, 0) | {"pipeline.rows-written": "many"}
    table.write(pa.table({"id": [1]}), user="load ods.orders", properties=broken)
    with pytest.raises(CorruptTable, match=r"snapshot 1 has pipeline.rows-written = 'many', not a whole number"):
        load_records(table)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        CheckContext(datetime(2024, 1, 1))


def test_freshness_of_loads(table: Table) -> None:
    check = {"type": "freshness", "max_hours": 24}
    old, new = record(1, at=NOW - timedelta(hours=30)), record(1, at=NOW - timedelta(hours=6))
    assert found(table, check, old) == (
        1,
        "the newest load, of 2024-01-30 06:00:00 UTC, is 30.0 hours old, more than 24 hours",
    )
    assert found(table, check, old, new) == (
        0,
        "the newest load, of 2024-01-31 06:00:00 UTC, is 6.0 hours old, at most 24 hours allowed",
    )
    assert found(table, check)[0] == 1, "never written"


def test_freshness_without_loads_is_that_of_the_newest_change(table: Table) -> None:
    table.write(pa.table({"id": [1]}))
    table.write(pa.table({"id": [2]}))
    written = table.latest_snapshot()
    table.compact(full=True)
    compacted = table.latest_snapshot()
    assert written is not None
    assert compacted is not None
    assert compacted.commit_kind == "COMPACT"
    at = datetime.fromtimestamp(written.time_millis / 1000, UTC)
    sentence = found(table, {"type": "freshness", "max_hours": 1}, now=at + timedelta(hours=2))[1]
    assert sentence == f"the newest snapshot, of {at:%Y-%m-%d %H:%M:%S} UTC, is 2.0 hours old, more than 1 hour"


def test_a_ledger_that_is_carried_on_makes_no_table_fresh(table: Table) -> None:
    table.commit([], user="load ods.orders", identifier=1, properties={"pipeline.step": "carry-on"})
    assert table.latest_snapshot() is not None
    assert found(table, {"type": "freshness", "max_hours": 1}) == (
        1,
        "no load and no other change of rows is recorded in the snapshots of the table: its age is unknown",
    )


def test_freshness_of_a_column(table: Table) -> None:
    stamps = [datetime(2024, 1, 31, 6), datetime(2024, 1, 30)]
    zoned = pa.array(stamps, pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    days = [date(2024, 1, 29), None]
    table.write(pa.table({"id": [1, 2], "day": days, "at": pa.array(stamps, pa.timestamp("ns")), "seen": zoned}))
    check = {"type": "freshness", "max_hours": 24}
    assert found(table, check | {"column": "at"}) == (
        0,
        "the greatest at, 2024-01-31 06:00:00, is 6.0 hours old, at most 24 hours allowed",
    )
    assert found(table, check | {"column": "seen"})[0] == 0
    assert found(table, check | {"column": "day"}) == (
        1,
        "the greatest day, 2024-01-29, is 60.0 hours old, more than 24 hours",
    )
    assert found(table, check | {"column": "at", "max_hours": 1e12})[0] == 0
    assert found(table, check | {"column": "at"}, now=datetime(2024, 1, 31, tzinfo=UTC)) == (
        0,
        "the greatest at, 2024-01-31 06:00:00, is 6.0 hours in the future",
    )
    assert found(table, check | {"column": "id"})[1].endswith("needs a date or timestamp column, and 'id' is BIGINT")


def test_freshness_of_a_column_without_values(table: Table) -> None:
    table.write(pa.table({"id": [1]}))
    assert found(table, {"type": "freshness", "max_hours": 1, "column": "at"}) == (1, "no row has a value in at")


def test_each_load_wrote_or_rejected_what_it_read(table: Table) -> None:
    load(table, 1, 1_205, 1_204, 1)
    history = load_records(table)
    assert found(table, {"type": "row_count"}, *history) == (
        0,
        "1,204 rows; 1 load read 1,205 rows, wrote 1,204 and rejected 1",
    )
    lost = [record(8, 1_000, 1, number=n) for n in range(7)]
    wrong, sentence = found(table, {"type": "row_count"}, *history, *lost)
    assert wrong == 7
    assert sentence.startswith("the load of snapshot 0 read 1,000 rows, but wrote 8 and rejected 1; the load of")
    assert sentence.endswith("; 2 more loads differ")


def test_the_table_has_from_min_to_max_rows(table: Table) -> None:
    load(table, 1, 3, 3, 0)
    assert found(table, {"type": "row_count", "min": 3, "max": 3}) == (
        0,
        "3 rows; no load is recorded in the snapshots of the table",
    )
    assert found(table, {"type": "row_count", "min": 1_000}) == (1, "3 rows, fewer than 1,000")
    assert found(table, {"type": "row_count", "max": 2}) == (1, "3 rows, more than 2")


def test_volume_needs_three_earlier_loads(table: Table) -> None:
    check = {"type": "volume"}
    few = [record(100), record(100), record(1)]
    assert found(table, check) == (0, "no load is recorded in the snapshots of the table")
    assert found(table, check, *few) == (0, "the last load wrote 1 row; 2 loads before it: too few to compare")
    assert found(table, check, record(100), *few) == (
        1,
        "the last load wrote 1 row, the 3 loads before it 100.0 on average; "
        "only 0.5 to 2 times the average are allowed",
    )
    assert found(table, check, record(100), record(100), record(100), record(200))[0] == 0
    assert found(table, check, record(100), record(100), record(100), record(201))[0] == 1


def test_volume_compares_loads_of_partitions_by_their_rows_for_each(table: Table) -> None:
    daily = [replace(record(100), partitions=1)] * 3
    backfill, small = replace(record(9_200), partitions=92), replace(record(30), partitions=1)
    check = {"type": "volume"}
    assert found(table, check, *daily, backfill) == (
        0,
        "the last load wrote 9,200 rows, 100.0 for each of 92 partitions, the 3 loads before it 100.0 on average for "
        "each partition; 0.5 to 2 times the average are allowed",
    )
    assert found(table, check, *daily[1:], backfill, daily[0])[0] == 0
    assert found(table, check, *daily, small)[0] == 1
    assert found(table, check, *[record(50_000)] * 3, daily[0])[1].endswith("0 loads before it: too few to compare")


def test_the_number_of_partitions_is_read_from_the_snapshots(table: Table) -> None:
    named: dict[str, Any] = {"user": "load ods.orders", "properties": properties(1, 1, 0)}
    table.write(pa.table({"id": [1]}), **named)
    named["properties"]["pipeline.partition-count"] = "92"
    table.write(pa.table({"id": [1]}), **named)
    assert [load.partitions for load in load_records(table)] == [None, 92]


def test_volume_compares_with_the_last_loads_only(table: Table) -> None:
    history = [record(1_000_000)] * 5 + [record(10)] * 3
    assert found(table, {"type": "volume", "loads": 2}, *history)[0] == 0
    assert found(table, {"type": "volume", "loads": 7}, *history)[0] == 1
    assert found(table, {"type": "volume"}, *[record(0)] * 4, record(5))[1].endswith("no comparison is possible")
