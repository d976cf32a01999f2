"""Table: what each method returns and which arguments it refuses, in one process with in-memory storage."""

import dataclasses
import datetime
import pickle
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.commit.author import Author
from paimon_core.compact import compaction
from paimon_core.datafile.writing.rolling_writer import RollingWriter

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.float64())])


@pytest.fixture
def catalog(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return catalog


@pytest.fixture
def keyed(catalog):
    options = {"bucket": "2", "write-only": "true"}
    return catalog.create_table("db.k", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)


@pytest.fixture
def append(catalog):
    return catalog.create_table("db.a", SCHEMA, partition_by=["p"], options={"write-only": "true"})


def rows(*values):
    return pa.table([list(c) for c in zip(*values, strict=True)], schema=SCHEMA) if values else SCHEMA.empty_table()


def content(table, **scan):
    return sorted(tuple(r.values()) for r in table.scan(**scan).to_arrow().to_pylist())


def test_upsert_and_kinds(keyed):
    first = keyed.write(rows(("a", 1, 1.0), ("b", 2, 2.0)))
    assert (first.id, first.commit_kind, first.total_record_count) == (1, "APPEND", 2)
    keyed.write(rows(("a", 1, 9.0), ("a", 3, 3.0)))
    keyed.write(rows(("b", 2, 0.0)).append_column("op", pa.array(["-D"])), kinds="op")
    assert content(keyed) == [("a", 1, 9.0), ("a", 3, 3.0)]
    assert keyed.write(rows()) is None
    assert keyed.latest_snapshot().id == 3


def test_scans(keyed):
    keyed.write(rows(*[("a", n, float(n)) for n in range(100)]))
    scan = keyed.scan(columns=["v"], where=(col("k") >= 10) & (col("k") < 20))
    assert sorted(scan.to_arrow()["v"].to_pylist()) == [float(n) for n in range(10, 20)]
    assert scan.count() == 10
    assert pl.DataFrame(scan).height == len(scan.to_pandas()) == scan.to_polars().height == 10
    assert sum(b.num_rows for b in scan.to_batches()) == 10
    assert keyed.scan(limit=7).to_arrow().num_rows == 7
    assert keyed.scan(limit=0).to_arrow().num_rows == 0
    assert keyed.scan(limit=7).count() == 7
    assert keyed.scan().count() == 100
    assert "snapshot 1" in str(scan.explain())


def test_a_table_never_written_is_empty(keyed):
    assert keyed.latest_snapshot() is None
    assert keyed.scan().to_arrow().schema == SCHEMA.set(0, pa.field("p", pa.string(), False)).set(
        1, pa.field("k", pa.int64(), False)
    )
    assert not keyed.compact(full=True)
    assert keyed.delete(col("k") == 1) is None
    assert not keyed.expire_snapshots().expired
    for view in ("snapshots", "files", "manifests", "partitions", "buckets", "tags"):
        assert getattr(keyed.inspect, view)().num_rows == 0


def test_time_travel(keyed):
    for n in range(1, 4):
        keyed.write(rows(("a", 1, float(n))))
    keyed.tags.create("two", 2)
    times = keyed.inspect.snapshots()["commit_time_utc"]
    assert content(keyed.at(snapshot=1)) == [("a", 1, 1.0)]
    assert content(keyed.at(tag="two")) == [("a", 1, 2.0)]
    assert content(keyed.at(time=times[2].as_py())) == [("a", 1, 3.0)]
    with pytest.raises(paimon.SnapshotNotFound, match="9"):
        keyed.at(snapshot=9)
    with pytest.raises(paimon.TagNotFound, match="three"):
        keyed.at(tag="three")
    with pytest.raises(paimon.SnapshotNotFound):
        keyed.at(time=datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC))
    with pytest.raises(paimon.InvalidRequest, match="exactly one"):
        keyed.at()
    with pytest.raises(AttributeError, match="at snapshot 1 is read-only: call write on"):
        keyed.at(snapshot=1).write(rows(("a", 1, 1.0)))


def test_an_identifier_commits_once(append):
    for _ in range(3):
        assert append.write(rows(("a", 1, 1.0)), user="u", identifier=5).id == 1
    assert content(append) == [("a", 1, 1.0)]
    with pytest.raises(paimon.InvalidRequest, match="user"):
        append.write(rows(("a", 1, 1.0)), identifier=6)
    with pytest.raises(paimon.InvalidRequest, match="-1"):
        append.write(rows(("a", 1, 1.0)), user="u", identifier=-1)


def test_overwrites(append):
    append.write(rows(("a", 1, 1.0), ("b", 2, 2.0), ("c", 3, 3.0)))
    append.overwrite(rows(("a", 9, 9.0)))
    assert content(append) == [("a", 9, 9.0), ("b", 2, 2.0), ("c", 3, 3.0)]
    append.overwrite(rows(("b", 8, 8.0)), where=col("p").is_in(["b", "c"]))
    assert content(append) == [("a", 9, 9.0), ("b", 8, 8.0)]
    before = append.latest_snapshot().id
    with pytest.raises(paimon.InvalidRequest, match="p=a"):
        append.overwrite(rows(("a", 8, 8.0)), where=col("p") == "b")
    with pytest.raises(paimon.InvalidRequest, match="not a partition column"):
        append.overwrite(rows(("a", 8, 8.0)), where=col("k") == 1)
    assert append.latest_snapshot().id == before
    append.delete(col("p") == "a")
    assert content(append) == [("b", 8, 8.0)]
    append.delete(col("v") == 8.0)
    assert content(append) == []


def test_a_whole_table_is_replaced_when_it_has_no_partitions(catalog):
    table = catalog.create_table("db.w", SCHEMA, options={"write-only": "true"})
    table.write(rows(("a", 1, 1.0), ("b", 2, 2.0)))
    assert table.overwrite(rows(("c", 3, 3.0))).commit_kind == "OVERWRITE"
    assert content(table) == [("c", 3, 3.0)]


def test_an_append_table_takes_inserts_only(append):
    with pytest.raises(paimon.InvalidRequest, match="no primary key"):
        append.write(rows(("a", 1, 1.0)), kinds=["-D"])
    append.write(rows(("a", 1, 1.0)), kinds=["+I"])


def test_a_refused_batch_writes_nothing(keyed):
    with pytest.raises(paimon.SchemaMismatch, match="'x'"):
        keyed.write(pa.table({"p": ["a"], "k": [1], "x": [1]}))
    with pytest.raises(paimon.SchemaMismatch, match="'zz' is not a row kind"):
        keyed.write(rows(("a", 1, 1.0)), kinds=["zz"])
    with pytest.raises(paimon.SchemaMismatch, match="'op'"):
        keyed.write(rows(("a", 1, 1.0)), kinds="op")
    assert keyed.latest_snapshot() is None
    assert not [i for i in keyed.context.storage.list(keyed.location) if i.is_directory and "=" in i.name]


def test_a_writer_hands_over_messages(keyed):
    with keyed.writer() as writer:
        writer.write(rows(("a", 1, 1.0)))
        first = writer.flush()
        writer.write(rows(("a", 1, 2.0)))
        second = writer.flush()
    assert keyed.latest_snapshot() is None
    keyed.commit([*first, *second], user="u", identifier=1)
    assert content(keyed) == [("a", 1, 2.0)]


def test_a_writer_that_is_not_flushed_deletes_its_files(keyed):
    with keyed.writer() as writer:
        writer.write(rows(("a", 1, 1.0)))
        writer.flush()
        writer.write(rows(("a", 2, 1.0)))
    paths = [i.path for i in keyed.context.storage.list(f"{keyed.location}/p=a/bucket-0")]
    paths += [i.path for i in keyed.context.storage.list(f"{keyed.location}/p=a/bucket-1")]
    assert len(paths) == 1, "the flushed message keeps its file"


def test_write_only_false_compacts_by_itself(catalog):
    table = catalog.create_table(
        "db.auto", SCHEMA, primary_key=["k"], options={"bucket": "1", "num-sorted-run.compaction-trigger": "3"}
    )
    for n in range(7):
        table.write(rows(("a", n, float(n))))
    assert max(table.inspect.buckets()["sorted_runs"].to_pylist()) <= 3
    assert "COMPACT" in table.inspect.snapshots()["commit_kind"].to_pylist()
    assert table.scan().count() == 7


def test_rowkind_field_and_ignore_delete(catalog):
    schema = SCHEMA.append(pa.field("op", pa.string()))
    options = {"bucket": "1", "write-only": "true", "rowkind.field": "op"}
    table = catalog.create_table("db.r", schema, primary_key=["k"], options=options)
    table.write(pa.table([["a"] * 3, [1, 2, 1], [1.0] * 3, ["+I", "+I", "-D"]], schema=schema))
    assert [r[1] for r in content(table)] == [2]
    with pytest.raises(paimon.InvalidRequest, match="'op'"):
        table.write(pa.table([["a"], [1], [1.0], ["+I"]], schema=schema), kinds=["+I"])
    with pytest.raises(paimon.SchemaMismatch, match="'no'"):
        table.write(pa.table([["a"], [1], [1.0], ["no"]], schema=schema))
    kept = catalog.create_table(
        "db.i", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true", "ignore-delete": "true"}
    )
    kept.write(rows(("a", 1, 1.0), ("a", 1, 2.0)), kinds=["+I", "-D"])
    assert content(kept) == [("a", 1, 1.0)]


def test_maintenance_arguments(keyed):
    keyed.write(rows(("a", 1, 1.0)))
    for name in ("keep_last", "keep_max", "limit"):
        with pytest.raises(paimon.InvalidRequest, match=name):
            keyed.expire_snapshots(**{name: 0})
    with pytest.raises(paimon.InvalidRequest, match="keep_for"):
        keyed.tags.create("t", keep_for=datetime.timedelta(0))
    with pytest.raises(paimon.InvalidRequest, match="exactly one"):
        keyed.rollback()
    keyed.tags.create("t")
    with pytest.raises(paimon.AlreadyExists, match="t"):
        keyed.tags.create("t")
    assert [t.name for t in keyed.tags.list()] == ["t"]
    keyed.tags.delete("t")
    with pytest.raises(paimon.TagNotFound, match="t"):
        keyed.tags.delete("t")


def test_a_table_travels_between_processes(keyed):
    keyed.write(rows(("a", 1, 1.0)))
    assert content(pickle.loads(pickle.dumps(keyed))) == [("a", 1, 1.0)]  # noqa: S301


def test_a_different_bucket_count_is_a_conflict(catalog, keyed):
    keyed.write(rows(("a", 1, 1.0)))
    options = dict(keyed.schema.options) | {"bucket": "3"}
    assert keyed.context.schemas.publish(dataclasses.replace(keyed.schema, id=1, options=options))
    with pytest.raises(paimon.InvalidRequest, match=r"p=a.*2 buckets"):
        catalog.table("db.k").write(rows(("a", 1, 1.0)))
    catalog.table("db.k").overwrite(rows(("a", 1, 5.0)))
    assert content(catalog.table("db.k")) == [("a", 1, 5.0)]


# -- bugs that an audit found: each test is the smallest sequence of calls that failed


def data_files(table):
    return sorted(
        file.name
        for partition in table.context.storage.list(table.location)
        for bucket in table.context.storage.list(partition.path)
        if bucket.name.startswith("bucket-")
        for file in table.context.storage.list(bucket.path)
    )


def test_maintenance_that_fails_does_not_fail_the_write(catalog, caplog):
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "1", "snapshot.num-retained.max": "2"}
    table = catalog.create_table("db.u", SCHEMA, primary_key=["k"], options=options)
    table.context.storage.make_directory(f"{table.location}/branch/branch-b")
    table.context.storage.write(f"{table.location}/branch/branch-b/schema-0", b"{}")
    for n in range(3):
        assert table.write(rows(("a", n, 1.0))) is not None
    assert table.scan().count() == 3
    assert "its maintenance failed and is left to a later commit" in caplog.text


def test_rows_that_a_compaction_cannot_merge_do_not_fail_their_write(catalog, caplog):
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int8())])
    options = {"bucket": "1", "merge-engine": "aggregation", "num-sorted-run.compaction-trigger": "1"}
    options["fields.v.aggregate-function"] = "sum"
    table = catalog.create_table("db.s", schema, primary_key=["k"], options=options)
    for _ in range(2):
        assert table.write([{"k": 1, "v": 100}]) is not None
    assert "its maintenance failed and is left to a later commit: column 'v': sum overflows" in caplog.text
    with pytest.raises(paimon.InvalidRequest, match="sum overflows"):
        table.scan().to_arrow()


def test_rows_as_dictionaries_keep_every_column(catalog):
    table = catalog.create_table("db.d", SCHEMA, options={"write-only": "true"})
    table.write([{"k": 1}, {"k": 2, "v": 2.5}])
    assert content(table, columns=["k", "v"]) == [(1, None), (2, 2.5)]


def test_a_writer_used_again_continues_after_concurrent_commits(catalog):
    table = catalog.create_table("db.w", SCHEMA, primary_key=["k"], options={"bucket": "2", "write-only": "true"})
    with table.writer() as writer:
        writer.write(rows(("a", 1, 0.0)))
        table.commit(writer.flush())
        for n in range(5):
            table.write(rows(*[("a", k, float(n)) for k in range(20)]))
        writer.write(rows(*[("a", k, 99.0) for k in range(20)]))
        table.commit(writer.flush())
    assert set(table.scan(["v"]).to_arrow()["v"].to_pylist()) == {99.0}


def test_a_writer_that_lost_rows_says_so(catalog, tmp_path, monkeypatch):
    options = {"bucket": "1", "write-buffer-size": "1 b", "write-buffer-spillable": "false"}
    table = catalog.create_table("db.l", SCHEMA, primary_key=["k"], options=options)
    with table.writer() as writer:
        with monkeypatch.context() as broken:
            broken.setattr(RollingWriter, "write", lambda *_: (_ for _ in ()).throw(paimon.StorageError("disk full")))
            with pytest.raises(paimon.StorageError, match="disk full"):
                writer.write(rows(("a", 1, 1.0)))
        for again in (lambda: writer.write(rows(("a", 2, 1.0))), writer.flush):
            with pytest.raises(paimon.InvalidRequest, match="write all rows again"):
                again()


def test_the_write_buffer_counts_append_rows(catalog):
    options = {"write-only": "true", "write-buffer-size": "64 kb"}
    table = catalog.create_table("db.b", SCHEMA, partition_by=["p"], options=options)
    with table.writer() as writer:
        for n in range(20):
            writer.write(rows(*[(f"p{n}", k, 1.0) for k in range(2000)]))
            assert sum(w.buffered_bytes for w in writer._buckets.values()) <= 64 << 10
        table.commit(writer.flush())
    assert table.scan().count() == 40_000


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.write(rows(("a", 1, 1.0)), identifier=1),
        lambda t: t.write(rows(("a", 1, 1.0)), user=" "),
        lambda t: t.write(rows(("a", 1, 1.0)), properties={"a": 1}),
        lambda t: t.overwrite(rows(("a", 1, 1.0)), where=col("p") == "b"),
        lambda t: t.overwrite(rows(("a", 1, 1.0)), where=col("v") == 1.0),
        lambda t: t.write(rows(("a", 1, 1.0)), user="u", identifier=3),
    ],
)
def test_a_refused_commit_leaves_no_file(append, call):
    append.write(rows(("z", 1, 1.0)), user="u", identifier=5)
    before = data_files(append)
    with pytest.raises(paimon.InvalidRequest):
        call(append)
    assert data_files(append) == before
    assert append.latest_snapshot().id == 1


def test_a_lost_compaction_leaves_no_file(keyed):
    for n in range(3):
        keyed.write(rows(("a", 1, float(n))))
    tasks = keyed.plan_compaction(full=True)
    keyed.compact(full=True)
    before = data_files(keyed)
    with pytest.raises(paimon.CommitConflict):
        compaction.run(keyed.context, Author("u"), tasks)
    assert data_files(keyed) == before
    assert content(keyed) == [("a", 1, 2.0)]


def messages_of(table, *values):
    with table.writer() as writer:
        writer.write(rows(*values))
        return writer.flush()


def test_a_commit_never_deletes_files_of_the_caller(keyed):
    messages = messages_of(keyed, ("a", 1, 1.0))
    keyed.commit(messages, user="u", identifier=5)
    for again in ({}, {"user": "u", "identifier": 6}, {"user": "v", "identifier": 1}):
        with pytest.raises(paimon.CommitConflict, match="already in the table"):
            keyed.commit(messages, **again)
    compactions = [keyed.run_compaction(t) for t in keyed.plan_compaction(full=True)]
    keyed.commit(compactions)
    with pytest.raises(paimon.CommitConflict):
        keyed.commit(compactions)
    assert content(keyed) == [("a", 1, 1.0)]


def test_a_commit_refused_for_its_target_can_be_repeated(append):
    messages = messages_of(append, ("b", 9, 1.0))
    with pytest.raises(paimon.InvalidRequest, match="p=b"):
        append.commit(messages, overwrite=append.overwrite_spec(col("p") == "a"))
    append.commit(messages, overwrite=append.overwrite_spec(col("p") == "b"))
    assert content(append) == [("b", 9, 1.0)]


def test_a_message_committed_long_ago_is_still_known(append):
    messages = messages_of(append, ("a", 1, 1.0))
    append.commit(messages)
    for _ in range(25):
        append.write(rows(("z", 1, 1.0)))
    with pytest.raises(paimon.CommitConflict, match="already in the table"):
        append.commit(messages)
    assert append.scan(where=col("p") == "a").count() == 1


def test_messages_of_another_table_or_without_their_files(catalog, keyed, append):
    other = catalog.create_table(
        "db.o", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options={"bucket": "2", "write-only": "true"}
    )
    with pytest.raises(paimon.CommitConflict, match="written to another table"):
        other.commit(messages_of(keyed, ("a", 1, 1.0)))
    with pytest.raises(paimon.InvalidRequest, match="bucket"):
        keyed.commit(messages_of(append, ("a", 1, 1.0)))
    for wrong in (None, [5], "m"):
        with pytest.raises(paimon.InvalidRequest, match="commit messages"):
            keyed.commit(wrong)
    (message,) = messages_of(keyed, ("a", 1, 1.0))
    (file,) = message.new_files
    for changed, word in (
        ({"row_count": -5}, "-5 rows"),
        ({"level": -1}, "level -1"),
        ({"schema_id": 77}, "schema 77"),
        ({"file_name": "../../evil"}, "plain name"),
        ({"min_key": b""}, "evil|file"),
    ):
        broken = dataclasses.replace(message, new_files=(dataclasses.replace(file, **changed),))
        with pytest.raises(paimon.InvalidRequest, match=word):
            keyed.commit([broken])
    with pytest.raises(paimon.InvalidRequest, match="bucket 7"):
        keyed.commit([dataclasses.replace(message, bucket=7)])
    assert keyed.latest_snapshot() is None
    assert other.latest_snapshot() is None


def test_a_write_during_which_the_table_is_dropped_says_so(monkeypatch, catalog, keyed):
    def run_parallel(work, items):
        catalog.drop_table("db.k")
        raise paimon.StorageError("no such directory")

    monkeypatch.setattr("paimon_core.write.table_writer.run_parallel", run_parallel)
    with pytest.raises(paimon.TableNotFound, match="dropped"):
        keyed.write(rows(("a", 1, 1.0)))


def test_a_handle_does_not_outlive_its_table(catalog, keyed):
    keyed.write(rows(("a", 1, 1.0)))
    catalog.drop_table("db.k")
    for call in (lambda: keyed.write(rows(("a", 2, 1.0))), lambda: keyed.scan()):
        with pytest.raises(paimon.TableNotFound, match="dropped"):
            call()
    assert not catalog.table_exists("db.k")
    catalog.create_table("db.k", pa.schema([("v", pa.int64()), ("k", pa.string())]), options={"write-only": "true"})
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        keyed.write(rows(("a", 2, 1.0)))
    assert catalog.table("db.k").scan().count() == 0


def test_a_tag_of_a_pinned_table_names_its_snapshot(keyed):
    for n in range(3):
        keyed.write(rows(("a", 1, float(n))))
    keyed.at(snapshot=2).tags.create("two")
    assert keyed.tags.read("two").snapshot.id == 2
    keyed.tags.create("2024-01-15")
    assert [t.name for t in keyed.tags.list()] == ["2024-01-15", "two"]


def test_keys_that_are_nan_are_one_key(catalog):
    patterns = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    for buckets in ("1", "3", "5", "7"):
        name = f"db.nan{buckets}"
        options = {"bucket": buckets, "write-only": "true"}
        table = catalog.create_table(name, pa.schema([("k", pa.float64())]), primary_key=["k"], options=options)
        for pattern in patterns:
            table.write(pa.table({"k": np.array([pattern])}))
        assert table.scan().count() == 1


def test_a_limit_beyond_all_rows(keyed):
    keyed.write(rows(("a", 1, 1.0)))
    assert keyed.scan(limit=2**70).to_arrow().num_rows == 1


def test_a_key_must_hold_its_partition(catalog):
    with pytest.raises(paimon.InvalidRequest, match="'p'"):
        catalog.create_table("db.x", SCHEMA, primary_key=["k"], partition_by=["p"], options={"bucket": "1"})


def test_a_repeated_identifier_writes_no_file(append):
    append.write(rows(("a", 1, 1.0)), user="u", identifier=1)
    before = data_files(append)
    assert append.write(rows(("a", 1, 1.0)), user="u", identifier=1).id == 1
    assert append.committed("u", 1).id == 1
    assert append.committed("u", 2) is None
    assert data_files(append) == before


def test_a_bucket_count_blocks_only_its_own_partition(catalog, keyed):
    keyed.write(rows(("a", 1, 1.0)))
    options = dict(keyed.schema.options) | {"bucket": "3"}
    assert keyed.context.schemas.publish(dataclasses.replace(keyed.schema, id=1, options=options))
    changed = catalog.table("db.k")
    changed.write(rows(("b", 1, 1.0)))
    assert content(changed) == [("a", 1, 1.0), ("b", 1, 1.0)]


def test_a_read_of_an_expired_snapshot_says_so(keyed):
    keyed.write(rows(("a", 1, 1.0)))
    keyed.write(rows(("a", 1, 2.0)))
    scan = keyed.scan()
    scan.splits()
    keyed.compact(full=True)
    keyed.expire_snapshots(keep_last=1, keep_max=1)
    with pytest.raises(paimon.SnapshotNotFound, match="expired or was rolled back while it was read"):
        scan.to_arrow()


def test_deletes_with_a_kind_column_and_with_ignore_delete(catalog):
    schema = SCHEMA.append(pa.field("op", pa.string()))
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.r", schema, primary_key=["k"], options=options | {"rowkind.field": "op"})
    table.write(pa.table([["a"] * 2, [1, 2], [1.0] * 2, ["+I"] * 2], schema=schema))
    table.delete(col("k") == 1)
    assert [r[1] for r in content(table)] == [2]
    ignoring = catalog.create_table("db.i", SCHEMA, primary_key=["k"], options=options | {"ignore-delete": "true"})
    with pytest.raises(paimon.InvalidRequest, match="ignore-delete"):
        ignoring.delete(col("k") == 1)


def test_refresh(catalog, keyed):
    keyed.write(rows(("a", 1, 1.0)))
    assert content(keyed.refresh()) == [("a", 1, 1.0)]
    catalog.drop_table("db.k")
    with pytest.raises(paimon.TableNotFound, match="dropped"):
        keyed.refresh()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda t: t.at(time="today"), "time"),
        (lambda t: t.at(time=1.5), "time"),
        (lambda t: t.at(snapshot="x"), "'x'"),
        (lambda t: t.at(snapshot=True), "True"),
        (lambda t: t.expire_snapshots(older_than=3), "older_than"),
        (lambda t: t.tags.create("t", keep_for=3), "keep_for"),
        (lambda t: t.scan(columns=5), "columns"),
        (lambda t: t.scan(columns=[5]), "columns"),
    ],
)
def test_arguments_of_the_wrong_kind(keyed, call, word):
    keyed.write(rows(("a", 1, 1.0)))
    with pytest.raises(paimon.InvalidRequest, match=word):
        call(keyed)


def test_whole_numbers_fit_a_decimal(catalog):
    table = catalog.create_table("db.n", pa.schema([("d", pa.decimal128(10, 2))]), options={"write-only": "true"})
    table.write(pa.table({"d": pa.array([1, -3], pa.int64())}))
    assert [str(v) for v in table.scan().to_arrow()["d"].to_pylist()] == ["1.00", "-3.00"]
    with pytest.raises(paimon.SchemaMismatch, match="'d'"):
        table.write(pa.table({"d": pa.array([10**9], pa.int64())}))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"target-file-size": "0 b"}, "target-file-size"),
        ({"manifest.target-file-size": "0 b"}, "manifest"),
        ({"rowkind.field": "v"}, "not text"),
        ({"bucket-key": "k,k"}, "twice"),
        ({"sequence.field": "v,v"}, "twice"),
        ({"sequence.field.sort-order": "descending"}, "sequence.field"),
        ({"commit.min-retry-wait": "9 s", "commit.max-retry-wait": "1 s"}, "min-retry-wait"),
        ({"tag.default-time-retained": "0 s"}, "tag.default"),
        ({"record-level.expire-time": "1 d"}, "record-level.time-field"),
        ({"partition.default-name": ".."}, "default-name"),
        ({"snapshot.time-retained": "9" * 400 + " d"}, "time-retained"),
        ({"snapshot.num-retained.min": "9", "snapshot.num-retained.max": "5"}, "num-retained"),
    ],
)
def test_options_that_would_break_later(catalog, options, word):
    with pytest.raises(paimon.InvalidRequest, match=word):
        catalog.create_table("db.o", SCHEMA, primary_key=["k"], options={"bucket": "1"} | options)


@pytest.mark.parametrize(
    ("option", "value"),
    [("file.compression.per.level", "0:lz4"), ("file.format.per.level", "0:parquet"), ("changelog-file.prefix", "c-")],
)
def test_options_of_files_that_append_tables_do_not_have(catalog, option, value):
    with pytest.raises(paimon.InvalidRequest, match=f"{option} needs a table with a primary key"):
        catalog.create_table("db.o", SCHEMA, options={option: value})
    catalog.create_table("db.o", SCHEMA, primary_key=["k"], options={"bucket": "1", option: value})


def test_a_split_is_read_in_another_process_by_an_equal_scan(keyed):
    keyed.write(rows(("a", 1, 1.0), ("b", 2, 2.0)))
    keyed.write(rows(("a", 1, 9.0), ("a", 3, 3.0)))
    described = {"columns": ["v"], "where": col("v") > 2}
    carried = [split.to_bytes() for split in keyed.scan(**described).splits()]
    assert carried
    there = keyed.scan(**described)
    assert sorted(v for s in carried for v in there.read(paimon.Split.from_bytes(s)).read_all()["v"].to_pylist()) == [
        3.0,
        9.0,
    ]


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_package_that_is_missing_is_named(append, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        paimon.InvalidRequest, match=rf"to_{name} needs the package {name}: install paimon-core\[{name}\]"
    ):
        getattr(append.scan(), f"to_{name}")()


def test_bounds_of_an_expiry_have_their_public_names_in_errors(append):
    with pytest.raises(
        paimon.InvalidRequest, match=r"^keep_max \(option .*\) is 1, less than keep_last \(option .*\), 3$"
    ):
        append.expire_snapshots(keep_last=3, keep_max=1)
