"""TableState: the state of a table when a maintenance plan was created; after a relevant change the plan is refused.

New commits do not make a plan invalid: they only use live files, and a plan never removes a live file. A plan becomes
invalid when a branch is created or deleted, when a tag, a consumer or the first lasting changelog is created, changed
or deleted, and when the first or the latest snapshot has expired, was rolled back or was re-created.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paimon_core.errors import PlanOutdated, SnapshotNotFound
from paimon_core.maintain.roots import contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

_Mark = tuple[int, str]
"""A snapshot's id and an identity that distinguishes it from another snapshot with the same id."""


@dataclass(frozen=True)
class BranchState:
    """The state of one branch: its first and last snapshot, its tags and consumers, and its first lasting changelog.

    ``references``: each tag, each consumer and the changelog, as (kind, name, size in bytes, modification time in epoch
    milliseconds).
    """

    earliest: _Mark | None
    latest: _Mark | None
    references: frozenset[tuple[str, str, int, int]]


@dataclass(frozen=True)
class TableState:
    """The states of a table's branches, with their names."""

    branches: tuple[tuple[str, BranchState], ...]

    @staticmethod
    def of(context: TableContext) -> TableState:
        """Return the current state; needs a few listings and reads two snapshot files per branch."""
        return TableState(tuple((branch.branch, _state(branch)) for branch in contexts_of_branches(context)))

    def to_plain(self) -> list[Any]:
        """Return the state as plain JSON values."""
        return [[name, s.earliest, s.latest, sorted(s.references)] for name, s in self.branches]

    @staticmethod
    def from_plain(value: list[Any]) -> TableState:
        """Return the state that ``to_plain`` encoded; raises TypeError or ValueError for other values."""
        return TableState(
            tuple(
                (_text(name), BranchState(_pair(earliest), _pair(latest), frozenset(map(_reference, references))))
                for name, earliest, latest, references in value
            )
        )

    def check(self, context: TableContext, *, expiry_harms: bool = True) -> None:
        """Raise PlanOutdated, which names the change, when the state has changed other than by new commits.

        With ``expiry_harms`` False, expired snapshots, expired changelogs and changed consumers are accepted as well.
        """
        now, then = dict(TableState.of(context).branches), dict(self.branches)
        if now.keys() != then.keys():
            _refuse(context, f"branches {sorted(now.keys() ^ then.keys())} were created or deleted")
        for name, before in then.items():
            _check(context.beside(name), name, before, now[name], expiry_harms)


def _pair(value: list[Any] | None) -> _Mark | None:
    if value is None:
        return None
    snapshot_id, identity = value
    return int(snapshot_id), _text(identity)


def _reference(value: list[Any]) -> tuple[str, str, int, int]:
    kind, name, size, modified = value
    return _text(kind), _text(name), int(size), int(modified)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a string")
    return value


def _state(context: TableContext) -> BranchState:
    ids = context.snapshots.ids()
    marks = [_mark(context, i) for i in (ids[:1] + ids[-1:])]
    paths = context.paths
    listed = (("tag", paths.tag_directory), ("consumer", paths.consumer_directory))
    references = [
        (kind, entry.name, entry.size, entry.modified_millis)
        for kind, directory in listed
        for entry in context.storage.list(directory)
        if entry.name.startswith(f"{kind}-")
    ]
    references += [("changelog", str(i), 0, 0) for i in context.changelogs.ids()[:1]]
    return BranchState(marks[0] if marks else None, marks[-1] if marks else None, frozenset(references))


def _mark(context: TableContext, snapshot_id: int) -> _Mark | None:
    try:
        return snapshot_id, _identity(context.snapshots.read(snapshot_id))
    except SnapshotNotFound:
        return None


def _identity(snapshot: Snapshot) -> str:
    return snapshot.uuid or f"{snapshot.commit_user} {snapshot.delta_manifest_list}"


def _check(context: TableContext, branch: str, before: BranchState, now: BranchState, expiry_harms: bool) -> None:
    if expiry_harms and now.earliest != before.earliest and before.earliest is not None:
        _refuse(context, f"snapshot {before.earliest[0]} is no longer the first of branch {branch}")
    if before.latest is not None and _mark(context, before.latest[0]) != before.latest:
        expired = now.earliest is not None and before.latest[0] < now.earliest[0]
        if expiry_harms or not expired:
            _refuse(context, f"snapshot {before.latest[0]} of branch {branch} was rolled back or has expired")
    changed = sorted({(kind, name) for kind, name, *_ in now.references ^ before.references})
    if harmful := [f"{kind} {name}" for kind, name in changed if expiry_harms or kind == "tag"]:
        _refuse(context, f"{', '.join(harmful)} of branch {branch} changed")


def _refuse(context: TableContext, what: str) -> None:
    raise PlanOutdated(
        f"table {context.name} changed since the plan was created: {what}. The plan was not applied. Create a new plan",
        table=context.name,
    )
