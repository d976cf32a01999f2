"""A clean-up with hands: what it hands out, in which order, and that nothing is concluded from half an answer."""

import time

import pytest

from paimon_core.errors import StorageError
from paimon_core.maintain.candidate_files import candidates
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.expiry.snapshots import apply_snapshot_expiry, plan_snapshot_expiry
from paimon_core.maintain.orphans.quarantine import apply_purge, plan_purge
from paimon_core.maintain.orphans.removal import apply_orphan_removal
from paimon_core.maintain.references.used_files import data_names
from tests.support.fake_tables import append, data_files, fake_table
from tests.support.orphan_tables import path_of, plan, planned, stray, three_days_on


class Noted:
    """Hands that do it here and note it."""

    def __init__(self):
        self.calls = []

    def candidates(self, context, places, before_millis):
        self.calls.append("candidates")
        return candidates(context, places, before_millis)

    def data_names(self, context, manifests, among):
        self.calls.append("data_names")
        return data_names(context, manifests, among)

    def move(self, context, moves):
        self.calls.append("move")
        for source, target in moves:
            context.storage.move(source, target)
        return [True for _ in moves]

    def delete(self, context, paths):
        self.calls.append("delete")
        context.storage.delete(paths)


class Failing(Noted):
    """The job that opens manifests fails."""

    def data_names(self, context, manifests, among):
        raise StorageError("a worker died")


@pytest.fixture
def context():
    context = fake_table()
    append(context)
    append(context)
    return context


def test_the_listing_is_complete_before_references_are_read_each_time(context):
    lost, executor = stray(context), Noted()
    found = plan(context, executor=executor)
    assert planned(found) == {lost.file_name}
    assert executor.calls == ["candidates", "data_names"]
    assert found.files == plan(context).files
    report = apply_orphan_removal(context, found, executor=executor)
    assert executor.calls[2:] == ["candidates", "data_names", "move"]
    assert [path.rsplit("/", 1)[1] for path in report.removed] == [lost.file_name]
    assert apply_purge(context, plan_purge(context, 0, three_days_on()), executor=executor) == (report.quarantine,)
    assert executor.calls[5:] == ["data_names", "delete"]


def test_what_fails_elsewhere_fails_here_and_nothing_is_touched(context):
    lost = stray(context)
    with pytest.raises(StorageError, match="a worker died"):
        plan(context, executor=Failing())
    with pytest.raises(StorageError, match="a worker died"):
        apply_orphan_removal(context, plan(context), executor=Failing())
    assert context.storage.exists(path_of(context, lost))


def test_deletions_are_handed_out_too(context):
    lost, executor = stray(context), Noted()
    apply_orphan_removal(context, plan(context, mode="delete"), executor=executor)
    assert executor.calls == ["candidates", "data_names", "delete"]
    assert not context.storage.exists(path_of(context, lost))


def test_an_expiry_hands_out_its_deletions_only(context):
    executor, now = Noted(), time.time_ns() // 1_000_000
    found = plan_snapshot_expiry(context, Retention(1, 1, now, 10))
    assert apply_snapshot_expiry(context, found, executor=executor).expired == (1,)
    assert executor.calls == ["delete"]
    assert not any(context.storage.exists(f.path) for f in found.files)
    assert len(data_files(context)) == 2
