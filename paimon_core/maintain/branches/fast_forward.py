"""Fast-forward: the branch that we are on takes over the history of another (format 15.2).

Java deletes what main has from the branch's first snapshot on and then copies the branch. We only do what loses
nothing: our last snapshot must be one of the branch's own history, and then nothing has to be deleted. What is missing
is added: schemas, then snapshots in their order, each by the exclusive creation of its file as a commit is, then tags.

- at every moment our branch is whole, at a snapshot that the other had; readers may see those between go by;
- a commit that lands here meanwhile wins or loses the race for its id; when it wins, the rest stays where it was;
- a run that was cut short is finished by the next, which finds what it added as its own.

The branch stands afterwards and may be forwarded again.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.errors import AlreadyExists, CommitConflict, InvalidRequest
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.schema import TableSchema


@dataclass(frozen=True)
class FastForward:
    """What a branch has that we lack, in the order in which it is added."""

    schemas: tuple[TableSchema, ...]
    snapshots: tuple[Snapshot, ...]
    tags: tuple[Tag, ...]


def fast_forward(context: TableContext, name: str) -> Snapshot:
    """Take over the snapshots, schemas and tags of branch ``name``; the latest snapshot then.

    Raises BranchNotFound, InvalidRequest for a branch without snapshots and for ourselves, CommitConflict naming what
    would be lost when we have moved since the branch was made.
    """
    context.snapshots.check_own_history(f"take over branch {name!r}")
    branch = _other(context, name)
    latest = branch.snapshots.latest()
    if latest is None:
        raise InvalidRequest(f"branch {name!r} of table {context.name} has no snapshot to go forward to", branch=name)
    news = _news(context, branch)
    for schema in news.schemas:
        if not context.schemas.publish(schema) and context.schemas.read(schema.id) != schema:
            raise _moved(context, branch, f"schema {schema.id} was made here meanwhile")
    for snapshot in news.snapshots:
        if not context.snapshots.publish(snapshot) and not context.snapshots.is_live(snapshot):
            raise _moved(context, branch, f"snapshot {snapshot.id} was committed here meanwhile")
    for tag in news.tags:
        try:
            context.tags.add(tag)
        except AlreadyExists:
            if context.tags.read(tag.name).snapshot != tag.snapshot:
                raise
    return news.snapshots[-1] if news.snapshots else latest


def _other(context: TableContext, name: str) -> TableContext:
    if name == context.branch:
        raise InvalidRequest(f"branch {name!r} of table {context.name} cannot go forward to itself", branch=name)
    return context.on_branch(name)


def _news(context: TableContext, branch: TableContext) -> FastForward:
    """What is to be added; raises CommitConflict when that would not be all."""
    last = context.snapshots.latest()
    ids = branch.snapshots.ids()
    if last is not None:
        _check_in_history(context, branch, last, ids)
    after = 0 if last is None else last.id
    new_ids = [i for i in ids if i > after]
    if new_ids and new_ids[0] != after + 1 and last is not None:
        raise _moved(
            context,
            branch,
            f"snapshots {after + 1} to {new_ids[0] - 1} of the branch have expired, which would be a gap",
        )
    tags = []
    ours = {t.name: t for t in context.tags.list()}
    for tag in branch.tags.list():
        if tag.name not in ours:
            tags.append(tag)
        elif ours[tag.name].snapshot != tag.snapshot:
            raise _moved(context, branch, f"tag {tag.name!r} names another snapshot here: rename one of them")
    snapshots = tuple(branch.snapshots.read(i) for i in new_ids)
    return FastForward(_new_schemas(context, branch), snapshots, tuple(tags))


def _check_in_history(context: TableContext, branch: TableContext, last: Snapshot, ids: list[int]) -> None:
    """Our last snapshot is one that the branch has or had, or else the commits up to it would be lost."""
    if last.id in ids and branch.snapshots.is_live(last):
        return
    if any(t.snapshot == last for t in branch.tags.list()):
        return
    lost = [i for i in context.snapshots.ids() if not ids or i >= ids[0]]
    own = [f"{i} of user {s.commit_user}" for i in lost if not branch.snapshots.is_live(s := context.snapshots.read(i))]
    if own:
        named = f"{', '.join(own[:3])}{' and more' if own[3:] else ''}"
        raise _moved(context, branch, f"snapshots that the branch does not have would be lost: {named}")
    raise _moved(
        context,
        branch,
        f"snapshot {last.id} has expired on the branch, whose first is {ids[0] if ids else 'none'}, and it cannot be "
        "told whether the branch has its commits",
    )


def _new_schemas(context: TableContext, branch: TableContext) -> tuple[TableSchema, ...]:
    ours, theirs = context.schemas.ids(), branch.schemas.ids()
    first = theirs[0]
    for schema_id in ours:
        if schema_id >= first and (
            schema_id not in theirs or context.schemas.read(schema_id) != branch.schemas.read(schema_id)
        ):
            raise _moved(context, branch, f"schema {schema_id} was made here, which the branch does not have")
    return tuple(branch.schemas.read(i) for i in theirs if i not in ours)


def _moved(context: TableContext, branch: TableContext, what: str) -> CommitConflict:
    return CommitConflict(
        f"table {context.name} cannot go forward to branch {branch.branch!r}, for it moved since the branch was made: "
        f"{what}. Nothing is lost: the branch stands as it is",
        table=context.name,
        branch=branch.branch,
    )
