"""A name in place of a table, no session, and texts in place of flags are refused by every function by name."""

import pytest

import paimon_core as paimon
from paimon_core import spark as functions
from paimon_core.errors import InvalidRequest, SchemaMismatch

CALLS = {
    "read_spark": (),
    "changes_spark": (),
    "update_spark": ({"v": 1}, "k = 1"),
    "delete_spark": ("k = 1",),
    "merge_spark": (None, ["k"]),
    "compact_spark": (),
    "sort_compact_spark": (["k"],),
    "rescale_spark": (2,),
    "rewrite_file_index_spark": (),
    "plan_orphan_removal_spark": (),
    "apply_spark": (None,),
    "write_files_spark": ("files", "parquet"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_name_is_no_table_and_none_is_no_session(spark, name):
    function = getattr(functions, name)
    with pytest.raises(InvalidRequest, match=r"the argument table is an open table, .* not 'db\.t'"):
        function(spark, "db.t", *CALLS[name])
    with pytest.raises(InvalidRequest, match="the argument spark is a SparkSession, not None"):
        function(None, "db.t", *CALLS[name])


def test_flags_are_true_or_false(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"k": "INT"})
    for call in (
        lambda: functions.compact_spark(spark, table, full="no"),
        lambda: functions.rewrite_file_index_spark(spark, table, every=0),
        lambda: functions.compact_database_spark(spark, catalog, full="minor"),
    ):
        with pytest.raises(InvalidRequest, match=r"(full|every) must be True or False, not ('no'|0|'minor')"):
            call()


def test_writes_take_a_batch_of_unique_columns_and_an_open_table(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"k": "INT"})
    rows = spark.range(3).selectExpr("CAST(id AS INT) AS k")
    streaming = spark.readStream.format("rate").load()
    for arguments, why in (
        ((rows, "db.t"), r"the argument table is an open table, .* not 'db\.t'"),
        ((None, table), "write_spark takes a DataFrame of Spark, not None"),
        ((rows.toPandas(), table), "write_spark takes a DataFrame of Spark, not"),
        ((streaming, table), "write_spark takes no streaming DataFrame: use write_stream_spark"),
    ):
        with pytest.raises(InvalidRequest, match=why):
            functions.write_spark(*arguments)
    with pytest.raises(SchemaMismatch, match="the DataFrame has 2 columns with the name 'k'"):
        functions.write_spark(rows.select("k", "k"), table)
    for tasks in (0, -1, "2", True):
        with pytest.raises(InvalidRequest, match="tasks must be a whole number of at least 1, not"):
            functions.write_spark(rows, table, tasks=tasks)
    assert table.refresh().scan().to_arrow().num_rows == 0


def test_sql_needs_a_session_and_the_name_of_a_database(spark, warehouse):
    catalog = paimon.open_catalog(warehouse)
    with pytest.raises(InvalidRequest, match="the argument spark is a SparkSession, not None"):
        functions.session(None, catalog)
    for database in ("", None, 3):
        with pytest.raises(InvalidRequest, match="the argument database is the name of a database, not"):
            functions.session(spark, catalog, database)
