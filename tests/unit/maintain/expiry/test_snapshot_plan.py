"""Expiry as a plan: what it lists, what protects files, branches and table indexes, and when it is refused."""

from __future__ import annotations

import dataclasses

import pytest

from paimon_core.codec.avro.container import write_avro
from paimon_core.errors import CorruptTable, InvalidRequest, PlanOutdated, UnsupportedFeature
from paimon_core.maintain.branches.operations import create_branch, delete_branch
from paimon_core.maintain.expiry.snapshots import apply_snapshot_expiry, plan_snapshot_expiry
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag, plan_tag_deletion
from tests.support.clones import clone
from tests.support.commits import commit
from tests.support.fake_tables import (
    EVERYTHING,
    append,
    compacted,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    message,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome
from tests.support.reachable import assert_whole_and_clean


def branch_at(context, snapshot_id):
    """Branch b from a snapshot of main, without a tag on either branch."""
    create_tag(context, "from", context.snapshots.read(snapshot_id))
    create_branch(context, "b", "from")
    branch = context.on_branch("b")
    for one in (context, branch):
        one.tags.delete("from")
    return branch


def by(report):
    return sorted(p.by.split(",")[0] for p in report.protected)


# -- plans


def test_applying_a_plan_deletes_exactly_what_it_lists():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    before = files_on_storage(context)
    plan = Plan.from_bytes(plan_snapshot_expiry(context, EVERYTHING).to_bytes())
    assert files_on_storage(context) == before
    assert plan.subjects == ("snapshot 1", "snapshot 2", "snapshot 3", "snapshot 4")
    assert plan.size_bytes > 0
    kept = {"data_files": len([f for f in plan.files if f.path.endswith(".parquet")]), "kept_by_tags": 1}
    assert {name: plan.arguments[name] for name in kept} == kept
    assert "snapshot 1, snapshot 2, snapshot 3 and 1 more" in plan.sentence()
    report = apply_snapshot_expiry(context, plan)
    assert (report.expired, report.earliest, report.kept_by_tags) == ((1, 2, 3, 4), 5, 1)
    root = context.paths.root + "/"
    gone = before - files_on_storage(context) - {f"snapshot/snapshot-{i}" for i in report.expired}
    assert gone == {f.path.removeprefix(root) for f in plan.files}
    assert_whole_and_clean(context)
    assert plan_snapshot_expiry(context, EVERYTHING).is_empty
    assert apply_snapshot_expiry(context, plan_snapshot_expiry(context, EVERYTHING)).expired == ()


def test_a_plan_is_accepted_after_commits_and_refused_after_other_changes():
    def tagged(context):
        create_tag(context, "new", context.snapshots.read(2))

    def rolled_back(context):
        rollback(context, context.snapshots.read(3))

    def expired(context):
        expire_all(context, limit=1)

    def read(context):
        context.consumers.reset("r", 2)

    for change in (tagged, rolled_back, expired, read):
        context, _ = compacted()
        plan = plan_snapshot_expiry(context, EVERYTHING)
        change(context)
        before = files_on_storage(context)
        with pytest.raises(PlanOutdated):
            apply_snapshot_expiry(context, plan)
        assert files_on_storage(context) == before
    context, _ = compacted()
    plan = plan_snapshot_expiry(context, EVERYTHING)
    append(context, now_millis=6000)
    assert apply_snapshot_expiry(context, plan).earliest == 5
    assert context.snapshots.ids() == [5, 6]
    assert_whole_and_clean(context)


def test_a_plan_of_another_table_or_operation_is_refused():
    context, _ = compacted()
    other, _ = compacted()
    with pytest.raises(PlanOutdated):
        apply_snapshot_expiry(other, plan_snapshot_expiry(context, EVERYTHING))
    odd = dataclasses.replace(plan_snapshot_expiry(context, EVERYTHING), operation="delete-tag")
    with pytest.raises(InvalidRequest, match="cannot be applied as a plan to expire-snapshots"):
        apply_snapshot_expiry(context, odd)


def test_a_forged_plan_deletes_no_file_that_is_in_use():
    context, (_, _, _, d) = compacted()
    plan = plan_snapshot_expiry(context, EVERYTHING)
    latest = context.snapshots.latest()
    (live,) = (e for e in context.manifests.entries_of(latest) if e.file.file_name == d)
    mine = context.paths.data_file(context.partition_path(live.partition), live.bucket, live.file.file_name)
    forged = dataclasses.replace(plan, files=(*plan.files, PlannedFile(mine, 1), PlannedFile(context.paths.schema(0))))
    outside = dataclasses.replace(plan, files=(*plan.files, PlannedFile(f"{context.paths.root}/../other/file")))
    with pytest.raises(InvalidRequest, match="which is not in the directory of the table"):
        apply_snapshot_expiry(context, outside)
    gap = dataclasses.replace(plan, arguments={**plan.arguments, "snapshots": plan.arguments["snapshots"][1:]})
    with pytest.raises(PlanOutdated, match="does not contain exactly the snapshots before"):
        apply_snapshot_expiry(context, gap)
    removed = apply_snapshot_expiry(context, Plan.from_bytes(forged.to_bytes())).removed
    assert set(removed.paths) == {f.path for f in plan.files}
    assert_whole_and_clean(context)


def test_a_plan_whose_first_kept_snapshot_was_replaced_is_outdated():
    context, _ = compacted()
    plan = plan_snapshot_expiry(context, EVERYTHING)
    replaced = dataclasses.replace(plan, arguments={**plan.arguments, "first_kept_delta": "manifest-list-other"})
    with pytest.raises(PlanOutdated, match="snapshot 5, the first to keep, was rolled back or replaced"):
        apply_snapshot_expiry(context, replaced)
    assert context.snapshots.ids() == [1, 2, 3, 4, 5]


def test_a_tag_created_while_the_plan_is_applied_protects_its_files():
    context, (a, _, _, _) = compacted()
    plan = plan_snapshot_expiry(context, EVERYTHING)
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot-1", lambda: create_tag(context, "t", context.snapshots.read(1)))
    assert apply_snapshot_expiry(reopened(context, storage), plan).kept_by_tags == 1
    assert a in data_files(context)
    assert_whole_and_clean(context)


# -- what protects files


@pytest.mark.parametrize(
    ("rules", "want"),
    [
        ({"retain_min": 3}, ["the least number to retain"]),
        ({"limit": 2}, ["the limit of one run"]),
        ({"protected": [3]}, ["the caller (snapshot 3)"]),
        ({"older_than_millis": 0}, []),
        ({"older_than_millis": 2001, "limit": 1}, []),
    ],
)
def test_the_report_names_what_protects_snapshots_that_are_old_enough(rules, want):
    context, _ = compacted()
    assert by(expire_all(context, **rules)) == want


def test_the_report_names_consumers_tags_and_branches():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    context.consumers.reset("c", 4)
    context.consumers.reset("far", 9)
    report = expire_all(context, retain_min=2)
    assert by(report) == ["consumer c", "tag t", "the least number to retain"]
    context.consumers.delete("c")
    assert by(expire_all(context)) == []
    assert_whole_and_clean(context)


# -- branches (bugs #2769, #3787, #9867)


def test_files_of_a_branch_are_kept_when_main_expires():
    context, (a, b, _, _) = compacted()
    branch = branch_at(context, 2)
    append(branch, now_millis=7000)
    report = expire_all(context)
    assert by(report) == ["branch b"]
    assert {a, b} <= data_files(context)
    assert_whole_and_clean(context)
    branch_report = expire_all(branch)
    assert (branch_report.expired, branch.snapshots.ids()) == ((2,), [3])
    assert_whole_and_clean(context)


def test_files_of_main_are_kept_when_a_branch_expires():
    context, (a, b, _, _) = compacted()
    branch = branch_at(context, 2)
    files = [e.file for e in branch.manifests.entries_of(branch.snapshots.latest())]
    new = fake_file(branch, level=5, rows=20)
    commit([message(branch, before=tuple(files), after=(new,))], context=branch, user="u", now_millis=7000)
    report = expire_all(branch)
    assert report.removed.data_files == 0
    assert by(report) == ["branch main"]
    assert {a, b, new.file_name} <= data_files(context)
    assert_whole_and_clean(context)
    expire_all(context)
    assert {a, b}.isdisjoint(data_files(context))
    assert_whole_and_clean(context)


def test_a_tag_on_a_branch_protects_its_files():
    context, (a, b, _, _) = compacted()
    branch = branch_at(context, 2)
    create_tag(branch, "on-branch", branch.snapshots.read(2))
    append(branch, now_millis=7000)
    expire_all(branch)
    expire_all(context)
    assert {a, b} <= data_files(context)
    assert_whole_and_clean(context)


def test_the_changelog_of_a_snapshot_shared_with_a_branch_is_kept():
    context = fake_table(**{"changelog-producer": "input"})
    change = fake_file(context, name="changelog-1.parquet")
    commit([message(context, fake_file(context), changelog=(change,))], context=context, user="u", now_millis=1)
    branch = branch_at(context, 1)
    append(context, now_millis=2)
    expire_all(context)
    assert change.file_name in data_files(context)
    append(branch, now_millis=3)
    expire_all(branch)
    assert change.file_name not in data_files(context)
    assert_whole_and_clean(context)


def test_a_branch_without_schema_stops_the_expiry():
    context, _ = compacted()
    context.storage.write(f"{context.paths.root}/branch/branch-half/tag/tag-t", b"{}")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match="half"):
        expire_all(context)
    assert files_on_storage(context) == before


def test_a_branch_that_is_deleted_during_the_expiry_protects_nothing():
    context, (a, _, _, _) = compacted()
    branch = branch_at(context, 1)
    branch.schemas.publish(dataclasses.replace(branch.schema, id=1))
    storage = FaultyStorage(context.storage)
    storage.before("read", "branch-b/schema/schema-0", lambda: delete_branch(context, "b"))
    expire_all(reopened(context, storage))
    assert a not in data_files(context)
    assert_whole_and_clean(context)


def test_a_branch_created_during_the_expiry_protects_its_files():
    context, (a, _, _, _) = compacted()
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot-1", lambda: branch_at(context, 1))
    expire_all(reopened(context, storage))
    assert a in data_files(context)
    assert_whole_and_clean(context, clean=False)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("expiring", ["main", "b"])
def test_an_expiry_beside_a_branch_that_crashes_at_any_call_leaves_complete_tables(after, expiring):
    start, _ = compacted()
    create_tag(start, "t", start.snapshots.read(1))
    branch = branch_at(start, 2)
    append(branch, now_millis=7000)
    append(branch, now_millis=8000)
    for die_at in range(60):
        context = clone(start)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            expire_all(reopened(context, storage).on_branch(expiring))
        except Died:
            assert_whole_and_clean(context, clean=False)
        expire_all(context.on_branch(expiring))
        assert context.on_branch(expiring).snapshots.ids() == ([5] if expiring == "main" else [4])
        assert_whole_and_clean(context, clean=False)
        if not storage.dead:
            break
    assert die_at >= 5


# -- table indexes, statistics

_INDEX = {
    "type": "record",
    "name": "record",
    "fields": [{"name": n, "type": t} for n, t in (("_VERSION", "int"), ("_KIND", "int"), ("_FILE_NAME", "string"))],
}


def with_index(context, snapshot, number, *files, version=1):
    """The snapshot again with an index manifest of these files."""
    records = [{"_VERSION": version, "_KIND": 0, "_FILE_NAME": name} for name in files]
    name = f"index-manifest-{number}"
    context.storage.write(context.paths.manifest(name), write_avro(_INDEX, records, "zstd"))
    for file in files:
        if not context.storage.exists(context.paths.index(file)):
            context.storage.write(context.paths.index(file), b"index")
    return again(context, snapshot, index_manifest=name)


def again(context, snapshot, **changes):
    snapshot = dataclasses.replace(snapshot, **changes)
    context.storage.overwrite(context.paths.snapshot(snapshot.id), snapshot.to_json().encode())
    return snapshot


def indexed():
    """Deletion vectors as Java stores them: 1 has x, 2 and 3 share a manifest of x and y, 4 and 5 have y and z."""
    context, _ = compacted()
    with_index(context, context.snapshots.read(1), 1, "x")
    second = with_index(context, context.snapshots.read(2), 2, "x", "y")
    again(context, context.snapshots.read(3), index_manifest=second.index_manifest)
    fourth = with_index(context, context.snapshots.read(4), 4, "y", "z")
    again(context, context.snapshots.read(5), index_manifest=fourth.index_manifest)
    return context


def test_index_files_are_deleted_with_the_last_snapshot_that_uses_them():
    context = indexed()
    assert_whole_and_clean(context)
    expire_all(context, limit=1)
    assert {p for p in files_on_storage(context) if p.startswith("index/")} == {"index/x", "index/y", "index/z"}
    assert_whole_and_clean(context)
    expire_all(context)
    assert {p for p in files_on_storage(context) if p.startswith("index/")} == {"index/y", "index/z"}
    assert_whole_and_clean(context)


def test_a_tag_protects_its_index_files():
    context = indexed()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    assert {p for p in files_on_storage(context) if p.startswith("index/")} == {"index/x", "index/y", "index/z"}
    assert_whole_and_clean(context)
    delete_tag(context, "t")
    assert_whole_and_clean(context)


def test_an_index_of_a_kept_snapshot_that_cannot_be_read_stops_the_expiry():
    context = indexed()
    path = context.paths.manifest(context.snapshots.read(5).index_manifest)
    context.storage.overwrite(path, b"torn")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match="index-manifest-4"):
        expire_all(context)
    context.storage.delete([path])
    with pytest.raises(CorruptTable, match="index-manifest-4"):
        expire_all(context)
    assert files_on_storage(context) == before - {f"manifest/{path.rsplit('/', 1)[1]}"}


def test_an_index_manifest_of_a_newer_version_is_refused():
    context, _ = compacted()
    with_index(context, context.snapshots.read(5), 5, "x", version=2)
    with pytest.raises(UnsupportedFeature, match="version 2"):
        expire_all(context)
    assert context.snapshots.ids() == [1, 2, 3, 4, 5]


def test_statistics_are_deleted_with_the_last_snapshot_that_uses_them():
    context, _ = compacted()
    for number, name in ((1, "s1"), (2, "s1"), (3, "s2"), (4, "s2"), (5, "s2")):
        again(context, context.snapshots.read(number), statistics=name)
    for name in ("s1", "s2"):
        context.storage.write(context.paths.statistics(name), b"{}")
    expire_all(context)
    assert {p for p in files_on_storage(context) if p.startswith("statistics/")} == {"statistics/s2"}
    assert_whole_and_clean(context)


# -- what is read, and what is cleaned


def test_an_expiry_reads_the_snapshots_that_it_expires_and_three_more():
    context = fake_table()
    for number in range(1, 40):
        append(context, now_millis=number)
    storage = FaultyStorage(context.storage)
    assert len(expire_all(reopened(context, storage), limit=3).expired) == 3
    read = {path.rsplit("-", 1)[1] for verb, path in storage.calls if verb == "read" and "/snapshot/snapshot-" in path}
    assert read == {"1", "2", "3", "4", "5", "39"}


@pytest.mark.usefixtures("fake_rows")
def test_a_file_that_a_later_snapshot_added_again_is_kept():
    """A new snapshot that restores an old state adds files again that an earlier delta deleted."""
    context, (a, b, *_) = compacted()
    first, fifth = context.snapshots.read(1), context.snapshots.read(5)
    old = [e.file for e in context.manifests.entries_of(first)]
    now = [e.file for e in context.manifests.entries_of(fifth)]
    commit([message(context, *old, deleted=tuple(now))], context=context, user="u", now_millis=6000)
    expire_all(context, retain_min=2)
    assert a in data_files(context)
    assert b not in data_files(context)
    assert_whole_and_clean(context)


def test_empty_directories_are_deleted_where_the_option_says_so(tmp_path):
    from paimon_core.storage.fsspec_storage import FsspecStorage

    for option, left in (("false", True), ("true", False)):
        root = tmp_path / option / "t"
        context = fake_table(FsspecStorage("file"), root=str(root), **{"snapshot.clean-empty-directories": option})
        old, other = fake_file(context, of="gone"), fake_file(context)
        commit([message(context, old, of="gone"), message(context, other)], context=context, user="u", now_millis=1)
        commit([message(context, of="gone", deleted=(old,))], context=context, user="u", now_millis=2)
        expire_all(context)
        assert (root / "p=gone").exists() is left
        assert (root / "p=a" / "bucket-0").exists()
        assert_whole_and_clean(context)


# -- files that are deleted already


@pytest.mark.parametrize("after", ["a whole run", "a run that died"])
def test_files_that_an_earlier_run_deleted_are_not_counted(after):
    context, _ = compacted()
    append(context)
    if after == "a whole run":
        expire_all(context, limit=3)
    else:
        storage = FaultyStorage(context.storage)
        storage.on("delete", "/snapshot-2", Outcome.DIE_BEFORE)
        work = plan_snapshot_expiry(context, EVERYTHING)
        with pytest.raises(Died):
            expire_all(reopened(context, storage))
        context.storage.delete([f.path for f in work.files][:3])
    plan = plan_snapshot_expiry(context, EVERYTHING)
    before = files_on_storage(context)
    root = context.paths.root + "/"
    assert {f.path.removeprefix(root) for f in plan.files} <= before
    dry = expire_all(context, dry_run=True).removed
    assert dry.paths == tuple(f.path for f in plan.files)
    done = expire_all(context)
    gone = before - files_on_storage(context) - {f"snapshot/snapshot-{i}" for i in done.expired}
    assert {p.removeprefix(root) for p in done.removed.paths} == gone
    assert (done.removed.data_files, done.removed.metadata_files) == (
        sum(p.endswith(".parquet") for p in gone),
        sum(p.startswith("manifest/") for p in gone),
    )


def test_the_deletion_of_a_tag_does_not_count_files_that_are_missing():
    context, _ = compacted()
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    (lost, *_) = [f.path for f in plan_tag_deletion(context, "t").files]
    context.storage.delete([lost])
    before = files_on_storage(context)
    assert lost not in {f.path for f in plan_tag_deletion(context, "t").files}
    assert lost not in delete_tag(context, "t", dry_run=True).paths
    removed = delete_tag(context, "t")
    assert {p.removeprefix(context.paths.root + "/") for p in removed.paths} == before - files_on_storage(context) - {
        "tag/tag-t"
    }
