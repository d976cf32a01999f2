"""Orphan removal with concurrent changes: whatever happens between two of its calls, no used file is removed (I27)."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from paimon_core.errors import CommitStateUnknown, CorruptTable, PaimonError, PlanOutdated, StorageError, TagNotFound
from paimon_core.maintain.orphans import removal as orphans
from paimon_core.maintain.orphans.quarantine import quarantines, undo
from paimon_core.maintain.orphans.removal import apply_orphan_removal
from paimon_core.maintain.references import used_files
from paimon_core.maintain.references.used_files import used_names
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.roots import all_roots
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.table.writes.message_check import check_messages
from tests.support.commits import commit
from tests.support.fake_tables import append, expire_all, fake_file, fake_table, message, reopened
from tests.support.faulty_storage import Died, FaultyStorage, Outcome
from tests.support.orphan_tables import check_live, clean, everything, make_branch, plan, planned, stray, token


def table() -> tuple[TableContext, FaultyStorage, TableContext]:
    """A table with two snapshots, a faulty storage over its files, and the table opened on that storage."""
    context = fake_table()
    append(context)
    append(context)
    storage = FaultyStorage(context.storage)
    return context, storage, reopened(context, storage)


def late(context: TableContext, held: CommitMessage) -> None:
    """Commit a message as Table.commit does: its files must exist."""
    check_messages([held], context)
    commit([held], context=context, user="late")


# -- one concurrent change, at the worst moment


def after_the_listing(storage: FaultyStorage, verb: str, part: str, action: Callable[[], Any]) -> None:
    """Run ``action`` before the first such call after the listing of the directories."""
    storage.before("list", "/bucket-0", lambda: storage.before(verb, part, action))


def test_files_committed_between_the_listing_and_the_references_are_used():
    """Known bugs apache/paimon 3074, 3075 and 3165."""
    context, storage, seen = table()
    held, lost = message(context, stray(context)), stray(context)
    after_the_listing(storage, "list", "/snapshot", lambda: late(context, held))
    found = plan(seen)
    assert context.snapshots.latest_id() == 3
    assert planned(found) == {lost.file_name}


def test_the_directories_are_listed_before_the_references_are_read():
    context, storage, seen = table()
    stray(context)
    plan(seen)
    last_listing = max(i for i, (verb, path) in enumerate(storage.calls) if verb == "list" and "/bucket-" in path)
    first_manifest = min(i for i, (verb, path) in enumerate(storage.calls) if verb == "read" and "/manifest/" in path)
    listed = [i for i, (verb, path) in enumerate(storage.calls) if verb == "list" and path.endswith("/snapshot")]
    assert last_listing < first_manifest
    assert any(last_listing < i < first_manifest for i in listed)


def test_files_committed_between_the_checks_of_apply_and_its_moves_are_restored():
    context, storage, seen = table()
    held, lost = message(context, stray(context)), stray(context)
    found = plan(seen)
    storage.before("create_exclusive", "/quarantine/", lambda: late(context, held))
    report = apply_orphan_removal(seen, found)
    assert [r.rsplit("/", 1)[1] for r in report.removed] == [lost.file_name]
    assert [r.rsplit("/", 1)[1] for r in report.kept] == [held.new_files[0].file_name]
    check_live(context)


def test_when_the_last_check_fails_all_files_are_restored():
    context, storage, seen = table()
    stray(context)
    before = everything(context)
    found = plan(seen)
    storage.before("move", "", lambda: storage.on("list", "/snapshot", Outcome.FAIL))
    with pytest.raises(StorageError):
        apply_orphan_removal(seen, found)
    assert everything(context) == before


def test_the_scan_is_retried_when_a_snapshot_expires_in_it():
    """Known bugs apache/paimon 7710 and 7715: the used set lacked a deleted snapshot, so its files were orphans."""
    context, storage, seen = table()
    lost = stray(context)
    append(context)
    storage.before("read", context.snapshots.read(1).base_manifest_list, lambda: expire_all(context))
    found = plan(seen)
    assert not planned(found) & used_names(context, all_roots(context))
    assert lost.file_name in planned(found)
    apply_orphan_removal(seen, found)
    check_live(context)
    assert context.snapshots.ids() == [3]


def test_the_scan_fails_without_a_change_when_snapshots_keep_expiring():
    context, storage, seen = table()
    stray(context)

    def again() -> None:
        append(context)
        expire_all(context)
        newest = context.snapshots.latest()
        assert newest is not None
        storage.before("read", newest.base_manifest_list, again)

    storage.before("read", context.snapshots.read(2).base_manifest_list, again)
    with pytest.raises(PlanOutdated, match="were deleted during each"):
        plan(seen)
    assert quarantines(context) == []


@pytest.mark.parametrize(
    ("verb", "part"), [("list", "/snapshot"), ("list", "/tag"), ("read", "/tag/tag-old"), ("list", "/changelog")]
)
def test_a_tag_that_is_renamed_during_the_scan_protects_its_files(verb, part):
    context, storage, seen = table()
    kept = create_tag(context, "old", context.snapshots.read(1)).snapshot
    expire_all(context)

    def rename() -> None:
        context.tags.create("new", kept)
        context.tags.delete("old")

    after_the_listing(storage, verb, part, rename)
    assert plan(seen).is_empty
    assert [t.name for t in context.tags.list()] == ["new"]


def test_files_of_a_branch_that_is_renamed_during_the_scan_are_not_planned():
    context, storage, seen = table()
    first = context.snapshots.read(1)
    branch = make_branch(context, "old", 1)
    append(branch)
    rollback(context, first)

    def rename() -> None:
        for file in list(context.storage.walk(context.paths.branch_home("old"))):
            context.storage.move(file.path, file.path.replace("branch-old", "branch-new"))
        context.storage.delete_directory(context.paths.branch_home("old"))

    needed = used_names(context, all_roots(context))
    for part in ("branch-old/snapshot", "branch-old/tag", "branch-old/changelog"):
        storage.hooks.clear()
        storage.before("list", part, rename)
        with contextlib.suppress(PlanOutdated, CorruptTable):
            assert not planned(plan(seen)) & needed
        assert context.branches.names() == ["new"]
        for file in list(context.storage.walk(context.paths.branch_home("new"))):
            context.storage.move(file.path, file.path.replace("branch-new", "branch-old"))
        context.storage.delete_directory(context.paths.branch_home("new"))
    check_live(context)


def test_a_snapshot_that_a_delayed_listing_lacks_protects_its_files():
    context, storage, seen = table()
    held = message(context, stray(context))
    late(context, held)
    stale = [e for e in context.storage.list(context.paths.snapshot_directory) if not e.name.endswith("-3")]
    real = storage.list
    storage.list = lambda d: list(stale) if d.endswith("/snapshot") else real(d)  # type: ignore[method-assign]
    assert plan(seen).is_empty


# -- crashes and storage errors during the removal


def test_after_a_crash_at_any_call_of_apply_undo_restores_all_files():
    for after in (False, True):
        number = 0
        while True:
            context, storage, seen = table()
            for _ in range(3):
                stray(context)
            before = everything(context)
            found = plan(seen)
            storage.die_at, storage.die_after = number, after
            try:
                apply_orphan_removal(seen, found)
            except Died:
                number += 1
            else:
                break
            check_live(context)
            for held in quarantines(context):
                undo(context, held.id)
            assert everything(context) == before
            clean(context)
            assert plan(context).is_empty
            check_live(context)
        assert number == 4  # the record and three moves


def test_a_record_that_cannot_be_written_moves_nothing():
    context, storage, seen = table()
    stray(context)
    before = everything(context)
    for outcome, error in ((Outcome.FAIL, StorageError), (Outcome.UNKNOWN, CommitStateUnknown)):
        storage.on("create_exclusive", "/quarantine/", outcome)
        with pytest.raises(error):
            apply_orphan_removal(seen, plan(seen))
        assert everything(context) == before


def test_a_move_that_fails_keeps_the_other_files_and_can_be_undone():
    context, storage, seen = table()
    for _ in range(2):
        stray(context)
    before = everything(context)
    storage.on("move", "", Outcome.OK, Outcome.FAIL)
    with pytest.raises(StorageError):
        apply_orphan_removal(seen, plan(seen))
    (held,) = quarantines(context)
    report = undo(context, held.id)
    assert (len(report.restored), len(report.in_place)) == (1, 1)
    assert everything(context) == before


# -- at random


@dataclass
class Interrupted(FaultyStorage):
    """Runs an action just before each of the calls with these numbers."""

    at: dict[int, Callable[[], Any]] = field(default_factory=dict)
    number: int = -1

    def _call(self, verb: str, path: str, action: Callable[[], Any]) -> Any:
        self.number += 1
        if self.number in self.at:
            self.at.pop(self.number)()
        return super()._call(verb, path, action)


class History:
    """One table, one clean-up of it, and concurrent changes before random calls, all chosen by ``Random(seed)``."""

    def __init__(self, seed: int, template: TableContext) -> None:
        self.random = random.Random(seed)
        self.context = copy_of(template, seed)
        self.held = [message(self.context, stray(self.context)) for _ in range(3)]
        self.done: list[str] = []

    def change(self) -> None:
        name = self.random.choice(
            ["append", "late", "late", "compact", "expire", "tag", "untag", "retag", "rollback", "branch", "clean"]
        )
        try:
            getattr(self, name)()
            self.done.append(name)
        except PaimonError:
            pass

    def append(self) -> None:
        append(self.context)

    def late(self) -> None:
        if self.held:
            late(self.context, self.held.pop())

    def compact(self) -> None:
        latest = self.context.snapshots.latest()
        assert latest is not None
        files = [e.file for e in self.context.manifests.entries_of(latest)]
        merged = fake_file(self.context, level=5, rows=sum(f.row_count for f in files))
        commit([message(self.context, before=tuple(files), after=(merged,))], context=self.context, user="compactor")

    def expire(self) -> None:
        expire_all(self.context, limit=self.random.randint(1, 5))

    def tag(self) -> None:
        create_tag(self.context, f"t{self.random.randrange(3)}", self.snapshot())

    def untag(self) -> None:
        delete_tag(self.context, self.any_tag().name)

    def retag(self) -> None:
        old = self.any_tag()
        self.context.tags.create(f"r{self.random.randrange(9)}", old.snapshot)
        self.context.tags.delete(old.name)

    def rollback(self) -> None:
        rollback(self.context, self.snapshot())

    def branch(self) -> None:
        append(make_branch(self.context, f"b{self.random.randrange(3)}", self.snapshot().id))

    def clean(self) -> None:
        clean(self.context)

    def any_tag(self) -> Tag:
        tags = self.context.tags.list()
        if not tags:
            raise TagNotFound("there is none")
        return self.random.choice(tags)

    def snapshot(self) -> Any:
        return self.context.snapshots.read(self.random.choice(self.context.snapshots.ids()))

    def run(self) -> int:
        """Clean up with up to four concurrent changes; return the number of removed files."""
        calls = sorted(self.random.sample(range(90), self.random.randint(1, 4)))
        storage = Interrupted(self.context.storage, at=dict.fromkeys(calls, self.change))
        removed = 0
        try:
            removed = len(clean(reopened(self.context, storage)).removed)
        except (PlanOutdated, CorruptTable) as error:
            self.done.append(type(error).__name__)
        check_live(self.context)
        return removed

    def close(self) -> None:
        self.context.storage.delete_directory(self.context.paths.root)


def copy_of(template: TableContext, number: int) -> TableContext:
    root = f"/history-{token()}-{number}/db.db/t"
    for path, data in everything(template).items():
        template.storage.write(path.replace(template.paths.root, root), data)
    return TableContext.of("db.t", FsspecStorage("memory"), root, template.schema)


@pytest.fixture(scope="module")
def template() -> TableContext:
    """Two snapshots, a tag of an expired one, and a DELETE."""
    context = fake_table()
    first = fake_file(context)
    append(context, first)
    create_tag(context, "t0", context.snapshots.read(1))
    commit([message(context, fake_file(context), deleted=(first,))], context=context, user="u")
    append(context)
    expire_all(context, retain_min=2)
    return context


def run(template: TableContext, seeds: range) -> tuple[int, list[str]]:
    """Run histories until one fails; the error contains its seed."""
    removed, done = 0, []
    for seed in seeds:
        history = History(seed, template)
        try:
            removed += history.run()
        except Exception as error:
            error.add_note(f"seed {seed}, changes {history.done}")
            raise
        finally:
            history.close()
        done += history.done
    return removed, done


@pytest.mark.parametrize("histories", [50, pytest.param(100, marks=pytest.mark.long)])
def test_random_interleavings_remove_no_live_file(template, histories):
    removed, done = run(template, range(histories))
    assert removed > 0.8 * histories
    for name in ("append", "late", "compact", "expire", "tag", "untag", "retag", "rollback", "branch", "clean"):
        assert done.count(name) >= histories // 50, name
    assert done.count("CorruptTable") < 5


def _references_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the references before the listing, and not a second time."""
    stash: list[Any] = []
    listed = orphans.find_candidates

    def find_candidates(executor, context, places, before):
        used = used_files.references(context, _All())
        stash.append(used)
        return listed(executor, context, places, before)

    monkeypatch.setattr(orphans, "find_candidates", find_candidates)
    monkeypatch.setattr(orphans, "references", lambda *_: stash[-1])


class _All(set):
    def __contains__(self, _: object) -> bool:
        return True

    def __rand__(self, other: Any) -> Any:
        return other


def _no_last_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "_bring_back", lambda context, quarantine, moved, used: list(moved))


@pytest.mark.parametrize("bug", [_references_first, _no_last_check])
def test_the_histories_find_planted_bugs(template, monkeypatch, bug):
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        run(template, range(1000))
