"""Repair of hints: LATEST and EARLIEST are corrected, and nothing else is changed."""

from __future__ import annotations

import pytest

from paimon_core.errors import StorageError
from paimon_core.maintain.repair.hints import RepairedHint, repair_hints
from tests.support.fake_tables import append, expire_all, fake_table, reopened
from tests.support.faulty_storage import Died, FaultyStorage
from tests.support.orphan_tables import everything, make_branch


def table():
    context = fake_table()
    for _ in range(3):
        append(context)
    context.snapshots.delete([1])
    context.storage.overwrite(context.paths.hint("EARLIEST"), b"2")
    return context


def test_correct_hints_are_kept():
    context = table()
    before = everything(context)
    report = repair_hints(context)
    assert (report.repaired, report.strays) == ((), ())
    assert everything(context) == before
    assert repair_hints(fake_table()).repaired == ()


@pytest.mark.parametrize("text", [b"", b"garbage", b"999", b"1", b"\x00\xff", b" 3", b"03", b"-1"])
@pytest.mark.parametrize(("name", "right"), [("LATEST", "3"), ("EARLIEST", "2")])
def test_wrong_hints_are_corrected_and_do_not_change_what_is_read(name, right, text):
    """Known bug #8883: a wrong hint stops every later expiry."""
    context = table()
    path = context.paths.hint(name)
    context.storage.overwrite(path, text)
    assert context.snapshots.latest_id() == 3
    report = repair_hints(context)
    assert report.repaired == (RepairedHint(path, text.decode(errors="replace"), right),)
    assert context.storage.read(path) == right.encode()
    assert repair_hints(context).repaired == ()


def test_missing_hints_are_written_and_hints_without_snapshots_are_removed():
    context = table()
    context.storage.delete([context.paths.hint("LATEST")])
    assert repair_hints(context).repaired == (RepairedHint(context.paths.hint("LATEST"), None, "3"),)
    context.snapshots.delete([2, 3])
    assert {(r.was, r.now) for r in repair_hints(context).repaired} == {("3", None), ("2", None)}
    assert context.storage.list(context.paths.snapshot_directory) == []


def test_hints_of_branches_and_changelogs_are_corrected_too():
    context = table()
    branch = make_branch(context, "b", 2)
    assert context.changelogs.create(context.snapshots.read(2))
    assert context.changelogs.create(context.snapshots.read(3))
    context.storage.write(context.paths.changelog_hint("EARLIEST"), b"3")
    repaired = {r.path: (r.was, r.now) for r in repair_hints(context).repaired}
    assert repaired == {
        branch.paths.hint("LATEST"): (None, "2"),
        branch.paths.hint("EARLIEST"): (None, "2"),
        context.paths.changelog_hint("EARLIEST"): ("3", "2"),
        context.paths.changelog_hint("LATEST"): (None, "3"),
    }


def test_files_with_unknown_names_are_reported_and_kept():
    context = table()
    directory = context.paths.snapshot_directory
    strays = [f"{directory}/{n}" for n in ("snapshot-4.tmp", "snapshot-abc", "snapshot-04", "snapshot-9/x")]
    for path in strays:
        context.storage.write(path, b"{}")
    report = repair_hints(context)
    assert report.strays == tuple(sorted([*strays[:3], f"{directory}/snapshot-9"]))
    assert context.snapshots.ids() == [2, 3]
    assert all(context.storage.exists(s) for s in strays)


def test_a_concurrent_commit_and_a_concurrent_expiry_are_considered():
    context = table()
    context.storage.delete([context.paths.hint("LATEST"), context.paths.hint("EARLIEST")])
    storage = FaultyStorage(context.storage)
    storage.before("overwrite", "LATEST", lambda: append(context))
    storage.before("overwrite", "EARLIEST", lambda: expire_all(context))
    repair_hints(reopened(context, storage))
    assert context.storage.read(context.paths.hint("LATEST")) == b"4"
    assert context.storage.read(context.paths.hint("EARLIEST")) == b"4"


def test_a_table_that_changes_at_every_attempt_is_an_error():
    context = table()
    storage = FaultyStorage(context.storage)

    def another() -> None:
        append(context)
        storage.before("overwrite", "LATEST", another)

    context.storage.delete([context.paths.hint("LATEST")])
    storage.before("overwrite", "LATEST", another)
    with pytest.raises(StorageError, match="could not be repaired in 5 attempts"):
        repair_hints(reopened(context, storage))


def test_a_repair_that_crashed_at_any_call_is_completed_by_another_run():
    for number in range(2):
        context = table()
        context.storage.overwrite(context.paths.hint("LATEST"), b"1")
        context.storage.overwrite(context.paths.hint("EARLIEST"), b"1")
        storage = FaultyStorage(context.storage, die_at=number, die_after=True)
        with pytest.raises(Died):
            repair_hints(reopened(context, storage))
        repair_hints(context)
        assert (context.snapshots.earliest_id(), context.snapshots.latest_id()) == (2, 3)
        assert repair_hints(context).repaired == ()
