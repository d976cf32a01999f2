"""write_spark without a shuffle: when, and the same rows, changelogs and errors as of a write in one process."""

from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core.errors import SchemaMismatch, StorageError
from paimon_core.metadata.data_file import FileSource
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.spark import compact_spark, write_spark
from paimon_core.spark.writes import direct, task_rows, text_padding, writer
from paimon_core.spark.writes.direct import direct_tasks
from paimon_core.spark.writes.key_assignment import KeyAssignment
from tests.support.long_cases import long_cases

SCHEMA = pa.schema([pa.field("k", pa.int64(), False), ("v", pa.int64()), ("w", pa.string())])
WRITE_ONLY = {"write-only": "true"}
MERGED = {
    "deduplicate": {},
    "sequence field": {"sequence.field": "v"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
    "changelog input": {"changelog-producer": "input"},
    "changelog lookup": {"changelog-producer": "lookup"},
    "changelog full-compaction": {"changelog-producer": "full-compaction"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "dynamic buckets": {"bucket": "-1", "dynamic-bucket.target-row-num": "20"},
}


@pytest.fixture
def few_bytes(monkeypatch):
    """A direct write needs no large rows."""
    monkeypatch.setattr(direct, "LEAST_TASK_BYTES", 1)
    monkeypatch.setattr(direct, "LEAST_FILE_BYTES", 0)


@pytest.fixture
def chosen(monkeypatch, few_bytes):
    """The number of tasks of each direct write, None for a write with a shuffle."""
    found = []

    def noted(*arguments, **options):
        found.append(direct_tasks(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(writer, "direct_tasks", noted)
    return found


def create(warehouse, name="t", *, primary_key=("k",), partition_by=(), **options):
    catalog = paimon.open_catalog(str(warehouse))
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": "2"} | options
    return catalog.create_table(
        f"db.{name}", SCHEMA, primary_key=primary_key, partition_by=partition_by, options=options
    )


def rows(spark, count=400, keys=50, first=0, parts=4):
    """Return rows with ``keys`` keys, each in all partitions of Spark; a later row of a key has a higher v."""
    columns = f"id % {keys} + {first} as k", "id + 1 as v", "if(id % 3 = 0, null, cast(id as string)) as w"
    return spark.range(0, count, 1, parts).selectExpr(*columns)


def content(table):
    return table.refresh().scan().to_arrow().sort_by("k").to_pylist()


def told(table):
    return sorted(map(repr, table.refresh().changes().to_arrow().to_pylist()))


def stored(table):
    return {info.path for info in table.context.storage.walk(table.context.paths.root) if not info.is_directory}


def files_of(table):
    """Return the number of live data files of each bucket, after a check that no other data file is stored."""
    live = [(entry.bucket, entry.file) for entry in latest_entries(table.refresh().context)]
    assert {file.file_source for _, file in live} == {FileSource.APPEND}
    names = {path.rpartition("/")[2] for path in stored(table)}
    assert {name for name in names if name.startswith("data-")} == {file.file_name for _, file in live}
    return Counter(bucket for bucket, _ in live)


FEW = ("deduplicate", "changelog input", "changelog lookup", "dynamic buckets")


@pytest.mark.parametrize("name", [*FEW, *long_cases(name for name in MERGED if name not in FEW)])
def test_rows_are_those_of_a_write_in_one_process(spark, warehouse, chosen, name):
    table, plain = (create(warehouse, which, **WRITE_ONLY | MERGED[name]) for which in ("direct", "plain"))
    for first in (0, 25):
        df = rows(spark, first=first)
        write_spark(df, table)
        plain.refresh().write(df.toArrow())
    assert chosen == [2, 2]
    assert len(table.refresh().inspect.files()) > len(plain.refresh().inspect.files())
    compacted = [one.refresh().with_options({"write-only": "false"}) for one in (table, plain)]
    if "vectors" not in name and name not in ("changelog lookup", "first-row"):  # level 0 is not visible there
        assert content(table) == content(plain)
    compact_spark(spark, compacted[0], full=True)
    compacted[1].compact(full=True)
    assert content(table) == content(plain) != []
    if "changelog" in name:
        assert told(table) == told(plain)


@pytest.mark.parametrize("name", ["changelog input", *long_cases(("deduplicate", "aggregation", "dynamic buckets"))])
def test_a_table_that_compacts_itself_gets_one_run_with_the_same_rows(spark, warehouse, chosen, name):
    table, plain = (create(warehouse, which, **MERGED[name]) for which in ("direct", "plain"))
    df = rows(spark)
    write_spark(df, table)
    plain.write(df.toArrow())
    assert chosen == [2]
    assert set(files_of(table).values()) == {1}
    assert content(table) == content(plain)
    if "changelog" in name:
        assert told(table) == told(plain)
    write_spark(rows(spark, first=25), table.refresh())
    assert chosen == [2, None], "the table has rows, so the rows are shuffled"
    plain.refresh().write(rows(spark, first=25).toArrow())
    assert content(table) == content(plain)
    write_spark(rows(spark, 100), table.refresh(), overwrite="dynamic")
    assert chosen == [2, None, 2]
    plain.refresh().overwrite(rows(spark, 100).toArrow())
    assert content(table) == content(plain)
    assert table.refresh().maintenance.check(deep=True).findings == ()


@pytest.mark.parametrize("name", ["changelog lookup", *long_cases(("first-row", "deletion vectors"))])
def test_a_table_that_compacts_level_0_gets_the_same_rows(spark, warehouse, chosen, name):
    table, plain = (create(warehouse, which, **MERGED[name]) for which in ("direct", "plain"))
    for first in (0, 25):
        df = rows(spark, first=first)
        write_spark(df, table.refresh())
        plain.refresh().write(df.toArrow())
        assert content(table) == content(plain) != []
    assert chosen == [2, 2]
    if "changelog" in name:
        assert told(table) == told(plain)
    assert table.refresh().maintenance.check(deep=True).findings == ()


def test_runs_without_overlaps_stay_and_too_many_are_merged(spark, warehouse, chosen, monkeypatch):
    ordered = rows(spark, 400, 400)
    stays = create(warehouse, "stays")
    write_spark(ordered, stays)
    assert files_of(stays) == {0: 2, 1: 2}
    fewer = create(warehouse, "fewer", **{"num-sorted-run.compaction-trigger": "3"})
    write_spark(ordered, fewer)
    assert files_of(fewer) == {0: 1, 1: 1}
    monkeypatch.setattr(direct, "LARGE_TASK_BYTES", 1_000)
    many = create(warehouse, "many")
    write_spark(ordered, many)
    assert chosen == [2, 2, 4]
    assert files_of(many) == {0: 1, 1: 1}
    assert content(stays) == content(fewer) == content(many) == ordered.toArrow().to_pylist()


def test_deletes_are_kept_when_new_runs_are_merged(spark, warehouse, chosen):
    df = rows(spark, 100, 50).withColumn("kind", F.expr("if(v > 90, '-D', '+I')"))
    table = create(warehouse)
    write_spark(df, table, kinds="kind")
    assert chosen == [2]
    assert [row["k"] for row in content(table)] == [*range(40)]
    assert [entry.file.delete_row_count for entry in latest_entries(table.refresh().context)] == [4, 6]


def test_long_texts_are_padded_and_keys_may_be_texts(spark, warehouse, chosen, monkeypatch):
    monkeypatch.setattr(text_padding, "LEAST_BYTES", 0)
    monkeypatch.setattr(text_padding, "BATCH_BYTES", 1 << 20)
    padded = []
    monkeypatch.setattr(task_rows, "padded", lambda df: padded.append(df) or text_padding.padded(df))
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table(
        "db.t", {"k": "STRING NOT NULL", "v": "STRING"}, primary_key=["k"], options={"bucket": "-1"}
    )
    df = spark.range(0, 100, 1, 4).selectExpr("cast(id as string) as k", "repeat('x', cast(id * 100 as int)) as v")
    write_spark(df, table)
    assert (chosen, len(padded)) == ([2], 1)
    assert content(table) == sorted(df.toArrow().to_pylist(), key=lambda row: row["k"])


def test_an_error_leaves_nothing(spark, warehouse, chosen, monkeypatch):
    table = create(warehouse)
    with pytest.raises(SchemaMismatch, match="column 'k' is NOT NULL"):
        write_spark(rows(spark).withColumn("k", F.expr("if(v = 399, null, k)")), table)

    def fails(_):
        def work(context, tasks):
            raise StorageError("no disk")

        return work

    monkeypatch.setattr(writer, "spark_work", fails)
    before = stored(table)
    with pytest.raises(StorageError, match="no disk"):
        write_spark(rows(spark), table)
    assert chosen == [2, 2]
    assert stored(table) == before
    assert table.refresh().latest_snapshot() is None


def test_when_a_write_is_direct(spark, warehouse, few_bytes, monkeypatch):
    table = create(warehouse)
    df = rows(spark)

    def found(df=df, context=table.context, *, order_by=(), overwrites=False, tasks=None, keys=None):
        return direct_tasks(df, context, order_by=order_by, overwrites=overwrites, tasks=tasks, keys=keys)

    assert found() == 2
    assert found(order_by=["v"]) is None
    assert found(tasks=2) is None
    assert found(spark.createDataFrame([(1, 1, "a")], "k bigint, v bigint, w string")) is None, "unknown bytes"
    assert found(df.coalesce(1)) is found(df.repartition(1)) is found(rows(spark, parts=1)) is None
    assert found(df.repartition(8)) == found(df.groupBy("k").max("v")) == 2
    df.write.parquet(f"{warehouse}/one")
    assert found(spark.read.parquet(f"{warehouse}/one").where("k > 1")) == 2
    df.coalesce(1).write.parquet(f"{warehouse}/two")
    assert found(spark.read.parquet(f"{warehouse}/two").where("k > 1")) is None, "one small file"
    append = create(warehouse, "append", primary_key=(), **{"bucket-key": "k"})
    assert found(context=append.context) is None
    parts = create(warehouse, "parts", primary_key=("k", "w"), partition_by=("w",))
    assert found(context=parts.context) is None
    assert found(context=parts.context, keys=KeyAssignment({b"a": {0: None, 1: None}})) == 2

    table.write(df.limit(1).toArrow())
    context = table.refresh().context
    assert (found(context=context), found(context=context, overwrites=True)) == (None, 2)
    for options in (WRITE_ONLY, {"compaction.force-up-level-0": "true"}, MERGED["changelog lookup"]):
        assert found(context=table.refresh().with_options(options).context) == 2, options


def test_a_direct_write_has_few_large_tasks_and_files(spark, warehouse, monkeypatch):
    small, wide = (create(warehouse, f"b{buckets}", bucket=f"{buckets}").context for buckets in (2, 100))
    df = rows(spark)
    options = {"order_by": (), "overwrites": False, "tasks": None, "keys": None}

    def found(size, context=small, cores=2):
        monkeypatch.setattr(direct, "input_bytes", lambda _: size)
        monkeypatch.setattr(direct, "cores", lambda _: cores)
        return direct_tasks(df, context, **options)

    least = direct.LEAST_TASK_BYTES
    assert (found(2 * least), found(2 * least - 1)) == (2, None)
    assert (found(2 * least, wide), found(200 << 20, wide), found((200 << 20) - 1, wide)) == (None, 2, None)
    assert (found(3 * direct.LARGE_TASK_BYTES), found(4 * direct.LARGE_TASK_BYTES + 1)) == (3, None), "df has 4 parts"
    df = rows(spark, parts=20)
    assert (found(4 * direct.LARGE_TASK_BYTES + 1), found(8 * direct.LARGE_TASK_BYTES + 1)) == (5, None)
    assert (found(8 * least, cores=8), found(9 * least, cores=9)) == (8, None)
    setting = type(spark.conf).get
    dynamic = {"spark.dynamicAllocation.enabled": "True"}
    monkeypatch.setattr(type(spark.conf), "get", lambda conf, *name: dynamic.get(name[0]) or setting(conf, *name))
    assert found(2 * least) is None, "Spark may add executors"


def test_an_object_store_gets_only_runs_that_a_compaction_merges_anyway(spark, warehouse, few_bytes, monkeypatch):
    table = create(warehouse)
    monkeypatch.setattr(type(table.context.storage), "is_remote", True)
    options = {"order_by": (), "overwrites": True, "tasks": None, "keys": None}
    assert direct_tasks(rows(spark), table.context, **options) is None
    assert direct_tasks(rows(spark), table.with_options(WRITE_ONLY).context, **options) == 2
