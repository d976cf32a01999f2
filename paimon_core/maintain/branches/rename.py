"""Branch rename: copies the branch to the new name, then deletes the branch with the old name (format 15.2).

The mark of the old branch records the new name before anything is copied, and the old branch stays readable until the
copy is complete. After a crash at least one of the two branches exists, and the same call completes the rename. Stop
the writers of the branch first: commits during the copy are copied as well, but a commit during the deletion of the old
branch is lost, as with the deletion of a table.
"""

from __future__ import annotations

import contextlib

from paimon_core.errors import CommitConflict
from paimon_core.maintain.branches.operations import begin, check_branch_name, delete_branch
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.branch_store import DOING, RENAME

_ROUNDS = 5
_TO = "to"


def rename_branch(context: TableContext, name: str, new_name: str) -> TableContext:
    """Rename a branch and return the context of the new name.

    Raises BranchNotFound; AlreadyExists; InvalidRequest for a name that is not allowed; CommitConflict when a
    concurrent writer keeps committing to the branch, or commits to both names (the old branch then still exists).
    """
    branches = context.branches
    check_branch_name(context, new_name)
    if name not in branches.names():
        raise branches.not_found(name)
    copying = {DOING: RENAME, _TO: new_name}
    deleting = {DOING: "delete", _TO: new_name}
    mark = branches.mark(name)
    copied = mark in (copying, deleting) and new_name in branches.names() and branches.mark(new_name) is None
    if not copied:
        if branches.is_hidden(name):
            raise branches.not_found(name)
        if new_name in branches.names() and branches.mark(new_name) is None:
            begin(context, new_name, {})  # raises AlreadyExists
        branches.put_mark(name, copying)
        begin(context, new_name, {DOING: "copy", "from": name})
        _copy(context, name, new_name)
        branches.remove_mark(new_name)
    branches.put_mark(name, deleting)
    try:
        _carry_over(context, name, new_name)
    except CommitConflict:
        branches.remove_mark(name)
        raise
    delete_branch(context.beside("main") if context.branch == name else context, name)
    return context.on_branch(new_name)


def _copy(context: TableContext, name: str, new_name: str) -> None:
    """Copy the files of the branch in rounds until a round finds no changes.

    Raises CommitConflict when another process completes the rename, or when the branch still changes after the last
    round.
    """
    storage, branches = context.storage, context.branches
    source, target = context.paths.branch_home(name), context.paths.branch_home(new_name)
    seen: dict[str, tuple[int, int]] = {}
    for _ in range(_ROUNDS):
        now = {path: (e.size, e.modified_millis) for path, e in branches.files(name)}
        if now == seen:
            return
        if (branches.mark(name) or {}).get(DOING) != RENAME:
            break
        for path in sorted(p for p, stamp in now.items() if seen.get(p) != stamp):
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile: the next round no longer lists the file
                storage.overwrite(f"{target}/{path}", storage.read(f"{source}/{path}"))
        storage.delete([entry.path for path, entry in branches.files(new_name) if path not in now])
        seen = now
    raise CommitConflict(
        f"branch {name!r} of table {context.name} keeps changing and cannot be renamed: stop its writers, then repeat "
        "the call",
        branch=name,
    )


def _carry_over(context: TableContext, name: str, new_name: str) -> None:
    """Publish on the new branch the commits that the old branch received after it was copied.

    Raises CommitConflict when concurrent writers committed to both names.
    """
    old, new = context.beside(name), context.beside(new_name)
    copied = new.snapshots.ids()
    for snapshot_id in (i for i in old.snapshots.ids() if not copied or i > copied[0]):
        snapshot = old.snapshots.read(snapshot_id)
        carried = snapshot_id not in copied and new.snapshots.publish(snapshot, new.snapshots.latest())
        if not carried and new.snapshots.read(snapshot_id) != snapshot:
            raise CommitConflict(
                f"branches {name!r} and {new_name!r} of table {context.name} were both committed to while one was "
                f"renamed to the other (snapshot {snapshot_id}): both branches are kept",
                branch=name,
            )
