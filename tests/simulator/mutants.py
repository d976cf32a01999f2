"""Mutants: planted bugs that each remove one safety measure of the product; the histories must find them.

They prove that the suite can find bugs. While a history runs, a mutant replaces functions of the product.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paimon_core.catalog import filesystem
from paimon_core.commit import assembly, base, committer, indexes, numbering, read_set
from paimon_core.commit.publishing import publish
from paimon_core.compact import compactor
from paimon_core.errors import CommitStateUnknown
from paimon_core.fsck import check
from paimon_core.maintain import roots
from paimon_core.maintain.expiry import snapshots as expire
from paimon_core.maintain.orphans import removal as orphans
from paimon_core.maintain.references import used_files
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores import schema_store, snapshot_store, tag_store
from paimon_core.table.commit_request import CommitRequest
from paimon_core.write.sequence_numbers import SequenceNumbers
from tests.simulator import dropping, exhaustive, indexed, metadata, real
from tests.simulator.history import CHECKED, EXPIRING
from tests.simulator.store import SimStorage

Patch = tuple[Any, str, Any]


@dataclass(frozen=True)
class Mutant:
    """One planted bug: its name, the replaced functions, and the kind of history that finds it."""

    name: str
    patches: Callable[[], list[Patch]]
    play: Callable[[int], Any] = metadata.play
    shows: str = ""
    """A part of the expected violation, if other violations could occur in such a history."""

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        """Replace the functions of the product."""
        patches = self.patches()
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
        for owner, name, value in patches:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for owner, name, value in before:
                setattr(owner, name, value)

    def noticed(self, most: int, first: int = 0) -> tuple[int, str] | None:
        """Return the seed from ``first`` that finds the bug, and the violation; None when ``most`` do not find it."""
        with self.planted():
            for seed in range(first, first + most):
                violation = self.play(seed).world.violation
                if violation is not None and self.shows in str(violation):
                    return seed, str(violation)
        return None


def _no_exclusive_creation() -> list[Patch]:
    create = SimStorage.create_exclusive

    def overwriting(self: SimStorage, path: str, data: bytes) -> bool:
        if "/snapshot-" not in path:
            return create(self, path, data)
        self.overwrite(path, data)
        return True

    return [(SimStorage, "create_exclusive", overwriting)]


def _no_filter_on_retry() -> list[Patch]:
    return [
        (committer._Commit, "find_own_snapshots", lambda self, base: None),
        (CommitRequest, "committed_snapshot", lambda self: None),
    ]


def _clean_up_when_unknown() -> list[Patch]:
    published = committer.publish_draft

    def cleaning(base: Any, snapshot: Snapshot, made: Any) -> bool:
        try:
            return published(base, snapshot, made)
        except CommitStateUnknown:
            made.discard()
            raise

    return [(committer, "publish_draft", cleaning)]


def _files_before_snapshots() -> list[Patch]:
    """Delete the snapshots after their files, as Java Paimon does."""
    carry_out, delete_below = expire._carry_out, expire.delete_below

    def files_first(context: Any, run: Any, seen: Any, **given: Any) -> Any:
        waiting: list[Any] = []
        expire.delete_below = lambda *args: bool(waiting.append(args)) or True  # type: ignore[assignment]
        try:
            report = carry_out(context, run, seen, **given)
        finally:
            expire.delete_below = delete_below
        for args in waiting:
            delete_below(*args)
        return report

    return [(expire, "_carry_out", files_first)]


def _no_read_back() -> list[Patch]:
    def believing(base: Any, snapshot: Snapshot) -> bool:
        return bool(base.context.snapshots.create(snapshot, base.snapshot))

    return [(publish, "_create", believing)]


def _hint_trusted() -> list[Patch]:
    def trusting(self: Any) -> int | None:
        hint = self._hint(snapshot_store.LATEST)
        return hint if hint is not None and self._exists(hint) else max(self.ids(), default=None)

    return [(snapshot_store.SnapshotStore, "latest_id", trusting)]


def _changelog_dropped_on_retry() -> list[Patch]:
    commit_change = committer._Commit.commit_change
    assemble = assembly.Assembly.assemble

    def forgetful(self: Any, change: Any, base: Any, made: Any) -> Any:
        if id(change) in tried:
            change = replace(change, changelog=())
        tried.add(id(change))
        return assemble(self, change, base, made)

    tried: set[int] = set()

    def landing(self: Any, change: Any) -> None:
        tried.clear()
        commit_change(self, change)

    return [(assembly.Assembly, "assemble", forgetful), (committer._Commit, "commit_change", landing)]


def _sequences_from_zero() -> list[Patch]:
    return [(SequenceNumbers, "first", lambda self, partition, bucket: 0)]


def _expirer_ignores_tags() -> list[Patch]:
    return [(tag_store.TagStore, "list", lambda self: [])]


def _stale_base_on_retry() -> list[Patch]:
    seen: dict[int, Any] = {}
    assemble = assembly.Assembly.assemble

    def stale(self: Any, change: Any, current: Any, made: Any) -> Any:
        first = seen.setdefault(id(change), current)
        snapshot = assemble(self, change, first, made)
        return snapshot and replace(snapshot, id=current.id + 1)

    commit_change = committer._Commit.commit_change

    def landing(self: Any, change: Any) -> None:
        seen.clear()
        commit_change(self, change)

    return [
        (assembly.Assembly, "assemble", stale),
        (committer._Commit, "commit_change", landing),
        (base.Base, "is_current", lambda self: True),
    ]


def _orphans_without_age() -> list[Patch]:
    find_candidates = orphans.find_candidates

    def ageless(executor: Any, context: Any, places: Any, before_millis: int) -> Any:
        return find_candidates(executor, context, places, 2**62)

    return [(orphans, "find_candidates", ageless)]


def _orphans_ignore_branches() -> list[Patch]:
    return [(used_files, "all_roots", roots.roots_of)]


def _keep_orphaned_snapshots() -> list[Patch]:
    return [(publish, "follows", lambda base, snapshot: True)]


def _delete_without_read_check() -> list[Patch]:
    return [(read_set.Reads, "check", lambda self, base: None)]


def _numbers_of_the_writer() -> list[Patch]:
    return [(numbering.Numbering, "number", lambda self, entries, flushes, base, *, replaces: list(entries))]


def _any_table_of_that_name() -> list[Patch]:
    return [(schema_store.SchemaStore, "holds", lambda self, schema: True)]


def _no_second_read_of_the_latest() -> list[Patch]:
    def once(snapshots: Any, read: Callable[[Any], Any]) -> Any:
        return read(snapshots.latest())

    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("paimon_core.")]
    return [(module, "read_latest", once) for module in modules if hasattr(module, "read_latest")]


def _single_run_of_fsck() -> list[Patch]:
    return [(check, "TRIES", 1)]


def _ignore_incomplete_drops() -> list[Patch]:
    return [(filesystem, "is_interrupted_drop", lambda storage, root: False)]


def _keys_of_other_indexes() -> list[Patch]:
    return [(indexes._Assignments, "check", lambda self, keys: None)]


def _marks_replace_older_ones() -> list[Patch]:
    return [(compactor, "with_positions", lambda first, second: second)]


def _drop(seed: int) -> Any:
    """Run a drop with one fault, which depends on the seed."""
    operation = next(op for op in exhaustive.OPERATIONS if op.name == "drop table")
    faults = list(exhaustive.faults_of(exhaustive.play(operation, seed % 2, None)[1]))
    return exhaustive.play(operation, seed % 2, faults[seed % len(faults)])[0]


_own_keys = partial(real.play, flavour=real.OWN_KEYS)
_upserts = partial(real.play, flavour=real.UPSERTS)
_deletes = partial(real.play, flavour=real.DELETES)
_keyed_vectors = partial(indexed.play, layout=indexed.VECTORS)
_dynamic = partial(indexed.play, layout=indexed.DYNAMIC, flavour=real.Flavour(deletes=0.0, keys=12), calm=CHECKED)
_calm = partial(metadata.play, calm=CHECKED)
_calm_files = partial(real.play, flavour=real.OWN_KEYS, calm=EXPIRING)

MUTANTS = (
    Mutant("the store overwrites a snapshot", _no_exclusive_creation),
    Mutant("an earlier commit of the identifier is not searched", _no_filter_on_retry),
    Mutant("manifests are cleaned up though the outcome is unknown", _clean_up_when_unknown),
    Mutant("expiry deletes files before snapshots", _files_before_snapshots),
    Mutant("a refused publish is not read back", _no_read_back),
    Mutant("the hint LATEST is trusted", _hint_trusted),
    Mutant("a retry forgets the changelog", _changelog_dropped_on_retry),
    Mutant("sequence numbers start at zero", _sequences_from_zero, _own_keys),
    Mutant("tags are not seen", _expirer_ignores_tags),
    Mutant("a retry keeps its stale base", _stale_base_on_retry),
    Mutant("orphans of any age are removed", _orphans_without_age),
    Mutant("orphans: branches are not read", _orphans_ignore_branches),
    Mutant("an orphaned snapshot is kept", _keep_orphaned_snapshots),
    Mutant("a delete does not see what was committed since it read", _delete_without_read_check, _deletes, "I10"),
    Mutant("a commit keeps the numbers that its writer gave", _numbers_of_the_writer, _upserts, "I10"),
    Mutant("a handle accepts any table of its name", _any_table_of_that_name, dropping.play, "table gives"),
    Mutant("a snapshot that expires during a read is an error", _no_second_read_of_the_latest, _calm_files, "I33"),
    Mutant("fsck runs only once", _single_run_of_fsck, _calm, "I35"),
    Mutant("keys are assigned from old hash indexes", _keys_of_other_indexes, _dynamic, "I1"),
    # Not here: a compaction that does not see what was deleted since it read. Fewer than one of 1,000 histories notice
    # it; tests/unit/commit/test_indexes.py does.
    Mutant(
        "rows that a compaction marks are not added to older marks", _marks_replace_older_ones, _keyed_vectors, "I1"
    ),
    Mutant("an incompletely dropped table does not exist", _ignore_incomplete_drops, _drop, "I37"),
)
