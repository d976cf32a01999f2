"""Updates, deletes and merges in Spark: the same rows, rules and errors as in the library, in one commit.

The random histories are in ``test_row_change_histories``.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core import Delete, Insert, Update, col, target
from paimon_core.errors import CommitConflict, InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.spark import delete_spark, merge_spark, update_spark
from paimon_core.spark.row_changes import delete_update, merge
from tests.support.long_cases import long_cases

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("s", pa.string())])
KEYED = {"primary_key": ["k"], "options": {"bucket": "2"}}
VECTORS = {"options": {"deletion-vectors.enabled": "true"}}


def create(warehouse, name="t", schema=SCHEMA, **definition):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    table = catalog.create_table(f"db.{name}", schema, **definition)
    table.write([{"k": k, "v": 10 * k, "s": f"s{k}"} for k in range(6)])
    return table


def rows(table):
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def old(*keys):
    return [(k, 10 * k, f"s{k}") for k in keys]


def source(spark, *values):
    return spark.createDataFrame(list(values), "k long, v long, s string")


# -- results


@pytest.mark.parametrize("definition", [KEYED, VECTORS], ids=["keyed", "vectors"])
def test_expressions_of_the_library_are_computed_by_spark(spark, warehouse, definition):
    table = create(warehouse, **definition)
    merge_spark(
        spark,
        table,
        source(spark, (1, 7, "new"), (9, 9, "new")),
        ["k"],
        when_matched=Update({"v": target("v") + col("v") * 2}),
        when_not_matched=Insert({"k": col("k"), "v": -col("v")}),
    )
    update_spark(spark, table, {"v": col("v") * 10, "s": F.upper("s")}, F.col("k") == 2)
    update_spark(spark, table, {"v": col("k") - col("v")}, "k = 3")
    assert rows(table) == [(0, 0, "s0"), (1, 24, "s1"), (2, 200, "S2"), (3, -27, "s3"), *old(4, 5), (9, -9, None)]
    with pytest.raises(SchemaMismatch, match="no column 'z'"):
        update_spark(spark, table, {"v": col("z") + 1}, "k = 3")


@pytest.mark.long
def test_row_ids_stay_and_updated_rows_get_the_sequence_number_of_the_commit(spark, warehouse):
    table = create(warehouse, options={"row-tracking.enabled": "true"})
    before = {r["k"]: r["_ROW_ID"] for r in table.system("row_tracking").to_arrow().to_pylist()}
    merge_spark(
        spark,
        table,
        source(spark, (1, 7, "new"), (9, 9, "new")),
        ["k"],
        when_matched=Update({"v": F.expr("v + source.v")}),
    )
    snapshot = update_spark(spark, table, {"s": F.upper("s")}, F.col("k") == 2)
    found = {r["k"]: r for r in table.system("row_tracking").to_arrow().to_pylist()}
    assert {k: r["_ROW_ID"] for k, r in found.items() if k != 9} == before
    assert found[9]["_ROW_ID"] == 6
    assert (found[1]["v"], found[2]["s"], found[2]["_SEQUENCE_NUMBER"]) == (17, "S2", snapshot.id)


@pytest.mark.long
def test_keys_of_floats_match_as_in_the_library(spark, warehouse):
    nan = float("nan")
    schema = pa.schema([("k", pa.float64()), ("v", pa.int64()), ("s", pa.string())])
    table = create(warehouse, schema=schema)
    table.overwrite([{"k": k, "v": 0, "s": "old"} for k in (nan, -0.0, None)])
    given = spark.createDataFrame([(nan, 1, "a"), (0.0, 2, "b"), (None, 3, "c")], "k double, v long, s string")
    merge_spark(spark, table, given, ["k"])
    assert sorted((r[1], r[2]) for r in rows_of_any(table)) == [(0, "old"), (1, "a"), (2, "b"), (3, "c")]


def rows_of_any(table):
    return [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]


@pytest.mark.parametrize("definition", [VECTORS, *long_cases([KEYED])])
def test_a_repeated_call_commits_once(spark, warehouse, definition):
    table = create(warehouse, **definition)
    for _ in range(2):
        snapshot = merge_spark(
            spark,
            table,
            source(spark, (1, 1, "x")),
            ["k"],
            when_matched=Update({"v": F.expr("v + 1")}),
            user="job",
            identifier=3,
        )
        assert (snapshot.commit_user, snapshot.commit_identifier) == ("job", 3)
    assert rows(table) == sorted([(1, 11, "s1"), *old(0, 2, 3, 4, 5)])


@pytest.mark.long
def test_nothing_that_changes_is_no_commit(spark, warehouse):
    table = create(warehouse)
    assert delete_spark(spark, table, F.col("k") > 100) is None
    assert update_spark(spark, table, {"v": 1}, "k > 100") is None
    assert merge_spark(spark, table, source(spark), ["k"]) is None


def test_a_delete_of_a_keyed_table_reads_only_the_columns_it_needs(spark, warehouse, monkeypatch):
    table, read = create(warehouse, **KEYED), []
    real = delete_update.target_rows
    monkeypatch.setattr(delete_update, "target_rows", lambda *arguments: read.append(arguments[4]) or real(*arguments))
    delete_spark(spark, table, F.col("v") >= 30)
    assert read == [["k", "v"]]
    assert rows(table) == old(0, 1, 2)


def test_a_condition_of_sql_text_leaves_out_files_of_other_partitions(spark, warehouse, monkeypatch):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.p", SCHEMA, partition_by=["s"])
    table.write([{"k": k, "v": k, "s": "ab"[k % 2]} for k in range(4)])
    read = []
    real = delete_update.target_rows
    monkeypatch.setattr(delete_update, "target_rows", lambda *arguments: read.append(arguments[2]) or real(*arguments))
    delete_spark(spark, table, "target.s = 'a' AND abs(v) = 2")
    assert [len(plan.files) for plan in read] == [1]
    assert rows(table) == [(0, 0, "a"), (1, 1, "b"), (3, 3, "b")]


# -- concurrent commits


@pytest.mark.parametrize("definition", [KEYED, *long_cases([VECTORS])])
def test_a_concurrent_commit_of_the_same_rows_is_merged_too(spark, warehouse, monkeypatch, definition):
    table = create(warehouse, **definition)
    tries = committing_in_between(monkeypatch, merge, lambda: table.update(col("k") == 1, {"v": 500}))
    merge_spark(
        spark,
        table,
        source(spark, (1, 1, "new"), (7, 7, "new")),
        ["k"],
        when_matched=Update({"v": F.expr("v + source.v")}),
    )
    assert len(tries) == 2
    assert rows(table) == sorted([(1, 501, "s1"), (7, 7, "new"), *old(0, 2, 3, 4, 5)])


@pytest.mark.long
def test_a_concurrent_commit_to_another_partition_does_not_repeat_a_merge(spark, warehouse, monkeypatch):
    table = create(warehouse, primary_key=["k", "s"], partition_by=["s"], options={"bucket": "1"})
    tries = committing_in_between(monkeypatch, merge, lambda: table.write([{"k": 50, "v": 0, "s": "other"}]))
    merge_spark(spark, table, source(spark, (1, -1, "s1"), (8, 8, "s1")), ["k", "s"])
    assert len(tries) == 1
    assert rows(table) == sorted([(1, -1, "s1"), (8, 8, "s1"), (50, 0, "other"), *old(0, 2, 3, 4, 5)])


def test_a_change_that_is_outdated_in_every_try_changes_nothing(spark, warehouse, monkeypatch):
    table = create(warehouse, options={"commit.max-retries": "1"})
    rival = [lambda at=at: table.write([{"k": 100 + at, "v": 0, "s": "rival"}]) for at in range(3)]
    tries = committing_in_between(monkeypatch, delete_update, *rival)
    with pytest.raises(CommitConflict, match="read again"):
        update_spark(spark, table, {"v": F.expr("v + 1")}, "k >= 0")
    assert len(tries) == 2
    assert rows(table) == sorted([*old(*range(6)), (100, 0, "rival"), (101, 0, "rival")])


def committing_in_between(monkeypatch, module, *rivals):
    """Run one of ``rivals`` after each computation of the messages of a change; return the list of computations."""
    waiting, tries = list(rivals), []
    real = module.row_messages

    def with_rival(*arguments):
        tries.append(arguments)
        messages = real(*arguments)
        if waiting:
            waiting.pop(0)()
        return messages

    monkeypatch.setattr(module, "row_messages", with_rival)
    return tries


# -- errors


def test_several_source_rows_for_one_row_are_refused_unless_they_delete(spark, warehouse):
    table = create(warehouse, **VECTORS)
    double = source(spark, (1, 1, "a"), (1, 2, "b"), (2, 3, "c"))
    with pytest.raises(InvalidRequest, match=r"several rows .* change the row with k = 1: only one row may do so"):
        merge_spark(spark, table, double, ["k"])
    assert rows(table) == old(*range(6))
    merge_spark(spark, table, double, ["k"], when_matched=Delete(), when_not_matched=None)
    assert rows(table) == old(0, 3, 4, 5)


ENGINE = {"primary_key": ["k"], "options": {"bucket": "1", "merge-engine": "first-row"}}
WRONG = {
    "engine": (ENGINE, lambda s, t: update_spark(s, t, {"v": F.lit(1)}, "k = 1"), "merge-engine = first-row"),
    "engine delete": (ENGINE, lambda s, t: delete_spark(s, t, F.col("v") > 1), "would not remove its rows"),
    "engine merge": (ENGINE, lambda s, t: merge_spark(s, t, source(s), ["k"]), "would not replace its rows"),
    "key": (KEYED, lambda s, t: update_spark(s, t, {"k": F.lit(1)}, "k = 1"), "part of the primary key"),
    "no column": ({}, lambda s, t: update_spark(s, t, {"x": 1}, "k = 1"), "no column 'x' to update"),
    "no mapping": ({}, lambda s, t: update_spark(s, t, "v = 1", "k = 1"), "update needs a mapping"),
    "no where": ({}, lambda s, t: delete_spark(s, t, None), "delete needs a condition"),
    "no SQL": ({}, lambda s, t: delete_spark(s, t, "k = = 1"), "is not Spark SQL"),
    "unknown": ({}, lambda s, t: delete_spark(s, t, "abs(x) = 1"), "`x` cannot be resolved"),
    "no condition": ({}, lambda s, t: delete_spark(s, t, 7), "where takes a predicate"),
    "type": ({}, lambda s, t: update_spark(s, t, {"v": F.lit("a")}, "k = 1"), "new value is string: cast"),
    "literal": ({}, lambda s, t: update_spark(s, t, {"v": "a", "s": F.lit("b")}, "k = 1"), "'v' cannot be set to 'a'"),
    "overflow": (
        {},
        lambda s, t: update_spark(s, t, {"v": F.expr("cast(k as decimal(30, 0)) * 9999999999999999999")}, "k = 5"),
        "cannot be represented|overflow",
    ),
    "function": (
        {},
        lambda s, t: update_spark(s, t, {"v": F.lit(1), "s": lambda r: r["s"]}, "k = 1"),
        "cannot set column 's' to the function",
    ),
    "no source": ({}, lambda s, t: merge_spark(s, t, [{"k": 1}], ["k"]), "source of merge_spark is a DataFrame"),
    "on": ({}, lambda s, t: merge_spark(s, t, source(s).drop("k"), ["k"]), "the source has no column 'k'"),
    "clause": ({}, lambda s, t: merge_spark(s, t, source(s), ["k"], when_matched="v = 1"), "when_matched takes Update"),
    "extra": (
        {},
        lambda s, t: merge_spark(s, t, source(s).withColumn("x", F.lit(1)), ["k"]),
        "no column 'x', which the source has and no clause names",
    ),
    "insert of target": (
        {},
        lambda s, t: merge_spark(s, t, source(s), ["k"], when_not_matched=Insert({"v": F.col("v")})),
        "cannot be resolved",
    ),
    "by source": (
        {},
        lambda s, t: merge_spark(s, t, source(s), ["k"], when_not_matched_by_source=Update({"v": col("v")})),
        "cannot set source columns",
    ),
    "several rows of one": (
        {},
        lambda s, t: update_spark(s, t, {"s": F.explode(F.array(F.lit("a"), F.lit("b")))}, "k = 1"),
        "generator is not supported",
    ),
    "no row of one": (
        KEYED,
        lambda s, t: merge_spark(
            s, t, source(s, (1, 1, "a")), ["k"], when_matched=Update({"s": F.explode(F.array().cast("array<string>"))})
        ),
        "generator is not supported",
    ),
    "aggregate": ({}, lambda s, t: update_spark(s, t, {"s": F.max("s")}, "k = 1"), "MISSING_GROUP_BY"),
    "streaming source": (
        {},
        lambda s, t: merge_spark(s, t, s.readStream.format("rate").load().selectExpr("value as k"), ["k"]),
        "source of merge_spark must not be streaming",
    ),
    "no null": (
        {"schema": pa.schema([pa.field("k", pa.int64(), nullable=False), *list(SCHEMA)[1:]])},
        lambda s, t: merge_spark(s, t, source(s, (None, 1, "a")), ["k"]),
        "NOT NULL",
    ),
}


IN_TASKS = ("overflow", "no null")


@pytest.mark.parametrize("case", [*(case for case in WRONG if case not in IN_TASKS), *long_cases(IN_TASKS)])
def test_wrong_calls_are_refused_and_change_nothing(spark, warehouse, case):
    definition, call, message = WRONG[case]
    table = create(warehouse, **definition)
    with pytest.raises(Exception, match=message) as raised:
        call(spark, table)
    if case != "overflow":
        assert isinstance(raised.value, InvalidRequest | SchemaMismatch | UnsupportedFeature)
    assert rows(table) == old(*range(6))


def test_several_new_rows_for_one_row_never_reach_a_deletion_vector(spark, warehouse, monkeypatch):
    """The second check, for expressions whose rows Spark does not show before they are computed."""
    table = create(warehouse, **VECTORS)
    monkeypatch.setattr(delete_update, "value_column", lambda value, field, rows, source: value)
    with pytest.raises(InvalidRequest, match=r"table db\.t: the expressions give several new rows for one row"):
        update_spark(spark, table, {"s": F.explode(F.array(F.lit("a"), F.lit("b")))}, "k = 1")
    assert rows(table) == old(*range(6))


@pytest.mark.parametrize("definition", [{}, pytest.param(VECTORS, marks=pytest.mark.long)], ids=["plain", "vectors"])
def test_conditions_on_partition_columns_find_rows(spark, warehouse, definition):
    """Spark needs the positions of rows of which no other column is read."""
    table = create(warehouse, partition_by=["s"], **definition)
    delete_spark(spark, table, F.upper("s") == "S1")
    update_spark(spark, table, {"k": 7, "v": 8}, "upper(s) = 'S2'")
    merge_spark(
        spark, table, source(spark, (0, 0, "s3")).select("s"), ["s"], when_matched=Delete(), when_not_matched=None
    )
    assert rows(table) == [*old(0, 4, 5), (7, 8, "s2")]


def test_a_window_of_columns_that_stay_is_over_the_rows_that_match(spark, warehouse):
    table = create(warehouse, **KEYED)
    update_spark(spark, table, {"v": F.expr("sum(v) over ()")}, "k < 3")
    assert rows(table) == [(0, 30, "s0"), (1, 30, "s1"), (2, 30, "s2"), *old(3, 4, 5)]


def test_functions_of_arrow_tables_set_columns_by_the_library(spark, warehouse):
    table = create(warehouse, **KEYED)
    update_spark(spark, table, {"s": lambda r: pc.utf8_upper(r["s"])}, "k = 2")
    assert rows(table) == sorted([(2, 20, "S2"), *old(0, 1, 3, 4, 5)])
