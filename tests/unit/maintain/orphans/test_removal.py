"""Orphan removal: which files are removed and which never, and that it stops when references cannot be determined."""

from __future__ import annotations

import dataclasses
import os

import pytest

from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest, PlanOutdated
from paimon_core.maintain.candidate_files import NO_NAME_OF_PAIMON
from paimon_core.maintain.orphans.removal import DAY_MILLIS, NO_SNAPSHOT, apply_orphan_removal, plan_orphan_removal
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag
from paimon_core.metadata.abort import abort
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.table.writes.message_check import check_messages
from tests.support.commits import commit
from tests.support.fake_tables import append, compacted, expire_all, fake_file, fake_table, message
from tests.support.orphan_tables import (
    check_live,
    clean,
    everything,
    make_branch,
    path_of,
    plan,
    planned,
    stray,
    three_days_on,
    token,
)


def local_table(tmp_path, **kwargs):
    return fake_table(FsspecStorage("file"), root=str(tmp_path / "db.db" / "t"), **kwargs)


# -- which files are removed


def test_uncommitted_files_are_removed_and_all_others_are_kept():
    context, _ = compacted()
    create_tag(context, "one", context.snapshots.read(1))
    expire_all(context, retain_min=2)
    before = everything(context)
    lost = stray(context)
    paths = context.paths
    for path in (
        paths.manifest(f"manifest-{token()}"),
        paths.manifest(f"manifest-list-{token()}"),
        paths.manifest(f"index-manifest-{token()}"),
        paths.manifest(f"manifest-{token()[:-2]}"),
        paths.index(f"index-{token()}"),
        paths.index(f"btree-global-index-{token()[:-2]}.index"),
        paths.statistics(f"stat-{token()}"),
        paths.data_file("p=a", 0, f"data-{token()}.parquet.index"),
        paths.data_file("p=a", 1, f"changelog-{token()}.zstd.orc"),
        paths.data_file("p=b", -2, f"data--u-me-s-3-w-{token()}.avro"),
        paths.data_file("p=a", 0, f"index-{token()}"),
        f"{paths.snapshot_directory}/.snapshot-9.{token()[:-2]}.tmp",
        f"{paths.schema_directory}/.schema-1.{token()[:-2]}.tmp",
        f"{paths.tag_directory}/.tag-x.{token()[:-2]}.tmp",
        f"{paths.changelog_directory}/.changelog-3.{token()[:-2]}.tmp",
    ):
        context.storage.write(path, b"orphan")
    found = plan(context)
    assert len(found.files) == 16
    assert {f.path for f in found.files} == everything(context).keys() - before.keys()
    assert found.size_bytes == 15 * 6 + 4
    assert not found.protected
    report = apply_orphan_removal(context, found)
    assert len(report.removed) == 16
    assert report.size_bytes == found.size_bytes
    assert report.kept == ()
    assert everything(context) == before
    assert plan(context).is_empty
    assert lost


def test_only_old_files_are_removed():
    context = fake_table()
    append(context)
    stray(context)
    assert plan_orphan_removal(context).is_empty
    now = three_days_on()
    assert plan_orphan_removal(context, now_millis=now, older_than_millis=4 * DAY_MILLIS).is_empty
    assert len(plan_orphan_removal(context, now_millis=now, older_than_millis=2 * DAY_MILLIS).files) == 1


def test_an_age_of_one_millisecond_is_accepted():
    context = fake_table()
    append(context)
    file = stray(context)
    assert planned(plan(context, older_than_millis=1)) == {file.file_name}


@pytest.mark.parametrize("wrong", [{"older_than_millis": 0}, {"older_than_millis": -5}, {"mode": "shred"}])
def test_an_age_that_is_not_in_the_past_and_an_unknown_mode_are_refused(wrong):
    with pytest.raises(InvalidRequest, match=r"past|mode"):
        plan_orphan_removal(fake_table(), **wrong)


def test_files_without_a_name_of_paimon_are_reported_and_kept():
    context = fake_table()
    append(context)
    paths = context.paths
    foreign = [
        f"{paths.root}/README.md",
        f"{paths.root}/p=a/notes",
        paths.data_file("p=a", 0, "data-2024.parquet"),
        paths.data_file("p=a", 0, f"part-00000-{token()[:-2]}-c000.snappy.parquet"),
        paths.data_file("p=a", 0, f"data-{token()}.managed-blob-of-mine/x".split("/")[0]),
        paths.manifest("manifest-backup"),
        f"{paths.snapshot_directory}/snapshot-04",
        f"{paths.snapshot_directory}/snapshot-4.tmp",
        f"{paths.tag_directory}/notes",
    ]
    for path in foreign:
        context.storage.write(path, b"x")
    context.storage.write(f"{paths.root}/elsewhere/bucket-0/data-{token()}.parquet", b"no partition")
    context.storage.write(f"{paths.root}/p=a/deeper/bucket-0/data-{token()}.parquet", b"too deep")
    before = everything(context)
    found = plan(context)
    assert found.is_empty
    assert {p.what for p in found.protected} == {f"file {f.removeprefix(paths.root + '/')}" for f in foreign}
    assert {p.by for p in found.protected} == {NO_NAME_OF_PAIMON}
    assert apply_orphan_removal(context, found).removed == ()
    assert everything(context) == before


def test_snapshots_tags_schemas_hints_consumers_and_the_quarantine_are_no_candidates():
    context = fake_table()
    append(context)
    stray(context)
    create_tag(context, "t", context.snapshots.read(1))
    expire_all(context)
    context.storage.write(context.paths.consumer("c"), b'{"nextSnapshot": 2}')
    make_branch(context, "b", 1)
    context.storage.write(context.paths.changelog_hint("LATEST"), b"7")
    clean(context)
    assert plan(context).is_empty
    assert plan(context).protected == ()


def test_extra_files_and_files_that_only_a_delete_names_are_used():
    context = fake_table()
    file = dataclasses.replace(fake_file(context), extra_files=(f"data-{token()}.parquet.index",))
    context.storage.write(context.paths.data_file("p=a", 0, file.extra_files[0]), b"index")
    append(context, file)
    commit([message(context, deleted=(file,))], context=context, user="u")
    context.snapshots.delete([1])  # lost by hand: its lists are orphans, and only a DELETE names the file now
    assert {name[:14] for name in planned(plan(context))} == {"manifest-list-"}


def test_files_of_an_aborted_commit_and_of_a_rollback_are_removed():
    context = fake_table()
    first = append(context)
    append(context)
    gone = stray(context)
    rollback(context, first)
    found = plan(context)
    assert gone.file_name in planned(found)
    assert len(found.files) == 1 + 4  # the stray; of snapshot 2 the data file, its manifest and two lists


def test_files_of_other_branches_are_checked_too():
    """Known bugs apache/paimon 2769 and 2863: files that only a branch uses were taken for orphans."""
    context = fake_table()
    first = append(context)
    branch = make_branch(context, "b", 1)
    append(branch)
    append(branch)
    rollback(context, first)
    lost = stray(branch)
    report = clean(context)
    assert report.removed == (f"p=a/bucket-0/{lost.file_name}",)
    check_live(context)
    assert plan(branch).is_empty


def test_a_branch_without_schema_stops_the_removal():
    context = fake_table()
    append(context)
    stray(context)
    context.storage.write(f"{context.paths.branch_directory}/branch-half/snapshot/snapshot-1", b"{}")
    with pytest.raises(CorruptTable, match="half"):
        plan(context)


def test_data_of_an_unpartitioned_table_and_of_one_with_two_keys_is_found(tmp_path):
    """Known bug apache/paimon 4871: the directories of data files were not listed."""
    import pyarrow as pa

    from paimon_core.metadata.context import TableContext
    from paimon_core.schema import new_schema

    columns = pa.schema([("p", pa.string()), ("q", pa.string()), ("v", pa.int32())])
    for keys, place in (([], "bucket-0"), (["p", "q"], "p=1/q=2/bucket-0")):
        schema = new_schema(columns, primary_key=[], partition_by=keys, options={"bucket": "-1"})
        context = TableContext.of("db.t", FsspecStorage("file"), f"{tmp_path}/{len(keys)}", schema)
        assert context.schemas.publish(schema)
        context.storage.write(f"{context.paths.root}/{place}/data-{token()}.parquet", b"x")
        assert len(plan(context, without_snapshots=True).files) == 1


# -- references that cannot be determined


def test_a_table_that_never_had_a_snapshot_is_skipped_unless_requested():
    """Known bug apache/paimon 7710: an empty set of used files made everything an orphan."""
    context = fake_table()
    lost = stray(context)
    found = plan(context)
    assert found.is_empty
    assert [p.by for p in found.protected] == [NO_SNAPSHOT]
    assert planned(plan(context, without_snapshots=True)) == {lost.file_name}


@pytest.mark.parametrize("hint", ["LATEST", "EARLIEST"])
def test_a_table_whose_snapshots_are_lost_is_refused(hint):
    context = fake_table()
    append(context)
    context.snapshots.delete([1])
    for name in {"LATEST", "EARLIEST"} - {hint}:
        context.storage.delete([context.paths.hint(name)])
    context.storage.overwrite(context.paths.hint(hint), b"1")
    for asked in (False, True):
        with pytest.raises(CorruptTable, match="no snapshot"):
            plan(context, without_snapshots=asked)
    assert context.storage.list(context.paths.quarantine_directory) == []


def test_an_unreadable_reference_stops_the_removal():
    context = fake_table()
    append(context)
    latest = append(context)
    create_tag(context, "t", latest)
    stray(context)
    base = context.manifests.read_list(latest.base_manifest_list)[0].file_name
    for path in (
        context.paths.snapshot(1),
        context.paths.tag("t"),
        context.paths.manifest(latest.base_manifest_list),
        context.paths.manifest(latest.delta_manifest_list),
        context.paths.manifest(base),
    ):
        data = context.storage.read(path)
        context.manifests.cache.__init__()
        context.storage.overwrite(path, data[: len(data) // 2])
        with pytest.raises(CorruptTable):
            plan(context)
        context.storage.delete([path])
        if "/manifest/" in path:
            with pytest.raises(CorruptTable, match="missing"):
                plan(context)
        context.storage.overwrite(path, data)
    assert len(plan(context).files) == 1


def test_files_of_an_index_manifest_are_kept_and_an_unreadable_one_stops_the_removal():
    from paimon_core.codec.avro.container import write_avro

    context = fake_table()
    snapshot = append(context)
    fields = [{"name": "_VERSION", "type": "int"}, {"name": "_FILE_NAME", "type": "string"}]
    used, lost = f"index-{token()}", f"index-{token()}"
    manifest = f"index-manifest-{token()}"
    records = [{"_VERSION": 1, "_FILE_NAME": used}]
    data = write_avro({"type": "record", "name": "record", "fields": fields}, records)
    for path in (context.paths.index(used), context.paths.index(lost), context.paths.manifest(manifest)):
        context.storage.write(path, data)
    statistics = f"stat-{token()}"
    context.storage.write(context.paths.statistics(statistics), b"{}")
    changed = dataclasses.replace(snapshot, index_manifest=manifest, statistics=statistics)
    context.storage.overwrite(context.paths.snapshot(1), changed.to_json().encode())
    assert planned(plan(context)) == {lost}
    context.storage.overwrite(context.paths.manifest(manifest), data[:40])
    with pytest.raises(CorruptTable, match="index-manifest"):
        plan(context)
    context.storage.delete([context.paths.manifest(manifest)])
    with pytest.raises(CorruptTable, match="index-manifest"):
        plan(context)


def test_a_missing_changelog_of_a_tag_and_missing_lists_of_a_changelog_do_not_stop_the_removal():
    context = fake_table(**{"changelog-producer": "input"})
    snapshots = []
    for _ in range(2):
        made = commit(
            [
                message(
                    context, fake_file(context), changelog=(fake_file(context, name=f"changelog-{token()}.parquet"),)
                )
            ],
            context=context,
            user="u",
        )
        snapshots += made
    first, second = snapshots
    create_tag(context, "t", second)
    assert context.changelogs.create(first)
    context.snapshots.delete([1])
    storage, paths = context.storage, context.paths
    storage.delete([paths.manifest(first.base_manifest_list), paths.manifest(first.delta_manifest_list)])
    assert plan(context).is_empty
    append(context)
    context.snapshots.delete([2])
    storage.delete([paths.manifest(second.changelog_manifest_list)])
    assert len(plan(context).files) == 2  # the changelog file of snapshot 2, and its manifest
    storage.delete([paths.manifest(first.changelog_manifest_list)])
    with pytest.raises(CorruptTable, match="missing"):
        plan(context)


# -- links


def test_symbolic_links_are_neither_followed_nor_removed(tmp_path):
    """A link inside the table that points outside of it."""
    context = local_table(tmp_path)
    append(context)
    outside = tmp_path / "outside"
    (outside / "bucket-0").mkdir(parents=True)
    precious = outside / "bucket-0" / f"data-{token()}.parquet"
    precious.write_bytes(b"precious")
    root = context.paths.root
    os.symlink(outside / "bucket-0", f"{root}/p=a/bucket-1")
    os.symlink(outside, f"{root}/p=z")
    os.symlink(precious, f"{root}/p=a/bucket-0/data-{token()}.parquet")
    hard = f"{root}/p=a/bucket-0/data-{token()}.orc"
    os.link(precious, hard)
    found = plan(context)
    assert [f.path for f in found.files] == [hard]
    assert {p.by for p in found.protected} == {"a symbolic link"}
    clean(context, mode="delete")
    assert precious.read_bytes() == b"precious"
    assert precious.stat().st_nlink == 1
    assert len(os.listdir(f"{root}/p=a/bucket-0")) == 2


def test_a_forged_plan_removes_no_file_that_is_in_use(tmp_path):
    context = local_table(tmp_path)
    append(context)
    stray(context)
    outside = tmp_path / f"data-{token()}.parquet"
    outside.write_bytes(b"precious")
    found = plan(context)
    live = context.manifests.entries_of(context.snapshots.latest())[0].file
    forged = (str(outside), path_of(context, live), context.paths.snapshot(1), context.paths.schema(0))
    wrong = tuple(dataclasses.replace(found.files[0], path=p, size=os.path.getsize(p)) for p in forged)
    before = everything(context)
    for files in ((wrong[1],), wrong[1:]):
        report = apply_orphan_removal(context, dataclasses.replace(found, files=files))
        assert report.removed == ()
    with pytest.raises(InvalidRequest, match="which is not in the directory of the table"):
        apply_orphan_removal(context, dataclasses.replace(found, files=wrong))
    assert everything(context) == before
    assert outside.exists()


# -- between plan and apply


def test_a_serialized_plan_is_applied_once():
    context = fake_table()
    append(context)
    lost = stray(context)
    found = Plan.from_bytes(plan(context).to_bytes())
    assert planned(found) == {lost.file_name}
    assert "1 files, 4 bytes" in found.sentence()
    report = apply_orphan_removal(context, found)
    assert report.quarantine == found.arguments["id"]
    again = apply_orphan_removal(context, found)
    assert (again.removed, len(again.kept)) == ((), 1)
    context.storage.write(path_of(context, lost), b"rows")
    with pytest.raises(PlanOutdated, match="applied before"):
        apply_orphan_removal(context, found)


def test_a_plan_is_accepted_after_commits_expiries_and_changed_consumers():
    context = fake_table()
    append(context)
    append(context)
    old = stray(context)
    lost = stray(context)
    found = plan(context)
    append(context, old)
    append(context)
    expire_all(context)
    context.storage.write(context.paths.consumer("c"), b'{"nextSnapshot": 3}')
    report = apply_orphan_removal(context, found)
    assert [r.rsplit("/", 1)[1] for r in report.removed] == [lost.file_name]
    assert [r.rsplit("/", 1)[1] for r in report.kept] == [old.file_name]
    check_live(context)


def test_a_plan_is_refused_after_new_tags_branches_and_rollbacks():
    for change in (
        lambda c: create_tag(c, "t", c.snapshots.read(2)),
        lambda c: make_branch(c, "b", 1),
        lambda c: rollback(c, c.snapshots.read(1)),
    ):
        context = fake_table()
        append(context)
        append(context)
        lost = stray(context)
        found = plan(context)
        change(context)
        with pytest.raises(PlanOutdated):
            apply_orphan_removal(context, found)
        assert context.storage.exists(path_of(context, lost))


def test_a_planned_file_that_was_written_again_or_is_missing_is_not_removed():
    context = fake_table()
    append(context)
    one, two = stray(context), stray(context)
    found = plan(context)
    context.storage.delete([path_of(context, one)])
    context.storage.overwrite(path_of(context, two), b"longer rows")
    assert apply_orphan_removal(context, found).removed == ()
    assert context.storage.exists(path_of(context, two))


def test_files_of_messages_older_than_the_age_are_removed_and_their_commit_fails():
    """A commit whose files were removed as orphans creates no snapshot."""
    context = fake_table()
    append(context)
    held = [message(context, stray(context))]
    clean(context)
    with pytest.raises(CommitConflict, match="deleted"):
        check_messages(held, context)
    abort(held, context)
    assert context.snapshots.ids() == [1]


def test_the_mode_delete_deletes_files_permanently():
    context = fake_table()
    append(context)
    lost = stray(context)
    report = clean(context, mode="delete")
    assert (len(report.removed), report.quarantine) == (1, None)
    assert not context.storage.exists(path_of(context, lost))
    assert context.storage.list(context.paths.quarantine_directory) == []


def test_a_table_with_a_tag_whose_snapshots_are_lost_is_refused():
    context = fake_table()
    create_tag(context, "t", append(context))
    append(context)
    context.snapshots.delete([1, 2])
    with pytest.raises(CorruptTable, match="no snapshot"):
        plan(context)
