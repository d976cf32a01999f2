"""Snapshots that are deleted, whose id was used again, or that a listing does not show yet."""

from dataclasses import replace

import pytest

from paimon_core.errors import CorruptTable, SnapshotNotFound
from tests.support.fake_tables import append, fake_table, reopened
from tests.support.faulty_storage import FaultyStorage


def test_a_table_that_lost_its_snapshots_is_not_treated_as_empty():
    context = fake_table()
    append(context)
    context.snapshots.delete([1])
    with pytest.raises(SnapshotNotFound, match="was missing at every attempt: a rollback is in progress"):
        context.snapshots.latest()
    with pytest.raises(SnapshotNotFound):
        append(context)
    assert context.snapshots.ids() == []


def test_a_listing_that_lags_behind_does_not_hide_the_latest_snapshot():
    class Lagging(FaultyStorage):
        def list(self, directory):
            return [e for e in super().list(directory) if e.name not in ("snapshot-2", "snapshot-3")]

    context = fake_table()
    for _ in range(3):
        append(context)
    context.storage.delete([context.paths.hint("LATEST")])
    assert reopened(context, Lagging(context.storage)).snapshots.latest_id() == 3


def test_a_reader_whose_snapshot_was_replaced_gets_snapshot_not_found():
    context = fake_table()
    snapshot = append(context)
    context.storage.delete([context.paths.manifest(snapshot.delta_manifest_list)])
    with pytest.raises(CorruptTable, match="is missing"):
        context.manifests.entries_of(snapshot)
    context.snapshots.delete([1])
    assert context.snapshots.create(replace(snapshot, uuid="another"))
    with pytest.raises(SnapshotNotFound, match="has expired"):
        context.manifests.entries_of(snapshot)
