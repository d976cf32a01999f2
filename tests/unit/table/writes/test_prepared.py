"""Prepared: exactly what a check reads is published, by any process, and nothing else."""

import dataclasses
import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.metadata.context import TableContext
from paimon_core.table.table import Table
from tests.support.fake_tables import FAST, check_whole, files_on_storage
from tests.support.faulty_storage import Died, FaultyStorage, Outcome

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.float64())])
OPTIONS = {"bucket": "2", "write-only": "true", **FAST}


@pytest.fixture
def table(catalog):
    made = catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    made.write(rows(("a", 1, 1.0), ("b", 1, 1.0)))
    return made


def rows(*values):
    columns = zip(*values, strict=True) if values else ([], [], [])
    return pa.Table.from_arrays(
        [pa.array(list(c), f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def content(view):
    return sorted(view.scan().to_arrow().to_pylist(), key=lambda r: (r["p"], r["k"]))


def through(table, storage):
    """The same table over another storage."""
    context = table.context
    return Table(TableContext.of(context.name, storage, context.paths.root, context.schema))


def faulty(table):
    storage = FaultyStorage(table.context.storage)
    return storage, through(table, storage)


def test_a_check_reads_exactly_what_is_published(table):
    prepared = table.prepare(rows(("a", 1, 2.0), ("c", 5, 5.0)), watermark=7, properties={"run": "1"})
    seen = content(prepared.table)
    assert [(r["p"], r["k"], r["v"]) for r in seen] == [("a", 1, 2.0), ("b", 1, 1.0), ("c", 5, 5.0)]
    assert prepared.table.scan(where=col("p") == "c", limit=3).count() == 1
    assert len(prepared.table.inspect.files()) == 4
    assert table.scan().count() == 2
    assert table.latest_snapshot().id == 1
    published = prepared.publish()
    assert (published.id, published.watermark, published.properties) == (2, 7, {"run": "1"})
    assert content(table) == seen
    assert dataclasses.replace(published, time_millis=0) == dataclasses.replace(prepared.snapshot, time_millis=0)
    assert prepared.publish() == published
    assert table.latest_snapshot() == published
    check_whole(table.context)


def test_overwrites_are_prepared_too(table):
    dynamic = table.prepare(rows(("a", 9, 9.0)), overwrite=True)
    assert [(r["p"], r["k"]) for r in content(dynamic.table)] == [("a", 9), ("b", 1)]
    static = table.prepare(rows(("b", 8, 8.0)), overwrite=True, where=col("p") == "b")
    assert [(r["p"], r["k"]) for r in content(static.table)] == [("a", 1), ("b", 8)]
    with pytest.raises(paimon.InvalidRequest, match="p=b"):
        table.prepare(rows(("b", 8, 8.0)), overwrite=True, where=col("p") == "a")
    with pytest.raises(paimon.InvalidRequest, match="overwrite=True"):
        table.prepare(rows(), where=col("p") == "a")
    with pytest.raises(paimon.InvalidRequest, match="no kinds"):
        table.prepare(rows(), overwrite=True, kinds="k")
    assert static.publish().commit_kind == "OVERWRITE"
    with pytest.raises(paimon.CommitConflict):
        dynamic.publish()
    with pytest.raises(paimon.InvalidRequest, match="cannot be rebased"):
        dynamic.publish(rebase=True)
    assert [(r["p"], r["k"]) for r in content(dynamic.again().table)] == [("a", 9), ("b", 8)]


def test_a_concurrent_commit_needs_a_new_check(table):
    prepared = table.prepare(rows(("a", 1, 2.0)))
    table.write(rows(("z", 1, 1.0)), user="other")
    with pytest.raises(paimon.CommitConflict, match=r"snapshot 2 is of user other \(APPEND\)"):
        prepared.publish()
    assert table.scan().count() == 3
    fresh = prepared.again()
    assert len(content(fresh.table)) == 3
    assert fresh.publish().id == 3
    for late in (prepared, fresh):
        with pytest.raises(paimon.InvalidRequest, match="published as snapshot 3"):
            late.discard()
        assert late.publish().id == 3
    assert table.latest_snapshot().id == 3
    check_whole(table.context)


def test_rows_that_are_only_added_may_be_rebased(table):
    prepared = table.prepare(rows(("a", 1, 2.0)), user="u", identifier=3)
    table.write(rows(("z", 1, 1.0)))
    landed = prepared.publish(rebase=True)
    assert (landed.id, landed.commit_user, landed.commit_identifier) == (3, "u", 3)
    assert prepared.publish(rebase=True) == landed
    check_whole(table.context)
    nobodys = table.prepare(rows(("a", 1, 3.0)))
    table.write(rows(("z", 1, 1.0)))
    assert nobodys.publish(rebase=True) == nobodys.publish(rebase=True)
    named = table.prepare(rows(("a", 1, 4.0)), user="me")
    table.write(rows(("z", 1, 1.0)))
    named.publish(rebase=True)
    with pytest.raises(paimon.CommitConflict, match="already in the table"):
        named.publish(rebase=True)
    assert table.latest_snapshot().id == 7


def test_a_changed_schema_is_a_conflict(catalog, table):
    prepared = table.prepare(rows(("a", 1, 2.0)))
    schema = table.context.schema
    table.context.schemas.publish(dataclasses.replace(schema, id=1))
    with pytest.raises(paimon.CommitConflict, match="has changed since the commit was prepared"):
        prepared.publish()
    assert prepared.again().publish().schema_id == 1


def test_a_prepared_commit_is_published_by_another_process(catalog, table):
    prepared = table.prepare(rows(("a", 1, 2.0)), overwrite=True, where=col("p") == "a")
    data = prepared.to_bytes()
    other = catalog.table("db.t").prepared(data)
    assert content(other.table) == content(prepared.table)
    assert other.to_bytes() == data
    assert other.again().publish().id == 2
    with pytest.raises(paimon.InvalidRequest, match=r"not for table db\.o"):
        catalog.create_table("db.o", SCHEMA, options={"write-only": "true"}).prepared(data)
    with pytest.raises(paimon.InvalidRequest, match="not a prepared commit"):
        table.prepared(b"{}")
    with pytest.raises(paimon.UnsupportedFeature, match="version 9"):
        table.prepared(data.replace(b'"version":2', b'"version":9', 1))


def test_a_prepared_commit_happens_once_per_user_and_identifier(table):
    first = table.prepare(rows(("a", 1, 2.0)), user="u", identifier=1)
    second = table.prepare(rows(("a", 1, 3.0)), user="u", identifier=1)
    landed = first.publish()
    assert second.publish() == landed
    for call in (lambda: table.prepare(rows(("a", 1, 4.0)), user="u", identifier=1), second.again):
        with pytest.raises(paimon.InvalidRequest, match=r"committed identifier 1|published as snapshot 2"):
            call()
    assert table.scan(where=col("p") == "a").to_arrow()["v"].to_pylist() == [2.0]


def test_nothing_to_prepare(table):
    assert table.prepare(rows()) is None


def test_discard_leaves_no_files(table):
    before = files_on_storage(table.context)
    table.prepare(rows(("a", 1, 2.0))).discard()
    assert files_on_storage(table.context) == before
    kept = table.prepare(rows(("a", 1, 2.0)))
    with pytest.raises(paimon.InvalidRequest, match="two snapshots"):
        table.prepare_messages([*kept.messages, compaction_of(table)])
    kept.publish()


@pytest.mark.parametrize("taken_by", ["expiry", "branch"])
def test_a_published_commit_is_not_discarded_when_its_snapshot_is_missing(table, taken_by):
    prepared = table.prepare(rows(("a", 1, 2.0)))
    prepared.publish()
    if taken_by == "expiry":
        table.write(rows(("b", 1, 2.0)))
        table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
        held = table
    else:
        table.tags.create("published")
        table.branches.create("x", tag="published")
        table.rollback(snapshot=1)
        held = table.branch("x")
    before, seen = files_on_storage(table.context), content(held)
    for refused in (prepared.discard, prepared.again):
        with pytest.raises(paimon.InvalidRequest, match="was published, and the table uses its file"):
            refused()
    assert (files_on_storage(table.context), content(held)) == (before, seen)
    check_whole(table.context)


def compaction_of(table):
    (task, *_) = table.plan_compaction(full=True)
    return table.run_compaction(task)


def test_a_compaction_is_prepared_as_well(table):
    table.write(rows(("a", 1, 2.0)))
    prepared = table.prepare_messages([compaction_of(table)])
    assert prepared.snapshot.commit_kind == "COMPACT"
    assert content(prepared.table) == content(table)
    assert prepared.publish().id == 3


def test_messages_of_other_processes_are_checked_first(table):
    with table.writer() as writer:
        writer.write(rows(("q", 1, 1.0)))
        messages = writer.flush()
    prepared = table.prepare_messages(messages, user="spark", identifier=4)
    assert len(content(prepared.table)) == 3
    prepared.discard()
    with pytest.raises(paimon.CommitConflict, match="is not in"):
        table.prepare_messages(messages)
    with pytest.raises(paimon.CommitConflict, match="is not in"):
        prepared.publish()
    assert table.latest_snapshot().id == 1


def test_a_draft_whose_files_were_removed_is_not_published(table):
    prepared = table.prepare(rows(("a", 1, 2.0)))
    table.context.storage.delete([table.context.paths.manifest(prepared.draft_names[0])])
    with pytest.raises(paimon.CommitConflict, match="of the draft is missing"):
        prepared.publish()
    assert prepared.again().publish().id == 2


@pytest.mark.parametrize("arrives", [True, False])
def test_a_publish_that_may_still_arrive_keeps_its_files(table, arrives):
    storage, mine = faulty(table)
    prepared = mine.prepare(rows(("a", 1, 2.0)))
    before = files_on_storage(table.context)
    storage.on("create_exclusive", "snapshot-2", *[Outcome.UNKNOWN] * 5)
    with pytest.raises(paimon.CommitStateUnknown):
        prepared.publish()
    prepared = mine.prepared(prepared.to_bytes())
    with pytest.raises(paimon.CommitStateUnknown, match="may still arrive"):
        prepared.discard()
    assert files_on_storage(table.context) == before
    if arrives:
        table.context.snapshots.publish(prepared.snapshot)
        assert prepared.publish().id == 2
    else:
        table.write(rows(("z", 1, 1.0)))
        prepared.discard()
        assert table.scan().count() == 3
    check_whole(table.context)


def test_a_rebase_whose_answer_was_lost_keeps_its_files(table):
    storage, mine = faulty(table)
    prepared = mine.prepare(rows(("a", 1, 2.0)), user="me")
    table.write(rows(("z", 1, 1.0)))
    storage.before("create_exclusive", "snapshot-3", lambda: storage.on("read", "snapshot-3", *[Outcome.FAIL] * 5))
    storage.on("create_exclusive", "snapshot-3", Outcome.LOSE, *[Outcome.UNKNOWN] * 4)
    with pytest.raises(paimon.CommitStateUnknown):
        prepared.publish(rebase=True)
    with pytest.raises(paimon.InvalidRequest, match="published as snapshot 3"):
        prepared.discard()
    assert prepared.publish().id == 3


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_anywhere_leaves_the_old_or_the_published_state(catalog, after):
    outcomes = set()
    for die_at in range(14):
        name = f"db.crash{die_at}"
        made = catalog.create_table(name, SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
        made.write(rows(("a", 1, 1.0)))
        storage, dying = faulty(made)
        storage.die_at, storage.die_after = die_at, after
        prepared = None
        try:
            prepared = dying.prepare(rows(("a", 1, 2.0)), user="u", identifier=1)
            prepared.publish()
        except Died:
            pass
        (value,) = made.scan().to_arrow()["v"].to_pylist()
        outcomes.add((storage.dead, value))
        check_whole(made.context)
        again = (
            made.prepared(prepared.to_bytes())
            if prepared
            else made.prepare(rows(("a", 1, 2.0)), user="u", identifier=1)
        )
        assert again.publish().id == 2
        assert made.scan().to_arrow()["v"].to_pylist() == [2.0]
        assert made.latest_snapshot().id == 2
    assert (True, 1.0) in outcomes
    assert (False, 2.0) in outcomes
