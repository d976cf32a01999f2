"""Two writers that start from one snapshot: the later commit wins, for every reader, also after a compaction."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.commit import committer, duplicates, numbering
from paimon_core.commit.base import Base
from paimon_core.commit.publishing.publish import publish_draft
from paimon_core.errors import CommitConflict, CommitStateUnknown
from paimon_core.maintain.orphans.removal import plan_orphan_removal
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.write.table_writer import TableWriter
from tests.support.long_cases import long_cases
from tests.support.reachable import assert_whole_and_clean

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
OPTIONS = {"bucket": "1", "write-only": "true", "commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms"}


@pytest.fixture
def catalog(tmp_path):
    made = paimon.open_catalog(str(tmp_path / "warehouse"))
    made.create_database("db")
    return made


def make(catalog, options=()):
    options = OPTIONS | dict(options)
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)


def rows(value, *keys):
    return pa.table({"k": list(keys), "v": [value] * len(keys)}, schema=SCHEMA)


def written(table, value, *keys):
    """Return the messages of a writer that has read the table and has not committed yet."""
    with table.writer() as writer:
        writer.write(rows(value, *keys))
        return writer.flush()


def content(table):
    return {r["k"]: r["v"] for r in table.scan().to_arrow().to_pylist()}


def checked(table, expected, *, clean=True):
    """Check the content, that it is the same after a full compaction, and that no unreferenced file is left."""
    assert content(table) == expected
    table.compact(full=True)
    assert content(table) == expected
    assert table.maintenance.check(deep=True).is_clean
    assert_whole_and_clean(table.context, clean=clean)


@pytest.mark.parametrize("formats", ["parquet", *long_cases(("orc", "avro"))])
@pytest.mark.parametrize("before", [0, 1])
def test_of_two_writers_that_began_together_the_later_commit_wins(catalog, before, formats):
    table = make(catalog, {"file.format": formats})
    for _ in range(before):
        table.write(rows("old", 1, 2, 3, 4))
    first, second = written(table, "first", 1, 2), written(table, "second", 2, 3)
    table.commit(second)
    table.commit(first)
    checked(table, ({4: "old"} if before else {}) | {1: "first", 2: "first", 3: "second"})


def test_a_writer_that_began_before_many_commits_is_not_hidden_by_them(catalog):
    table = make(catalog)
    slow = written(table, "slow", 1, 2)
    for turn in range(3):
        table.write(rows(f"quick {turn}", *range(1, 50)))
    table.commit(slow)
    checked(table, {k: "slow" if k < 3 else "quick 2" for k in range(1, 50)})


def test_messages_that_do_not_say_what_they_were_numbered_after_are_looked_up(catalog):
    table = make(catalog)
    (slow,) = written(table, "slow", 1)
    table.write(rows("quick", 1, 2))
    table.commit([CommitMessage(slow.partition, slow.bucket, slow.total_buckets, slow.new_files)])
    checked(table, {1: "slow", 2: "quick"})


def test_snapshots_that_expired_since_do_not_matter(catalog):
    table = make(catalog)
    table.write(rows("old", 1))
    slow = written(table, "slow", 1, 2)
    for turn in range(3):
        table.write(rows(f"quick {turn}", 1, 2, 3))
    table.expire_snapshots(keep_last=1, keep_max=1)
    table.commit(slow)
    checked(table, {1: "slow", 2: "slow", 3: "quick 2"})


def test_a_rollback_since_does_not_matter(catalog):
    table = make(catalog)
    table.write(rows("old", 1))
    table.write(rows("undone", *range(20)))
    slow = written(table, "slow", 1)
    table.rollback(snapshot=1)
    table.write(rows("new", *range(100)))
    table.commit(slow)
    checked(table, {k: "slow" if k == 1 else "new" for k in range(100)}, clean=False)


def test_of_two_messages_for_one_bucket_in_one_commit_the_later_one_wins(catalog):
    table = make(catalog)
    first, second = written(table, "first", 1, 2), written(table, "second", 2, 3)
    table.commit([*second, *first])
    checked(table, {1: "first", 2: "first", 3: "second"})


def test_messages_of_an_overwrite_keep_their_order_too(catalog):
    table = make(catalog)
    table.write(rows("old", *range(9)))
    first, second = written(table, "first", 1, 2), written(table, "second", 2, 3)
    table.commit([*first, *second], overwrite=table.overwrite_spec())
    checked(table, {1: "first", 2: "second", 3: "second"})


def test_a_writer_that_flushes_again_stays_behind_itself(catalog):
    table = make(catalog)
    with table.writer() as writer:
        writer.write(rows("one", 1, 2))
        one = writer.flush()
        writer.write(rows("two", 2, 3))
        two = writer.flush()
    table.write(rows("quick", 1, 2, 3))
    table.commit([*one, *two])
    checked(table, {1: "one", 2: "two", 3: "two"})


@pytest.mark.parametrize("travels", [False, True])
@pytest.mark.parametrize("rebase", [False, True])
def test_what_is_prepared_late_is_not_hidden(catalog, rebase, travels):
    table = make(catalog)
    table.write(rows("old", 1))
    slow = written(table, "slow", 1)
    if rebase:
        prepared = table.prepare_messages(slow)
        table.write(rows("quick", 1, 2))
    else:
        table.write(rows("quick", 1, 2))
        prepared = table.prepare_messages(slow)
        assert content(prepared.table) == {1: "slow", 2: "quick"}
    if travels:
        prepared = table.prepared(prepared.to_bytes())
    prepared.publish(rebase=rebase)
    assert content(table) == {1: "slow", 2: "quick"}
    table.compact(full=True)
    assert content(table) == {1: "slow", 2: "quick"}


@pytest.mark.parametrize("discards_duplicates", [False, True])
def test_a_prepared_commit_deletes_what_it_wrote_again_as_any_commit_does(catalog, discards_duplicates):
    table = make(catalog, {"commit.discard-duplicate-files": str(discards_duplicates).lower()})
    slow = written(table, "slow", 1)
    table.write(rows("quick", 1, 2))
    table.prepare_messages(slow).publish()
    bucket = table.context.paths.bucket(table.context.partition_path(slow[0].partition), slow[0].bucket)
    there = {entry.name for entry in table.context.storage.list(bucket)}
    assert (slow[0].new_files[0].file_name in there) == discards_duplicates


def test_what_is_prepared_late_and_discarded_leaves_nothing(catalog):
    table = make(catalog)
    slow = written(table, "slow", 1)
    table.write(rows("quick", 1, 2))
    table.prepare_messages(slow).discard()
    checked(table, {1: "quick", 2: "quick"})


def test_a_commit_that_is_refused_leaves_the_files_of_its_messages(catalog, monkeypatch):
    table = make(catalog)
    slow = written(table, "slow", 1)
    table.write(rows("quick", 1, 2))
    monkeypatch.setattr(Base, "is_current", lambda self: False)  # a concurrent commit wins every race
    with pytest.raises(paimon.CommitConflict, match="lost"):
        table.commit(slow)
    monkeypatch.undo()
    table.commit(slow)
    checked(table, {1: "slow", 2: "quick"})


def test_files_are_written_again_once_however_many_races_are_lost(catalog, monkeypatch):
    table = make(catalog)
    slow = written(table, "slow", 1)
    table.write(rows("quick", 1))
    calls = []
    rewrite = numbering.renumber

    def late(context, flush, file, shift):
        calls.append(shift)
        done = rewrite(context, flush, file, shift)
        if len(calls) == 1:
            table.write(rows("quicker", 1, 2))
        return done

    monkeypatch.setattr(numbering, "renumber", late)
    table.commit(slow)
    assert len(calls) == 1
    checked(table, {1: "slow", 2: "quicker"})


def test_one_that_exceeds_the_gap_is_written_again(catalog, monkeypatch):
    monkeypatch.setattr(numbering, "GAP", 1)
    table = make(catalog)
    slow = written(table, "slow", 1)
    table.write(rows("quick", 1))
    rewrite = numbering.renumber
    turns = []

    def late(context, flush, file, shift):
        done = rewrite(context, flush, file, shift)
        turns.append(shift)
        if len(turns) < 3:
            table.write(rows("quicker", *range(1, 9)))
        return done

    monkeypatch.setattr(numbering, "renumber", late)
    table.commit(slow)
    assert len(turns) == 3
    checked(table, {k: "slow" if k == 1 else "quicker" for k in range(1, 9)})


def test_a_delete_committed_later_wins(catalog):
    table = make(catalog)
    table.write(rows("old", 1, 2))
    with table.writer() as writer:
        writer.delete(rows("old", 1))
        gone = writer.flush()
    table.write(rows("new", 1))
    table.commit(gone)
    checked(table, {2: "old"})


@pytest.mark.parametrize(
    ("engine", "expected"),
    [("partial-update", {1: "late", 2: "old"}), ("first-row", {1: "old", 2: "old"})],
)
def test_other_engines_take_the_order_of_commits(catalog, engine, expected):
    table = make(catalog, {"merge-engine": engine})
    late = written(table, "late", 1)
    table.write(rows("old", 1, 2))
    table.commit(late)
    table.compact(full=True)
    assert content(table) == expected


def test_bucketed_append_tables_number_their_files_in_the_order_of_commits(catalog):
    table = catalog.create_table("db.a", SCHEMA, options=OPTIONS | {"bucket-key": "k"})
    late = written(table, "late", 1, 2)
    table.write(rows("old", 1, 2, 3))
    table.commit(late)
    first, second = table.inspect.files().sort_by("min_sequence_number").to_pylist()
    assert first["max_sequence_number"] < second["min_sequence_number"]
    assert second["record_count"] == 2
    assert sorted(r["v"] for r in table.scan().to_arrow().to_pylist()) == ["late"] * 2 + ["old"] * 3


@pytest.mark.java
def test_java_reads_and_compacts_what_the_later_commit_says(oracle, tmp_path):
    catalog = paimon.open_catalog(str(tmp_path / "warehouse"))
    catalog.create_database("db")
    table = make(catalog)
    slow = written(table, "slow", 1, 2)
    table.write(rows("quick", 1, 2, 3))
    table.commit(slow)
    expected = [["+I", 1, "slow"], ["+I", 2, "slow"], ["+I", 3, "quick"]]
    warehouse = str(tmp_path / "warehouse")
    assert oracle.dump(warehouse, "db.t") == expected
    oracle.run(warehouse, [{"op": "compact", "table": "db.t", "full": True}])
    assert oracle.dump(warehouse, "db.t") == expected
    assert content(table) == {1: "slow", 2: "slow", 3: "quick"}


def test_writers_of_one_commit_in_lanes_need_no_file_written_again(catalog):
    table = make(catalog)
    table.write(rows("old", 1, 2, 3))
    messages = []
    for lane in range(3):
        with TableWriter(table.context, lane=lane) as writer:
            writer.write(rows(f"task {lane}", 1, 2 + lane))
            messages += writer.flush()
    snapshot = table.commit(messages)
    names = {f.file_name for m in messages for f in m.new_files}
    assert names <= {e.file.file_name for e in table.context.manifests.entries_of(snapshot)}
    checked(table, {1: "task 2", 2: "task 0", 3: "task 1", 4: "task 2"})


class TestDelete:
    """``delete`` takes every commit before its own into account."""

    @staticmethod
    def between(monkeypatch, table, *commits):
        """Run concurrent commits right after the delete has read; one for each of its attempts."""
        left = list(commits)
        flush = TableWriter.flush

        def late(writer):
            messages = flush(writer)
            if left:
                with monkeypatch.context() as quiet:
                    quiet.setattr(TableWriter, "flush", flush)
                    left.pop(0)()
            return messages

        monkeypatch.setattr(TableWriter, "flush", late)

    def test_a_row_that_was_changed_since_it_was_read_is_kept(self, catalog, monkeypatch):
        table = make(catalog)
        table.write(rows("old", 1, 2))
        self.between(monkeypatch, table, lambda: table.write(rows("new", 1)))
        table.delete(col("v") == "old")
        checked(table, {1: "new"})

    def test_a_row_that_came_since_is_deleted_too(self, catalog, monkeypatch):
        table = make(catalog)
        table.write(rows("old", 1))
        self.between(monkeypatch, table, lambda: table.write(rows("old", 2)), lambda: table.write(rows("old", 3)))
        table.delete(col("v") == "old")
        checked(table, {})

    def test_a_compaction_since_is_no_reason_to_read_again(self, catalog, monkeypatch):
        table = make(catalog, {"commit.max-retries": "0"})
        table.write(rows("old", 1))
        table.write(rows("old", 2))
        self.between(monkeypatch, table, lambda: table.compact(full=True))
        table.delete(col("v") == "old")
        assert content(table) == {}

    def test_a_change_that_comes_every_time_is_a_conflict(self, catalog, monkeypatch):
        table = make(catalog, {"commit.max-retries": "2"})
        table.write(rows("old", 1))
        self.between(monkeypatch, table, *[lambda: table.write(rows("old", 2))] * 3)
        with pytest.raises(paimon.CommitConflict, match="computed from snapshot 3, but snapshot 4"):
            table.delete(col("v") == "old")
        assert content(table) == {1: "old", 2: "old"}
        assert_whole_and_clean(table.context)

    def test_a_rollback_since_is_seen(self, catalog, monkeypatch):
        table = make(catalog)
        table.write(rows("new", 1))
        table.write(rows("old", 1))
        self.between(monkeypatch, table, lambda: table.rollback(snapshot=1))
        assert table.delete(col("v") == "old") is None
        checked(table, {1: "new"}, clean=False)

    def test_other_partitions_are_no_reason_to_read_again(self, catalog, monkeypatch):
        schema = pa.schema([pa.field("p", pa.string(), nullable=False), *SCHEMA])
        table = catalog.create_table(
            "db.p", schema, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS | {"commit.max-retries": "0"}
        )
        table.write([{"p": "a", "k": 1, "v": "old"}])
        self.between(monkeypatch, table, lambda: table.write([{"p": "b", "k": 1, "v": "old"}]))
        table.delete((col("p") == "a") & (col("v") == "old"))
        assert [r["p"] for r in table.scan().to_arrow().to_pylist()] == ["b"]


@pytest.mark.parametrize("deltas", [duplicates.DELTAS_READ, 0])
def test_messages_whose_commit_is_not_known_are_not_taken_twice(catalog, monkeypatch, deltas):
    monkeypatch.setattr(duplicates, "DELTAS_READ", deltas)
    table = make(catalog)
    messages = written(table, "mine", 1)
    table.write(rows("theirs", 1))

    with monkeypatch.context() as patch:
        patch.setattr(committer, "publish_draft", lambda *args: publish_draft(*args) and unknown())
        with pytest.raises(CommitStateUnknown):
            table.commit(messages)
    table.write(rows("later", 1))

    with pytest.raises(CommitConflict, match=r"committed before"):
        table.commit(messages)
    checked(table, {1: "later"}, clean=False)


def unknown():
    raise CommitStateUnknown("the answer was lost")


def test_messages_that_were_written_again_say_that_they_were_committed_before(catalog):
    table = make(catalog)
    messages = written(table, "mine", 1)
    table.write(rows("theirs", 1))
    table.commit(messages)
    with pytest.raises(CommitConflict, match=r"committed before, with higher sequence numbers"):
        table.commit(messages)


def test_messages_that_were_written_again_are_discarded_as_duplicates(catalog):
    table = make(catalog, {"commit.discard-duplicate-files": "true"})
    messages = written(table, "mine", 1)
    table.write(rows("theirs", 1))
    table.commit(messages)
    table.commit(messages)
    checked(table, {1: "mine"}, clean=False)


def test_what_was_written_again_and_not_published_is_removed_as_orphans_are(catalog, monkeypatch):
    table = make(catalog)
    messages = written(table, "mine", 1)
    table.write(rows("theirs", 1))
    with monkeypatch.context() as patch:
        patch.setattr(committer, "publish_draft", lambda *args: unknown())
        with pytest.raises(CommitStateUnknown):
            table.commit(messages)
    plan = plan_orphan_removal(table.context, now_millis=2**42)
    names = [name for file in plan.files if (name := file.path.rpartition("/")[2]).startswith("data-")]
    stem = messages[0].new_files[0].file_name.removesuffix(".parquet")
    assert [name.startswith(stem) for name in names] == [True, True]
