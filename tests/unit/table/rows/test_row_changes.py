"""Deletes and updates of rows: what readers see, and what happens when other commits come in between."""

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import CorruptTable
from paimon_core.table.rows import delete_update, row_changes

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.string())])
VECTORS = {"deletion-vectors.enabled": "true"}
WAYS = {
    "rewritten": {},
    "vectors": VECTORS,
    "64 bits": VECTORS | {"deletion-vectors.bitmap64": "true"},
    "buckets rewritten": {"bucket": "2", "bucket-key": "k"},
    "buckets with vectors": VECTORS | {"bucket": "2", "bucket-key": "k"},
}
FAST = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms", "write-only": "true"}


def make(warehouse, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    keyed = {"primary_key": ["p", "k"]} if options.pop("keyed", False) else {}
    keyed |= {"primary_key": ["k"]} if options.pop("cross", False) else {}
    return catalog.create_table("db.t", SCHEMA, partition_by=["p"], options=FAST | options, **keyed)


def rows(*keys, p="a", v="x"):
    return pa.table({"p": [p] * len(keys), "k": list(keys), "v": [f"{v}{k}" for k in keys]}, schema=SCHEMA)


def content(table, **scan):
    return {(r["p"], r["k"]): r["v"] for r in table.scan(**scan).to_arrow().to_pylist()}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_rows_are_deleted_and_updated(warehouse, options):
    table = make(warehouse, **options)
    for start in (0, 10, 20):
        table.write(rows(*range(start, start + 10)))
    table.write(rows(5, p="b"))
    assert table.delete((col("k") >= 5) & (col("k") < 12)).commit_kind == "OVERWRITE"
    table.update(col("k") == 15, {"v": "new"})
    table.update(col("v") == "x13", {"p": "b", "v": lambda old: pc.binary_join_element_wise(old["v"], "!", "")})
    assert table.delete(col("k") == 7) is None
    assert table.update(col("k") == 7, {"v": "never"}) is None
    expected = {("a", k): f"x{k}" for k in range(30) if not 5 <= k < 12} | {("a", 15): "new"}
    del expected["a", 13]
    expected["b", 13] = "x13!"
    assert content(table) == expected
    assert table.scan().count() == len(expected)
    assert content(table, where=col("k") > 13) == {k: v for k, v in expected.items() if k[1] > 13}
    assert table.scan(columns=["v"], where=col("k") == 15).to_arrow().to_pylist() == [{"v": "new"}]
    table.compact(full=True)
    assert content(table) == expected
    assert table.latest_snapshot().index_manifest is None
    assert content(table.at(snapshot=5)) == {k: v for k, v in expected.items() if k[0] == "a"} | {
        ("a", 13): "x13",
        ("a", 15): "x15",
    }
    assert not table.maintenance.check(deep=True).findings
    table.delete(col("k") >= 0)
    assert content(table) == {}


@pytest.mark.parametrize("options", [{}, VECTORS], ids=["rewritten", "vectors"])
@pytest.mark.parametrize("rival", ["append", "delete", "compaction"])
def test_a_commit_in_between_is_neither_lost_nor_undone(warehouse, monkeypatch, options, rival):
    table = make(warehouse, **options)
    table.write(rows(1, 2, 3))
    table.write(rows(4, 5, 6))
    rivals = {
        "append": lambda: table.write(rows(7, v="y")),
        "delete": lambda: table.delete(col("k") == 3),
        "compaction": lambda: table.compact(full=True),
    }
    waiting = [rivals[rival]]
    real = row_changes.changed_rows

    def with_rival(*arguments):
        messages = real(*arguments)
        if waiting:
            waiting.pop()()
        return messages

    monkeypatch.setattr(delete_update, "changed_rows", with_rival)
    table.delete(col("k").is_in([1, 4, 7]))
    assert sorted(k for _, k in content(table)) == {"append": [2, 3, 5, 6], "delete": [2, 5, 6]}.get(
        rival, [2, 3, 5, 6]
    )
    assert not table.maintenance.check(deep=True).findings
    assert not [f for f in table.maintenance.check().findings if f.invariant == "I29"]


def test_a_compaction_loses_to_a_delete_in_between(warehouse):
    table = make(warehouse, **VECTORS)
    table.write(rows(1, 2, 3))
    table.write(rows(4, 5, 6))
    messages = [table.run_compaction(task) for task in table.plan_compaction(full=True)]
    table.delete(col("k") == 5)
    with pytest.raises(paimon.CommitConflict, match="rows of file"):
        table.commit(messages)
    assert sorted(k for _, k in content(table)) == [1, 2, 3, 4, 6]


def test_vectors_live_as_long_as_the_snapshots_that_need_them(warehouse):
    table = make(warehouse, **VECTORS)
    table.write(rows(1, 2, 3))
    table.delete(col("k") == 2)
    table.tags.create("two-rows")
    table.branches.create("side", tag="two-rows")
    table.delete(col("k") == 3)
    storage, paths = table.context.storage, table.context.paths
    assert len(storage.list(paths.index_directory)) == 2
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, keep_max=1)
    assert len(storage.list(paths.index_directory)) == 1
    assert sorted(k for _, k in content(table.at(tag="two-rows"))) == [1, 3]
    table.rollback(tag="two-rows")
    assert sorted(k for _, k in content(table)) == [1, 3]
    table.delete(col("p") == "a")
    assert (content(table), table.latest_snapshot().index_manifest) == ({}, None)


@pytest.mark.parametrize(("options", "most"), [({}, 2), ({"compaction.delete-ratio-threshold": "0.5"}, 5)])
def test_compaction_rewrites_files_of_which_much_is_deleted(warehouse, options, most):
    table = make(warehouse, **VECTORS, **options)
    table.write(rows(*range(10)))
    table.delete(col("k") < most)
    assert not table.compact()
    table.delete(col("k") == most)
    assert table.compact().snapshot.index_manifest is None
    assert sorted(k for _, k in content(table)) == list(range(most + 1, 10))
    assert table.latest_snapshot().total_record_count == 9 - most


@pytest.mark.parametrize(
    "options", [{}, VECTORS, VECTORS | {"write-only": "false"}], ids=["merged", "hidden", "vectors"]
)
def test_rows_with_a_primary_key_are_updated_by_key(warehouse, options):
    table = make(warehouse, keyed=True, **{"bucket": "1"} | options)
    table.write(rows(1, 2, 3))
    table.update(col("k") > 1, {"v": lambda old: [f"new{k}" for k in old["k"].to_pylist()]})
    table.delete(col("v") == "new3")
    table.compact(full=True)
    assert content(table) == {("a", 1): "x1", ("a", 2): "new2"}
    with pytest.raises(paimon.InvalidRequest, match="'k' is part of the primary key"):
        table.update(col("k") > 1, {"k": 5})


def test_changes_by_predicate_apply_to_rows_that_only_a_hidden_level_0_contains(warehouse):
    table = make(warehouse, keyed=True, bucket="1", **VECTORS)
    table.write(rows(1, 2, 3, 5))
    table.compact()
    table.write(rows(2, 4, 5, v="hidden"))
    assert content(table) == {("a", k): f"x{k}" for k in (1, 2, 3, 5)}
    assert table.delete(col("v") == "x2") is None  # the visible row of key 2 has been replaced
    table.delete(col("v") == "hidden4")
    table.delete(col("v") == "hidden5")
    table.update(col("v") == "hidden2", {"v": "updated"})
    assert content(table) == {("a", k): f"x{k}" for k in (1, 2, 3, 5)}
    table.compact()
    assert content(table) == {("a", 1): "x1", ("a", 2): "updated", ("a", 3): "x3"}


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "first-row"},
        {"changelog-producer": "full-compaction"},
    ],
    ids=list,
)
def test_options_that_exclude_vectors_are_refused_with_a_primary_key(warehouse, options):
    with pytest.raises(paimon.InvalidRequest, match=r"cannot be used with deletion-vectors\.enabled"):
        make(warehouse, keyed=True, bucket="1", **VECTORS, **options)


@pytest.mark.parametrize(
    ("assignments", "problem"),
    [({}, "mapping"), ({"x": 1}, "no column 'x'"), ({"k": "text"}, "'k' cannot be set to 'text'")],
)
def test_wrong_assignments_are_refused(warehouse, assignments, problem):
    table = make(warehouse)
    table.write(rows(1))
    with pytest.raises(paimon.InvalidRequest, match=problem):
        table.update(col("k") == 1, assignments)
    assert content(table) == {("a", 1): "x1"}


@pytest.mark.parametrize(
    "options", [{}, VECTORS, {"keyed": True, "bucket": "1"}], ids=["rewritten", "vectors", "keyed"]
)
def test_a_handle_with_an_older_schema_loses_no_column(warehouse, options):
    table = make(warehouse, **options)
    newer = table.alter("ADD COLUMN n BIGINT")
    newer.write(rows(1, 2, 3).append_column("n", pa.array([10, 20, 30])))
    table.update(col("k") == 1, {"v": "new"})
    table.delete(col("k") == 3)
    assert sorted((r["k"], r["v"], r["n"]) for r in newer.scan().to_arrow().to_pylist()) == [
        (1, "new", 10),
        (2, "x2", 20),
    ]


@pytest.mark.parametrize("options", [{}, {"keyed": True, "bucket": "1"}], ids=["append", "keyed"])
def test_a_column_that_was_renamed_since_is_named(warehouse, options):
    table = make(warehouse, **options)
    newer = table.alter("RENAME COLUMN v TO w")
    newer.write(rows(1).rename_columns(["p", "k", "w"]))
    on = ["p", "k"]
    clauses = [paimon.Delete(where=col("v") == "x"), paimon.Update(set={"v": col("v")})]
    for attempt in (
        lambda: table.update(col("k") == 1, {"v": "new"}),
        lambda: table.update(col("k") == 1, {"v": lambda old: old["v"]}),
        lambda: table.merge(rows(1, v="new"), on, when_matched=clauses, when_not_matched=None),
    ):
        with pytest.raises(paimon.SchemaMismatch, match=r"column 'v'.*(to update|columns are)"):
            attempt()
    assert newer.scan().to_arrow().to_pylist() == [{"p": "a", "k": 1, "w": "x1"}]


def test_the_writer_of_a_change_by_key_gets_few_tables(warehouse, monkeypatch):
    table = make(warehouse, keyed=True, bucket="1")
    table.write(rows(*range(40_000)))
    table.compact(full=True)
    seen = {"delete": [], "write": []}
    for name, lengths in seen.items():
        plain = getattr(row_changes.TableWriter, name)

        def counted(writer, given, *more, plain=plain, lengths=lengths, **named):
            lengths.append(len(given))
            return plain(writer, given, *more, **named)

        monkeypatch.setattr(row_changes.TableWriter, name, counted)
    few = (col("v") == "x1") | (col("v") == "x9000") | (col("v") == "x17000")
    table.update(few, {"v": "y"})
    table.delete(col("v") == "y")
    assert seen == {"delete": [3], "write": [3]}
    assert table.scan().count() == 39_997


@pytest.fixture
def four_threads(monkeypatch):
    """Changes by key read in four threads, although the files are small; returns the threads that have read."""
    monkeypatch.setattr(row_changes, "own_processors", lambda: 4)
    monkeypatch.setattr(row_changes, "has_few_values", lambda *_: False)
    readers = set()

    def recorded(context, split, request, read=row_changes.read_split):
        readers.add(threading.current_thread())
        return read(context, split, request)

    monkeypatch.setattr(row_changes, "read_split", recorded)
    return readers


@pytest.mark.parametrize("processors", [1, 4])
def test_changes_by_key_read_several_buckets_at_the_same_time(warehouse, monkeypatch, four_threads, processors):
    monkeypatch.setattr(row_changes, "own_processors", lambda: processors)
    table = make(warehouse, keyed=True, bucket="4", **{"source.split.target-size": "1 b"})
    table.write(rows(*range(200)))
    table.write(rows(*range(0, 200, 3), v="y"))
    assert table.delete(col("v").startswith("y")).commit_kind == "APPEND"
    assert (threading.current_thread() in four_threads) is (processors == 1)
    table.update(col("k") < 100, {"v": "new"})
    assert content(table) == {("a", k): "new" if k < 100 else f"x{k}" for k in range(200) if k % 3}


def test_a_failed_read_of_a_thread_leaves_no_file(warehouse, monkeypatch, four_threads):
    table = make(warehouse, keyed=True, bucket="4", **{"source.split.target-size": "1 b"})
    table.write(rows(*range(200)))
    known = sorted(Path(warehouse).rglob("*"))
    damaged = max((f for f in known if f.name.endswith(".parquet")), key=str)
    data = damaged.read_bytes()
    damaged.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    with pytest.raises(CorruptTable, match=damaged.name):
        table.delete(col("v") != "x1")
    assert sorted(Path(warehouse).rglob("*")) == known
    assert not [thread for thread in four_threads if thread.is_alive()]
