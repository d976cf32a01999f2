"""analyze: counts are exact, over several batches, merged rows and unusual values."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.table.upkeep import analysis
from tests.support.fake_tables import files_on_storage


def make(catalog, data, name="t", **arguments):
    table = catalog.create_table(
        f"db.{name}", data.schema, options={"write-only": "true", **arguments.pop("options", {})}, **arguments
    )
    table.write(data)
    return table


def test_rows_are_counted_after_merging(catalog):
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    table = make(
        catalog, pa.table({"k": [1, 2], "v": ["a", "bcd"]}, schema), primary_key=["k"], options={"bucket": "1"}
    )
    table.write(pa.table({"k": [2, 3], "v": ["é", None]}, schema))
    assert table.statistics() is None
    snapshot = table.analyze()
    stats = table.statistics()
    assert (snapshot.commit_kind, snapshot.id, stats.snapshot_id, stats.schema_id) == ("ANALYZE", 3, 2, 0)
    sizes = [e.file.file_size for e in table.context.manifests.entries_of(snapshot)]
    assert (stats.row_count, stats.size_bytes) == (3, sum(sizes) * 3 // 4)
    assert stats.columns["k"] == paimon.ColumnStatistics(0, 3, "1", "3", 0, 8, 8)
    assert stats.columns["v"] == paimon.ColumnStatistics(1, 2, None, None, 1, 2, 2)
    assert table.at(snapshot=1).statistics() is None


def test_columns_are_chosen_and_collections_refused(catalog):
    data = pa.table({"a": [1], "b": [[1]]})
    table = make(catalog, data)
    table.analyze()
    assert set(table.statistics().columns) == {"a"}
    table.analyze([])
    assert (table.statistics().columns, table.statistics().row_count) == ({}, 1)
    with pytest.raises(paimon.SchemaMismatch, match="'b' of type ARRAY"):
        table.analyze(["b"])
    with pytest.raises(paimon.SchemaMismatch, match="nope"):
        table.analyze(["nope"])


def test_distinct_values_are_exact_over_many_batches(catalog, monkeypatch):
    data = pa.table({"a": pa.array(range(200_000)), "b": pa.array([i % 7 for i in range(200_000)])})
    table = make(catalog, data)
    table.analyze()
    columns = table.statistics().columns
    assert (columns["a"].distinct_count, columns["a"].max) == (200_000, "199999")
    assert (columns["b"].distinct_count, columns["b"].null_count) == (7, 0)


def test_bounds_are_written_as_java_writes_them(catalog):
    data = pa.table(
        {
            "f": pa.array([float("nan"), float("-inf"), 0.1], pa.float32()),
            "d": pa.array([1e20, None, float("inf")], pa.float64()),
            "n": pa.array([float("nan")] * 3, pa.float64()),
            "m": pa.array([Decimal("0.000001"), Decimal("-1"), None], pa.decimal128(20, 6)),
            "day": pa.array([dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)]),
            "b": pa.array([True, None, True]),
            "s": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None, None], pa.timestamp("us")),
            "ns": pa.array([1_700_000_000_123_456_789, 0, None], pa.timestamp("ns")),
            "z": pa.array([None] * 3, pa.int64()),
        }
    )
    table = make(catalog, data)
    table.analyze()
    bounds = {name: (c.min, c.max) for name, c in table.statistics().columns.items()}
    assert bounds == {
        "f": ("-Infinity", "0.1"),
        "d": ("1e+20", "Infinity"),
        "n": (None, None),
        "m": ("-1.000000", "0.000001"),
        "day": ("-1", "1"),
        "b": ("true", "true"),
        "s": ("1969-12-31 23:59:59.999999",) * 2,
        "ns": ("1970-01-01 00:00:00.000000000", "2023-11-14 22:13:20.123456789"),
        "z": (None, None),
    }
    columns = table.statistics().columns
    assert (columns["m"].avg_len, columns["n"].distinct_count, columns["z"].distinct_count) == (16, 1, 0)


def test_a_table_without_snapshots_has_nothing_to_analyze(catalog):
    table = catalog.create_table("db.e", pa.schema([("a", pa.int64())]))
    assert table.analyze() is None


def test_statistics_that_conflict_leave_no_file(catalog, monkeypatch):
    table = make(catalog, pa.table({"a": [1]}))
    before = files_on_storage(table.context)

    def late(*args):
        raise paimon.CommitConflict("late")

    monkeypatch.setattr(analysis, "commit_changes", late)
    with pytest.raises(paimon.CommitConflict):
        table.analyze()
    assert files_on_storage(table.context) == before


def test_expiry_takes_statistics_with_their_last_snapshot(catalog):
    table = make(catalog, pa.table({"a": [1]}))
    table.analyze()
    table.write(pa.table({"a": [2]}))
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=dt.timedelta())
    assert table.statistics().row_count == 1
    table.analyze()
    table.write(pa.table({"a": [2]}))
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=dt.timedelta())
    assert table.statistics().row_count == 2
    assert sum("statistics/" in name for name in files_on_storage(table.context)) == 1
