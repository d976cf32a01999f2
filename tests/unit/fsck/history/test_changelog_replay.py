"""Replay of the changelog: an error that is reported already causes no second finding."""

from __future__ import annotations

import pytest

from paimon_core.errors import CorruptTable
from paimon_core.fsck.check import check
from paimon_core.fsck.history import changelog_replay
from paimon_core.metadata.stores.manifest_store import ManifestStore
from tests.support import broken_tables as broken
from tests.support.fake_tables import changelog_entries


def table_with_changelog():
    """Return a table of ten snapshots: the even ones are settled, their changelogs contain all changes."""
    table = broken.real_table(**{"changelog-producer": "lookup", "write-only": "false"})
    for low in (5, 0, 12, 3):
        table.write(broken.some_rows(range(low, low + 10), str(low)))
    return table.context


def invariants(report):
    return [f.invariant for f in report.findings]


def test_an_undamaged_changelog_is_replayed_to_the_end():
    report = check(table_with_changelog(), deep=True)
    assert invariants(report) == []
    assert report.checked["I20"] == 1


@pytest.mark.parametrize("snapshot", [2, 4, 6, 8, 10])
def test_a_changelog_file_that_cannot_be_read_is_one_finding(snapshot):
    context = table_with_changelog()
    entry = changelog_entries(context, context.snapshots.read(snapshot))[0]
    path = context.paths.data_file("", entry.bucket, entry.file.file_name)
    context.storage.delete([path])
    report = check(broken.fresh(context), deep=True)
    assert [(f.invariant, f.path) for f in report.findings] == [("I6", path)], report.text()
    assert "I20" in report.skipped


def test_a_state_that_cannot_be_read_is_one_finding(monkeypatch):
    context = table_with_changelog()

    def fails(self, snapshot, *arguments):
        raise CorruptTable("manifest-x is torn", path="manifest-x")

    monkeypatch.setattr(ManifestStore, "entries_of", fails)
    report = check(context, deep=True)
    assert [(f.invariant, f.message) for f in report.findings] == [("I20", "manifest-x is torn")]


def test_an_unexpected_error_in_a_changelog_is_one_finding(monkeypatch):
    context = table_with_changelog()
    real, calls = changelog_replay.fingerprint, []

    def fails_once(*arguments):
        calls.append(arguments)
        if len(calls) == 3:  # in the changelog of snapshot 2
            raise ValueError("unexpected")
        return real(*arguments)

    monkeypatch.setattr(changelog_replay, "fingerprint", fails_once)
    report = check(context, deep=True)
    assert [f.invariant for f in report.findings] == ["I20"], report.text()
    assert "unexpected" in report.findings[0].message
