"""compact_manifests: the same files in fewer manifests, as a COMPACT snapshot without changes."""

from __future__ import annotations

import dataclasses

import pytest

from paimon_core.commit import manifest_merge
from paimon_core.commit.manifest_compaction import compact_manifests
from paimon_core.errors import CommitStateUnknown, StorageError
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER, CommitKind
from tests.support.commits import commit
from tests.support.fake_tables import append, check_whole, expire_all, fake_file, fake_table, live, message, reopened
from tests.support.faulty_storage import Died, FaultyStorage, Outcome
from tests.support.orphan_tables import clean, everything


def table():
    """Return a table with four snapshots of one manifest each, the last with a DELETE."""
    context = fake_table()
    first = fake_file(context)
    append(context, first, properties={"k": "v"}, watermark=7)
    append(context)
    append(context)
    commit([message(context, fake_file(context), deleted=(first,))], context=context, user="u", properties={"k": "w"})
    return context


def manifests(context):
    return context.manifests.manifests_of(context.snapshots.latest())


def test_many_manifests_become_one_without_deletes():
    context = table()
    before, files = context.snapshots.latest(), live(context)
    made = compact_manifests(context, user="me", now_millis=1)
    assert live(context) == files
    (only,) = manifests(context)
    assert (only.num_added_files, only.num_deleted_files) == (3, 0)
    assert {e.kind for e in context.manifests.read_manifest(only.file_name)} == {FileKind.ADD}
    assert context.manifests.read_list(made.delta_manifest_list) == []
    assert made == context.snapshots.read(5)
    assert (made.commit_kind, made.commit_identifier, made.commit_user) == (CommitKind.COMPACT, BATCH_IDENTIFIER, "me")
    assert (made.delta_record_count, made.total_record_count) == (0, before.total_record_count)
    assert (made.watermark, made.properties) == (7, {"k": "w"})
    assert made.time_millis == before.time_millis
    assert made.uuid != before.uuid
    check_whole(context)
    assert compact_manifests(context) is None
    assert compact_manifests(fake_table()) is None


def test_indexes_and_statistics_are_carried_on_and_no_changelog():
    context = table()
    last = context.snapshots.latest()
    changed = dataclasses.replace(last, index_manifest="index-manifest-x", statistics="stat-x", next_row_id=9)
    changed = dataclasses.replace(
        changed, changelog_manifest_list="c", changelog_manifest_list_size=1, changelog_record_count=4
    )
    context.storage.overwrite(context.paths.snapshot(4), changed.to_json().encode())
    made = compact_manifests(context)
    assert (made.index_manifest, made.statistics, made.next_row_id) == ("index-manifest-x", "stat-x", 9)
    assert (made.changelog_manifest_list, made.changelog_record_count) == (None, None)


def test_a_commit_that_is_faster_is_built_upon():
    context = table()
    storage = FaultyStorage(context.storage)
    storage.before("create_exclusive", "snapshot-5", lambda: append(context))
    made = compact_manifests(reopened(context, storage))
    assert made.id == 6
    assert len(live(context)) == 4
    assert len(manifests(context)) == 1
    check_whole(context)


def test_a_base_that_expires_while_it_is_read_is_replaced_by_the_latest():
    context = table()
    storage = FaultyStorage(context.storage)

    def commit_and_expire():
        append(context)
        expire_all(context)

    storage.before("read", "manifest/manifest-list-", commit_and_expire)
    assert compact_manifests(reopened(context, storage)).id == 6
    check_whole(context)


def test_an_unknown_publish_deletes_nothing_and_a_certain_failure_cleans_up():
    context = table()
    storage = FaultyStorage(context.storage)
    before = everything(context)
    storage.on("create_exclusive", "snapshot-5", Outcome.FAIL)
    with pytest.raises(StorageError):
        compact_manifests(reopened(context, storage))
    assert everything(context) == before
    storage.on("create_exclusive", "snapshot-5", *[Outcome.UNKNOWN] * 9)
    with pytest.raises(CommitStateUnknown):
        compact_manifests(reopened(context, storage))
    assert everything(context).keys() > before.keys()
    storage.rules.clear()
    storage.on("create_exclusive", "snapshot-5", Outcome.LOSE)
    assert compact_manifests(reopened(context, storage)).id == 5
    check_whole(context)


def test_a_crash_anywhere_leaves_a_whole_table_and_orphans_at_most():
    for after in (False, True):
        number = 0
        while True:
            context = table()
            files = live(context)
            storage = FaultyStorage(context.storage, die_at=number, die_after=after)
            try:
                compact_manifests(reopened(context, storage))
            except Died:
                number += 1
            else:
                break
            assert live(context) == files
            check_whole(context)
            clean(context)
            check_whole(context)
        assert number == 5  # one manifest, two lists, the snapshot, its hint


def test_a_large_table_is_compacted_in_portions(monkeypatch):
    monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", 8)
    context = fake_table(**{"manifest.target-file-size": "1 b"})
    files = {value: [fake_file(context, of=value) for _ in range(5)] for value in "abcdef"}
    for value, some in files.items():
        commit([message(context, *some, of=value)], context=context, user="u")
    gone = [message(context, deleted=(some[0],), of=value) for value, some in files.items()]
    commit(gone, context=context, user="u")
    before, expected = context.snapshots.latest().id, live(context)
    made = compact_manifests(context)
    assert made == context.snapshots.latest()
    assert before + 1 < made.id < before + 20
    assert live(context) == expected
    assert not any(m.num_deleted_files for m in manifests(context))
    assert {context.snapshots.read(i).commit_kind for i in range(before + 1, made.id + 1)} == {CommitKind.COMPACT}
    check_whole(context)
    assert compact_manifests(context) is None
