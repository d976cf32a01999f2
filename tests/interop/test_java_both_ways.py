"""Java reads what we wrote, we read what Java wrote, before and after either side's compaction and expiry."""

from __future__ import annotations

import datetime
import decimal
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from tests.support.java_rows import as_set, json_rows

D = decimal.Decimal
VALUES = {
    "BOOLEAN": [True, False],
    "TINYINT": [-128, 127],
    "SMALLINT": [-32768, 32767],
    "INT": [-5, 2**31 - 1],
    "BIGINT": [-(2**63), 2**63 - 1],
    "FLOAT": [1.5, -0.25],
    "DOUBLE": [1e300, -2.5],
    "DECIMAL(9, 2)": [D("-1234567.89"), D("0.01")],
    "DECIMAL(18, 4)": [D("12345678901234.5678"), D("-1.0000")],
    "DECIMAL(38, 10)": [D("-1234567890123456789012345678.0123456789"), D("7.0000000000")],
    "CHAR(3)": ["abc", "z"],
    "VARCHAR(20)": ["", "twelve chars"],
    "STRING": ["中文", "a longer string than seven"],
    "BINARY(3)": [b"\x00\xff\x01", b"abc"],
    "VARBINARY(9)": [b"", b"12345678"],
    "BYTES": [b"\x80" * 20, b"x"],
    "DATE": [datetime.date(1969, 7, 20), datetime.date(2024, 1, 15)],
    "TIME(0)": [datetime.time(0, 0, 1), datetime.time(23, 59, 59)],
    "TIME(3)": [datetime.time(3, 25, 45, 678000), datetime.time(0)],
    "TIMESTAMP(0)": [datetime.datetime(2024, 1, 15, 10, 30), datetime.datetime(1960, 2, 29)],
    "TIMESTAMP(3)": [datetime.datetime(2024, 1, 15, 10, 30, 0, 123000), datetime.datetime(1960, 1, 1, 0, 0, 0, 1000)],
    "TIMESTAMP(6)": [datetime.datetime(2024, 1, 15, 10, 30, 0, 123456), datetime.datetime(1960, 1, 1, 0, 0, 0, 1)],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": [datetime.datetime(2024, 1, 15, 10, tzinfo=datetime.UTC)] * 2,
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [datetime.datetime(1950, 5, 5, 1, 1, 1, 5, tzinfo=datetime.UTC)] * 2,
}
NANOS = {
    "TIMESTAMP(9)": [1705314600123456789, -1],
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": [1705314600123456789, -86400000000001],
}
ODD = {
    "TIME(2)": [datetime.time(3, 25, 45, 670000), datetime.time(0)],
    "TIMESTAMP(1)": [datetime.datetime(2024, 1, 15, 10, 30, 0, 100000), datetime.datetime(1960, 1, 1, 0, 0, 0, 900000)],
    "TIMESTAMP(4)": [datetime.datetime(2024, 1, 15, 10, 30, 0, 123400), datetime.datetime(1960, 1, 1, 0, 0, 0, 100)],
    "TIMESTAMP(5) WITH LOCAL TIME ZONE": [datetime.datetime(2024, 1, 15, 1, 1, 1, 50, tzinfo=datetime.UTC)] * 2,
}
ALL = VALUES | NANOS | ODD
KEY_TYPES = sorted(VALUES | NANOS)


def name_of(text: str) -> str:
    return "c_" + "".join(c if c.isalnum() else "_" for c in text.lower())


def arrow_column(text: str, values: list) -> pa.Array:
    kind = paimon.types.parse_type(text).to_arrow()
    return pa.array(values, pa.int64()).cast(kind) if text in NANOS else pa.array(values, kind)


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


def all_types_rows(columns: dict[str, str], keys: list[int]) -> pa.Table:
    arrays = [pa.array(keys, pa.int32())]
    for text in list(columns.values())[1:]:
        values = ALL[text]
        # Every third value is null: both sides must agree on absence too.
        arrays.append(arrow_column(text, [None if k % 3 == 2 else values[k % 2] for k in keys]))
    return pa.Table.from_arrays(arrays, names=list(columns))


@pytest.mark.parametrize("table_kind", ["append", "keyed"])
@pytest.mark.parametrize("types", [VALUES | ODD, NANOS], ids=["values", "nanoseconds"])
def test_every_type_in_both_directions(oracle, warehouse, table_kind, types):
    columns = {"k": "INT"} | {name_of(t): t for t in types}
    keyed = table_kind == "keyed"
    catalog = catalog_in(warehouse)
    table = make_table(
        catalog,
        "db.ours",
        columns,
        primary_key=["k"] if keyed else [],
        options={"bucket": "2", "write-only": "true"} if keyed else {"write-only": "true"},
    )
    rows = all_types_rows(columns, list(range(6)))
    table.write(rows)
    agree(oracle, warehouse, table, rows)
    oracle.run(
        warehouse,
        [
            {
                "op": "create",
                "table": "db.java",
                "fields": [{"name": f.name, "type": f.type.sql} for f in table.schema.fields],
                "primaryKeys": ["k"] if keyed else [],
                "partitionKeys": [],
                "options": {"bucket": "2"} if keyed else {},
            },
            {"op": "write", "table": "db.java", "rows": json_rows(rows, table.schema.fields)},
        ],
    )
    agree(oracle, warehouse, catalog.table("db.java"), rows)
    if keyed:
        more = all_types_rows(columns, list(range(3, 9)))
        both = pa.concat_tables([rows.slice(0, 3), more])
        table.write(more)
        agree(oracle, warehouse, table, both)
        table.compact(full=True)
        agree(oracle, warehouse, table, both)
        table.write(more)
        oracle.run(warehouse, [{"op": "compact", "table": "db.ours"}])
        agree(oracle, warehouse, table, both)


@pytest.mark.parametrize("text", KEY_TYPES)
def test_keys_and_partitions_of_every_type(oracle, warehouse, text):
    """Java finds our buckets, levels and partition directories for keys of this type, and we find Java's."""
    # Java names a binary partition by an object's address: such tables are refused here.
    columns = {"p": "INT" if "BINARY" in text or text == "BYTES" else text, "k": text, "v": "INT"}
    catalog = catalog_in(warehouse)
    values = arrow_column(text, sorted(set(ALL[text])) if text != "BOOLEAN" else [False, True])
    pairs = [(i, j) for i in range(len(values)) for j in range(len(values))]
    rows = pa.table(
        {
            "p": pa.array([i for i, _ in pairs], pa.int32())
            if columns["p"] == "INT"
            else values.take(pa.array([i for i, _ in pairs])),
            "k": values.take(pa.array([j for _, j in pairs])),
            "v": pa.array(range(len(pairs)), pa.int32()),
        }
    )
    table = make_table(
        catalog,
        "db.ours",
        columns,
        primary_key=["p", "k"],
        partition_by=["p"],
        options={"bucket": "3", "write-only": "true"},
    )
    table.write(rows)
    agree(oracle, warehouse, table, rows)
    newer = rows.set_column(2, "v", pa.array(range(100, 100 + len(pairs)), pa.int32()))
    oracle.run(
        warehouse,
        [
            {"op": "write", "table": "db.ours", "rows": json_rows(newer, table.schema.fields)},
        ],
    )
    # If one side had put a key in another bucket, both versions of it would now be read.
    agree(oracle, warehouse, table, newer)
    table.compact(full=True)
    agree(oracle, warehouse, table, newer)
    directories = {row[1] for row in oracle.dump(warehouse, "db.ours$files", projection=["partition"])}
    assert len(directories) == len(values)
    assert table.scan(where=col("v") == 100).count() == 1


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
    assert table.compact() is not None
    assert table.inspect.files().num_rows == 2
    agree(oracle, warehouse, table, rows)
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 3, "java"]]}])
    agree(oracle, warehouse, table, pa.concat_tables([rows, pa.table({"p": pa.array([3], pa.int32()), "v": ["java"]})]))
