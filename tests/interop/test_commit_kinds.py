"""Snapshots of every kind that we commit, read and continued by Java: statistics, overwrites, drafts, strict mode."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col

T = "db.t"
_keys = itertools.count(1000)
ROWS = {
    "k": pa.array([1, 2, 3], pa.int64()),
    "tiny": pa.array([-3, None, 9], pa.int8()),
    "small": pa.array([-300, 5, 300], pa.int16()),
    "flag": pa.array([True, False, None], pa.bool_()),
    "real": pa.array([0.1, float("nan"), 2.5], pa.float32()),
    "dbl": pa.array([1e300, float("inf"), -0.5], pa.float64()),
    "money": pa.array([Decimal("1.00"), Decimal("-20.50"), None], pa.decimal128(10, 2)),
    "day": pa.array([dt.date(1969, 12, 31), dt.date(2024, 2, 29), None], pa.date32()),
    "clock": pa.array([dt.time(0, 0, 1), dt.time(23, 59, 59), None], pa.time32("ms")),
    "at": pa.array([dt.datetime(2024, 1, 1, 1, 2, 3, 120000), dt.datetime(1969, 1, 1), None], pa.timestamp("us")),
    "at3": pa.array([dt.datetime(2024, 1, 1, 1, 2, 3, 120000), dt.datetime(2024, 1, 2), None], pa.timestamp("ms")),
    "zoned": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 3, pa.timestamp("ms", "UTC")),
    "text": pa.array(["a", "äö", None], pa.string()),
    "raw": pa.array([b"abc", b"", None], pa.binary()),
    "many": pa.array([[1], [], None], pa.list_(pa.int32())),
}


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(str(warehouse))
    catalog.create_database("db", ignore_if_exists=True)
    data = pa.table(ROWS)
    made = catalog.create_table(
        T, data.schema, primary_key=["k"], options={"bucket": "1", "write-only": "true", "file.format": "parquet"}
    )
    made.write(data)
    return made


def java_writes(oracle, warehouse, table):
    """One more row by Java: whatever we committed before, it goes on."""
    before = len(oracle.dump(str(warehouse), T))
    nothing = [None] * (len(ROWS) - 1)
    oracle.run(str(warehouse), [{"op": "write", "table": T, "rows": [["+I", next(_keys), *nothing]]}])
    assert len(oracle.dump(str(warehouse), T)) == before + 1 == table.scan().count()


def test_java_reads_our_statistics_and_hands_them_on(oracle, warehouse, table):
    snapshot = table.analyze()
    assert (snapshot.commit_kind, snapshot.delta_record_count) == ("ANALYZE", 0)
    (found,) = oracle.run(str(warehouse), [{"op": "statistics", "table": T}])
    stats = found["statistics"]
    assert (stats["snapshotId"], stats["schemaId"], stats["mergedRecordCount"]) == (1, 0, 3)
    assert found["bounds"] == {
        "k": ["1", "3"],
        "tiny": ["-3", "9"],
        "small": ["-300", "300"],
        "flag": ["false", "true"],
        "real": ["0.1", "2.5"],
        "dbl": ["-0.5", "Infinity"],
        "money": ["-20.50", "1.00"],
        "day": ["-1", "19782"],
        "clock": ["1000", "86399000"],
        "at": ["1969-01-01T00:00", "2024-01-01T01:02:03.120"],
        "at3": ["2024-01-01T01:02:03.120", "2024-01-02T00:00"],
        "zoned": ["2024-01-01T00:00", "2024-01-01T00:00"],
        "text": [None, None],
        "raw": [None, None],
    }
    assert stats["colStats"]["text"] == {
        "colId": 12,
        "distinctCount": 2,
        "nullCount": 1,
        "avgLen": 3,
        "maxLen": 4,
    }
    java_writes(oracle, warehouse, table)
    assert table.statistics() == table.at(snapshot=snapshot.id).statistics()
    assert oracle.run(str(warehouse), [{"op": "statistics", "table": T}])[0]["statistics"] == stats


def test_we_read_javas_statistics_and_both_drop_them_with_the_schema(oracle, warehouse, table):
    stats = {
        "snapshotId": 1,
        "schemaId": 0,
        "mergedRecordCount": 3,
        "mergedRecordSize": 90,
        "colStats": {"at": {"colId": 9, "distinctCount": 2, "min": "1969-01-01 00:00:00.000000", "nullCount": 1}},
    }
    oracle.run(str(warehouse), [{"op": "analyze", "table": T, "statistics": stats}])
    ours = table.refresh().statistics()
    assert (ours.row_count, ours.size_bytes, ours.columns["at"].min) == (3, 90, "1969-01-01 00:00:00.000000")
    table.write(pa.table(ROWS))
    assert table.statistics() == ours
    oracle.run(
        str(warehouse), [{"op": "alter", "table": T, "changes": [{"change": "add", "name": "x", "type": "INT"}]}]
    )
    assert table.refresh().analyze(["x"]).schema_id == 1
    assert oracle.run(str(warehouse), [{"op": "statistics", "table": T}])[0]["bounds"] == {"x": [None, None]}


def test_java_goes_on_after_overwrites_and_watermarks(oracle, warehouse, table):
    table.overwrite(pa.table(ROWS).slice(0, 1), watermark=5)
    assert len(oracle.dump(str(warehouse), T)) == 1
    java_writes(oracle, warehouse, table)
    assert table.latest_snapshot().watermark == 5
    table.delete(col("k") == 1)
    assert len(oracle.dump(str(warehouse), T)) == 1
    java_writes(oracle, warehouse, table)
    assert table.latest_snapshot().next_row_id == 0


def test_java_sees_a_draft_only_once_it_is_published(oracle, warehouse, table):
    prepared = table.prepare(pa.table(ROWS).slice(0, 1).set_column(0, "k", pa.array([50], pa.int64())))
    assert prepared.table.scan().count() == 4
    assert len(oracle.dump(str(warehouse), T)) == 3
    prepared.publish()
    assert len(oracle.dump(str(warehouse), T)) == 4
    java_writes(oracle, warehouse, table)
    late = table.prepare(pa.table(ROWS).set_column(0, "k", pa.array([60, 61, 62], pa.int64())))
    java_writes(oracle, warehouse, table)
    with pytest.raises(paimon.CommitConflict, match=r"again\(\)"):
        late.publish()
    assert late.again().publish().commit_kind == "APPEND"
    assert len(oracle.dump(str(warehouse), T)) == 9 == table.scan().count()


@pytest.mark.parametrize("upgrade", ["true", "false"])
def test_overwrites_reach_the_same_level_as_in_java(oracle, warehouse, upgrade):
    fields = [{"name": "k", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "STRING"}]
    options = {"bucket": "1", "write-only": "true", "overwrite-upgrade": upgrade}
    create = {"op": "create", "fields": fields, "primaryKeys": ["k"], "options": options}
    rows = [["+I", 1, "a"], ["+I", 2, "b"]]
    steps = [
        {**create, "table": "db.ours"},
        {**create, "table": "db.java"},
        {"op": "write", "table": "db.java", "rows": rows},
        {"op": "write", "table": "db.java", "rows": rows, "overwrite": {}},
    ]
    oracle.run(str(warehouse), steps)
    catalog = paimon.open_catalog(str(warehouse))
    ours = catalog.table("db.ours")
    ours.write([{"k": 1, "v": "a"}])
    ours.overwrite([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}])
    levels = [catalog.table(name).inspect.files()["level"].to_pylist() for name in ("db.ours", "db.java")]
    assert levels == [[5 if upgrade == "true" else 0]] * 2
    (dump,) = oracle.run(str(warehouse), [{"op": "dump", "table": "db.ours"}])
    assert dump["rows"] == rows
