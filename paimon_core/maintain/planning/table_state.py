"""TableState: what a maintenance plan was made on, so that it is refused once that has changed.

Commits that came since do no harm to a plan: what they build on is live, and a plan removes nothing that is live. What
harms is a reference that appears or goes: a tag, a branch, a consumer, a snapshot that vanished or was made anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paimon_core.errors import PlanOutdated, SnapshotNotFound
from paimon_core.maintain.roots import contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

_Mark = tuple[int, str]
"""A snapshot's id and what tells it from another of the same id."""


@dataclass(frozen=True)
class BranchState:
    """One branch: its first and last snapshot, and by (kind, name, size, time) what else refers to snapshots."""

    earliest: _Mark | None
    latest: _Mark | None
    references: frozenset[tuple[str, str, int, int]]


@dataclass(frozen=True)
class TableState:
    """The state of a table's branches, by name."""

    branches: tuple[tuple[str, BranchState], ...]

    @staticmethod
    def of(context: TableContext) -> TableState:
        """Look at the table now; costs a few listings a branch and two snapshot files."""
        return TableState(tuple((branch.branch, _state(branch)) for branch in contexts_of_branches(context)))

    def to_plain(self) -> list[Any]:
        """As plain JSON values."""
        return [[name, s.earliest, s.latest, sorted(s.references)] for name, s in self.branches]

    @staticmethod
    def from_plain(value: list[Any]) -> TableState:
        """The inverse of ``to_plain``; raises TypeError or ValueError for what is none."""
        return TableState(
            tuple(
                (_text(name), BranchState(_pair(earliest), _pair(latest), frozenset(map(_reference, references))))
                for name, earliest, latest, references in value
            )
        )

    def check(self, context: TableContext, *, expiry_harms: bool = True) -> None:
        """Raises PlanOutdated naming what changed, when it is more than commits on top.

        ``expiry_harms`` False: neither do snapshots and changelogs that expired, nor consumers that went on.
        """
        now, then = dict(TableState.of(context).branches), dict(self.branches)
        if now.keys() != then.keys():
            _moved(context, f"branches {sorted(now.keys() ^ then.keys())} came or went")
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
        raise TypeError(f"{value!r:.60} is no text")
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
        _moved(context, f"snapshot {before.earliest[0]} of branch {branch} is not its first any more")
    if before.latest is not None and _mark(context, before.latest[0]) != before.latest:
        expired = now.earliest is not None and before.latest[0] < now.earliest[0]
        if expiry_harms or not expired:
            _moved(context, f"snapshot {before.latest[0]} of branch {branch} was taken back")
    changed = sorted({(kind, name) for kind, name, *_ in now.references ^ before.references})
    if harmful := [f"{kind} {name}" for kind, name in changed if expiry_harms or kind == "tag"]:
        _moved(context, f"{', '.join(harmful)} of branch {branch} changed")


def _moved(context: TableContext, what: str) -> None:
    raise PlanOutdated(
        f"table {context.name} moved since the plan was made: {what}. Nothing was done; plan again", table=context.name
    )
