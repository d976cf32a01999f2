"""A clean-up with an executor: which steps it runs there, in which order, and that a failed step changes nothing."""

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


class Recording:
    """An executor that runs the steps in this process and records them."""

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


class Failing(Recording):
    """An executor whose reads of manifests fail."""

    def data_names(self, context, manifests, among):
        raise StorageError("a worker died")


@pytest.fixture
def context():
    context = fake_table()
    append(context)
    append(context)
    return context


def test_files_are_listed_before_references_are_read_by_plan_and_apply(context):
    lost, executor = stray(context), Recording()
    found = plan(context, executor=executor)
    assert planned(found) == {lost.file_name}
    assert executor.calls == ["candidates", "data_names"]
    assert found.files == plan(context).files
    report = apply_orphan_removal(context, found, executor=executor)
    assert executor.calls[2:] == ["candidates", "data_names", "move"]
    assert [path.rsplit("/", 1)[1] for path in report.removed] == [lost.file_name]
    assert apply_purge(context, plan_purge(context, 0, three_days_on()), executor=executor) == (report.quarantine,)
    assert executor.calls[5:] == ["data_names", "delete"]


def test_an_error_of_the_executor_is_raised_and_nothing_changes(context):
    lost = stray(context)
    with pytest.raises(StorageError, match="a worker died"):
        plan(context, executor=Failing())
    with pytest.raises(StorageError, match="a worker died"):
        apply_orphan_removal(context, plan(context), executor=Failing())
    assert context.storage.exists(path_of(context, lost))


def test_the_executor_deletes_files_too(context):
    lost, executor = stray(context), Recording()
    apply_orphan_removal(context, plan(context, mode="delete"), executor=executor)
    assert executor.calls == ["candidates", "data_names", "delete"]
    assert not context.storage.exists(path_of(context, lost))


def test_an_expiry_uses_the_executor_for_deletions_only(context):
    executor, now = Recording(), time.time_ns() // 1_000_000
    found = plan_snapshot_expiry(context, Retention(1, 1, now, 10))
    assert apply_snapshot_expiry(context, found, executor=executor).expired == (1,)
    assert executor.calls == ["delete"]
    assert not any(context.storage.exists(f.path) for f in found.files)
    assert len(data_files(context)) == 2
