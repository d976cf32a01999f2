"""Changelog files between Java and us: each reads the other's changes, and each expires the other's files."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import expire
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.changelogs import changing
from tests.support.fake_tables import assert_nothing_is_left_over, check_whole, files_on_storage
from tests.support.java_rows import json_rows
from tests.support.long_cases import long_cases

T = "db.t"
PRODUCERS = ("none", "input", "lookup", "full-compaction")
FAR = 10**15
LET_GO = Retention(1, 1000, FAR, 1000)


def create(producer, **options):
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
        "options": {"bucket": "2", "changelog-producer": producer, **options},
    }


def write(rows, **fields):
    return {"op": "write", "table": T, "rows": rows, **fields}


COMPACT = {"op": "compact", "table": T, "options": {"write-only": "false"}}


def history(producer, seed=0):
    """Writes of all kinds of rows with the compactions that the producer makes of them, and an overwrite between."""
    random.seed(seed)
    steps = [create(producer, **({"write-only": "true"} if producer in ("none", "input") else {}))]
    for number in range(6):
        rows = [
            [random.choice(["+I", "+I", "+U", "-U", "-D"]), random.choice("ab"), random.randrange(8), f"{number}.{n}"]
            for n in range(12)
        ]
        steps.append(write(rows))
        if number % 2:
            steps.append(COMPACT)
        if number == 2:
            steps.append(write([["+I", "b", 3, "over"], ["+I", "b", 20, "over"]], overwrite={"p": "b"}))
    return steps


def opened(warehouse):
    return paimon.open_catalog(str(warehouse)).table(T)


def written(table, snapshot_id):
    """Return what the files of one snapshot tell; an overwrite has no changelog."""
    if table.context.snapshots.read(snapshot_id).commit_kind == "OVERWRITE":
        return ()
    way = "delta" if table.options["changelog-producer"] == "none" else "changelog"
    return table.changes(snapshot_id - 1, snapshot_id, way=way).to_arrow()


def ours(table):
    """The rows of each snapshot that changed any, in file order."""
    told = [written(table, i) for i in table.context.snapshots.ids()]
    fields = table.schema.fields
    return [json_rows(rows, fields, rows["rowkind"].to_pylist()) for rows in told if len(rows)]


def streamed(table, start=None, on_overwrite="skip"):
    """The rows of each batch of a stream that starts as the options say."""
    stream, told = table.stream(start, on_overwrite=on_overwrite), []
    while (batch := stream.poll()) is not None:
        rows = batch.to_arrow()
        told.append(json_rows(rows, table.schema.fields, rows["rowkind"].to_pylist()))
    return [rows for rows in told if rows]


def javas(oracle, warehouse, start=1):
    """The rows of each following plan, sorted by their text."""
    return oracle.run(warehouse, [{"op": "stream", "table": T, "from": start}])[0]["plans"]


def sorted_plans(plans):
    return [sorted(map(str, rows)) for rows in plans]


def replayed(rows):
    """What the rows leave of an empty table; each must fit what the rows before it left."""
    state: dict[tuple, str] = {}
    for kind, p, k, v in rows:
        if kind == "+I":
            assert (p, k) not in state
        else:
            assert (p, k) in state
        if kind in ("-U", "-D"):
            assert state.pop((p, k)) == v
            if kind == "-U":
                state[p, k] = "updated"
        else:
            state[p, k] = v
    return state


@pytest.mark.parametrize("producer", PRODUCERS)
def test_we_tell_the_changes_that_java_tells(oracle, warehouse, producer):
    oracle.run(warehouse, history(producer))
    table = opened(warehouse)
    plans = ours(table)
    assert len(plans) >= 3
    assert sorted_plans(plans) == sorted_plans(javas(oracle, warehouse))

    modes = [{"scan.mode": "latest-full"}, {"scan.mode": "latest"}, {"scan.timestamp-millis": "1"}]
    modes += [{"scan.mode": "from-snapshot", "scan.snapshot-id": str(n)} for n in (1, 4)]
    modes += [{"scan.mode": "from-snapshot-full", "scan.snapshot-id": str(n)} for n in (1, 3, 5)]
    javas_plans = oracle.run(warehouse, [{"op": "stream", "table": T, "options": mode} for mode in modes])
    for mode, found in zip(modes, javas_plans, strict=True):
        first, *later = found["plans"] or [[]]
        if "full" in mode.get("scan.mode", ""):  # of the content Java returns the kinds as written, we "+I"
            first = [["+I", *row[1:]] for row in first]
        told = [rows for rows in (first, *later) if rows]
        assert sorted_plans(streamed(table.with_options(mode))) == sorted_plans(told), mode


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_javas_changes_in_our_order_rebuild_the_table(oracle, warehouse, producer):
    steps = [s for s in history(producer, seed=3) if "overwrite" not in s]
    oracle.run(warehouse, steps)
    rows = [row for plan in ours(opened(warehouse)) for row in plan]
    assert replayed(rows) == {(p, k): v for _, p, k, v in oracle.dump(warehouse, T)}


@pytest.mark.parametrize("producer", ["none", "input"])
def test_an_overwrite_told_by_java_and_by_us_has_the_same_effect(oracle, warehouse, producer):
    made = create(producer, **{"streaming-read-overwrite": "true"})
    oracle.run(
        warehouse,
        [
            made,
            write([["+I", "a", 1, "x"], ["+I", "a", 2, "y"], ["+I", "b", 1, "z"]]),
            write([["+I", "a", 2, "w"]]),
            write([["+I", "a", 2, "w"], ["+I", "a", 3, "v"]], overwrite={"p": "a"}),
        ],
    )
    effects = []
    for plans in (javas(oracle, warehouse), streamed(opened(warehouse), "earliest", "changes")):
        state = {}
        for kind, p, k, v in (row for rows in plans for row in sorted(rows, key=lambda r: r[0] in ("+I", "+U"))):
            state[p, k] = v if kind in ("+I", "+U") else None
        effects.append({key: v for key, v in state.items() if v is not None})
    assert effects[0] == effects[1] == {(p, k): v for _, p, k, v in oracle.dump(warehouse, T)}


def test_a_table_without_key(oracle, warehouse):
    steps = [
        {**create("none", bucket="-1"), "primaryKeys": []},
        write([["+I", "a", 1, "x"], ["+I", "b", 2, "y"]]),
        write([["+I", "a", 1, "x"]]),
        write([["+I", "b", 7, "z"]], overwrite={"p": "b"}),
        write([["+I", "a", 3, None]]),
    ]
    oracle.run(warehouse, steps)
    assert len(ours(opened(warehouse))) == 3
    assert sorted_plans(ours(opened(warehouse))) == sorted_plans(javas(oracle, warehouse))


@pytest.mark.parametrize("producer", PRODUCERS)
def test_java_tells_the_changes_that_our_producers_write(oracle, warehouse, producer):
    oracle.run(warehouse, [create(producer)])
    table = opened(warehouse)
    random.seed(7)
    for number in range(5):
        rows = [(random.choice("ab"), random.randrange(8), f"{number}.{n}") for n in range(12)]
        kinds = pa.array(random.choices(["+I", "+U", "-U", "-D"], [4, 2, 1, 2], k=12))
        table.write(pa.table([list(c) for c in zip(*rows, strict=True)], schema=table.arrow_schema), kinds)
    plans = ours(table)
    assert len(plans) >= 4
    assert sorted_plans(plans) == sorted_plans(javas(oracle, warehouse))
    content = {(p, k): v for _, p, k, v in oracle.dump(warehouse, T)}
    if producer in ("lookup", "full-compaction"):
        assert replayed([row for plan in plans for row in plan]) == content
    last = table.latest_snapshot().id
    oracle.run(warehouse, [{"op": "expire", "table": T, "retainMin": 2, "retainMax": 2, "olderThanMillis": 0}])
    assert table.context.snapshots.ids() == [last - 1, last]
    check_whole(table.context)
    assert_nothing_is_left_over(table.context)


def our_history(warehouse):
    """An input table with two commits of ours whose changelog holds more than the rows kept."""
    table = opened(warehouse)
    rows = [("+I", 1, "a", 1, "xx"), ("+I", 2, "a", 2, "y")]
    table.commit([changing(table.context, rows, [("+I", 0, "a", 1, "x"), *rows], p="a")])
    then = [("-U", 3, "a", 1, "xx"), ("+U", 4, "a", 1, "xxx"), ("-D", 5, "a", 2, "y")]
    table.commit(
        [
            changing(table.context, then[1:], then, p="a"),
            changing(table.context, [("+I", 0, "b", 9, None)], [("+I", 0, "b", 9, None)], p="b", bucket=1),
        ]
    )
    return table


def test_java_tells_the_changes_that_we_committed(oracle, warehouse):
    oracle.run(warehouse, [create("input", **{"write-only": "true"})])
    table = our_history(warehouse)
    plans = javas(oracle, warehouse)
    assert sorted_plans(plans) == sorted_plans(ours(table))
    assert [len(p) for p in plans] == [3, 4]
    assert sorted(row[1:] for row in oracle.dump(warehouse, T)) == [["a", 1, "xxx"], ["b", 9, None]]
    counts = oracle.run(
        warehouse, [{"op": "dump", "table": f"{T}$snapshots", "projection": ["changelog_record_count"]}]
    )
    assert sorted(row[1] for row in counts[0]["rows"]) == [3, 4]


def test_java_goes_on_after_our_changes(oracle, warehouse):
    oracle.run(warehouse, [create("input", **{"write-only": "true"})])
    our_history(warehouse)
    oracle.run(warehouse, [write([["+I", "a", 7, "j"], ["-D", "a", 1, "xxx"]]), COMPACT])
    table = opened(warehouse)
    assert sorted_plans(ours(table)) == sorted_plans(javas(oracle, warehouse))
    assert sorted(ours(table)[-1]) == [["+I", "a", 7, "j"], ["-D", "a", 1, "xxx"]]


def test_our_snapshot_has_the_members_of_javas(oracle, warehouse):
    steps = [create("input", **{"write-only": "true"}), write([["+I", "a", 1, "x"]])]
    oracle.run(warehouse, steps)
    table = our_history(warehouse)
    java, own = (table.context.snapshots.read(i).to_members() for i in (1, 2))
    assert own.keys() - java.keys() == {"uuid", "writerVersion"}
    assert java.keys() - own.keys() == set()


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("left", [1, *long_cases([4])])
def test_our_expiry_deletes_the_changelog_files_that_javas_does(oracle, warehouse, producer, left):
    tags = [{"op": "tag", "table": T, "name": f"t{i}", "snapshot": i} for i in (1, 4)]
    oracle.run(warehouse, [*history(producer), *tags])
    twin = Path(warehouse).parent / "twin"
    shutil.copytree(warehouse, twin)
    at_most = {"retainMin": left, "retainMax": left, "olderThanMillis": FAR}
    oracle.run(twin, [{"op": "expire", "table": T, **at_most}])
    table, java = opened(warehouse), opened(twin)
    expire(table.context, Retention(left, left, FAR, 1000))
    assert files_on_storage(table.context) == files_on_storage(java.context)
    for name in ("t1", "t4"):
        delete_tag(table.context, name)
        oracle.run(twin, [{"op": "deleteTag", "table": T, "name": name}])
        assert files_on_storage(table.context) == files_on_storage(java.context)
    assert sorted_plans(ours(table)) == sorted_plans(javas(oracle, warehouse, table.context.snapshots.ids()[0]))


def test_java_expires_what_we_committed(oracle, warehouse):
    oracle.run(warehouse, [create("input", **{"write-only": "true"})])
    table = our_history(warehouse)
    create_tag(table.context, "t", table.context.snapshots.read(1))
    oracle.run(
        warehouse,
        [
            write([["+I", "a", 3, "j"]]),
            {"op": "expire", "table": T, "retainMin": 2, "retainMax": 2, "olderThanMillis": 0},
        ],
    )
    assert table.context.snapshots.ids() == [2, 3]
    check_whole(table.context)
    assert_nothing_is_left_over(table.context)
    assert sorted_plans(ours(table)) == sorted_plans(javas(oracle, warehouse, 2))


def test_we_expire_what_java_committed(oracle, warehouse):
    oracle.run(warehouse, history("lookup", seed=5))
    table = opened(warehouse)
    rows = oracle.dump(warehouse, T)
    expire(table.context, LET_GO)
    check_whole(table.context)
    assert oracle.dump(warehouse, T) == rows
    with pytest.raises(paimon.SnapshotNotFound):
        table.changes()
