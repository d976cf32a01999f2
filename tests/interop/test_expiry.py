"""Expiry between Java and us: the same files go, each reads what the other left, and times are read alike."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import time
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.maintain.expiry.changelogs import expire_changelogs
from paimon_core.maintain.expiry.partitions import apply_partition_expiry, plan_partition_expiry
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import expire
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.metadata.times.java_time_format import DEFAULT, time_format
from paimon_core.plan.changelog_plan import changed_snapshot
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.fake_tables import files_on_storage
from tests.support.java_rows import json_rows
from tests.support.reachable import assert_whole_and_clean

T = "db.t"
FAR = 10**15
PRODUCERS = ("none", "input", "lookup", "full-compaction")
COMPACT = {"op": "compact", "table": T, "options": {"write-only": "false"}}
LASTING = {"changelog.time-retained": "1000 d", "changelog.num-retained.min": "1"}
"""Java 1.4 cannot expire changelogs while there are fewer snapshots than the least number to retain."""


def create(producer="none", **options):
    return {
        "op": "create",
        "table": T,
        "fields": [
            {"name": "p", "type": "STRING NOT NULL"},
            {"name": "k", "type": "INT NOT NULL"},
            {"name": "v", "type": "STRING"},
        ],
        "primaryKeys": ["p", "k"],
        "partitionKeys": ["p"],
        "options": {"bucket": "2", "write-only": "true", "changelog-producer": producer, **options},
    }


def write(rows, **fields):
    return {"op": "write", "table": T, "rows": rows, **fields}


def history(producer, **options):
    random.seed(11)
    compacts = producer in ("none", "input")
    steps = [create(producer, **LASTING, **({} if compacts else {"write-only": "false"}), **options)]
    for number in range(5):
        kinds = ["+I", "+I", "+U", "-D"]
        rows = [[random.choice(kinds), random.choice("ab"), random.randrange(8), f"{number}.{n}"] for n in range(9)]
        steps.append(write(rows))
        if number % 2:
            steps.append(COMPACT)
        if number == 2:
            steps.append(write([["+I", "b", 20, "over"]], overwrite={"p": "b"}))
    return steps


def opened(warehouse) -> paimon.Table:
    return paimon.open_catalog(str(warehouse)).table(T)


def written(table, snapshot_id):
    """Return what the files of one snapshot or lasting changelog tell; an overwrite has no changelog."""
    if changed_snapshot(table.context, snapshot_id).commit_kind == "OVERWRITE":
        return ()
    way = "delta" if table.options["changelog-producer"] == "none" else "changelog"
    return table.changes(snapshot_id - 1, snapshot_id, way=way).to_arrow()


def ours(table, after):
    """The rows of each snapshot or lasting changelog that changed any."""
    told = [written(table, i) for i in range(after + 1, table.latest_snapshot().id + 1)]
    return [json_rows(r, table.schema.fields, r["rowkind"].to_pylist()) for r in told if len(r)]


def javas(oracle, warehouse, start):
    return oracle.run(warehouse, [{"op": "stream", "table": T, "from": start}])[0]["plans"]


def texts(plans):
    return [sorted(map(str, rows)) for rows in plans]


def twin_of(warehouse):
    twin = Path(warehouse).parent / "twin"
    shutil.copytree(warehouse, twin)
    return twin


def decoupled(snapshots, changelogs, **fields):
    """Java's expiry down to numbers of snapshots and changelogs, whatever their age."""
    return {
        "op": "expireDecoupled",
        "table": T,
        "retainMin": snapshots,
        "retainMax": snapshots,
        "timeRetained": FAR,
        "changelogRetainMin": changelogs,
        "changelogRetainMax": changelogs,
        "changelogTimeRetained": FAR,
        **fields,
    }


def expire_ours(table, snapshots, changelogs):
    expire(table.context, Retention(snapshots, snapshots, 0, 1000), decoupled=True)
    expire_changelogs(table.context, Retention(changelogs, changelogs, 0, 1000))


def same(table, other):
    assert files_on_storage(table.context) == files_on_storage(other.context)
    for hint in ("EARLIEST", "LATEST"):
        paths = [(t.context.storage, t.context.paths.changelog_hint(hint)) for t in (table, other)]
        assert len({s.read(p) if s.exists(p) else b"" for s, p in paths}) == 1


@pytest.mark.parametrize(("producer", "tagged"), [*((p, ()) for p in PRODUCERS), ("none", (2, 5)), ("input", (2, 5))])
def test_our_expiry_leaves_the_files_that_javas_does(oracle, warehouse, producer, tagged):
    tags = [{"op": "tag", "table": T, "name": f"t{i}", "snapshot": i} for i in tagged]
    oracle.run(warehouse, [*history(producer), *tags])
    twin = twin_of(warehouse)
    table, java = opened(warehouse), opened(twin)
    last = table.latest_snapshot().id
    everything = texts(ours(table, 0))
    for snapshots, changelogs in ((3, 100), (2, 5), (1, 3)):
        oracle.run(twin, [decoupled(snapshots, changelogs, also=changelogs < last)])
        expire_ours(table, snapshots, changelogs)
        assert (table.context.snapshots.ids(), table.context.changelogs.ids()) == (
            java.context.snapshots.ids(),
            java.context.changelogs.ids(),
        )
        same(table, java)
        assert_whole_and_clean(table.context, clean=False)
        first = table.context.changelogs.ids()[0]
        told = texts(ours(table, first - 1))
        assert told == everything[len(everything) - len(told) :]
        assert texts(javas(oracle, warehouse, first)) == told
        assert texts(ours(java, first - 1)) == told
    assert table.context.snapshots.ids() == [last]
    for i in table.context.changelogs.ids():
        one, other = (json.loads(t.context.storage.read(t.context.paths.changelog(i))) for t in (table, java))
        assert one == other
    assert oracle.dump(warehouse, T) == oracle.dump(twin, T)


@pytest.mark.parametrize("producer", ["none", "input"])
def test_java_reads_and_expires_the_changelogs_that_we_kept_of_our_table(oracle, warehouse, producer):
    oracle.run(warehouse, [create(producer, **LASTING)])
    table = opened(warehouse)
    for number in range(5):
        oracle.run(warehouse, [write([["+I", "a", number, f"{number}"], ["+I", "b", 1, f"{number}"]])])
        table.compact(full=True)
    everything = texts(ours(table, 0))
    expire_ours(table, 2, 100)
    assert len(table.context.changelogs.ids()) == table.latest_snapshot().id - 2
    assert texts(javas(oracle, warehouse, 1)) == everything
    oracle.run(warehouse, [decoupled(1, 4)])
    assert_whole_and_clean(table.context, clean=False)
    first = table.context.changelogs.ids()[0]
    assert texts(javas(oracle, warehouse, first)) == texts(ours(table, first - 1))
    rows = oracle.dump(warehouse, T)
    oracle.run(warehouse, [write([["+I", "c", 1, "x"]]), COMPACT])
    expire_ours(table, 1, 2)
    assert_whole_and_clean(table.context, clean=False)
    assert len(oracle.dump(warehouse, T)) == len(rows) + 1


def context_of(warehouse) -> TableContext:
    storage = FsspecStorage("file")
    root = f"{warehouse}/db.db/t"
    return TableContext.of(T, storage, root, SchemaStore(storage, TablePaths(root)).latest())


@pytest.mark.parametrize("tagged", [(), (3,)])
def test_index_files_of_deletion_vectors_go_as_in_java(oracle, warehouse, tagged):
    steps = [create("none", **{"deletion-vectors.enabled": "true", "write-only": "false"})]
    steps += [write([["+I", "a", k, f"{n}"] for k in range(n, n + 5)]) for n in range(5)]
    tags = [{"op": "tag", "table": T, "name": f"t{i}", "snapshot": i} for i in tagged]
    oracle.run(warehouse, [*steps, *tags])
    twin = twin_of(warehouse)
    before = oracle.dump(warehouse, T)
    context, java = (context_of(w) for w in (warehouse, twin))
    assert any(p.startswith("index/") for p in files_on_storage(context))
    for left in (4, 2, 1):
        oracle.run(twin, [{"op": "expire", "table": T, "retainMin": left, "retainMax": left, "olderThanMillis": FAR}])
        expire(context, Retention(left, left, 0, 1000))
        assert files_on_storage(context) == files_on_storage(java)
        assert_whole_and_clean(context)
    assert oracle.dump(warehouse, T) == before
    for i in tagged:
        at = {"scan.tag-name": f"t{i}"}
        assert oracle.dump(warehouse, T, options=at) == oracle.dump(twin, T, options=at)


def test_what_javas_branch_reads_stays(oracle, warehouse):
    oracle.run(
        warehouse,
        [
            create("none"),
            write([["+I", "a", 1, "x"]]),
            {"op": "tag", "table": T, "name": "t", "snapshot": 1},
            {"op": "branch", "table": T, "name": "b", "tag": "t"},
            {"op": "deleteTag", "table": T, "name": "t"},
            {**write([["+I", "a", 2, "y"]]), "branch": "b"},
            write([["+I", "a", 3, "z"]]),
            COMPACT,
        ],
    )
    table = opened(warehouse)
    on_branch = oracle.dump(warehouse, T, branch="b")
    rows = oracle.dump(warehouse, T)
    table.expire_snapshots(keep_max=1)
    assert_whole_and_clean(table.context)
    assert oracle.dump(warehouse, T, branch="b") == on_branch
    table.branch("b").expire_snapshots(keep_max=1)
    assert_whole_and_clean(table.context, clean=False)
    assert (oracle.dump(warehouse, T), oracle.dump(warehouse, T, branch="b")) == (rows, on_branch)


# -- partitions

DAY = 86_400_000
VALUES = ("2024-01-01", "2024-01-20", "2024-02-31", "2024-13-01", "20240101", "soon")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"partition.timestamp-formatter": "yyyyMMdd"},
        {"partition.timestamp-formatter": "yyyy-MM-dd", "partition.timestamp-pattern": "$p"},
        {"partition.timestamp-pattern": "$p 10:00:00"},
        {"partition.expiration-max-num": "2"},
        {"partition.expiration-strategy": "update-time"},
    ],
)
@pytest.mark.parametrize("since", [0, 1])
def test_the_partitions_expire_that_expire_in_java(oracle, warehouse, options, since):
    """``since``: whether all that was written is old by its update too."""
    far = str(10**6) + " d"
    oracle.run(warehouse, [create("none", **options, **{"partition.expiration-time": far})])
    oracle.run(warehouse, [write([["+I", p, 1, "x"] for p in VALUES])])
    twin = twin_of(warehouse)
    now = int(time.time() * 1000)
    age = now - 1_705_000_000_000 if not since else 0  # January 2024, a day between the values
    (step,) = oracle.run(twin, [{"op": "expirePartitions", "table": T, "lifetimeMillis": age}])
    table, java = opened(warehouse), opened(twin)
    plan = plan_partition_expiry(table.context, now_millis=now + since, lifetime_millis=age)
    assert sorted(s.removeprefix("partition p=") for s in plan.subjects) == sorted(d["p"] for d in step["dropped"])
    apply_partition_expiry(table.context, plan)
    assert oracle.dump(warehouse, T) == oracle.dump(twin, T)
    assert java.context.snapshots.latest().commit_kind == table.context.snapshots.latest().commit_kind


def test_consumers_and_marks_are_those_of_java(oracle, warehouse):
    oracle.run(warehouse, [create("none"), *(write([["+I", "a", n, "x"]]) for n in range(4))])
    table = opened(warehouse)
    table.maintenance.reset_consumer("ours", 3)
    oracle.run(warehouse, [{"op": "resetConsumer", "table": T, "name": "javas", "next": 2}])
    (step,) = oracle.run(warehouse, [{"op": "consumers", "table": T}])
    assert step["consumers"] == {"ours": 3, "javas": 2}
    assert [(c.name, c.next_snapshot) for c in table.maintenance.consumers()] == [("javas", 2), ("ours", 3)]
    read = table.context.storage.read
    assert read(table.context.paths.consumer("javas")) == read(table.context.paths.consumer("ours")).replace(b"3", b"2")
    expired = {"op": "expire", "table": T, "retainMin": 1, "retainMax": 1, "olderThanMillis": FAR}
    oracle.run(warehouse, [expired])
    assert table.context.snapshots.ids()[0] == 2
    (path,) = table.maintenance.mark_done({"p": "a"})
    created = json.loads(read(path))["creationTime"]
    oracle.run(warehouse, [{"op": "markDone", "table": T, "partition": "p=a"}])
    theirs = read(path)
    assert json.loads(theirs)["creationTime"] == created
    table.maintenance.mark_done({"p": "a"})
    assert [line.split(b":")[0] for line in read(path).split(b"\n")] == [
        line.split(b":")[0] for line in theirs.split(b"\n")
    ]
    assert oracle.dump(warehouse, T)


# -- times in texts

PATTERNS = (
    None,
    *("yyyyMMdd", "yyyy-MM-dd", "yyyy-M-d", "yyyyMMddHH", "yyyyMMddHHmmss", "yyyyMMddHHmmssSSS", "yyMMdd"),
    *("yyyy/MM/dd", "yyyy-MM-dd HH:mm", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd[ HH[:mm[:ss]]]", "uuuu-DDD", "uuuuDDD"),
    *("uuuu-D", "y-M-d", "yyyy-MM-dd kk:mm", "yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd mm", "yyyy-MM", "yyyyMd"),
    *("yyyyMMd", "dd.MM.yyyy", "'day' yyyyMMdd", "yyyy''MM''dd", "LLddyyyy", "yyyyMM[dd]", "yyyyy-MM-dd"),
    *("uuu-MM-dd", "yyyy-MM-dd HH:ss", "HH yyyy-MM-dd S", "yyyy-uuuu-MM-dd", "[yyyy-MM-dd][yyyyMMdd]", "yyyy-MM-dd["),
    *("Hyyyy-MM-dd", "ddMyyyy", "yyyy-MM-dd HH kk", "yyyy-MM-dd D", "yyyy-MM D", "yyyy-dd D", "D yyyy-MM-dd"),
)
TEXTS = (
    *("20240131", "2024-01-31", "2024-1-3", "2024-02-31", "2023-02-29", "2024-04-31", "2024-13-01", "2024-00-10"),
    *("2024-01-32", "2024-01-00", "0000-01-01", "+2024-01-01", "-2024-01-01", "12024-01-01", "+12024-01-01"),
    *("2024013123", "2024013124", "20240131246000", "20240131235959", "20240131235959123", "240131", "2024/01/31"),
    *("2024-01-31 10:30", "2024-01-31 24:00", "2024-01-31 24:01", "2024-01-31 23:60", "2024-01-31T10:30:00"),
    *("2024-01-31 10", "2024-01-31 10:30:15", "2024-01-31 1:2:3", "2024-1-31 25:61:61", "2024-01-31 10:30:15.5"),
    *("2024-01-31 10:30:15.123456789", "2024-01-31 10:30:15.123", "2024-01-31 10:30:15.", "2024-366", "2023-366"),
    *("2024366", "2024-1", "2024-01", "202413", "2024131", "20241301", "31.01.2024", "day 20240131", "2024'01'31"),
    *("01312024", "202401", "02024-01-31", "2024-01-31 ", "", " 2024-01-31", "abc", "10 2024-01-31 5"),
    "24 2024-01-31 0",
    *("2024-2024-01-31", "2024-2023-01-31", "2024--1-31", "12345678901-01-01", "999999999-12-31", "52024-01-01"),
    *("1312024", "2024-01-31 00 24", "2024-01-31 10 10", "2024-01-31 31", "2024-02-31 60", "2024-02 60", "2024-29 60"),
    *("31 2024-01-31", "32 2024-01-31", "19737", "٢٠٢٤-01-31", "2024-01-31 -1", "2024-01-31 -0"),
)


def test_times_are_read_as_java_reads_them(oracle, warehouse):
    random.seed(5)
    digits = ["".join(random.choices("0123456789-: ", k=random.randrange(4, 16))) for _ in range(60)]
    asked = [*TEXTS, *digits]
    steps = [
        {"op": "partitionTimes", "formatter": p, "keys": ["dt"], "values": [[text] for text in asked]} for p in PATTERNS
    ]
    told = 0
    for pattern, step in zip(PATTERNS, oracle.run(warehouse, steps), strict=True):
        read = DEFAULT if pattern is None else time_format(pattern)
        for text, want in zip(asked, step["times"], strict=True):
            found = read.read(text)
            assert (found and [found.day, found.nanos]) == want, (pattern, text)
            told += want is not None
    assert told > 100


def test_patterns_take_the_columns_that_java_takes(oracle, warehouse):
    """As far as Java 1.4 and 2.1 agree: a name that begins another's is not among the columns."""
    steps = [
        {
            "op": "partitionTimes",
            "pattern": pattern,
            "keys": ["y", "mm", "d"],
            "values": [list(v) for v in itertools.product(["2024"], ["1", "02", "x"], ["3", "31"])],
        }
        for pattern in ("$y-$mm-$d", "$y-$mm-01", "$d-$mm-$y", "$y-$mm-$d 10:00:00", "$y")
    ]
    for step, answer in zip(steps, oracle.run(warehouse, steps), strict=True):
        text = step["pattern"]
        for values, want in zip(step["values"], answer["times"], strict=True):
            filled = text
            for key, value in zip(step["keys"], values, strict=True):
                filled = filled.replace(f"${key}", value)
            found = DEFAULT.read(filled)
            assert (found and [found.day, found.nanos]) == want
