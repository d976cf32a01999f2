"""A filter selects the same rows with Spark's Parquet reader and in the library."""

import datetime
import decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core import col
from paimon_core.spark import read_spark

D = decimal.Decimal
ROWS = pa.table(
    {
        "n": pa.array(range(6), pa.int32()),
        "f": pa.array([0.1, None, 0.5, float("nan"), -0.0, 0.0], pa.float32()),
        "g": pa.array([0.1, None, float("nan"), 3.0, -0.0, 1e300]),
        "d": pa.array([D("1.00"), D("1.01"), None, D("-9.99"), D("0"), D("1.50")], pa.decimal128(5, 2)),
        "s": ["", None, "a%", "ab", "é", "A"],
        "t": pa.array([None, *[datetime.datetime(2024, 1, d, 1, 2, 3) for d in range(1, 6)]], pa.timestamp("us")),
        "b": pa.array([datetime.date(2024, 1, d) for d in range(1, 7)]),
        "x": pa.array([0.1, float("nan"), float("nan"), 2.0, 0.0, None]),
        "r": pa.array([{"c.d": "a\nb"}, {"c.d": None}, None, {"c.d": "b"}, {"c.d": "a_b"}, {"c.d": "ab"}]),
        "m": pa.array([{"k": 1}, {"j": 2}, None, {}, {"k": 3}, {"k": None}], pa.map_(pa.string(), pa.int32())),
    }
)
FILTERS = [
    col("f") == 0.1,
    col("f") > 0.1,
    col("f").is_in([0.1, 0.5]),
    ~col("f").is_in([]),
    col("f").is_in([]),
    col("f") == 0.0,
    col("f") >= float("nan"),
    col("f") > 0.75,
    col("g") > 1e301,
    col("g") == float("nan"),
    col("g") > 2.5,
    ~(col("g") == 3.0),
    col("d") <= D("1.005"),
    col("d") == D("1.5"),
    col("d").is_in([1, D("1.01")]),
    col("s").startswith("a"),
    ~col("s").startswith("a"),
    col("s") < "b",
    col("s").is_null() | (col("n") == 5),
    col("s").endswith("b") | col("s").contains("%") | ~col("s").like("a%"),
    col("s").like(r"a\%") | ~col("r", "c.d").like("a_b"),
    col("g") <= col("x"),
    ~(col("g") == col("x")) | (col("n") < col("d")),
    (col("m", "k") > 1) | col("m")["k"].is_null(),
    col("n") > D("2.5"),
    "true and (n = 3 or `r`.`c.d` = 'a\nb')",
    pc.match_like(pc.field("s"), "%") & (pc.field("n") >= 1),
    (col("t") > "2024-01-02 01:02:03") & col("g").is_not_null(),
    col("b").between("2024-01-02", datetime.date(2024, 1, 4)),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    catalog = paimon.open_catalog(str(tmp_path_factory.mktemp("filters")))
    catalog.create_database("db")
    table = catalog.create_table("db.t", ROWS.schema, options={"write-only": "true"})
    table.write(ROWS)
    return table


def test_both_branches_select_the_same_rows(spark, table):
    """One job for all filters: each frame has the number of its filter."""
    expected = [sorted(table.scan(["n"], where).to_arrow()["n"].to_pylist()) for where in FILTERS]
    frames = [read_spark(spark, table, ["n"], where).withColumn("i", F.lit(i)) for i, where in enumerate(FILTERS)]
    rows = reduce(DataFrame.unionAll, frames).collect()
    found = [sorted(row.n for row in rows if row.i == i) for i in range(len(FILTERS))]
    different = [str(where) for where, a, b in zip(FILTERS, found, expected, strict=True) if a != b]
    assert not different


def test_a_filter_of_many_parts_is_read_without_sparks_own_filters(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", ROWS.schema)
    table.write(ROWS)
    where = col("n") == 1
    for number in range(10_000):
        where = where | (col("n") == 3 + number)
    assert sorted(row.n for row in read_spark(spark, table, where=where).collect()) == [1, 3, 4, 5]


ODD_SCHEMA = {"n": "INT", "b": "DATE", "z": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "t": "TIMESTAMP(6)", "g": "DOUBLE"}
ODD_LITERALS = [
    "b >= '2024-01-01 05:00:00'",
    "b < '2024-01-01 05:00:00'",
    "b >= '1582-10-06'",
    "b = '1582-10-10'",
    "z >= '1582-10-06T00:00:00Z'",
    "t >= '2024-01-01 00:00:00.0000015'",
    "g >= 99999999999999999999",
    "d > 12345678901234567890",
    "d < 12345678901234567890.50000000000000000000000000000000001",
]


def test_literals_that_spark_reads_otherwise_select_the_same_rows(spark, warehouse):
    """Times for dates, days that Java's calendar leaves out, parts of microseconds and numbers of many digits."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", ODD_SCHEMA | {"d": "DECIMAL(38, 10)"}, options={"write-only": "true"})
    for n, day in enumerate((datetime.datetime(1582, 10, 10), datetime.datetime(2024, 1, 1, microsecond=1))):
        d = D("12345678901234567890.5") - 2 * n
        time = day.replace(tzinfo=datetime.UTC)
        table.write([{"n": n, "b": day.date(), "z": time, "t": day, "g": 1e20 * n, "d": d}])
    expected = [sorted(table.scan(["n"], where).to_arrow()["n"].to_pylist()) for where in ODD_LITERALS]
    frames = [read_spark(spark, table, ["n"], where).withColumn("i", F.lit(i)) for i, where in enumerate(ODD_LITERALS)]
    rows = reduce(DataFrame.unionAll, frames).collect()
    assert [sorted(row.n for row in rows if row.i == i) for i in range(len(ODD_LITERALS))] == expected
