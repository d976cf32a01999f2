"""Tags: they protect their snapshot from expiry; their deletion deletes only files that nothing else uses."""

import json
from dataclasses import replace

import pytest

from paimon_core.errors import (
    AlreadyExists,
    CorruptTable,
    InvalidRequest,
    PlanOutdated,
    SnapshotNotFound,
    TagNotFound,
)
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.tags.expiry import expire_tags
from paimon_core.maintain.tags.operations import (
    apply_tag_deletion,
    create_tag,
    delete_tag,
    plan_tag_deletion,
    rename_tag,
    replace_tag,
)
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    assert_nothing_is_left_over,
    check_whole,
    compacted,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    message,
    reopened,
    table_of,
)
from tests.support.faulty_storage import Died, FaultyStorage


def test_a_tag_stores_its_snapshot_and_its_name_is_used_once():
    context = fake_table()
    snapshot = append(context)
    assert create_tag(context, "eod", snapshot).snapshot == snapshot
    assert context.tags.read("eod").snapshot == snapshot
    with pytest.raises(AlreadyExists):
        create_tag(context, "eod", snapshot)


def test_an_expired_snapshot_can_be_tagged_only_when_another_tag_has_it():
    context, _ = compacted()
    first, second = context.snapshots.read(1), context.snapshots.read(2)
    create_tag(context, "one", first)
    expire_all(context)
    assert create_tag(context, "two", first).snapshot == first
    with pytest.raises(SnapshotNotFound, match="snapshot 2 has expired"):
        create_tag(context, "three", second)


def test_a_name_of_digits_is_accepted_where_automatic_tags_have_such_names():
    context = fake_table(**{"tag.automatic-creation": "process-time", "tag.period-formatter": "without_dashes"})
    snapshot = append(context)
    create_tag(context, "20240115", snapshot)
    with pytest.raises(AlreadyExists, match="has the automatic tag '20240115' already"):
        create_tag(context, "20240116", snapshot)
    create_tag(context, "mine", snapshot)
    with pytest.raises(InvalidRequest, match="digits only"):
        create_tag(context, "20241315", snapshot)


def test_deleting_the_tag_of_a_live_snapshot_deletes_only_the_tag():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    before = files_on_storage(context)
    assert delete_tag(context, "t").paths == ()
    assert before - files_on_storage(context) == {"tag/tag-t"}
    with pytest.raises(TagNotFound):
        delete_tag(context, "t")


def test_deleting_the_tag_of_an_expired_snapshot_deletes_what_only_it_used():
    context, (a, b, c, d) = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    create_tag(context, "two", context.snapshots.read(2))
    expire_all(context)
    assert data_files(context) == {a, b, c, d}
    planned = delete_tag(context, "two", dry_run=True)
    assert data_files(context) == {a, b, c, d}
    assert delete_tag(context, "two") == planned
    assert (planned.data_files, data_files(context)) == (1, {a, c, d})
    check_whole(context)
    assert_nothing_is_left_over(context)
    delete_tag(context, "one")
    assert data_files(context) == {c, d}
    assert_nothing_is_left_over(context)


def test_a_deletion_reads_the_nearest_snapshots_and_the_latest_only():
    context = table_of(9)
    create_tag(context, "t", context.snapshots.read(5))
    context.snapshots.delete([5])
    storage = FaultyStorage(context.storage)
    delete_tag(reopened(context, storage), "t")
    read = {path.rsplit("-", 1)[1] for verb, path in storage.calls if verb == "read" and "/snapshot/snapshot-" in path}
    assert read == {"4", "5", "6", "9"}


def test_2765_deleting_one_of_two_tags_on_a_snapshot_keeps_the_files_of_the_other():
    """Also 3650: the files of the second tag were deleted with the first tag."""
    context, (a, _, c, d) = compacted()
    for name in ("x", "y"):
        create_tag(context, name, context.snapshots.read(1))
    expire_all(context)
    delete_tag(context, "x")
    assert data_files(context) == {a, c, d}
    check_whole(context)


def test_2409_an_upgraded_file_is_kept_when_the_tag_with_its_old_level_is_deleted():
    context, (_, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(3))
    expire_all(context)
    delete_tag(context, "t")
    assert data_files(context) == {c, d}
    assert_nothing_is_left_over(context)


def test_5229_another_tag_that_cannot_be_read_stops_the_deletion():
    """In Java an error made the set of used files empty, and all files were deleted."""
    context, _ = compacted()
    for number in (1, 2):
        create_tag(context, f"t{number}", context.snapshots.read(number))
    expire_all(context)
    torn = context.tags.read("t2").snapshot.delta_manifest_list
    context.storage.overwrite(context.paths.manifest(torn), b"torn")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match=torn):
        delete_tag(reopened(context, context.storage), "t1")
    assert files_on_storage(context) == before


def test_a_tag_whose_files_cannot_be_read_can_be_deleted():
    context, (_, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    snapshot = context.tags.read("t").snapshot
    context.storage.overwrite(context.paths.manifest(snapshot.delta_manifest_list), b"torn")
    delete_tag(reopened(context, context.storage), "t")
    assert context.tags.list() == []
    assert {c, d} <= data_files(context)


@pytest.mark.parametrize("call", [delete_tag, plan_tag_deletion])
def test_an_unreadable_tag_is_not_deleted_and_the_error_says_what_to_do(call):
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    path = context.paths.tag("t")
    context.storage.overwrite(path, context.storage.read(path)[:40])
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match=f"Run fsck; if .* delete its file {path} by hand") as told:
        call(context, "t")
    assert (told.value.facts["path"], told.value.facts["tag"]) == (path, "t")
    assert files_on_storage(context) == before


def test_a_deletion_that_crashed_leaves_no_tag_without_its_files():
    for die_at in range(20):
        context, _ = compacted()
        create_tag(context, "one", context.snapshots.read(1))
        create_tag(context, "two", context.snapshots.read(2))
        expire_all(context)
        storage = FaultyStorage(context.storage, die_at=die_at)
        try:
            delete_tag(reopened(context, storage), "two")
        except Died:
            check_whole(context)
            continue
        break
    assert die_at > 3
    check_whole(context)


def test_tags_expire_after_their_retention_time():
    context, (_, _, c, d) = compacted()
    create_tag(context, "short", context.snapshots.read(1), 1000, now_millis=50_000)
    create_tag(context, "long", context.snapshots.read(2), 9000, now_millis=50_000)
    create_tag(context, "forever", context.snapshots.read(3))
    expire_all(context)
    assert expire_tags(context, 51_000) == []
    assert expire_tags(context, 51_001) == ["short"]
    assert expire_tags(context, 10**15) == ["long"]
    assert [t.name for t in context.tags.list()] == ["forever"]
    assert data_files(context) == {c, d}
    check_whole(context)


def test_tags_also_expire_by_age_when_requested():
    context, _ = compacted()
    create_tag(context, "old", context.snapshots.read(1), 10**12, now_millis=50_000)
    create_tag(context, "timeless", context.snapshots.read(2))
    assert expire_tags(context, 60_000, older_than_millis=50_000) == []
    assert expire_tags(context, 60_000, older_than_millis=50_001) == ["old"]
    assert expire_tags(context, 60_000, older_than_millis=10**15) == ["timeless"]


# -- the plan of a deletion


def test_a_plan_to_delete_a_tag_lists_exactly_the_deleted_files():
    context, (a, _, c, d) = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    expire_all(context)
    plan = Plan.from_bytes(plan_tag_deletion(context, "one").to_bytes())
    assert plan.subjects == ("tag one",)
    assert [f.path.rsplit("/", 1)[1] for f in plan.files if "bucket" in f.path] == [a]
    assert all(f.size for f in plan.files if "bucket" in f.path)
    append(context)
    assert {f.path for f in plan.files} == set(apply_tag_deletion(context, plan).paths)
    assert {c, d} <= data_files(context) - {a}
    assert a not in data_files(context)
    with pytest.raises(TagNotFound):
        plan_tag_deletion(context, "one")


def test_a_plan_is_outdated_by_another_tag():
    context, _ = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    expire_all(context)
    plan = plan_tag_deletion(context, "one")
    create_tag(context, "two", context.tags.read("one").snapshot)
    before = files_on_storage(context)
    with pytest.raises(PlanOutdated, match="tag tag-two of branch main changed"):
        apply_tag_deletion(context, plan)
    assert files_on_storage(context) == before


def test_a_tag_created_while_another_is_deleted_protects_its_files():
    context, (a, *_) = compacted()
    first = context.snapshots.read(1)
    create_tag(context, "one", first)
    expire_all(context)
    storage = FaultyStorage(context.storage)
    storage.before("delete", "tag-one", lambda: create_tag(context, "two", first))
    delete_tag(reopened(context, storage), "one")
    assert a in data_files(context)
    check_whole(context)


# -- rename and replace


def test_a_renamed_tag_keeps_everything_but_its_name():
    context, _ = compacted()
    old = create_tag(context, "old", context.snapshots.read(1), 5000, now_millis=77_000)
    expire_all(context)
    new = rename_tag(context, "old", "new")
    assert context.tags.list() == [new]
    assert (new.snapshot, new.expires_millis) == (old.snapshot, 82_000)
    assert rename_tag(context, "new", "new") == new
    check_whole(context)


def test_invalid_names_used_names_and_a_missing_tag_are_refused_by_a_rename():
    context, _ = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    create_tag(context, "two", context.snapshots.read(2))
    with pytest.raises(AlreadyExists):
        rename_tag(context, "one", "two")
    with pytest.raises(TagNotFound):
        rename_tag(context, "three", "four")
    for name in ("", "../x", "77"):
        with pytest.raises(InvalidRequest):
            rename_tag(context, "one", name)
    assert [t.snapshot.id for t in context.tags.list()] == [1, 2]


def test_another_tag_of_the_same_snapshot_is_not_taken_for_an_interrupted_rename():
    context, _ = compacted()
    for name in ("one", "two"):
        create_tag(context, name, context.snapshots.read(1))
    with pytest.raises(AlreadyExists, match="'two'"):
        rename_tag(context, "one", "two")
    assert context.tags.names() == ["one", "two"]


def test_a_tag_created_again_under_the_old_name_is_not_taken_for_an_interrupted_rename(monkeypatch):
    context, _ = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    rename_tag(context, "one", "two")
    create_tag(context, "one", context.snapshots.read(1))
    path = context.paths.tag("one")
    later = [
        replace(f, modified_millis=f.modified_millis + 1) for f in context.storage.list(context.paths.tag_directory)
    ]
    monkeypatch.setattr(type(context.storage), "list", lambda storage, directory: later)
    with pytest.raises(AlreadyExists, match="'two'"):
        rename_tag(context, "one", "two")
    assert context.storage.exists(path)


@pytest.mark.parametrize("after", [False, True])
def test_a_rename_that_crashed_leaves_one_or_both_names(after):
    for die_at in range(10):
        context, _ = compacted()
        create_tag(context, "old", context.snapshots.read(1))
        expire_all(context)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            rename_tag(reopened(context, storage), "old", "new")
        except Died:
            assert context.tags.list()
            check_whole(context)
            if context.tags.exists("old"):
                rename_tag(context, "old", "new")
        assert [t.name for t in context.tags.list()] == ["new"]
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 1


def test_a_tag_that_is_deleted_while_it_is_renamed_stays_deleted():
    context, _ = compacted()
    create_tag(context, "old", context.snapshots.read(1))
    expire_all(context)
    storage = FaultyStorage(context.storage)
    storage.before("create_exclusive", "tag-new", lambda: delete_tag(context, "old"))
    with pytest.raises(TagNotFound, match="was deleted or replaced while it was renamed"):
        rename_tag(reopened(context, storage), "old", "new")
    assert context.tags.list() == []


def test_replacing_a_tag_deletes_files_that_only_the_old_one_used():
    context, (_, _, c, d) = compacted()
    create_tag(context, "t", context.snapshots.read(1), 5000)
    expire_all(context)
    latest = context.snapshots.latest()
    assert replace_tag(context, "t", latest).retained_millis is None
    assert context.tags.read("t").snapshot == latest
    assert data_files(context) == {c, d}
    assert_nothing_is_left_over(context)
    with pytest.raises(TagNotFound):
        replace_tag(context, "u", latest)


@pytest.mark.parametrize("after", [False, True])
def test_a_replacement_that_crashed_leaves_the_old_or_the_new_tag(after):
    for die_at in range(20):
        context, _ = compacted()
        old = context.snapshots.read(1)
        create_tag(context, "t", old)
        expire_all(context)
        latest = context.snapshots.latest()
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            replace_tag(reopened(context, storage), "t", latest)
        except Died:
            assert context.tags.read("t").snapshot in (old, latest)
            check_whole(context)
            replace_tag(context, "t", latest)
        assert context.tags.read("t").snapshot == latest
        check_whole(context)
        if not storage.dead:
            break
    assert die_at > 3


def test_a_tag_is_unchanged_when_its_new_snapshot_expires_during_the_replacement():
    context, _ = compacted()
    first, second = context.snapshots.read(1), context.snapshots.read(2)
    create_tag(context, "t", first)
    storage = FaultyStorage(context.storage)
    storage.before("overwrite", "tag-t", lambda: expire_all(context))
    with pytest.raises(SnapshotNotFound):
        replace_tag(reopened(context, storage), "t", second)
    assert context.tags.read("t").snapshot == first
    check_whole(context)


# -- other references to the files of a tag


def test_lasting_changelogs_protect_the_appended_files_with_their_changes():
    context = fake_table(keyed=False)
    a, b = fake_file(context), fake_file(context)
    append(context, a)
    create_tag(context, "t", context.snapshots.read(1))
    commit([message(context, before=(a,), after=(b,))], context=context, user="c")
    context.changelogs.create(context.snapshots.read(1))
    context.snapshots.delete([1])
    delete_tag(context, "t")
    assert a.file_name in data_files(context)
    context.changelogs.delete([1])


def test_success_files_are_created_and_deleted_with_their_tags():
    context = fake_table(**{"tag.create-success-file": "true"})
    snapshot = append(context)
    create_tag(context, "t", snapshot)
    path = "tag/tag-success-file/t_SUCCESS"
    assert path in files_on_storage(context)
    first = context.storage.read(f"{context.paths.root}/{path}")
    assert set(json.loads(first)) == {"creationTime", "modificationTime"}
    assert [t.name for t in context.tags.list()] == ["t"]
    replace_tag(context, "t", append(context))
    again = json.loads(context.storage.read(f"{context.paths.root}/{path}"))
    assert again["creationTime"] == json.loads(first)["creationTime"]
    delete_tag(context, "t")
    assert path not in files_on_storage(context)
