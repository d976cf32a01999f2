"""Fast-forward: copies the newer history of another branch, the source, to the current branch (format 15.2).

Java deletes the snapshots of main from the source's first snapshot on and then copies the source. This implementation
never loses commits: the latest snapshot of the current branch must be part of the source's history, so nothing has to
be deleted. The fast-forward adds the missing schemas, then the missing snapshots in order (each by exclusive creation
of its file, as a commit does), then the missing tags.

- The current branch is complete at every moment; readers may see the intermediate snapshots of the source.
- When a concurrent commit to the current branch takes the snapshot id of a snapshot to add, the fast-forward raises
  CommitConflict and the remaining snapshots are not added.
- A snapshot is added only if the latest snapshot is the snapshot on which it was built. This condition is checked
  before and after the file of the snapshot is created, as in a commit. When a concurrent rollback or expiry has deleted
  that base snapshot, the added snapshot is withdrawn and CommitConflict is raised: otherwise the added snapshot would
  hide newer commits, or restore commits that were rolled back.
- After an interrupted run, the next run continues: it recognises the files that were added before.

The source branch is not changed and can be used for another fast-forward later.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.commit.base import Base
from paimon_core.commit.publishing.publish import publish
from paimon_core.errors import AlreadyExists, CommitConflict, InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.schema import TableSchema


@dataclass(frozen=True)
class FastForward:
    """The schemas, snapshots and tags that the current branch lacks, in the order in which they are added."""

    target: Snapshot | None
    """The latest snapshot of the current branch, after which ``snapshots`` are added; None if it has no snapshot."""
    schemas: tuple[TableSchema, ...]
    snapshots: tuple[Snapshot, ...]
    tags: tuple[Tag, ...]


def fast_forward(context: TableContext, name: str) -> Snapshot:
    """Copy the newer schemas, snapshots and tags of branch ``name`` and return the latest snapshot afterwards.

    Raises BranchNotFound; InvalidRequest when the branch has no snapshots or is the current branch; CommitConflict,
    which names what would be lost, when the current branch has changed since the branch was created, or changes during
    the call. Raises CommitStateUnknown when it is not known whether a snapshot was added: then the call must be
    repeated.
    """
    context.snapshots.refuse_if_catalog_owns_history(f"take over branch {name!r}")
    branch = _source_branch(context, name)
    latest = branch.snapshots.latest()
    if latest is None:
        raise InvalidRequest(f"branch {name!r} of table {context.name} has no snapshot to fast-forward to", branch=name)
    missing = _missing_on_target(context, branch)
    for schema in missing.schemas:
        if not context.schemas.publish(schema) and context.schemas.read(schema.id) != schema:
            raise _diverged(context, branch, f"schema {schema.id} was created by a concurrent writer")
    below = missing.target
    for snapshot in missing.snapshots:
        _add_snapshot(context, branch, snapshot, below)
        below = snapshot
    for tag in missing.tags:
        try:
            context.tags.add(tag)
        except AlreadyExists:
            if context.tags.read(tag.name).snapshot != tag.snapshot:
                raise
    return missing.snapshots[-1] if missing.snapshots else latest


def _add_snapshot(context: TableContext, branch: TableContext, snapshot: Snapshot, below: Snapshot | None) -> None:
    """Publish a snapshot of the source on ``below``; raises CommitConflict when ``below`` no longer exists unchanged.

    The snapshot may exist already: an interrupted or a concurrent fast-forward has added it.
    """
    base = Base(context, below)
    try:
        added = publish(base, snapshot) if base.is_current() else None
    except CommitConflict as error:  # publish has withdrawn the snapshot
        raise _base_is_gone(context, branch, below) from error
    if added is None:
        raise _base_is_gone(context, branch, below)
    if not added:
        raise _diverged(context, branch, f"snapshot {snapshot.id} was committed by a concurrent writer")


def _source_branch(context: TableContext, name: str) -> TableContext:
    if name == context.branch:
        raise InvalidRequest(f"branch {name!r} of table {context.name} cannot be fast-forwarded to itself", branch=name)
    return context.on_branch(name)


def _missing_on_target(context: TableContext, branch: TableContext) -> FastForward:
    """Return the latest snapshot of the current branch, and the schemas, snapshots and tags that only ``branch`` has.

    Raises CommitConflict when the branches have diverged, so that a fast-forward would lose commits, schemas or tags of
    the current branch, and when snapshots of ``branch`` that expired would leave a gap.
    """
    last = context.snapshots.latest()
    ids = branch.snapshots.ids()
    if last is not None:
        _check_in_history(context, branch, last, ids)
    after = 0 if last is None else last.id
    new_ids = [i for i in ids if i > after]
    if new_ids and new_ids[0] != after + 1 and last is not None:
        raise _diverged(
            context,
            branch,
            f"snapshots {after + 1} to {new_ids[0] - 1} of the branch have expired, which would leave a gap",
        )
    tags = []
    existing = {t.name: t for t in context.tags.list()}
    for tag in branch.tags.list():
        if tag.name not in existing:
            tags.append(tag)
        elif existing[tag.name].snapshot != tag.snapshot:
            raise _diverged(
                context, branch, f"tag {tag.name!r} names another snapshot on branch {context.branch!r}: rename one"
            )
    snapshots = tuple(branch.snapshots.read(i) for i in new_ids)
    return FastForward(last, _new_schemas(context, branch), snapshots, tuple(tags))


def _check_in_history(context: TableContext, branch: TableContext, last: Snapshot, ids: list[int]) -> None:
    """Raise CommitConflict unless ``last``, the latest snapshot of the target, is in the source's history.

    If ``last`` is not in that history, a fast-forward would lose commits of the target.
    """
    if last.id in ids and branch.snapshots.is_live(last):
        return
    if any(t.snapshot == last for t in branch.tags.list()):
        return
    lost = [i for i in context.snapshots.ids() if not ids or i >= ids[0]]
    own = [f"{i} of user {s.commit_user}" for i in lost if not branch.snapshots.is_live(s := context.snapshots.read(i))]
    if own:
        named = f"{', '.join(own[:3])}{' and more' if own[3:] else ''}"
        raise _diverged(context, branch, f"snapshots that the branch does not have would be lost: {named}")
    raise _diverged(
        context,
        branch,
        f"snapshot {last.id} has expired on the branch, whose first is {ids[0] if ids else 'none'}, and it cannot be "
        "determined whether the branch contains its commits",
    )


def _new_schemas(context: TableContext, branch: TableContext) -> tuple[TableSchema, ...]:
    target_ids, source_ids = context.schemas.ids(), branch.schemas.ids()
    if not source_ids:
        raise context.branches.not_found(branch.branch)
    first = source_ids[0]
    for schema_id in target_ids:
        if schema_id >= first and (
            schema_id not in source_ids or context.schemas.read(schema_id) != branch.schemas.read(schema_id)
        ):
            raise _diverged(
                context,
                branch,
                f"schema {schema_id} was created on branch {context.branch!r} and is missing on the branch to copy",
            )
    return tuple(branch.schemas.read(i) for i in source_ids if i not in target_ids)


def _base_is_gone(context: TableContext, branch: TableContext, below: Snapshot | None) -> CommitConflict:
    what = "it got its first snapshot" if below is None else f"snapshot {below.id} has expired or was rolled back"
    return _diverged(context, branch, f"{what} during the fast-forward")


def _diverged(context: TableContext, branch: TableContext, what: str) -> CommitConflict:
    return CommitConflict(
        f"table {context.name} cannot be fast-forwarded to branch {branch.branch!r}, because it changed since the "
        f"branch was created: {what}. Nothing was deleted, and branch {branch.branch!r} is unchanged",
        table=context.name,
        branch=branch.branch,
    )
