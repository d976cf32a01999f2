"""Commits that were applied twice, or not at all, elsewhere: named by the numbers of Apache Paimon's issues."""

import dataclasses

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from tests.support.commits import commit
from tests.support.fake_tables import append, changelog, check_whole, fake_file, fake_table, live, message, reopened
from tests.support.faulty_storage import Died, FaultyStorage

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64())])


@pytest.fixture
def catalog(tmp_path):
    made = paimon.open_catalog(str(tmp_path))
    made.create_database("db")
    return made


def rows(*values):
    return pa.table({"p": [p for p, _ in values], "k": [k for _, k in values]}, schema=SCHEMA)


def faulty(context):
    storage = FaultyStorage(context.storage)
    return storage, reopened(context, storage)


def both_of(context):
    old, new, merged = fake_file(context), fake_file(context), fake_file(context, level=5)
    append(context, old, user="before")
    return [message(context, new, before=(old, new), after=(merged,))], merged


def test_343_350_an_append_without_its_compaction_is_completed_not_filtered():
    context = fake_table()
    work, merged = both_of(context)
    storage, dying = faulty(context)
    storage.before("create_exclusive", "snapshot-3", lambda: setattr(storage, "die_at", storage.mutations))
    with pytest.raises(Died):
        commit(work, context=dying, user="u", identifier=4)
    assert context.snapshots.ids() == [1, 2]
    done = commit(work, context=context, user="u", identifier=4)
    assert [(s.id, s.commit_kind) for s in done] == [(2, "APPEND"), (3, "COMPACT")]
    assert {name for _, _, name in live(context)} == {merged.file_name}
    assert commit(work, context=context, user="u", identifier=4) == done


def test_9666_9667_a_batch_that_is_replayed_is_there_once(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    for _ in range(3):
        table.write(rows(("a", 1)), user="stream", identifier=7)
    assert table.filter_committed("stream", [6, 7, 8]) == [8]
    assert table.scan().count() == 1
    with pytest.raises(paimon.InvalidRequest, match="is too low, because the identifiers of a user must ascend"):
        table.write(rows(("a", 2)), user="stream", identifier=6)


def test_8358_a_snapshot_between_two_tries_is_not_skipped():
    """The retry checks every snapshot since the base of the previous attempt, not only the newest one."""
    context = fake_table()
    append(context)
    storage, mine = faulty(context)
    file = fake_file(context)

    def twin_and_another():
        append(context, file, user="u", identifier=1)
        append(context, user="other")

    storage.before("create_exclusive", "snapshot-2", twin_and_another)
    assert append(mine, file, user="u", identifier=1).id == 2
    assert context.snapshots.ids() == [1, 2, 3]
    check_whole(context)


def test_8358_nor_is_it_when_a_rollback_came_between():
    context = fake_table()
    for _ in range(4):
        append(context)
    file = fake_file(context)

    class RolledBack(SnapshotStore):
        """After the first check, a rollback to snapshot 2 happens, and another process commits the same identifier."""

        def create(self, snapshot, base=None):
            if snapshot.id == 5:
                context.snapshots.write_latest_hint(2)
                context.snapshots.delete([3, 4])
                append(context, file, user="u", identifier=1)
                append(context, user="other")
                append(context, user="other")
            return super().create(snapshot, base)

    mine = dataclasses.replace(context, snapshots=RolledBack(context.storage, context.paths))
    assert append(mine, file, user="u", identifier=1).id == 3
    assert sum(name == file.file_name for _, _, name in live(context)) == 1
    assert context.snapshots.ids() == [1, 2, 3, 4, 5]
    check_whole(context)


def test_4802_an_overwrite_replaces_what_is_there_when_it_lands_and_says_what_it_has_read(catalog):
    table = catalog.create_table("db.o", SCHEMA, partition_by=["p"], options={"write-only": "true"})
    table.write(rows(("a", 1), ("b", 1)))
    prepared = table.prepare(table.scan(where=col("p") == "a").to_arrow(), overwrite=True, where=col("p") == "a")
    table.write(rows(("a", 2)))
    with pytest.raises(CommitConflict, match=r"again\(\)"):
        prepared.publish()
    assert table.scan(where=col("p") == "a").count() == 2


def test_7639_a_snapshot_says_what_it_did():
    context = fake_table(keyed=False)
    old = fake_file(context)
    kinds = [append(context, old).commit_kind]
    (merged,) = commit([message(context, before=(old,), after=(fake_file(context),))], context=context, user="c")
    last = context.manifests.entries_of(merged)[0].file
    (replaced,) = commit([message(context, fake_file(context), deleted=(last,))], context=context, user="d")
    assert [*kinds, merged.commit_kind, replaced.commit_kind] == ["APPEND", "COMPACT", "OVERWRITE"]


def test_7662_an_append_carries_the_index_manifest_on():
    context = fake_table(keyed=False)
    first = append(context)
    context.snapshots.publish(dataclasses.replace(first, id=2, uuid="x", index_manifest="index-manifest-1"))
    assert [append(context).index_manifest for _ in range(2)] == ["index-manifest-1"] * 2


def test_7408_7409_a_compaction_keeps_the_sequence_numbers_of_its_rows(catalog):
    table = catalog.create_table(
        "db.s", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options={"bucket": "1", "write-only": "true"}
    )
    for number in range(3):
        table.write(rows(("a", number)))
    table.compact(full=True)
    (entry,) = table.context.manifests.entries_of(table.latest_snapshot())
    assert (entry.file.min_sequence_number, entry.file.max_sequence_number) == (0, 2)
    table.write(rows(("a", 9)))
    newest = max(e.file.max_sequence_number for e in table.context.manifests.entries_of(table.latest_snapshot()))
    assert newest == 3


def test_batch_commits_of_one_user_are_many_commits():
    context = fake_table()
    first, second = append(context, user="u"), append(context, user="u")
    assert (first.commit_identifier, second.id) == (BATCH_IDENTIFIER, 2)


def test_7458_an_overwrite_takes_no_changelog_and_a_repeated_one_replaces_once():
    context = fake_table(**{"changelog-producer": "input"})
    file = fake_file(context)
    work = [message(context, file, changelog=(fake_file(context, name="changelog-1"),))]
    (done,) = commit(work, context=context, user="u", identifier=1, overwrite=Overwrite())
    append(context, fake_file(context, of="a"))
    assert commit(work, context=context, user="u", identifier=1, overwrite=Overwrite()) == (done,)
    assert changelog(context, done) == set()
    assert len(live(context)) == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"operation": "BACKFILL"}, "must be one of CREATE"),
        ({"operation": 5}, "must be one of CREATE"),
        ({"overwrite": True}, "overwrite must be"),
    ],
)
def test_what_no_reader_knows_is_not_committed(catalog, wrong, told):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    with table.writer() as writer:
        writer.write(rows(("a", 1)))
        messages = writer.flush()
    with pytest.raises(InvalidRequest, match=told):
        table.commit(messages, **wrong)
    assert table.latest_snapshot() is None
    assert table.commit(messages, operation="MERGE").operation == "MERGE"
