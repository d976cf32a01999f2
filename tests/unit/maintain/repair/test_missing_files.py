"""Removal of missing files: one commit deletes the entries of files that do not exist, and no other entry."""

from __future__ import annotations

import pytest

from paimon_core.errors import CommitConflict, PlanOutdated
from paimon_core.maintain.orphans.quarantine import undo
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.repair.loss import LOSS, MOST, Loss, Origin
from paimon_core.maintain.repair.missing_files import apply_missing_removal, plan_missing_removal
from paimon_core.metadata.snapshot import CommitKind
from tests.support.fake_tables import append, check_whole, commit, fake_file, fake_table, live, message, reopened
from tests.support.faulty_storage import Died, FaultyStorage
from tests.support.orphan_tables import clean, path_of


def table():
    """Files a and b in one commit, c in another."""
    context = fake_table()
    a, b, c = fake_file(context), fake_file(context), fake_file(context)
    append(context, a, b)
    append(context, c)
    return context, (a, b, c)


def test_a_complete_table_gives_an_empty_plan():
    context, _ = table()
    assert plan_missing_removal(context).is_empty
    assert plan_missing_removal(fake_table()).is_empty
    assert apply_missing_removal(context, plan_missing_removal(context)).snapshot is None


def test_entries_of_missing_files_are_removed_and_the_table_is_complete():
    context, (a, b, c) = table()
    context.storage.delete([path_of(context, a), path_of(context, c)])
    found = Plan.from_bytes(plan_missing_removal(context).to_bytes())
    assert {f.path for f in found.files} == {path_of(context, a), path_of(context, c)}
    assert found.subjects == ("20 rows of 2 files that are missing",)
    report = apply_missing_removal(context, found)
    assert (report.rows, len(report.removed)) == (20, 2)
    assert report.snapshot.commit_kind is CommitKind.OVERWRITE
    assert {name for _, _, name in live(context)} == {b.file_name}
    assert report.snapshot.total_record_count == 10
    context.snapshots.delete([1, 2])
    check_whole(context)


def lost(context) -> Loss:
    """Apply the removal and return what its snapshot says."""
    return Loss.from_text(apply_missing_removal(context, plan_missing_removal(context)).snapshot.properties[LOSS])


def test_the_snapshot_says_what_was_lost_and_which_snapshots_had_added_it():
    context, (a, _, c) = table()
    append(context)
    context.storage.delete([path_of(context, a), path_of(context, c)])
    loss = lost(context)
    assert (loss.rows, loss.files, loss.unknown) == (20, 2, 0)
    assert loss.added_by == {1: Origin("APPEND", 1, 10), 2: Origin("APPEND", 1, 10)}
    assert sorted(loss.names) == sorted(context.paths.relative(path_of(context, f)) for f in (a, c))
    assert loss.directories == {"p=a/bucket-0": 20}


def test_the_snapshots_of_rows_that_were_compacted_or_have_expired_are_unknown():
    context, (a, b, c) = table()
    merged = fake_file(context)
    commit([message(context, before=(a, b), after=(merged,))], context=context, user="compactor")
    context.storage.delete([path_of(context, merged), path_of(context, c)])
    context.snapshots.delete([1, 2])
    loss = lost(context)
    assert (loss.files, loss.unknown, dict(loss.added_by)) == (2, 2, {})


def test_the_names_of_lost_files_are_limited_and_counted():
    context = fake_table()
    files = [fake_file(context) for _ in range(MOST + 1)]
    append(context, *files)
    context.storage.delete([path_of(context, file) for file in files])
    loss = lost(context)
    assert (loss.files, len(loss.names), loss.rows) == (MOST + 1, MOST, 10 * (MOST + 1))


@pytest.mark.parametrize(
    "text",
    ["", "1", "[]", "{}", "[" * 100_000]
    + [Loss(1, 1).to_text().replace(*change) for change in (('"rows": 1', '"rows": -1'), ("[]", "5"), ("{}", "[1]"))],
)
def test_a_damaged_record_of_lost_files_is_a_value_error(text):
    with pytest.raises(ValueError):
        Loss.from_text(text)


def test_a_plan_is_refused_when_a_missing_file_exists_again():
    context, (a, _, _) = table()
    context.storage.delete([path_of(context, a)])
    found = plan_missing_removal(context)
    context.storage.write(path_of(context, a), b"rows")
    with pytest.raises(PlanOutdated, match="again"):
        apply_missing_removal(context, found)
    assert len(live(context)) == 3


def test_a_file_that_only_the_listing_lacks_is_not_missing():
    context, (a, _, _) = table()
    storage = FaultyStorage(context.storage)
    stale = [e for e in context.storage.list(context.paths.bucket("p=a", 0)) if e.name != a.file_name]
    real = storage.list
    storage.list = lambda d: list(stale) if "bucket-0" in d else real(d)
    assert plan_missing_removal(reopened(context, storage)).is_empty


def test_a_file_in_quarantine_is_not_missing():
    context = fake_table()
    append(context)
    file = fake_file(context)
    quarantine = clean(context).quarantine
    append(context, file)  # without checking that its file exists, as other engines may do
    found = plan_missing_removal(context)
    assert found.is_empty
    assert {p.by for p in found.protected} == {f"quarantine {quarantine}: undo it"}
    undo(context, quarantine)
    check_whole(context)
    assert plan_missing_removal(context).protected == ()


def test_a_plan_is_accepted_after_an_unrelated_commit_and_refused_after_one_that_removed_the_entry():
    context, (a, _, _) = table()
    context.storage.delete([path_of(context, a)])
    found = plan_missing_removal(context)
    append(context)
    assert apply_missing_removal(context, found).snapshot.id == 4
    context, (a, _, _) = table()
    context.storage.delete([path_of(context, a)])
    found = plan_missing_removal(context)
    commit([message(context, deleted=(a,))], context=context, user="other")
    with pytest.raises(PlanOutdated):
        apply_missing_removal(context, found)


def test_a_concurrent_commit_that_removes_the_entry_first_makes_the_removal_a_conflict():
    context, (a, _, _) = table()
    context.storage.delete([path_of(context, a)])
    found = plan_missing_removal(context)
    storage = FaultyStorage(context.storage)
    storage.before(
        "create_exclusive", "snapshot-3", lambda: commit([message(context, deleted=(a,))], context=context, user="o")
    )
    with pytest.raises(CommitConflict, match="no longer"):
        apply_missing_removal(reopened(context, storage), found)
    assert context.snapshots.ids() == [1, 2, 3]


def test_a_crash_at_any_call_leaves_the_table_unchanged_or_repaired():
    for after in (False, True):
        number = 0
        while True:
            context, (a, b, c) = table()
            context.storage.delete([path_of(context, a)])
            found = plan_missing_removal(context)
            storage = FaultyStorage(context.storage, die_at=number, die_after=after)
            try:
                apply_missing_removal(reopened(context, storage), found)
            except Died:
                number += 1
            else:
                break
            assert len(live(context)) in (2, 3)
            if len(live(context)) == 3:
                apply_missing_removal(context, plan_missing_removal(context))
            assert {name for _, _, name in live(context)} == {b.file_name, c.file_name}
        assert number >= 4
