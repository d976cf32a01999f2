"""Quarantine: its files are restored unchanged or deleted for good, also after a crash at any call."""

from __future__ import annotations

import json

import pytest

from paimon_core.errors import CorruptTable, InvalidRequest, NotFound, PlanOutdated
from paimon_core.maintain.orphans.quarantine import apply_purge, plan_purge, quarantines, undo
from paimon_core.maintain.planning.plan import Plan
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.fake_tables import append, fake_table, reopened
from tests.support.faulty_storage import Died, FaultyStorage, Outcome
from tests.support.orphan_tables import check_live, clean, everything, path_of, plan, stray, three_days_on


def cleaned(root=None):
    """A table with two orphans in quarantine; its files before that, and the quarantine's id."""
    context = fake_table(FsspecStorage("file"), root=str(root / "t")) if root else fake_table()
    append(context)
    strays = [stray(context), stray(context)]
    before = everything(context)
    return context, strays, before, clean(context).quarantine


def test_a_quarantine_is_listed_with_its_contents():
    context, strays, _, plan_id = cleaned()
    (held,) = quarantines(context)
    assert (held.id, held.size_bytes) == (plan_id, 8)
    assert [f.path for f in held.files] == [f"p=a/bucket-0/{s.file_name}" for s in strays]
    assert quarantines(fake_table()) == []


def test_a_purge_deletes_quarantines_of_the_requested_age():
    context, _, _, plan_id = cleaned()
    (held,) = quarantines(context)
    assert plan_purge(context, 5, held.created_millis + 4).is_empty
    assert plan_purge(context, 5, held.created_millis + 5).subjects == (f"quarantine {plan_id}",)


@pytest.mark.parametrize("on_disk", [False, True])
def test_undo_restores_all_files_unchanged(tmp_path, on_disk):
    context, _, before, plan_id = cleaned(tmp_path if on_disk else None)
    assert everything(context) != before
    report = undo(context, plan_id)
    assert len(report.restored) == 2
    assert everything(context) == before
    assert quarantines(context) == []
    assert context.storage.list(context.paths.quarantine_directory) == []
    with pytest.raises(NotFound, match="existing ones: none"):
        undo(context, plan_id)


@pytest.mark.parametrize("on_disk", [False, True])
def test_an_undo_that_crashed_at_any_call_is_completed_by_another_one(tmp_path, on_disk):
    number, after = 0, False
    while True:
        context, _, before, plan_id = cleaned(tmp_path / f"{number}{after}" if on_disk else None)
        storage = FaultyStorage(context.storage, die_at=number, die_after=after)
        try:
            undo(reopened(context, storage), plan_id)
        except Died:
            if quarantines(context):
                undo(context, plan_id)
            assert everything(context) == before
            check_live(context)
            number, after = (number + 1, False) if after else (number, True)
        else:
            break
    assert number == 4  # two moves, the record, the directories


def test_undo_restores_files_that_exist_in_both_places():
    context, strays, before, plan_id = cleaned()
    for file in strays:
        context.storage.write(path_of(context, file), b"rows")
    assert len(undo(context, plan_id).restored) == 2
    assert everything(context) == before


def test_undo_does_not_replace_an_existing_file():
    context, strays, _, plan_id = cleaned()
    context.storage.write(path_of(context, strays[0]), b"other rows")
    report = undo(context, plan_id)
    assert report.differing == (f"p=a/bucket-0/{strays[0].file_name}",)
    assert len(report.restored) == 1
    assert context.storage.read(path_of(context, strays[0])) == b"other rows"
    assert context.storage.read(context.paths.quarantined(plan_id, report.differing[0])) == b"rows"
    assert len(quarantines(context)) == 1


def test_undo_reports_files_that_are_missing_in_the_quarantine():
    context, strays, _, plan_id = cleaned()
    lost = f"p=a/bucket-0/{strays[0].file_name}"
    context.storage.delete([context.paths.quarantined(plan_id, lost)])
    report = undo(context, plan_id)
    assert report.lost == (lost,)
    assert quarantines(context) == []


@pytest.mark.parametrize(
    "path", ["../../other/x", "/etc/passwd", "a/../../x", "quarantine/x/y", "", "a//b", "snapshot/./x", "a\\b", "a\x00"]
)
def test_a_record_with_a_path_outside_of_the_table_is_refused(path):
    context, _, _, plan_id = cleaned()
    record = context.paths.quarantine_record(plan_id)
    value = json.loads(context.storage.read(record))
    context.storage.overwrite(record, json.dumps({**value, "files": [[path, 1]]}).encode())
    for action in (
        lambda: undo(context, plan_id),
        lambda: quarantines(context),
        lambda: plan_purge(context, 0, three_days_on()),
    ):
        with pytest.raises(CorruptTable):
            action()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version":1}', b'{"version":1,"files":[1],"created_millis":1}'])
def test_a_record_that_cannot_be_read_is_a_corrupt_table(data):
    context, _, _, plan_id = cleaned()
    context.storage.overwrite(context.paths.quarantine_record(plan_id), data)
    with pytest.raises(CorruptTable, match="record"):
        quarantines(context)


@pytest.mark.parametrize("plan_id", ["..", "a/b", "", None, 5, "x" * 300])
def test_an_invalid_id_is_refused(plan_id):
    with pytest.raises(InvalidRequest, match="quarantine name"):
        undo(fake_table(), plan_id)


def test_a_purge_deletes_old_quarantines_permanently():
    context, _, before, _ = cleaned()
    assert plan_purge(context, 60_000, three_days_on() - 4 * 86_400_000).is_empty
    found = Plan.from_bytes(plan_purge(context, 60_000, three_days_on()).to_bytes())
    assert len(found.files) == 2
    assert len(apply_purge(context, found)) == 1
    assert quarantines(context) == []
    assert context.storage.list(context.paths.quarantine_directory) == []
    assert len(everything(context)) == len(before) - 2
    assert apply_purge(context, found) == ()


def test_a_purge_that_crashed_at_any_call_is_completed_by_another_one():
    for number in range(4):
        context, _, _, _ = cleaned()
        found = plan_purge(context, 0, three_days_on())
        storage = FaultyStorage(context.storage, die_at=number, die_after=True)
        with pytest.raises(Died):
            apply_purge(reopened(context, storage), found)
        apply_purge(context, plan_purge(context, 0, three_days_on()))
        assert quarantines(context) == []
        check_live(context)


def test_files_that_the_table_uses_are_not_purged():
    context, strays, _, plan_id = cleaned()
    found = plan_purge(context, 0, three_days_on())
    append(context, strays[0])  # without checking that its file exists, as other engines may do
    with pytest.raises(PlanOutdated, match="undo"):
        apply_purge(context, found)
    protected = plan_purge(context, 0, three_days_on())
    assert protected.is_empty
    assert [p.what for p in protected.protected] == [f"quarantine {plan_id}"]
    undo(context, plan_id)
    check_live(context)


def test_two_plans_have_separate_quarantines():
    context, _, before, first = cleaned()
    stray(context)
    second = clean(context).quarantine
    assert {q.id for q in quarantines(context)} == {first, second}
    undo(context, first)
    assert plan(context).size_bytes == 8
    undo(context, second)
    assert everything(context).keys() > before.keys()


def test_an_undo_can_be_repeated_after_a_storage_error():
    context, _, before, plan_id = cleaned()
    storage = FaultyStorage(context.storage)
    storage.on("move", "", Outcome.LOSE)
    with pytest.raises(OSError, match="injected"):
        undo(reopened(context, storage), plan_id)
    report = undo(context, plan_id)
    assert (len(report.in_place), len(report.restored)) == (1, 1)
    assert everything(context) == before


def test_nothing_is_purged_when_all_snapshots_are_missing():
    context, _, _, _ = cleaned()
    snapshot = context.snapshots.latest()
    found = plan_purge(context, 0, three_days_on())
    context.snapshots.delete([1])
    with pytest.raises(CorruptTable, match="no snapshot"):
        plan_purge(context, 0, three_days_on())
    with pytest.raises(PlanOutdated):
        apply_purge(context, found)
    assert context.snapshots.publish(snapshot)
    assert len(apply_purge(context, found)) == 1
