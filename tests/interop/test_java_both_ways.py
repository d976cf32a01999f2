"""Java reads what we wrote, we read what Java wrote, before and after either side's compaction and expiry."""

from __future__ import annotations

import datetime
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.support.java_rows import as_set, json_rows


def catalog_in(warehouse: str):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def make_table(catalog, name, columns, **arguments):
    """A table whose columns have exactly these type texts."""
    arrow = pa.schema([pa.field(n, paimon.types.parse_type(t).to_arrow()) for n, t in columns.items()])
    return catalog.create_table(name, arrow, types=columns, **arguments)


def agree(oracle, warehouse, table, rows: pa.Table):
    """Both sides read exactly ``rows``."""
    expected = as_set(json_rows(rows, table.schema.fields))
    assert as_set(json_rows(table.scan().to_arrow(), table.schema.fields)) == expected
    assert as_set(oracle.dump(warehouse, table.name)) == expected


def test_both_sides_write_compact_and_read_in_turns(oracle, warehouse):
    catalog = catalog_in(warehouse)
    table = make_table(
        catalog,
        "db.t",
        {"dt": "STRING", "k": "BIGINT", "v": "INT", "s": "STRING"},
        primary_key=["dt", "k"],
        partition_by=["dt"],
        options={"bucket": "2"},
    )
    fields = table.schema.fields
    random_source = random.Random(7)
    model: dict[tuple[str, int], tuple[int, str]] = {}
    for turn in range(10):
        for ours in (True, False):
            kinds, data = [], []
            for _ in range(25):
                dt, k = random_source.choice(["2024-01-01", "2024-01-02"]), random_source.randrange(40)
                kind = random_source.choice(["+I", "+U", "-D"])
                row = (dt, k, random_source.randrange(1000), random_source.choice(["a", "bb", "c" * 30]))
                kinds.append(kind)
                data.append(row)
                if kind == "-D":
                    model.pop((dt, k), None)
                else:
                    model[dt, k] = row[2:]
            rows = pa.Table.from_arrays([pa.array(c) for c in zip(*data, strict=True)], names=table.schema.names)
            if ours:
                table.write(rows, kinds=pa.array(kinds))
                if turn % 3 == 1:
                    table.compact(full=True)
            else:
                steps = [{"op": "write", "table": "db.t", "rows": json_rows(_conformed(rows, table), fields, kinds)}]
                if turn % 3 == 2:
                    steps.append({"op": "compact", "table": "db.t"})
                oracle.run(warehouse, steps)
            expected = pa.Table.from_pylist(
                [{"dt": dt, "k": k, "v": v, "s": s} for (dt, k), (v, s) in model.items()], schema=table.arrow_schema
            )
            agree(oracle, warehouse, table, expected)


def _conformed(rows, table):
    return rows.cast(table.arrow_schema)


def test_java_reads_after_our_expiry_tags_and_rollback(oracle, warehouse):
    catalog = catalog_in(warehouse)
    table = make_table(
        catalog, "db.t", {"k": "INT", "v": "INT"}, primary_key=["k"], options={"bucket": "1", "write-only": "true"}
    )
    for number in range(1, 13):
        table.write(pa.table({"k": [number % 4, 100 + number], "v": [number, number]}))
        if number == 3:
            table.tags.create("three")
        if number == 4:
            table.tags.create("four", keep_for=datetime.timedelta(hours=72))
        if number % 5 == 0:
            table.compact(full=True)
    report = table.expire_snapshots(keep_last=2, keep_max=3, older_than=datetime.timedelta(0))
    assert report.removed.data_files
    agree(oracle, warehouse, table, table.scan().to_arrow())
    for tag in ("three", "four"):
        rows = json_rows(table.at(tag=tag).scan().to_arrow(), table.schema.fields)
        assert as_set(oracle.dump(warehouse, "db.t", options={"scan.tag-name": tag})) == as_set(rows)
    earliest = table.context.snapshots.earliest_id()
    java = oracle.run(warehouse, [{"op": "dump", "table": "db.t$snapshots", "projection": ["snapshot_id"]}])[0]
    assert sorted(r[1] for r in java["rows"]) == table.inspect.snapshots()["snapshot_id"].to_pylist()
    table.rollback(snapshot=earliest)
    agree(oracle, warehouse, table, table.scan().to_arrow())
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 500, 1]]}])
    agree(oracle, warehouse, table, table.scan().to_arrow())
    assert table.scan(where=col("k") == 500).count() == 1


def test_we_read_after_javas_expiry_tags_and_overwrite(oracle, warehouse):
    steps = [
        {
            "op": "create",
            "table": "db.t",
            "fields": [{"name": "p", "type": "DATE"}, {"name": "k", "type": "INT"}, {"name": "v", "type": "STRING"}],
            "primaryKeys": ["p", "k"],
            "partitionKeys": ["p"],
            "options": {"bucket": "2", "write-only": "true"},
        }
    ]
    for number in range(1, 9):
        steps.append({"op": "write", "table": "db.t", "rows": [["+I", f"2024-01-0{number % 3 + 1}", number, "x"]]})
        if number == 2:
            steps.append({"op": "tag", "table": "db.t", "name": "two", "snapshot": 2})
    steps += [
        {"op": "write", "table": "db.t", "overwrite": {"p": "19723"}, "rows": [["+I", "2024-01-01", 77, "new"]]},
        {"op": "expire", "table": "db.t", "retainMin": 1, "retainMax": 2},
    ]
    oracle.run(warehouse, steps)
    table = paimon.open_catalog(warehouse).table("db.t")
    agree(oracle, warehouse, table, table.scan().to_arrow())
    assert table.scan(where=col("p") == "2024-01-01").to_arrow()["k"].to_pylist() == [77]
    assert table.at(tag="two").scan().count() == 2
    with pytest.raises(paimon.SnapshotNotFound):
        table.at(snapshot=1)


def test_overwrites_and_append_compaction_are_java_readable(oracle, warehouse):
    catalog = catalog_in(warehouse)
    table = make_table(catalog, "db.t", {"p": "INT", "v": "STRING"}, partition_by=["p"], options={"write-only": "true"})
    for number in range(6):
        table.write(pa.table({"p": pa.array([1, 2], pa.int32()), "v": [f"v{number}", None]}))
    table.overwrite(pa.table({"p": pa.array([2], pa.int32()), "v": ["only"]}))
    rows = table.scan().to_arrow()
    assert len(rows) == 7
    agree(oracle, warehouse, table, rows)
    assert table.compact()
    assert table.inspect.files().num_rows == 2
    agree(oracle, warehouse, table, rows)
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 3, "java"]]}])
    agree(oracle, warehouse, table, pa.concat_tables([rows, pa.table({"p": pa.array([3], pa.int32()), "v": ["java"]})]))
