"""publish: every response of a store to the create and to the read after it, and paused writers."""

import dataclasses

import pytest

from paimon_core.commit.assembly import Assembly
from paimon_core.commit.author import Author
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.draft import Draft
from paimon_core.commit.publishing.publish import PUBLISH_TRIES, publish
from paimon_core.errors import CommitConflict, CommitStateUnknown, PaimonError, TableNotFound
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    check_whole,
    fake_file,
    fake_table,
    files_on_storage,
    live,
    message,
    replaced,
)
from tests.support.fake_tables import reopened as over
from tests.support.faulty_storage import FaultyStorage, Outcome


def faulty(context):
    storage = FaultyStorage(context.storage)
    return storage, over(context, storage)


class Blind(FaultyStorage):
    """A store that does not find a file right after creating it; ``blind`` is the number of such reads."""

    blind = 0

    def read(self, path):
        if "snapshot-" in path and self.blind:
            self.blind -= 1
            raise FileNotFoundError(path)
        return super().read(path)


@pytest.mark.parametrize("blind", [1, 2, PUBLISH_TRIES - 1])
def test_exists_and_not_found_is_undecided(blind):
    context = fake_table()
    storage = Blind(context.storage)
    writer_context = over(context, storage)

    def blindness():
        storage.blind = blind

    storage.before("create_exclusive", "snapshot-1", blindness)
    storage.on("create_exclusive", "snapshot-1", Outcome.EXISTS)
    snapshot = append(writer_context)
    assert context.snapshots.ids() == [1]
    assert context.snapshots.read(1) == snapshot
    check_whole(context)


def test_exists_and_never_found_is_unknown_and_nothing_is_deleted():
    context = fake_table()
    storage = Blind(context.storage)
    writer_context = over(context, storage)

    def blindness():
        storage.blind = 99

    storage.before("create_exclusive", "snapshot-1", blindness)
    storage.on("create_exclusive", "snapshot-1", Outcome.EXISTS)
    with pytest.raises(CommitStateUnknown, match="Nothing was deleted"):
        append(writer_context)
    assert storage.count("delete") == 0
    check_whole(context)


def test_the_first_cause_of_an_unknown_outcome_is_named():
    context = fake_table()
    storage, writer_context = faulty(context)
    storage.on("create_exclusive", "snapshot-1", *[Outcome.UNKNOWN] * PUBLISH_TRIES)
    with pytest.raises(CommitStateUnknown, match="injected: create_exclusive"):
        append(writer_context)


class Server:
    """A catalog that owns the history; its answers to the publishes, and then it creates the file."""

    owns_history = True

    def __init__(self, context, *answers):
        self.context, self.answers = context, list(answers)

    def publish(self, path, snapshot, base):
        if self.answers:
            return self.answers.pop(0)
        return self.context.storage.create_exclusive(path, snapshot.to_json().encode())


def test_a_catalog_that_refuses_a_base_which_was_rolled_back_has_decided():
    context = fake_table()
    append(context)
    append(context)
    server = Server(context, False)
    base, snapshot = paused_writer(
        dataclasses.replace(context, snapshots=SnapshotStore(context.storage, context.paths, server))
    )
    context.snapshots.delete([2])
    assert not publish(base, snapshot)
    assert context.snapshots.ids() == [1]


def test_a_catalog_that_refuses_a_base_which_is_the_latest_is_asked_again():
    context = fake_table()
    append(context)
    server = Server(context, False)
    base, snapshot = paused_writer(
        dataclasses.replace(context, snapshots=SnapshotStore(context.storage, context.paths, server))
    )
    assert publish(base, snapshot)
    assert context.snapshots.ids() == [1, 2]


def test_a_file_of_this_id_that_does_not_decode_is_unknown():
    context = fake_table()
    storage, writer_context = faulty(context)
    path = context.paths.snapshot(1)
    storage.before("create_exclusive", "snapshot-1", lambda: context.storage.write(path, b'{"version"'))
    with pytest.raises(CommitStateUnknown, match="snapshot-1"):
        append(writer_context)
    assert storage.count("delete") == 0


@pytest.mark.parametrize("read_back", [Outcome.FAIL, Outcome.OK])
@pytest.mark.parametrize("create", [Outcome.LOSE, Outcome.UNKNOWN, Outcome.EXISTS])
def test_ambiguous_outcomes_end_in_one_commit(create, read_back):
    context = fake_table()
    storage, writer_context = faulty(context)
    if create is Outcome.EXISTS:
        storage.before("create_exclusive", "snapshot-1", lambda: storage.on("read", "snapshot-1", read_back))
    else:
        storage.on("read", "snapshot-1", read_back)
    storage.on("create_exclusive", "snapshot-1", create)
    append(writer_context)
    assert context.snapshots.ids() == [1]
    check_whole(context)


# -- writers that were paused between reading the base and publishing


def paused_writer(context):
    """Return the base, and the next snapshot of this writer, which is then paused before it publishes."""
    base = Base(context, context.snapshots.latest())
    (change,) = changes_of([message(context, fake_file(context))])
    snapshot = Assembly(context, Author("writer_context")).assemble(change, base, Draft(context))
    assert snapshot is not None
    return base, snapshot


def test_a_paused_writer_whose_id_was_used_and_expired_withdraws_its_snapshot():
    context = fake_table()
    append(context)
    base, snapshot = paused_writer(context)
    for _ in range(4):
        append(context)
    context.snapshots.delete([1, 2, 3])
    with pytest.raises(CommitConflict, match="do not commit the same messages"):
        publish(base, snapshot)
    assert context.snapshots.ids() == [4, 5]
    assert context.snapshots.latest_id() == 5
    assert context.storage.read(context.paths.hint("LATEST")) == b"5"


def test_a_paused_writer_withdraws_a_snapshot_outside_the_chain():
    context = fake_table()
    append(context)
    base, snapshot = paused_writer(context)
    append(context)
    append(context)
    context.snapshots.delete([1, 2])
    with pytest.raises(CommitConflict, match="outside the snapshot chain"):
        publish(base, snapshot)
    assert context.snapshots.ids() == [3]


def test_a_paused_writer_withdraws_its_snapshot_after_a_rollback():
    context = fake_table()
    for _ in range(3):
        append(context)
    base, snapshot = paused_writer(context)
    context.snapshots.write_latest_hint(2)
    context.snapshots.delete([3])
    with pytest.raises(CommitConflict, match="outside the snapshot chain"):
        publish(base, snapshot)
    assert context.snapshots.ids() == [1, 2]
    append(context)
    with pytest.raises(CommitConflict, match="outside the snapshot chain"):
        publish(base, snapshot)
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_base_that_expires_right_after_the_create_is_no_conflict():
    context = fake_table()
    append(context)
    base, snapshot = paused_writer(context)
    context.snapshots.delete([1])
    assert publish(base, snapshot)
    assert context.snapshots.ids() == [2]


@pytest.mark.parametrize("count", ["2", "30"])
def test_later_snapshots_prove_that_the_base_expired_after_the_create(count):
    context = fake_table(**{"manifest.merge-min-count": count})
    append(context)

    def concurrent_commits():
        append(context, user="other")
        context.snapshots.delete([1])

    class Slow(SnapshotStore):
        def create(self, snapshot, base=None):
            done = super().create(snapshot, base)
            concurrent_commits()
            return done

    slow = dataclasses.replace(context, snapshots=Slow(context.storage, context.paths))
    file = fake_file(context)
    assert append(slow, file).id == 2
    assert file.file_name in {name for _, _, name in live(context)}
    assert context.snapshots.ids() == [2, 3]


def test_the_writer_of_the_first_snapshot_may_be_paused_too():
    context = fake_table()
    base, snapshot = paused_writer(context)
    for _ in range(3):
        append(context)
    context.snapshots.delete([1])
    with pytest.raises(CommitConflict, match="outside the snapshot chain"):
        publish(base, snapshot)
    assert context.snapshots.ids() == [2, 3]


def test_a_base_that_cannot_be_read_again_is_unknown():
    context = fake_table()
    append(context)
    storage, writer_context = faulty(context)
    file = fake_file(context)
    storage.before(
        "create_exclusive", "snapshot-2", lambda: storage.on("read", "snapshot-1", *[Outcome.FAIL] * PUBLISH_TRIES)
    )
    with pytest.raises(CommitStateUnknown):
        append(writer_context, file, user="u", identifier=1)
    assert storage.count("delete") == 0
    assert append(context, file, user="u", identifier=1).id == 2
    assert context.snapshots.ids() == [1, 2]


@pytest.mark.parametrize(
    ("failures", "error"), [(PUBLISH_TRIES - 1, "write the rows again"), (PUBLISH_TRIES, "it is not known")]
)
def test_the_deletion_of_a_withdrawn_snapshot_is_retried(failures, error):
    context = fake_table()
    append(context)
    storage, writer_context = faulty(context)
    base, snapshot = paused_writer(writer_context)
    for _ in range(3):
        append(context)
    context.snapshots.delete([1, 2])
    for _ in range(failures):
        storage.on("delete", "snapshot-2", Outcome.FAIL)
    with pytest.raises(PaimonError, match=error):
        publish(base, snapshot)


def test_a_conflict_keeps_the_files_of_the_caller():
    context = fake_table()
    old, new = fake_file(context), fake_file(context, level=5)
    append(context, old)
    work = [message(context, before=(old,), after=(new,))]
    commit(work, context=context, user="fast")
    before = files_on_storage(context)
    with pytest.raises(CommitConflict):
        commit(work, context=context, user="slow")
    assert files_on_storage(context) == before


@pytest.mark.parametrize("older", [0, 2])
def test_a_table_that_took_the_name_gets_no_snapshot(older):
    context = fake_table()
    for _ in range(older):
        append(context)
    storage, writer_context = faulty(context)
    storage.before("create_exclusive", f"snapshot-{older + 1}", lambda: replaced(context))
    with pytest.raises(TableNotFound):
        append(writer_context)
    assert (storage.hooks, context.snapshots.ids(), context.snapshots.latest_hint()) == ([], [], None)
    assert not [path for path in files_on_storage(context) if "/manifest/" in path]
