"""Changelog files: snapshot files under another name."""

from __future__ import annotations

import dataclasses

import pytest

from paimon_core.errors import CorruptTable, SnapshotNotFound
from tests.support.fake_tables import append, fake_table


def test_a_changelog_is_created_once_and_deleted():
    context = fake_table()
    snapshot = append(context)
    store = context.changelogs
    assert store.create(snapshot) is True
    assert store.create(snapshot) is False
    assert (store.ids(), store.read(1)) == ([1], snapshot)
    other = dataclasses.replace(snapshot, commit_user="other")
    assert store.create(other) is True
    assert store.read(1).commit_user == "other"
    assert store.delete([1, 2]) == 1
    with pytest.raises(SnapshotNotFound, match="no changelog 1"):
        store.read(1)


def test_a_file_of_another_id_is_refused():
    context = fake_table()
    context.storage.write(context.paths.changelog(3), append(context).to_json().encode())
    with pytest.raises(CorruptTable, match="contains changelog 1"):
        context.changelogs.read(3)


def test_hints_and_other_files_are_not_changelogs():
    context = fake_table()
    context.changelogs.write_latest_hint(4)
    context.changelogs.write_earliest_hint(2)
    context.storage.write(f"{context.paths.changelog_directory}/changelog-04", b"x")
    assert context.changelogs.ids() == []
    assert context.storage.read(context.paths.changelog_hint("LATEST")) == b"4"
    assert context.storage.read(context.paths.changelog_hint("EARLIEST")) == b"2"
