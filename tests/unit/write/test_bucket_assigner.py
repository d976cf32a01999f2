"""Dynamic buckets: what a writer promises when others commit, and random histories against a dictionary."""

import itertools
import random

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.write.table_writer import TableWriter
from tests.support.long_cases import long_cases

SCHEMA = pa.schema([pa.field("p", pa.string(), False), pa.field("k", pa.int64(), False), ("v", pa.int64())])
_numbers = itertools.count()


def a_table(target="3", **options):
    catalog = paimon.open_catalog(f"memory://assigner-{next(_numbers)}")
    catalog.create_database("db")
    options = {"dynamic-bucket.target-row-num": target, **{k.replace("_", "-"): v for k, v in options.items()}}
    return catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)


def rows(*keys, p="a", v=0):
    return pa.table({"p": [p] * len(keys), "k": list(keys), "v": [v] * len(keys)}, schema=SCHEMA)


def places(table):
    found = {}
    for split in table.scan().plan.splits:
        for batch in read_split(table.context, split, ReadRequest(["p", "k"])):
            for row in batch.to_pylist():
                assert found.setdefault(tuple(row.values()), split.bucket) == split.bucket
    return found


def of(writer, data):
    writer.write(data)
    return writer.flush()


@pytest.mark.parametrize("first", ["new bucket", "known buckets"])
def test_a_writer_whose_partition_got_keys_of_another_commit_conflicts(first):
    table = a_table()
    if first == "known buckets":
        table.write(rows(1, 2))
    ours, theirs = of(table.writer(), rows(10, 11)), of(table.writer(), rows(11, 12, 13))
    updated = of(table.writer(), rows(1, v=5))
    elsewhere = of(table.writer(), rows(1, p="b"))
    table.commit(theirs)
    for messages in (ours, updated):
        with pytest.raises(CommitConflict, match=r"changed the hash indexes of p=a/bucket-0 after this writer read"):
            table.commit([CommitMessage.from_bytes(m.to_bytes()) for m in messages])
    table.commit(elsewhere)
    table.write(rows(10, 11))
    assert len(places(table)) == (7 if first == "known buckets" else 5)
    assert not [f for f in table.maintenance.check(deep=True).findings if f.invariant != "I29"]


def test_two_writers_of_one_commit_conflict_and_the_flushes_of_one_follow_each_other():
    table = a_table()
    one, two = table.writer(), table.writer()
    with pytest.raises(CommitConflict, match="two writers of one commit assigned keys of p=a"):
        table.commit(of(one, rows(1)) + of(two, rows(2)))
    writer = table.writer()
    first, second, third, fourth = (of(writer, rows(*keys)) for keys in ([1, 2], [2, 3, 4], [5], [6]))
    table.commit(first + second)
    with pytest.raises(CommitConflict):
        table.commit(fourth)
    table.commit(third)
    table.commit(fourth)
    assert places(table) == {("a", k): (k - 1) // 3 for k in range(1, 7)}


def test_an_overwrite_assigns_all_keys_anew_also_when_keys_were_added_since():
    table = a_table()
    table.write(rows(*range(8)))
    with TableWriter(table.context, ignore_existing=True) as writer:
        messages = of(writer, rows(7, 6, 5))
    table.write(rows(*range(20, 25)))
    with pytest.raises(CommitConflict):
        table.commit(messages)
    with pytest.raises(InvalidRequest, match="by a writer with ignore_existing"):
        table.commit(of(table.writer(), rows(1)), overwrite=table.overwrite_spec())
    table.commit(messages, overwrite=table.overwrite_spec())
    assert places(table) == {("a", 7): 0, ("a", 6): 0, ("a", 5): 0}
    table.write(rows(8))
    assert places(table)["a", 8] == 1


def test_a_bucket_with_rows_and_no_index_is_corrupt():
    table = a_table()
    snapshot = table.write(rows(1))
    path = table.context.paths.snapshot(snapshot.id)
    text = table.context.storage.read(path).decode()
    table.context.storage.overwrite(path, text.replace(f'"{snapshot.index_manifest}"', "null").encode())
    with pytest.raises(CorruptTable, match="bucket 0 of partition 'p=a' has rows and no hash index"):
        table.write(rows(2))


@pytest.mark.parametrize("seed", [0, *long_cases(range(1, 5))])
def test_histories(seed):
    chance = random.Random(seed)
    vectors = chance.random() < 0.3
    table = a_table(
        str(chance.choice([2, 4, 30])),
        **{
            "dynamic-bucket.initial-buckets": str(chance.choice([1, 3])),
            "dynamic-bucket.max-buckets": chance.choice(["-1", "4"]),
            "deletion-vectors.enabled": str(vectors).lower(),
            "write-buffer-size": chance.choice(["1 kb", "1 mb"]),
            "num-sorted-run.compaction-trigger": "3",
        },
    )
    model: dict[tuple, int] = {}
    before: dict[tuple, int] = {}
    for step in range(20):
        p, action = chance.choice("ab"), chance.random()
        keys = [chance.randrange(60) for _ in range(chance.randrange(1, 25))]
        if action < 0.6:
            table.write(rows(*keys, p=p, v=step))
            model |= {(p, k): step for k in keys}
        elif action < 0.7:
            table.overwrite(rows(*keys, p=p, v=step))
            model = {key: v for key, v in model.items() if key[0] != p} | {(p, k): step for k in keys}
            before = {key: b for key, b in before.items() if key[0] != p}
        elif action < 0.8:
            table.delete((col("p") == p) & (col("k") < 10))
            model = {key: v for key, v in model.items() if not (key[0] == p and key[1] < 10)}
        elif action < 0.9:
            stale = of(table.writer(), rows(*keys, p=p, v=-1))
            table.write(rows(100 + step, p=p, v=step))
            model[p, 100 + step] = step
            with pytest.raises(CommitConflict):
                table.commit(stale)
        else:
            table.compact(full=chance.random() < 0.5)
        now = places(table)
        assert all(now[key] == bucket for key, bucket in before.items() if key in now)
        before |= now
    if vectors:
        table.compact(full=True)
    assert {(r["p"], r["k"]): r["v"] for r in table.scan().to_arrow().to_pylist()} == model
    assert not [f for f in table.maintenance.check(deep=True).findings if f.invariant != "I29"]
