"""Commits whose response was lost: bugs that destroyed tables elsewhere, by their numbers.

Of Apache Paimon unless another project is named. Every history ends the same way: each commit exists exactly once or
not at all, every file that a snapshot references exists, and a caller that got no response can find out the outcome.
"""

import contextlib

import pytest

from paimon_core.errors import CommitConflict, CommitStateUnknown, PaimonError, StorageError
from tests.support.commits import commit
from tests.support.fake_tables import append, check_whole, fake_file, fake_table, live, message, reopened
from tests.support.faulty_storage import FaultyStorage, Outcome

pytestmark = pytest.mark.usefixtures("fake_rows")


def faulty(context):
    storage = FaultyStorage(context.storage)
    return storage, reopened(context, storage)


def names(context):
    return {name for _, _, name in live(context)}


@pytest.mark.parametrize("outcome", [Outcome.LOSE, Outcome.EXISTS])
def test_6777_6778_the_lists_of_a_commit_that_happened_are_not_deleted(outcome):
    context = fake_table()
    storage, mine = faulty(context)
    file = fake_file(context)
    storage.on("create_exclusive", "snapshot-1", outcome)
    append(mine, file)
    assert storage.count("delete", "manifest") == 0
    assert append(context).id == 2
    check_whole(context)


def test_5776_a_retry_after_a_false_failure_keeps_the_manifests():
    context = fake_table()
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-1", Outcome.LOSE)
    storage.on("read", "snapshot-1", Outcome.FAIL, Outcome.FAIL)
    append(mine, user="u", identifier=1)
    append(mine, user="u", identifier=2)
    assert context.snapshots.ids() == [1, 2]
    check_whole(context)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_clickhouse_112081_one_lost_response_destroys_no_table(count):
    context = fake_table()
    kept = fake_file(context)
    append(context, kept)
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-2", Outcome.LOSE, *[Outcome.UNKNOWN] * (count - 1))
    storage.on("read", "snapshot-2", *[Outcome.FAIL] * count)
    file = fake_file(context)
    with contextlib.suppress(CommitStateUnknown):
        append(mine, file, user="u", identifier=1)
    append(context, file, user="u", identifier=1)
    assert names(context) == {kept.file_name, file.file_name}
    check_whole(context)


ANSWERS = (Outcome.OK, Outcome.FAIL, Outcome.LOSE, Outcome.UNKNOWN, Outcome.EXISTS)


@pytest.mark.parametrize("first", ANSWERS)
@pytest.mark.parametrize("second", ANSWERS)
def test_iceberg_2328_3717_4673_11814_13443_no_answer_loses_a_live_file(first, second):
    """Unknown and done, unknown and not done, refused, each followed by each; then the caller commits again."""
    context = fake_table()
    append(context)
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-", first, second)
    file = fake_file(context)
    for _ in range(2):
        try:
            append(mine, file, user="u", identifier=1)
        except (CommitStateUnknown, StorageError):
            continue
    check_whole(context)
    append(context, file, user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]
    assert file.file_name in names(context)
    check_whole(context)


def test_iceberg_a_second_committer_between_unknown_and_the_look():
    context = fake_table()
    storage, mine = faulty(context)
    ours, theirs = fake_file(context), fake_file(context)
    storage.before("read", "snapshot/snapshot-1", lambda: append(context, theirs, user="other"))
    storage.on("create_exclusive", "snapshot-1", Outcome.LOSE)
    append(mine, ours)
    assert names(context) == {ours.file_name, theirs.file_name}
    assert [context.snapshots.read(i).commit_user for i in (1, 2)] == ["u", "other"]
    check_whole(context)


@pytest.mark.parametrize("outcome", [Outcome.LOSE, Outcome.UNKNOWN])
def test_delta_rs_2279_a_commit_that_stands_is_not_told_as_an_error(outcome):
    context = fake_table()
    storage, mine = faulty(context)
    storage.on("create_exclusive", "snapshot-1", outcome)
    assert append(mine).id == 1


def test_aws_sdk_6580_a_precondition_failed_after_ones_own_retry_is_ones_own_file():
    context = fake_table()
    storage, mine = faulty(context)
    for number in range(1, 30):
        storage.on("create_exclusive", f"snapshot-{number}", Outcome.EXISTS)
        append(mine)
    assert context.snapshots.ids() == list(range(1, 30))
    assert len(live(context)) == 29


def test_2960_a_file_that_exists_already_is_a_lost_race_and_no_failure():
    context = fake_table()
    storage, mine = faulty(context)
    storage.before("create_exclusive", "snapshot-1", lambda: append(context, user="other"))
    assert append(mine).id == 2


def test_9851_a_store_that_fails_is_not_a_store_without_the_snapshot():
    """An I/O error while searching for this commit's snapshot must not be taken for "there is no such snapshot"."""
    context = fake_table()
    file = fake_file(context)
    append(context, file, user="u", identifier=1)
    append(context, user="other")
    for snapshot_id in (1, 2):
        storage, mine = faulty(context)
        storage.on("read", f"snapshot/snapshot-{snapshot_id}", *[Outcome.FAIL] * 9)
        with pytest.raises(PaimonError):
            append(mine, file, user="u", identifier=1)
    assert context.snapshots.ids() == [1, 2]


def test_9034_a_wrapped_storage_publishes_as_its_inner_one_does():
    context = fake_table()
    wrapped = reopened(context, FaultyStorage(FaultyStorage(context.storage)))
    append(context)
    assert not wrapped.storage.create_exclusive(context.paths.snapshot(1), b"mine")
    assert context.snapshots.read(1).commit_user == "u"
    assert append(wrapped).id == 2


def test_iceberg_970_a_definite_conflict_deletes_only_its_own_manifests():
    context = fake_table()
    old = fake_file(context)
    append(context, old)
    before = {e.name for e in context.storage.list(context.paths.manifest_directory)}
    work = message(context, before=(old,), after=(fake_file(context, level=5),))
    commit([work], context=context, user="fast")
    between = {e.name for e in context.storage.list(context.paths.manifest_directory)}
    with pytest.raises(CommitConflict):
        commit([work], context=context, user="slow")
    assert {e.name for e in context.storage.list(context.paths.manifest_directory)} == between > before
