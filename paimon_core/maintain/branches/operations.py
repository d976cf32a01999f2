"""Branches: create and delete branches, which have their own history over the same data files (format 15.2).

Readers and writers see either a complete branch or none: while a branch is being created or deleted, a mark file hides
the branch (``BranchStore``). After a crash, the same call continues. Data files that only a deleted branch used become
orphans.

A branch created from a tag protects the tag's files from the moment when the branch's copy of the tag exists. After
that moment, ``create_branch`` checks that the original tag still exists: otherwise a concurrent deletion may have
removed the files.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import AlreadyExists, InvalidRequest, PlanOutdated, TagNotFound
from paimon_core.maintain.planning.plan import Plan, PlannedFile
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.tags.operations import is_unchanged
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
    """Create a branch and return its context.

    Without ``tag``, the branch has the schemas of the current branch and no rows. With ``tag``, the branch has the rows
    of the tag, whose snapshot may have expired. Raises AlreadyExists; InvalidRequest for a name that is not allowed;
    TagNotFound, for example when the tag is deleted while the branch is created.
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
    if source is not None and not (copied and is_unchanged(context, source)):
        context.branches.remove(name)
        raise TagNotFound(
            f"tag {tag!r} of table {context.name} was deleted or changed while branch {name!r} was created", tag=tag
        )
    context.branches.remove_mark(name)
    return context.on_branch(name)


def plan_branch_deletion(context: TableContext, name: str) -> Plan:
    """Plan the deletion of a branch's metadata files; raises BranchNotFound, InvalidRequest for main.

    A branch that was only partly created or deleted cannot be planned: use ``delete_branch``.
    """
    _check_deletable(context, name)
    context.on_branch(name)
    state = TableState.of(context)
    files = tuple(PlannedFile(entry.path, entry.size) for _, entry in sorted(context.branches.files(name)))
    return Plan(OPERATION, context.name, context.branch, state, (f"branch {name}",), files, arguments={"branch": name})


def apply_branch_deletion(context: TableContext, plan: Plan) -> str:
    """Delete the planned branch and return its name; raises PlanOutdated, for example when the branch has new files."""
    plan.check(context, OPERATION)
    name = plan.argument("branch", str)
    known = {f.path for f in plan.files}
    if new := [path for path, entry in context.branches.files(name) if entry.path not in known]:
        raise PlanOutdated(
            f"branch {name!r} of table {context.name} changed since the plan was created: it has new files "
            f"({', '.join(new[:3])}). The plan was not applied. Create a new plan",
            table=context.name,
            branch=name,
        )
    delete_branch(context, name)
    return name


def delete_branch(context: TableContext, name: str) -> None:
    """Delete a branch; raises BranchNotFound, InvalidRequest for main.

    After an interrupted creation or deletion, deletes the files that are left. If the branch is a symbolic link, only
    the link is deleted.
    """
    _check_deletable(context, name)
    if name in context.branches.links():
        context.storage.delete_directory(context.paths.branch_home(name))
        return
    mark = context.branches.mark(name)
    if mark is None or mark[DOING] != _DELETE:
        context.branches.put_mark(name, {DOING: _DELETE})
    context.branches.remove(name)


def check_branch_name(context: TableContext, name: str) -> None:
    """Raise InvalidRequest for a name that a new branch must not have.

    These names are not allowed: main, digits only (as in Java), names with a dot (ambiguous in
    ``db.table$branch_name``), and names that differ from another branch by case only (the same directory on some file
    systems).
    """
    identifier(name, "branch")
    if name == MAIN or name.isdecimal() or "." in name:
        raise InvalidRequest(f"branch name {name!r} must not be {MAIN!r}, digits only, or contain a dot", branch=name)
    for other in (MAIN, *context.branches.names()):
        if other != name and other.casefold() == name.casefold():
            raise InvalidRequest(f"branch name {name!r} differs from branch {other!r} by case only", branch=name)


def begin(context: TableContext, name: str, mark: Mapping[str, str]) -> None:
    """Create the mark of a new branch, or return when an interrupted call with the same arguments created it.

    Raises AlreadyExists for a branch that exists, and for a branch that a call with other arguments left unfinished.
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
        + ("" if left is None else f", unfinished ({left[DOING]}): delete it, or repeat the call that created it"),
        branch=name,
        table=context.name,
    )


def _mark(context: TableContext, source: Tag | None) -> dict[str, str]:
    origin = {} if source is None else {"tag": source.name, "snapshot": source.snapshot.to_json()}
    return {DOING: _COPY, "from": context.branch, **origin}


def _text(context: TableContext, snapshot: Snapshot) -> bytes:
    """Return the bytes of the snapshot's file, or new JSON of the snapshot when the file no longer contains it."""
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
