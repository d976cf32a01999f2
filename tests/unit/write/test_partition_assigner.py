"""Cross-partition upsert: each key is in one partition, for each merge engine and when others commit."""

import itertools
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest, UnsupportedFeature
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.write.table_writer import TableWriter

SCHEMA = pa.schema([pa.field("p", pa.string(), False), pa.field("k", pa.int64(), False), ("v", pa.int64())])
ENGINES = {
    "deduplicate": {},
    "partial-update": {"partial-update.remove-record-on-delete": "true"},
    "aggregation": {"fields.v.aggregate-function": "sum"},
    "first-row": {},
}
_numbers = itertools.count()


def a_table(engine="deduplicate", **options):
    catalog = paimon.open_catalog(f"memory://partition-assigner-{next(_numbers)}")
    catalog.create_database("db")
    options = {
        "bucket": "-1",
        "merge-engine": engine,
        "dynamic-bucket.target-row-num": "3",
        **ENGINES[engine],
    } | options
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], partition_by=["p"], options=options)


def arrow(*rows):
    return pa.table([list(c) for c in zip(*rows, strict=True)], schema=SCHEMA)


def read(table):
    return sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist())


def applied(engine, model, p, k, v, kind="+I"):
    """The rule of each engine for one row; ``model`` is {k: (p, v)}."""
    old = model.get(k)
    if kind == "-D":
        model.pop(k, None)
    elif old is None or engine == "deduplicate":
        model[k] = (p, v)
    elif engine == "partial-update":
        model[k] = (old[0], old[1] if v is None else v)
    elif engine == "aggregation":
        model[k] = (old[0], old[1] if v is None else v if old[1] is None else old[1] + v)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_random_histories_leave_each_key_in_the_partition_that_the_engine_requires(engine, seed):
    chance, model = random.Random(seed), {}
    table = a_table(engine, **{"write-buffer-size": "1 kb"} if seed == 1 else {})
    kinds = ["+I", "+I", "+U", "-D"] if engine == "deduplicate" else ["+I"]
    for commit in range(8):
        batch = [
            (chance.choice("abc"), chance.randrange(20), chance.choice([None, commit, -commit])) for _ in range(30)
        ]
        of = [chance.choice(kinds) for _ in batch]
        table.write(arrow(*batch), pa.array(of))
        for row, kind in zip(batch, of, strict=True):
            applied(engine, model, *row, kind)
        if commit == 4 or engine == "first-row":
            table.compact(full=True)
        assert read(table) == sorted((p, k, v) for k, (p, v) in model.items())
    assert not table.maintenance.check(deep=True).findings


def test_a_key_that_moves_is_deleted_where_it_was_and_buckets_fill_again():
    table = a_table()
    table.write(arrow(*(("a", k, 0) for k in range(6))))
    table.write(arrow(("b", 0, 1), ("b", 1, 1)))
    table.compact(full=True)
    table.write(arrow(("a", 7, 2), ("a", 8, 2)))
    places = {
        k: (s.partition, s.bucket)
        for s in table.scan().splits()
        for t in read_split(table.context, s, ReadRequest(["k"]))
        for k in t["k"].to_pylist()
    }
    assert [places[k][1] for k in (2, 7, 8)] == [0, 0, 0]
    assert read(table)[-2:] == [("b", 0, 1), ("b", 1, 1)]
    assert not table.context.manifests.read_indexes(table.context.snapshots.latest().index_manifest)


def test_a_commit_after_the_keys_were_read_conflicts_unless_it_is_a_compaction():
    table = a_table()
    table.write(arrow(("a", 1, 0)))
    with table.writer() as writer:
        writer.write(arrow(("b", 1, 1)))
        table.compact(full=True)
        table.commit(writer.flush())
        assert read(table) == [("b", 1, 1)]
        writer.write(arrow(("a", 1, 2)))
        messages = writer.flush()
        table.write(arrow(("c", 2, 3)))
        with pytest.raises(CommitConflict, match="changed rows after this writer read the keys"):
            table.commit(messages)
        writer.write(arrow(("a", 1, 2)))
        first = writer.flush()
        writer.write(arrow(("c", 1, 2)))
        with pytest.raises(CommitConflict, match="two writers of one commit"):
            table.commit([*first, *writer.flush()])
    assert read(table) == [("b", 1, 1), ("c", 2, 3)]


def test_an_update_moves_keys_and_a_delete_repeats_after_a_concurrent_write(monkeypatch):
    table = a_table()
    table.write(arrow(("a", 1, 0), ("a", 2, 0)))
    table.update(col("k") == 2, {"p": "b"})
    flush = TableWriter.flush

    def with_another_commit(writer):
        monkeypatch.setattr(TableWriter, "flush", flush)
        messages = writer.flush()
        table.write(arrow(("c", 1, 9)))
        return messages

    monkeypatch.setattr(TableWriter, "flush", with_another_commit)
    table.delete(col("v") == 0)
    assert read(table) == [("c", 1, 9)]


def test_an_overwrite_replaces_all_partitions_or_is_refused():
    table = a_table()
    table.write(arrow(("a", 1, 0), ("b", 2, 0)))
    with pytest.raises(InvalidRequest, match=r"must replace all partitions.*p=b"):
        table.overwrite(arrow(("a", 2, 1)))
    table.with_options({"dynamic-partition-overwrite": "false"}).overwrite(arrow(("a", 2, 1), ("c", 2, 2)))
    assert read(table) == [("c", 2, 2)]
    with TableWriter(table.context, ignore_existing=True, live_keys=lambda *_: iter(())) as writer:
        writer.write(arrow(("a", 2, 1)))
        with pytest.raises(InvalidRequest, match="ignore_existing"):
            table.commit(writer.flush())


def test_a_key_in_two_partitions_is_found_and_stops_writes():
    table = a_table()
    table.write(arrow(("a", 1, 0), ("a", 2, 0)))
    with TableWriter(table.context, live_keys=lambda *_: iter(())) as writer:
        writer.write(arrow(("b", 1, 1)))
        table.commit(writer.flush())
    (finding,) = table.maintenance.check(deep=True).findings
    assert "p=a/bucket-0 has a key that is also in p=b/bucket-0" in str(finding)
    with pytest.raises(CorruptTable, match=r"in two places: p=a/bucket-0, p=b/bucket-0"):
        table.write(arrow(("a", 2, 1)))
    table.delete(col("p") == "b")
    table.write(arrow(("b", 2, 1)))
    assert read(table) == [("a", 1, 0), ("b", 2, 1)]


def test_a_bucket_that_no_partition_can_have_is_refused():
    table = a_table()
    table.write(arrow(("a", 1, 0)))
    (split,) = table.scan().plan.splits
    keys = pa.table({"k": [1]})
    with (
        TableWriter(table.context, live_keys=lambda *_: iter([(split.partition, 70000, keys)])) as writer,
        pytest.raises(CorruptTable, match=r"p=a/bucket-70000: bucket 70000 is not one of the 32767"),
    ):
        writer.write(arrow(("b", 1, 1)))


def test_a_writer_that_cannot_read_the_keys_is_refused():
    with pytest.raises(UnsupportedFeature, match="cross-partition upsert"):
        TableWriter(a_table().context)


@pytest.mark.parametrize(
    ("option", "value"),
    [("sequence.field", "v"), ("cross-partition-upsert.index-ttl", "1 d"), ("ignore-delete", "true"), ("bucket", "2")],
)
def test_options_that_could_leave_a_key_in_two_partitions_are_refused(option, value):
    with pytest.raises(InvalidRequest, match=f"primary key.*partition key|{option}"):
        a_table(**{option: value})
