"""Branches: histories of their own over the same data files: make, rename, delete (format 15.2).

A branch is whole or it is not there: what is being made or deleted carries a mark until it is done (``BranchStore``).
After a crash the same call goes on where the other stopped. Data files that only a deleted branch used become orphans.

A branch made from a tag holds the tag's files from the moment that its own copy of the tag stands; its maker then looks
whether the first tag is still there, as the maker of a tag does.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import AlreadyExists, InvalidRequest, PlanOutdated, TagNotFound
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.tags.operations import stands
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.branch_store import DOING
from paimon_core.metadata.stores.snapshot_store import parse_snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.storage.paths import MAIN, identifier

OPERATION = "delete-branch"
_COPY = "create"
_DELETE = "delete"


def create_branch(context: TableContext, name: str, tag: str | None = None) -> TableContext:
    """Make a branch with the schemas of this one and no rows, or with the rows of a tag; its context.

    The tag's snapshot may have expired. Raises AlreadyExists, InvalidRequest for a name that cannot be, TagNotFound.
    """
    check_branch_name(context, name)
    source = None if tag is None else context.tags.read(tag)
    begin(context, name, _mark(context, source))
    paths, storage, schemas = context.beside(name).paths, context.storage, context.schemas.ids()
    copied = True
    if source is not None:
        schemas = [i for i in schemas if i <= source.snapshot.schema_id]
        try:
            storage.overwrite(paths.tag(source.name), storage.read(context.paths.tag(source.name)))
        except FileNotFoundError:
            copied = False
        storage.overwrite(paths.snapshot(source.snapshot.id), _text(context, source.snapshot))
    for schema_id in schemas:
        storage.overwrite(paths.schema(schema_id), storage.read(context.paths.schema(schema_id)))
    if source is not None and not (copied and stands(context, source)):
        context.branches.remove(name)
        raise TagNotFound(f"tag {tag!r} of table {context.name} went away while branch {name!r} was made", tag=tag)
    context.branches.remove_mark(name)
    return context.on_branch(name)


def plan_branch_deletion(context: TableContext, name: str) -> Plan:
    """What deleting a branch takes with it: its metadata files; raises BranchNotFound, InvalidRequest for main.

    One that is half made or half deleted has no plan: ``delete_branch`` ends it.
    """
    _check_deletable(context, name)
    context.on_branch(name)
    state = TableState.of(context)
    files = tuple(PlannedFile(entry.path, entry.size) for _, entry in sorted(context.branches.files(name)))
    return Plan(OPERATION, context.name, context.branch, state, (f"branch {name}",), files, arguments={"branch": name})


def apply_branch_deletion(context: TableContext, plan: Plan) -> str:
    """Delete the planned branch; its name. Raises PlanOutdated also when it was committed to since."""
    plan.check(context, OPERATION)
    name = plan.argument("branch", str)
    known = {f.path for f in plan.files}
    if new := [path for path, entry in context.branches.files(name) if entry.path not in known]:
        raise PlanOutdated(
            f"branch {name!r} of table {context.name} moved since the plan was made: {', '.join(new[:3])} came. "
            "Nothing was done; plan again",
            table=context.name,
            branch=name,
        )
    delete_branch(context, name)
    return name


def delete_branch(context: TableContext, name: str) -> None:
    """Delete a branch, or what is left of one, or a link; raises BranchNotFound, InvalidRequest for main."""
    _check_deletable(context, name)
    if name in context.branches.links():
        context.storage.delete_directory(context.paths.branch_home(name))
        return
    mark = context.branches.mark(name)
    if mark is None or mark[DOING] != _DELETE:
        context.branches.put_mark(name, {DOING: _DELETE})
    context.branches.remove(name)


def check_branch_name(context: TableContext, name: str) -> None:
    """Raises InvalidRequest for a name that no new branch may have: main, digits, with a dot, another's in other case.

    A dot would hide in ``db.table$branch_name``; two names that differ by case are one directory on some disks.
    """
    identifier(name, "branch")
    if name == MAIN or name.isdecimal() or "." in name:
        raise InvalidRequest(f"branch name {name!r} must not be {MAIN!r}, digits only, or hold a dot", branch=name)
    for other in (MAIN, *context.branches.names()):
        if other != name and other.casefold() == name.casefold():
            raise InvalidRequest(f"branch name {name!r} differs from branch {other!r} by case only", branch=name)


def begin(context: TableContext, name: str, mark: Mapping[str, str]) -> None:
    """Mark a new branch, or find it marked by a call like this one that was cut short.

    Raises AlreadyExists for a branch that stands, and for what another call has left.
    """
    branches = context.branches
    fresh = branches.add_mark(name, mark)
    if fresh and not any(branches.files(name)):
        return
    if fresh:
        branches.remove_mark(name)
    elif branches.mark(name) == mark:
        return
    left = branches.mark(name)
    raise AlreadyExists(
        f"branch {name!r} of table {context.name} exists"
        + ("" if left is None else f", unfinished ({left[DOING]}): delete it, or repeat the call that made it"),
        branch=name,
        table=context.name,
    )


def _mark(context: TableContext, source: Tag | None) -> dict[str, str]:
    of_tag = {} if source is None else {"tag": source.name, "snapshot": source.snapshot.to_json()}
    return {DOING: _COPY, "from": context.branch, **of_tag}


def _text(context: TableContext, snapshot: Snapshot) -> bytes:
    """The bytes of the snapshot's file, or of one like it when it has expired."""
    try:
        text = context.storage.read(context.paths.snapshot(snapshot.id))
        if parse_snapshot(text, context.paths.snapshot(snapshot.id)) == snapshot:
            return text
    except FileNotFoundError:
        pass
    return snapshot.to_json().encode()


def _check_deletable(context: TableContext, name: str) -> None:
    if name in (MAIN, context.branch):
        raise InvalidRequest(f"branch {name!r} of table {context.name} cannot be deleted from itself", branch=name)
    if name not in context.branches.names():
        raise context.branches.not_found(name)
