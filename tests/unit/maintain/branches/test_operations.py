"""Branches: complete or absent, each with its own history, and the files that a branch needs are kept."""

import pytest

from paimon_core.errors import AlreadyExists, BranchNotFound, CorruptTable, InvalidRequest, PlanOutdated, TagNotFound
from paimon_core.maintain import roots
from paimon_core.maintain.branches.operations import (
    apply_branch_deletion,
    create_branch,
    delete_branch,
    plan_branch_deletion,
)
from paimon_core.maintain.branches.rename import rename_branch
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.roots import all_roots, contexts_of_branches
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.fake_tables import (
    append,
    check_whole,
    compacted,
    data_files,
    expire_all,
    fake_table,
    live,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome


def tagged(number=2):
    """A table of two snapshots, and a tag on one."""
    context = fake_table()
    append(context)
    append(context)
    create_tag(context, "t", context.snapshots.read(number))
    return context


def names_of(context, name):
    return sorted(path for path, _ in context.branches.files(name))


# -- create


def test_a_branch_without_a_tag_has_the_schemas_and_no_rows():
    context = tagged()
    branch = create_branch(context, "dev")
    assert (branch.name, branch.schema, branch.snapshots.ids()) == ("db.t$branch_dev", context.schema, [])
    assert names_of(context, "dev") == ["schema/schema-0"]
    assert append(branch).id == 1
    assert len(live(context)) == 2


def test_a_branch_from_a_tag_has_its_snapshot_and_separate_commits():
    context = tagged(number=1)
    branch = create_branch(context, "dev", "t")
    assert names_of(context, "dev") == ["schema/schema-0", "snapshot/snapshot-1", "tag/tag-t"]
    assert branch.snapshots.latest() == context.snapshots.read(1)
    for paths in ("snapshot", "tag"):
        of = {"snapshot": lambda c: c.paths.snapshot(1), "tag": lambda c: c.paths.tag("t")}[paths]
        assert branch.storage.read(of(branch)) == context.storage.read(of(context))
    append(branch)
    append(branch)
    assert (branch.snapshots.ids(), context.snapshots.ids()) == ([1, 2, 3], [1, 2])
    assert (len(live(branch)), len(live(context))) == (3, 2)
    assert context.branches.names() == ["dev"]


def test_9044_a_branch_can_be_created_from_a_tag_whose_snapshot_has_expired():
    context, (a, *_) = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    branch = create_branch(context, "dev", "t")
    assert live(branch) == {("p=a/bucket-0", 0, a)}
    check_whole(branch)


def test_9867_tags_and_snapshots_of_a_branch_protect_their_files():
    """Also 3787, 8748, 4454: maintenance of the table must not delete files that a branch uses."""
    context, (a, b, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(2))
    branch = create_branch(context, "dev", "t")
    append(branch)
    create_tag(branch, "later", branch.snapshots.read(2))
    expire_all(context)
    delete_tag(context, "t")
    assert data_files(context) >= {a, b, c, d}
    check_whole(branch)
    expire_all(branch)
    assert data_files(context) >= {a, b, c, d}
    check_whole(branch)
    delete_tag(branch, "later")
    delete_tag(branch, "t")
    assert data_files(context) >= {a, b, c, d}  # they are live on the branch
    check_whole(branch)


def test_a_file_is_kept_while_a_tag_or_snapshot_of_any_branch_uses_it():
    context, (a, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    branch = create_branch(context, "dev", "t")
    expire_all(context)
    delete_tag(context, "t")
    assert a in data_files(context)
    append(branch)
    delete_tag(branch, "t")
    assert a in data_files(context)
    delete_branch(context, "dev")
    assert data_files(context) >= {a, c, d}  # an orphan now


def test_missing_tags_and_branches_and_existing_branches_are_errors():
    context = tagged()
    with pytest.raises(TagNotFound):
        create_branch(context, "dev", "none")
    assert context.branches.names() == []
    create_branch(context, "dev", "t")
    with pytest.raises(AlreadyExists, match=r"'dev' of table db\.t exists"):
        create_branch(context, "dev", "t")
    assert not context.branches.is_hidden("dev")
    with pytest.raises(BranchNotFound, match="branches: dev"):
        context.on_branch("other")
    with pytest.raises(BranchNotFound):
        delete_branch(context, "other")
    with pytest.raises(BranchNotFound):
        rename_branch(context, "other", "more")
    for name in ("main", "dev"):
        with pytest.raises(InvalidRequest, match="cannot be deleted from itself"):
            delete_branch(context.on_branch("dev"), name)


def test_a_branch_is_removed_when_its_tag_is_deleted_before_the_branch_is_complete():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    storage = FaultyStorage(context.storage)
    storage.before("overwrite", "schema-0", lambda: context.tags.delete("t"))
    with pytest.raises(TagNotFound, match="was deleted or changed while branch 'dev' was created"):
        create_branch(reopened(context, storage), "dev", "t")
    assert context.branches.names() == []


def test_a_tag_deletion_keeps_the_files_of_a_branch_created_meanwhile():
    context, (a, *_) = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    storage = FaultyStorage(context.storage)
    storage.before("delete", "tag-t", lambda: create_branch(context, "dev", "t"))
    delete_tag(reopened(context, storage), "t")
    assert a in data_files(context)
    check_whole(context.on_branch("dev"))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("tag", [None, "t"])
def test_a_creation_that_crashed_leaves_no_branch_and_can_be_repeated(tag, after):
    for die_at in range(20):
        context = tagged()
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            create_branch(reopened(context, storage), "dev", tag)
        except Died:
            check_whole(context)
            if context.branches.names() and context.branches.is_hidden("dev"):
                with pytest.raises(BranchNotFound):
                    context.on_branch("dev")
                with pytest.raises(CorruptTable, match="was only partly created or deleted"):
                    list(all_roots(context))
                with pytest.raises(AlreadyExists, match="unfinished"):
                    create_branch(context, "dev", None if tag else "t")
            try:
                create_branch(context, "dev", tag)
            except AlreadyExists:
                assert (after, storage.calls[-1][0]) == (True, "delete")  # the deletion was complete
        branch = context.on_branch("dev")
        assert branch.snapshots.ids() == ([2] if tag else [])
        check_whole(branch)
        if not storage.dead:
            break
    assert die_at > 2


def test_an_expiry_waits_for_a_branch_that_is_being_created(monkeypatch):
    context = tagged()
    append(context)
    storage = FaultyStorage(context.storage, die_at=3)
    with pytest.raises(Died):
        create_branch(reopened(context, storage), "dev", "t")
    assert context.branches.is_hidden("dev")
    waited = []

    def goes_on(seconds):
        waited.append(seconds)
        if len(waited) == 2:
            create_branch(context, "dev", "t")

    monkeypatch.setattr(roots.time, "sleep", goes_on)
    expire_all(context)
    assert (len(waited), context.snapshots.ids()) == (2, [3])
    check_whole(context.on_branch("dev"))


def test_an_expiry_removes_files_when_a_branch_is_created_and_deleted_meanwhile():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(5))
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot/snapshot-1", lambda: create_branch(context, "dev", "t"))
    storage.before("read", "branch-dev/snapshot/snapshot-5", lambda: delete_branch(context, "dev"))
    expire_all(reopened(context, storage))
    assert storage.hooks == []
    assert data_files(context) == {name for *_, name in live(context)}


# -- delete


def test_deleting_a_branch_deletes_its_own_files_only():
    context = tagged()
    branch = create_branch(context, "dev", "t")
    append(branch)
    plan = Plan.from_bytes(plan_branch_deletion(context, "dev").to_bytes())
    assert (plan.subjects, len(plan.files)) == (("branch dev",), 5)
    assert all("/branch-dev/" in f.path for f in plan.files)
    files = data_files(context)
    assert apply_branch_deletion(context, plan) == "dev"
    assert (context.branches.names(), data_files(context)) == ([], files)
    check_whole(context)


def test_a_plan_to_delete_a_branch_is_outdated_by_a_commit_to_it():
    context = tagged()
    branch = create_branch(context, "dev", "t")
    plan = plan_branch_deletion(context, "dev")
    append(branch)
    with pytest.raises(PlanOutdated, match=r"it has new files \(.*snapshot-3"):
        apply_branch_deletion(context, plan)
    assert branch.snapshots.ids() == [2, 3]


@pytest.mark.parametrize("after", [False, True])
def test_a_deletion_that_crashed_leaves_no_part_of_a_branch_visible(after):
    for die_at in range(20):
        context = tagged()
        append(create_branch(context, "dev", "t"))
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            delete_branch(reopened(context, storage), "dev")
        except Died:
            if die_at or after:
                with pytest.raises(BranchNotFound):
                    context.on_branch("dev")
            if context.branches.names():
                delete_branch(context, "dev")
        assert context.branches.names() == []
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 4


# -- rename


def test_a_renamed_branch_has_the_same_snapshots_and_files():
    context = tagged()
    branch = create_branch(context, "dev", "t")
    append(branch)
    want = live(branch)
    renamed = rename_branch(context, "dev", "prod")
    assert (context.branches.names(), renamed.snapshots.ids(), live(renamed)) == (["prod"], [2, 3], want)
    create_branch(context, "dev")
    with pytest.raises(AlreadyExists):
        rename_branch(context, "dev", "prod")
    assert context.branches.mark("dev") is None


def test_a_branch_is_renamed_from_itself_and_from_another_branch():
    for current in ("dev", "main", "third"):
        context = tagged()
        for name in ("dev", "third"):
            create_branch(context, name, "t")
        renamed = rename_branch(context.on_branch(current), "dev", "prod")
        assert (renamed.branch, renamed.snapshots.ids()) == ("prod", [2])
        assert context.branches.names() == ["prod", "third"]


def test_commits_during_the_rename_of_a_branch_are_kept():
    for verb, part in (("overwrite", "branch-prod/snapshot"), ("delete", "branch-prod/UNFINISHED")):
        context = tagged()
        branch = create_branch(context, "dev", "t")
        storage = FaultyStorage(context.storage)
        storage.before(verb, part, lambda branch=branch: append(branch))
        renamed = rename_branch(reopened(context, storage), "dev", "prod")
        assert renamed.snapshots.ids() == [2, 3]
        assert context.branches.names() == ["prod"]


@pytest.mark.parametrize("after", [False, True])
def test_a_rename_that_crashed_leaves_one_or_both_names_and_can_be_repeated(after):
    for die_at in range(40):
        context = tagged()
        branch = create_branch(context, "dev", "t")
        append(branch)
        want = live(branch)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            rename_branch(reopened(context, storage), "dev", "prod")
        except Died:
            there = [n for n in context.branches.names() if not context.branches.is_hidden(n)]
            assert there
            assert all(live(context.on_branch(name)) == want for name in there)
            if "dev" in context.branches.names():
                rename_branch(context, "dev", "prod")
        assert context.branches.names() == ["prod"]
        assert live(context.on_branch("prod")) == want
        assert context.branches.mark("prod") is None
        if not storage.dead:
            break
    assert die_at > 8


def test_a_mark_that_cannot_be_read_is_an_error():
    context = tagged()
    create_branch(context, "dev")
    for text in (b"[", b"[]", b"{}"):
        context.storage.overwrite(context.paths.branch_mark("dev"), text)
        with pytest.raises(CorruptTable, match="does not state the operation on the branch"):
            context.on_branch("dev")


def test_a_creation_can_be_repeated_after_a_storage_error():
    context = tagged()
    storage = FaultyStorage(context.storage)
    storage.on("overwrite", "snapshot-2", Outcome.FAIL)
    with pytest.raises(OSError, match="injected"):
        create_branch(reopened(context, storage), "dev", "t")
    assert create_branch(context, "dev", "t").snapshots.ids() == [2]


def test_a_branch_that_is_deleted_while_it_is_opened_is_not_found():
    context = fake_table()
    create_branch(context, "b")
    storage = FaultyStorage(context.storage)
    storage.before("read", "branch-b/schema/schema-0", lambda: delete_branch(context, "b"))
    with pytest.raises(BranchNotFound):
        reopened(context, storage).on_branch("b")


def test_a_branch_that_is_deleted_while_branches_are_opened_is_left_out():
    context = fake_table()
    append(context)
    create_branch(context, "b")
    storage = FaultyStorage(context.storage)
    storage.before("read", "branch-b/schema/schema-0", lambda: delete_branch(context, "b"))
    assert [c.branch for c in contexts_of_branches(reopened(context, storage))] == ["main"]
