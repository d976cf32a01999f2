"""Random SELECT texts: the tables of a lake give the rows that Spark's own tables of Parquet with these rows give.

SQL_QUERIES states how many queries are played, SQL_SEED the first seed.
"""

import os
import random

import pytest
from pyspark.errors import PySparkException

import paimon_core as paimon
from paimon_core.errors import PaimonError
from paimon_core.spark import session
from tests.spark.sql_queries import COLUMNS, DDL, Texts, value

QUERIES = int(os.environ.get("SQL_QUERIES", "12"))
SEED = int(os.environ.get("SQL_SEED", "1"))


@pytest.fixture
def lake(spark, warehouse, tmp_path):
    """Tables with merged runs (a), plain files (b) and deletion vectors (c), and Parquet files with the same rows."""
    rng, catalog = random.Random(SEED), paimon.open_catalog(warehouse)
    catalog.create_database("db")
    keyed = {"bucket": "2", "write-only": "true"}
    vectors = {"bucket": "-1", "deletion-vectors.enabled": "true"}
    a = catalog.create_table("db.a", DDL["a"], primary_key=["grp", "id"], partition_by=["grp"], options=keyed)
    b = catalog.create_table("db.b", DDL["b"], options={"bucket": "-1"})
    c = catalog.create_table("db.c", DDL["c"], options=vectors)

    def written(table, name, count):
        return table.write([{c: _filled(rng, c, k) for c, k in COLUMNS[name].items()} for _ in range(count)])

    written(a, "a", 30)
    _as_parquet(spark, a, tmp_path, "pq_a_v1")
    written(a, "a", 30)
    a.delete("id = 5 or n > 16")
    written(b, "b", 40)
    written(c, "c", 30)
    c.delete("id = 3")
    for table, name in ((a, "pq_a"), (b, "pq_b"), (c, "pq_c")):
        _as_parquet(spark, table, tmp_path, name)
    yield session(spark, catalog, "db")
    for name in ("pq_a", "pq_a_v1", "pq_b", "pq_c"):
        spark.catalog.dropTempView(name)


def _filled(rng, column, kind):
    found = value(rng, kind)
    while found is None and column in ("id", "grp"):
        found = value(rng, kind)
    return (found or "none") if column == "grp" else found


def _as_parquet(spark, table, folder, name):
    spark.createDataFrame(table.scan().to_arrow()).write.parquet(str(folder / name))
    spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)


def _rows(run, text):
    """The rows of a text, sorted, or that it fails."""
    try:
        return sorted(repr(tuple(row)).replace("-0.0", "0.0") for row in run(text).collect())
    except (PySparkException, PaimonError) as error:
        return f"fails: {type(error).__name__}"


def test_queries_give_the_rows_of_sparks_own_tables(spark, lake):
    wrong, answered = [], 0
    for seed in range(SEED, SEED + QUERIES):
        ours, theirs = Texts(seed, lake=True).query(), Texts(seed, lake=False).query()
        found, expected = _rows(lake.sql, ours), _rows(spark.sql, theirs)
        if isinstance(found, str) and isinstance(expected, str):
            continue  # both refuse it, such as an ambiguous column
        answered += 1
        if found != expected:
            wrong.append((seed, ours, str(found)[:300], str(expected)[:300]))
    assert wrong == []
    assert answered > QUERIES * 0.8
