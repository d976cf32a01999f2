"""Rescale: the rows before and after it, the buckets of the new files, and commits that come in between."""

import datetime
import itertools
import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.upkeep import rescale_task
from paimon_core.write import postpone
from paimon_core.write.spill import SpillSpace
from tests.support.long_cases import long_cases

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("n", pa.int64()), ("v", pa.string())])
FAST = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms", "write-only": "true", "bucket": "2"}
VECTORS = {"deletion-vectors.enabled": "true"}
SUM = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.v.aggregate-function": "listagg"}
GROUPS = {"merge-engine": "partial-update", "fields.n.sequence-group": "v"}
KEYED = {
    "deduplicate": {},
    "aggregation": SUM,
    "partial-update": GROUPS,
    "first-row": {"merge-engine": "first-row"},
    "vectors": VECTORS,
    "aggregation with vectors": VECTORS | SUM,
    "orc": {"file.format": "orc", "bucket-function.type": "mod", "sequence.field": "n"},
}
APPEND = {
    "ordered": {},
    "unordered": {"bucket-append-ordered": "false"},
    "append with vectors": VECTORS,
}


def make(warehouse, *, keyed=True, partition_by=("p",), **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    key = {"primary_key": [*partition_by, "k"]} if keyed else {}
    options = FAST | ({} if keyed else {"bucket-key": "k"}) | options
    return catalog.create_table("db.t", SCHEMA, partition_by=list(partition_by), options=options, **key)


def rows(keys, n=1, p="a"):
    keys = list(keys)
    count = len(keys)
    return pa.table({"p": [p] * count, "k": keys, "n": [n] * count, "v": [f"{n}-{k}" for k in keys]}, schema=SCHEMA)


def content(table, **scan):
    found = table.scan(**scan).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def totals(table):
    """The number of buckets of each partition, by its path."""
    entries = table.context.manifests.entries_of(table.latest_snapshot())
    found = {}
    for e in entries:
        if e.bucket >= 0:
            path = table.context.partition_path(e.partition)
            assert found.setdefault(path, e.total_buckets) == e.total_buckets
    return found


def levels(table):
    return {f["level"] for f in table.inspect.files().to_pylist()}


@pytest.mark.parametrize("options", KEYED.values(), ids=KEYED)
def test_a_table_with_a_primary_key_has_the_rows_of_a_full_compaction(warehouse, options):
    table = make(warehouse, **options)
    for n in (3, 1, 2):
        table.write(rows(range(n, 60, n), n))
    table.write(rows([7], 9, p="b"))
    if options.get("merge-engine", "deduplicate") == "deduplicate":
        table.write(rows([3, 4, 5], 3), kinds=pa.array(["-D"] * 3))
    table.compact()
    last = table.write(rows([0, 1, 2], 8))  # readers do not see these rows yet, of some tables
    table.compact(full=True)
    expected = content(table)
    table.rollback(snapshot=last.id)
    done = table.rescale(3)
    assert (done.commit_kind, done.changelog_manifest_list) == ("OVERWRITE", None)
    assert totals(table) == {"p=a": 3, "p=b": 3}
    assert content(table) == expected
    assert levels(table) == {5}
    assert content(table, where=col("k") == 7) == [row for row in expected if row[1] == 7]
    table = table.alter("SET ('bucket' = '3')")
    table.write(rows([1000, 7], 10))
    table.compact(full=True)
    assert len(content(table)) == len(expected) + 1
    assert {f.invariant for f in table.maintenance.check(deep=True).findings} == {"I29"}  # what was rolled back


@pytest.mark.parametrize("options", APPEND.values(), ids=APPEND)
def test_an_append_table_keeps_its_rows_and_the_order_of_each_key(warehouse, options):
    table = make(warehouse, keyed=False, **options)
    for n in range(3):
        table.write(rows([*range(40), 7], n))
    table.delete(col("n") == 1)
    before = table.scan(where=col("k") == 7).to_arrow()
    expected = content(table)
    assert table.rescale(5).index_manifest is None
    assert content(table) == expected
    assert table.scan(where=col("k") == 7).to_arrow() == before
    assert totals(table) == {"p=a": 5}
    assert {f["bucket"] for f in table.inspect.files().to_pylist()} == set(range(5))
    assert not table.maintenance.check(deep=True).findings


def test_only_partitions_that_match_and_have_another_number(warehouse):
    table = make(warehouse)
    for p in "abc":
        table.write(rows([1, 2, 3], p=p))
    table.delete(col("p") == "c")
    table.write(rows([5], p="c"))
    table.write(rows([5], p="c"), kinds=pa.array(["-D"]))
    files = table.inspect.files().to_pylist()
    table.rescale(4, where=col("p") != "a")
    assert totals(table) == {"p=a": 2, "p=b": 4}
    assert [f["file_name"] for f in table.inspect.files().to_pylist() if f in files] == [
        f["file_name"] for f in files if "a" in f["partition"]
    ]
    assert table.rescale(4, where=col("p") == "b") is None
    assert table.alter("SET ('bucket' = '1')").rescale() is not None
    assert totals(table) == {"p=a": 1, "p=b": 1}
    assert len(content(table)) == 6
    assert make(warehouse + "/empty").rescale(4) is None


def test_memory_stays_bounded_and_a_bucket_gets_one_sorted_run(warehouse, monkeypatch):
    options = {"write-buffer-size": "100 kb", "write-buffer-spillable": "false", "target-file-size": "10 kb"}
    table = make(warehouse, partition_by=(), **options)
    table.write(rows(range(20_000)))
    runs, put = [], SpillSpace.put
    monkeypatch.setattr(SpillSpace, "put", lambda *arguments: runs.append(put(*arguments)) or runs[-1])
    table.rescale(3)
    assert len(runs) >= 3
    assert levels(table) == {5}
    assert [r[1] for r in content(table)] == list(range(20_000))
    assert not table.maintenance.check().findings


def meanwhile(monkeypatch, rival, *, before=False):
    """Run ``rival`` once, after the first rescale has read and written its rows, or before it reads them."""
    waiting, real = [rival], rescale_task.run_rescale

    def rewritten(*arguments):
        if before and waiting:
            waiting.pop()()
        messages = real(*arguments)
        while waiting:
            waiting.pop()()
        return messages

    monkeypatch.setattr(rescale_task, "run_rescale", rewritten)


@pytest.mark.parametrize("rival", ["write", "delete", "compaction", "another partition", "overwrite"])
def test_a_commit_in_between_is_neither_lost_nor_undone(warehouse, monkeypatch, rival):
    table = make(warehouse)
    table.write(rows([1, 2, 3]))
    table.write(rows([3, 4], 2))
    rivals = {
        "write": lambda: table.write(rows([2, 9], 7)),
        "delete": lambda: table.delete(col("k") == 1),
        "compaction": lambda: table.compact(full=True),
        "another partition": lambda: table.write(rows([1], p="z")),
        "overwrite": lambda: table.overwrite(rows([6])),
    }
    before = content(table)
    meanwhile(monkeypatch, rivals[rival])
    table.rescale(3, where=col("p") == "a")
    assert totals(table)["p=a"] == 3
    changed = {
        "write": [("a", 2, 7, "7-2"), ("a", 9, 7, "7-9")],
        "another partition": [("z", 1, 1, "1-1")],
        "overwrite": [("a", 6, 1, "1-6")],
    }.get(rival, [])
    gone = {"write": {2}, "delete": {1}, "overwrite": {1, 2, 3, 4}}.get(rival, set())
    assert content(table) == sorted([r for r in before if r[1] not in gone] + changed)
    assert not table.maintenance.check(deep=True).findings
    listed = {f.name for b in range(3) for f in table.context.storage.list(table.context.paths.bucket("p=a", b))}
    live = {
        f["file_name"]
        for s in range(1, table.latest_snapshot().id + 1)
        for f in table.at(snapshot=s).inspect.files().to_pylist()
    }
    assert listed <= live


def test_files_that_expire_in_between_are_read_again(warehouse, monkeypatch):
    table = make(warehouse)
    table.write(rows([1, 2, 3]))

    def replaced():
        table.overwrite(rows([6, 7]))
        table.expire_snapshots(keep_last=1, keep_max=1)

    meanwhile(monkeypatch, replaced, before=True)
    table.rescale(3)
    assert (totals(table), [r[1] for r in content(table)]) == ({"p=a": 3}, [6, 7])
    damaged = table.scan().plan.files[0]
    bucket = next(f["bucket"] for f in table.inspect.files().to_pylist() if f["file_name"] == damaged.file_name)
    table.context.storage.delete([table.context.paths.data_file("p=a", bucket, damaged.file_name)])
    with pytest.raises(CorruptTable, match=damaged.file_name):
        table.rescale(4)


@pytest.mark.parametrize("producer", ["input", "lookup", "full-compaction"])
def test_the_changelog_has_each_change_once(warehouse, producer):
    table = make(warehouse, **{"changelog-producer": producer})
    first = table.write(rows([1, 2]))
    table.compact(full=True)
    table.write(rows([2, 3], 2))
    table.rescale(3)
    table = table.alter("SET ('bucket' = '3')")
    table.write(rows([4], p="b"))
    table.compact(full=True)
    changes = table.changes(first.id - 1, table.latest_snapshot().id).to_arrow().to_pylist()
    added = [(r["k"], r["n"]) for r in changes if r["rowkind"] in ("+I", "+U")]
    assert sorted(added) == [(1, 1), (2, 1), (2, 2), (3, 2), (4, 1)]


def test_rows_written_for_the_number_before_are_refused_at_the_commit(warehouse):
    table = make(warehouse)
    table.write(rows([1, 2, 3]))
    with table.writer() as writer:
        writer.write(rows([4]))
        messages = writer.flush()
    prepared = table.prepare(rows([5]))
    table.rescale(3)
    with pytest.raises(CommitConflict, match="was written for 2 buckets, but its partition has 3"):
        table.commit(messages)
    with pytest.raises(CommitConflict, match="was written for 2 buckets, but its partition has 3"):
        prepared.publish(rebase=True)
    assert [r[1] for r in content(table)] == [1, 2, 3]


def test_endless_rivals_end_the_rescale_with_a_conflict(warehouse, monkeypatch):
    table = make(warehouse, **{"commit.max-retries": "1"})
    table.write(rows([1]))
    real = rescale_task.run_rescale
    monkeypatch.setattr(rescale_task, "run_rescale", lambda *a: [real(*a), table.write(rows([2]))][0])
    with pytest.raises(CommitConflict, match="changed rows of the same partitions"):
        table.rescale(3)
    assert totals(table) == {"p=a": 2}


def test_rows_in_the_postpone_bucket_stay_there(warehouse, monkeypatch):
    options = {"bucket": "-2", "postpone.default-bucket-num": "2", "postpone.batch-write-fixed-bucket": "false"}
    table = make(warehouse, **options)
    table.write(rows([1, 2, 3]))
    table.compact()
    table.write(rows([4]))
    meanwhile(monkeypatch, table.compact)  # moves row 4, so the rescale starts again
    with pytest.raises(InvalidRequest, match="needs the number of buckets"):
        table.rescale()
    table.rescale(3)
    table.write(rows([5]))
    table.rescale(4)
    assert totals(table) == {"p=a": 4}
    assert [r[1] for r in content(table)] == [1, 2, 3, 4]
    table.compact()
    assert totals(table) == {"p=a": 4}
    assert [r[1] for r in content(table)] == [1, 2, 3, 4, 5]
    assert not table.maintenance.check(deep=True).findings


POSTPONED = {"bucket": "-2", "postpone.default-bucket-num": "2", "changelog-producer": "input"}
CHANGES = {
    "write": lambda t: t.write(pa.concat_tables([rows([2, 9], 7), rows([2], 8)])),
    "update": lambda t: t.update(col("k") == 2, {"n": 8, "v": "8-2"}),
    "merge": lambda t: t.merge(pa.concat_tables([rows([2], 8), rows([9], 7)]), on=["p", "k"]),
    "delete": lambda t: t.delete(col("k") == 2),
}


@pytest.mark.parametrize("moment", ["while the rows are spread", "before the commit", *long_cases(["both"])])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_postponed_table_outlasts_a_rescale(warehouse, monkeypatch, change, moment):
    table = make(warehouse, **POSTPONED)
    other = table.refresh()
    table.write(rows([1, 2, 3]))
    counts, running = iter([5, 3]), []

    def rescaled_before(owner, name):
        original, pending = getattr(owner, name), [None]

        def call(*args, **kwargs):
            if pending and not running:  # the rescale itself commits, too
                pending.clear()
                running.append(True)
                other.rescale(next(counts))
                running.clear()
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)

    if moment != "before the commit":
        rescaled_before(postpone, "spread")
    if moment != "while the rows are spread":
        rescaled_before(CommitRequest, "complete")
    snapshot = CHANGES[change](table)
    assert totals(table) == {"p=a": 5 if moment != "both" else 3}
    new = {"delete": [], "update": [("a", 2, 8, "8-2")]}.get(change, [("a", 2, 8, "8-2"), ("a", 9, 7, "7-9")])
    assert content(table) == sorted([("a", 1, 1, "1-1"), ("a", 3, 1, "1-3"), *new])
    assert snapshot.changelog_record_count == {"write": 3, "merge": 2}.get(change, 1)
    assert not table.maintenance.check(deep=True).findings
    time.sleep(0.002)
    assert not table.maintenance.plan_orphan_removal(older_than=datetime.timedelta(milliseconds=1)).files


def test_endless_rescales_end_a_write_with_a_conflict(warehouse, monkeypatch):
    table = make(warehouse, **POSTPONED, **{"commit.max-retries": "2"})
    table.write(rows([1]))
    spread, count = postpone.spread, itertools.count(3)

    def rival(*args):
        table.rescale(next(count))
        return spread(*args)

    monkeypatch.setattr(postpone, "spread", rival)
    with pytest.raises(CommitConflict, match="partition 'p=a' got 5 buckets by a concurrent commit"):
        table.write(rows([2]))
    assert [r[1] for r in content(table)] == [1]


def test_files_of_a_newer_schema_keep_their_columns(warehouse):
    old = make(warehouse)
    old.alter("ADD COLUMN extra INT").write([{"p": "a", "k": 1, "extra": 5}])
    old.rescale(3)
    assert old.refresh().scan(columns=["extra"]).to_arrow().to_pylist() == [{"extra": 5}]


@pytest.mark.parametrize(
    ("options", "buckets", "message"),
    [
        ({"bucket": "-1"}, 3, "its buckets are dynamic"),
        ({"bucket": "-1", "keyed": False}, 3, "it has no buckets"),
        ({}, 0, "a number of buckets must be from 1"),
        ({}, True, "a number of buckets must be from 1"),
        ({}, 2**31, "a number of buckets must be from 1"),
    ],
    ids=["dynamic", "unaware", "zero", "bool", "many"],
)
def test_what_cannot_be_rescaled_is_refused(warehouse, options, buckets, message):
    table = make(warehouse, **options) if options.get("keyed", True) else unaware(warehouse)
    with pytest.raises(InvalidRequest, match=message):
        table.rescale(buckets)


def unaware(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    return catalog.create_table("db.t", SCHEMA)
