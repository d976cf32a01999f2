"""commit: contiguous ids, exactly one commit per identifier, and the correct reaction to every response of a store."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from paimon_core.commit.assembly import Assembly
from paimon_core.commit.author import Author
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.exactly_once import OwnSnapshots
from paimon_core.errors import (
    CommitConflict,
    CommitStateUnknown,
    CorruptTable,
    InvalidRequest,
    SnapshotNotFound,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    check_whole,
    fake_file,
    fake_table,
    files_on_storage,
    live,
    message,
    reopened,
    replaced,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome

pytestmark = pytest.mark.usefixtures("fake_rows")


def faulty(context):
    storage = FaultyStorage(context.storage)
    return storage, reopened(context, storage)


def orphans(context):
    """Return the manifest files that no snapshot references."""
    used = set()
    for snapshot_id in context.snapshots.ids():
        s = context.snapshots.read(snapshot_id)
        for name in (s.base_manifest_list, s.delta_manifest_list):
            used |= {name, *(m.file_name for m in context.manifests.read_list(name))}
    there = {e.name for e in context.storage.list(context.paths.manifest_directory)}
    assert used <= there
    return there - used


def test_the_first_snapshot():
    context = fake_table()
    file = fake_file(context, rows=7)
    snapshot = append(context, file, user="me", properties={"a": "b"}, watermark=5, operation="WRITE", now_millis=1000)
    assert context.snapshots.latest() == snapshot
    assert (snapshot.id, snapshot.commit_kind, snapshot.commit_user) == (1, CommitKind.APPEND, "me")
    assert (snapshot.total_record_count, snapshot.delta_record_count, snapshot.time_millis) == (7, 7, 1000)
    assert (snapshot.properties, snapshot.watermark, snapshot.operation) == ({"a": "b"}, 5, "WRITE")
    assert snapshot.commit_identifier == BATCH_IDENTIFIER
    assert snapshot.next_row_id == 0
    assert snapshot.writer_version.startswith("paimon-core")
    assert live(context) == {("p=a/bucket-0", 0, file.file_name)}
    assert context.storage.read(context.paths.hint("LATEST")) == b"1"


def test_time_and_watermark_never_run_backwards():
    context = fake_table()
    append(context, now_millis=2000, watermark=9)
    later = append(context, now_millis=1000, watermark=4)
    assert (later.time_millis, later.watermark) == (2000, 9)


def test_nothing_to_commit_makes_no_snapshot():
    context = fake_table()
    assert commit([message(context)], context=context, user="u") == ()
    assert context.snapshots.ids() == []


@pytest.mark.parametrize(("user", "identifier"), [(" ", 1), ("u", -1), ("u", 2**63)])
def test_a_bad_author_is_refused(user, identifier):
    with pytest.raises(InvalidRequest, match="identifier"):
        commit([], context=fake_table(), user=user, identifier=identifier)


def test_new_files_and_a_compaction_make_two_snapshots():
    context = fake_table()
    old, new, merged = fake_file(context), fake_file(context), fake_file(context, level=5, rows=15)
    append(context, old)
    both = message(context, new, before=(old, new), after=(merged,))
    first, second = commit([both], context=context, user="u", identifier=3, operation="WRITE")
    assert [(s.id, s.commit_kind, s.commit_identifier) for s in (first, second)] == [
        (2, "APPEND", 3),
        (3, "COMPACT", 3),
    ]
    assert (second.delta_record_count, second.total_record_count) == (-5, 15)
    assert second.operation is None
    assert live(context) == {("p=a/bucket-0", 5, merged.file_name)}


def test_a_commit_that_deletes_files_is_an_overwrite():
    context = fake_table(keyed=False)
    old = fake_file(context)
    append(context, old)
    new = fake_file(context, rows=3)
    (snapshot,) = commit([message(context, new, deleted=(old,))], context=context, user="u")
    assert (snapshot.commit_kind, snapshot.delta_record_count) == (CommitKind.OVERWRITE, -7)
    assert live(context) == {("p=a/bucket-0", 0, new.file_name)}


def test_threads_lose_nothing_and_repeat_nothing():
    context = fake_table(**{"commit.max-retries": "1000"})
    names: list[str] = []
    failures: list[BaseException] = []

    def work(user):
        mine = reopened(context, context.storage)
        try:
            for number in range(6):
                file = fake_file(mine)
                names.append(file.file_name)
                for _ in range(2):
                    commit([message(mine, file)], context=mine, user=user, identifier=number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"u{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert context.snapshots.ids() == list(range(1, 25))
    assert {name for _, _, name in live(context)} == set(names)
    check_whole(context)
    assert orphans(context) == set()


def test_the_local_disk_too(tmp_path):
    context = fake_table(FsspecStorage("file"), root=str(tmp_path / "db.db" / "t"))
    append(context)
    append(context)
    assert context.snapshots.ids() == [1, 2]
    check_whole(context)


def test_a_lost_race_is_retried_and_leaves_no_files():
    context = fake_table()
    storage, racing = faulty(context)
    rival = fake_file(context)
    storage.before("create_exclusive", "snapshot-1", lambda: append(context, rival, user="rival"))
    mine = fake_file(context)
    assert append(racing, mine).id == 2
    assert {name for _, _, name in live(context)} == {rival.file_name, mine.file_name}
    assert orphans(context) == set()


def test_losing_every_race_is_a_conflict():
    context = fake_table(**{"commit.max-retries": "3"})
    storage, racing = faulty(context)
    for number in range(1, 5):
        storage.before("create_exclusive", f"snapshot-{number}", lambda: append(context, user="rival"))
    with pytest.raises(CommitConflict, match="lost 4 races") as caught:
        append(racing)
    assert caught.value.facts["attempts"] == 4
    assert context.snapshots.ids() == [1, 2, 3, 4]
    assert orphans(context) == set()


def test_the_time_for_retries_is_bounded():
    context = fake_table(**{"commit.max-retries": "1000", "commit.timeout": "1 ms", "commit.min-retry-wait": "4 ms"})
    storage, racing = faulty(context)
    storage.before("create_exclusive", "snapshot-1", lambda: append(context, user="rival"))
    with pytest.raises(CommitConflict, match="lost 1 races"):
        append(racing)


@pytest.mark.parametrize("outcome", [Outcome.LOSE, Outcome.EXISTS])
def test_a_publish_that_succeeded_counts_whatever_the_response(outcome):
    context = fake_table()
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-1", outcome)
    snapshot = append(mine)
    assert context.snapshots.read(1) == snapshot
    assert context.snapshots.ids() == [1]
    check_whole(context)


def test_an_undecided_publish_is_retried_under_the_same_id():
    context = fake_table()
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-1", Outcome.UNKNOWN, Outcome.UNKNOWN)
    snapshot = append(mine)
    assert context.snapshots.read(1).uuid == snapshot.uuid
    assert storage.count("create_exclusive", "snapshot-1") == 3
    assert context.snapshots.ids() == [1]


def test_an_undecided_publish_whose_id_another_commit_used_is_lost():
    context = fake_table()
    storage, mine = faulty(context)
    rival = fake_file(context)
    storage.before("create_exclusive", "snapshot-1", lambda: append(context, rival, user="rival"))
    storage.on("create_exclusive", "snapshot-1", Outcome.UNKNOWN)
    assert append(mine).id == 2
    assert context.snapshots.read(1).commit_user == "rival"
    assert orphans(context) == set()


def test_a_publish_that_stays_undecided_is_unknown_and_nothing_is_deleted():
    context = fake_table()
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-1", *[Outcome.UNKNOWN] * 99)
    with pytest.raises(CommitStateUnknown) as caught:
        append(mine, user="me", identifier=4)
    assert {k: caught.value.facts[k] for k in ("table", "snapshot", "user", "identifier")} == {
        "table": "db.t",
        "snapshot": 1,
        "user": "me",
        "identifier": 4,
    }
    assert len(orphans(context)) == 3
    assert storage.count("delete") == 0


def test_a_publish_that_the_store_refused_is_a_failure_without_traces():
    context = fake_table()
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-1", Outcome.FAIL)
    with pytest.raises(StorageError, match="injected"):
        append(mine)
    assert context.snapshots.ids() == []
    assert orphans(context) == set()


def test_a_failure_before_the_publish_leaves_no_files():
    context = fake_table()
    append(context)
    storage, mine = faulty(context)
    storage.on("write", "manifest/manifest-list-", Outcome.OK, Outcome.FAIL)
    with pytest.raises(StorageError, match="injected"):
        append(mine)
    assert context.snapshots.ids() == [1]
    assert orphans(context) == set()


def test_a_base_that_was_rolled_back_meanwhile_is_not_built_on():
    context = fake_table()
    append(context)
    given_up = fake_file(context)
    append(context, given_up)
    storage, mine = faulty(context)

    def roll_back_and_commit():
        context.snapshots.write_latest_hint(1)
        context.snapshots.delete([2])
        append(context, user="rival")

    storage.before("write", "manifest/manifest-list-", roll_back_and_commit)
    assert append(mine).id == 3
    assert given_up.file_name not in {name for _, _, name in live(context)}
    assert len(live(context)) == 3


# -- exactly once per (user, identifier)


def test_the_same_identifier_commits_once():
    context = fake_table()
    first = append(context, user="u", identifier=1)
    again = append(context, user="u", identifier=1)
    assert again == first
    assert context.snapshots.ids() == [1]
    assert append(context, user="other", identifier=1).id == 2


def test_batch_commits_are_never_filtered_and_filter_nothing():
    context = fake_table()
    append(context, user="u")
    append(context, user="u")
    assert append(context, user="u", identifier=1).id == 3


def test_an_older_identifier_writes_nothing():
    context = fake_table()
    two = append(context, user="u", identifier=2)
    append(context, user="u", identifier=3)
    assert append(context, user="u", identifier=2) == two
    assert commit([message(context, fake_file(context))], context=context, user="u", identifier=1) == ()
    assert context.snapshots.ids() == [1, 2]


def test_a_compaction_that_was_not_committed_is_completed():
    context = fake_table()
    old, new, merged = fake_file(context), fake_file(context), fake_file(context, level=5)
    append(context, old, user="u", identifier=6)
    both = [message(context, new, before=(old, new), after=(merged,))]
    storage, dying = faulty(context)
    storage.on("create_exclusive", "snapshot-3", Outcome.DIE_BEFORE)
    with pytest.raises(Died):
        commit(both, context=dying, user="u", identifier=7)
    assert context.snapshots.ids() == [1, 2]
    done = commit(both, context=context, user="u", identifier=7)
    assert [(s.id, s.commit_kind) for s in done] == [(2, "APPEND"), (3, "COMPACT")]
    assert commit(both, context=context, user="u", identifier=7) == done
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_commit_whose_first_snapshot_has_expired_is_not_repeated():
    context = fake_table()
    new = fake_file(context)
    both = [message(context, new, before=(new,), after=(new.upgraded(5),))]
    _, compaction = commit(both, context=context, user="u", identifier=7)
    context.snapshots.delete([1])
    assert commit(both, context=context, user="u", identifier=7) == (compaction,)
    assert context.snapshots.ids() == [2]


def test_a_concurrent_commit_of_the_same_identifier_is_detected():
    context = fake_table()
    storage, mine = faulty(context)
    file = fake_file(context)
    storage.before("create_exclusive", "snapshot-1", lambda: append(context, file, user="u", identifier=1))
    assert append(mine, file, user="u", identifier=1).id == 1
    assert context.snapshots.ids() == [1]
    assert orphans(context) == set()


def test_gaps_in_the_ids_hide_no_commit_and_cost_no_search():
    context = fake_table()
    first = append(context, user="u", identifier=1)
    second = append(context, user="other")
    for snapshot_id in (10**17, 10**17 + 1):
        context.snapshots.publish(dataclasses.replace(second, id=snapshot_id, uuid="x"))
    context.snapshots.delete([2])
    assert append(context, user="u", identifier=1) == first
    assert append(context, user="u", identifier=2).id == 10**17 + 2


# -- conflicts


def test_a_compaction_of_deleted_files_names_the_commit_that_deleted_them():
    context = fake_table()
    old = fake_file(context)
    append(context, old)
    first = message(context, before=(old,), after=(fake_file(context, level=5),))
    commit([first], context=context, user="fast")
    slow = message(context, before=(old,), after=(fake_file(context, level=4),))
    with pytest.raises(CommitConflict, match=rf"{old.file_name}.*snapshot 2 \(compaction of user fast\) removed it"):
        commit([slow], context=context, user="slow")
    assert context.snapshots.ids() == [1, 2]
    assert orphans(context) == set()


def test_a_compaction_that_conflicts_after_its_rows_were_committed_is_skipped():
    context = fake_table()
    old, new = fake_file(context), fake_file(context)
    append(context, old)
    commit([message(context, before=(old,), after=(old.upgraded(5),))], context=context, user="fast")
    both = message(context, new, before=(old, new), after=(fake_file(context, level=4),))
    (only,) = commit([both], context=context, user="slow")
    assert only.commit_kind is CommitKind.APPEND
    assert live(context) == {("p=a/bucket-0", 5, old.file_name), ("p=a/bucket-0", 0, new.file_name)}


def test_an_error_after_the_rows_were_committed_names_their_snapshot():
    context = fake_table()
    new = fake_file(context)
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-2", Outcome.FAIL)
    with pytest.raises(StorageError) as caught:
        commit([message(context, new, before=(new,), after=(new.upgraded(5),))], context=mine, user="u")
    assert caught.value.facts["committed"] == [1]


def test_an_option_that_a_writer_must_obey_is_refused():
    context = fake_table(**{"commit.callbacks": "com.example.C"})
    with pytest.raises(UnsupportedFeature, match=r"commit\.callbacks"):
        append(context)
    assert context.snapshots.ids() == []


# -- crashes


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_anywhere_commits_all_or_nothing_and_a_retry_completes_it(after):
    outcomes = set()
    for die_at in range(12):
        context = fake_table()
        old, new, merged = fake_file(context), fake_file(context), fake_file(context, level=5)
        append(context, old)
        both = [message(context, new, before=(old, new), after=(merged,))]
        storage, dying = faulty(context)
        storage.die_at, storage.die_after = die_at, after
        try:
            commit(both, context=dying, user="u", identifier=1)
            died = False
        except Died:
            died = True
        check_whole(context)
        outcomes.add((died, len(live(context))))
        done = commit(both, context=context, user="u", identifier=1)
        assert [s.commit_kind for s in done] == ["APPEND", "COMPACT"]
        assert live(context) == {("p=a/bucket-0", 5, merged.file_name)}
        assert context.snapshots.ids() == [1, 2, 3]
        check_whole(context)
        assert files_on_storage(context) >= {f"snapshot/snapshot-{n}" for n in (1, 2, 3)}
    assert outcomes == {(True, 1), (True, 2), (False, 1)}


def test_a_check_up_to_a_snapshot_that_was_rolled_back_does_not_count():
    context = fake_table()
    mine = append(context, identifier=5)
    rolled_back = dataclasses.replace(mine, id=2, uuid="gone")
    changes = changes_of([message(context, fake_file(context))])
    assert commit_changes(changes, context, Author("u", 5), own=OwnSnapshots(rolled_back)) == (mine,)
    assert context.snapshots.ids() == [1]


@pytest.mark.parametrize("error", [SnapshotNotFound, CorruptTable])
def test_a_base_that_expires_while_it_is_read_is_read_again(monkeypatch, error):
    context = fake_table()
    append(context, fake_file(context))
    assemble, failed = Assembly.assemble, []

    def expiring(assembly, change, base, draft):
        if not failed:
            failed.append(base.id)
            append(reopened(context, context.storage), fake_file(context))  # the base is not the latest any more
            raise error("a manifest of the base is missing")
        return assemble(assembly, change, base, draft)

    monkeypatch.setattr(Assembly, "assemble", expiring)
    assert append(context, fake_file(context)).id == 3
    assert failed == [1]
    assert orphans(context) == set()


def test_a_base_that_cannot_be_read_is_an_error_while_it_is_the_latest(monkeypatch):
    context = fake_table()
    append(context, fake_file(context))
    broken = CorruptTable("a manifest is missing")

    def missing(assembly, change, base, draft):
        raise broken

    monkeypatch.setattr(Assembly, "assemble", missing)
    with pytest.raises(CorruptTable) as raised:
        append(context, fake_file(context))
    assert raised.value is broken


def test_an_error_of_a_commit_during_which_the_table_was_dropped_says_so():
    context = fake_table()
    storage, writer_context = faulty(context)
    storage.before("write", "/manifest/", lambda: replaced(context))
    storage.on("write", "/manifest/", Outcome.FAIL)
    with pytest.raises(TableNotFound, match="dropped or re-created"):
        append(writer_context)
