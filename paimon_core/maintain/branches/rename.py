"""Rename a branch: copy it, let the copy stand, then delete the first (format 15.2).

The first name says where it is going before anything is copied, and goes on standing until the copy does: a crash
leaves one or both, never none, and the same call finishes. Writers of the branch are to be quiet: what they commit
while the files are copied is carried over, but a commit to a branch that is gone is lost with it, as with a table.
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
    """Give a branch another name; its context.

    Raises BranchNotFound, AlreadyExists, InvalidRequest for a name that cannot be, CommitConflict when somebody keeps
    committing to the branch (both names stand then).
    """
    branches = context.branches
    check_branch_name(context, new_name)
    if name not in branches.names():
        raise branches.not_found(name)
    going = {DOING: RENAME, _TO: new_name}
    gone = {DOING: "delete", _TO: new_name}
    mark = branches.mark(name)
    copied = mark in (going, gone) and new_name in branches.names() and branches.mark(new_name) is None
    if not copied:
        if branches.is_hidden(name):
            raise branches.not_found(name)
        if new_name in branches.names() and branches.mark(new_name) is None:
            begin(context, new_name, {})  # raises
        branches.put_mark(name, going)
        begin(context, new_name, {DOING: "copy", "from": name})
        _copy(context, name, new_name)
        branches.remove_mark(new_name)
    branches.put_mark(name, gone)
    try:
        _carry_over(context, name, new_name)
    except CommitConflict:
        branches.remove_mark(name)
        raise
    delete_branch(context.beside("main") if context.branch == name else context, name)
    return context.on_branch(new_name)


def _copy(context: TableContext, name: str, new_name: str) -> None:
    """Copy until a round finds nothing new, for as long as nobody else finishes the same."""
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
            with contextlib.suppress(FileNotFoundError):  # the next round sees that it is gone
                storage.overwrite(f"{target}/{path}", storage.read(f"{source}/{path}"))
        storage.delete([entry.path for path, entry in branches.files(new_name) if path not in now])
        seen = now
    raise CommitConflict(
        f"branch {name!r} of table {context.name} keeps changing: it cannot be renamed while it is written", branch=name
    )


def _carry_over(context: TableContext, name: str, new_name: str) -> None:
    """Commits that landed while the copy was finished; raises CommitConflict when both names were committed to."""
    old, new = context.beside(name), context.beside(new_name)
    have = new.snapshots.ids()
    for snapshot_id in (i for i in old.snapshots.ids() if not have or i > have[0]):
        snapshot = old.snapshots.read(snapshot_id)
        carried = snapshot_id not in have and new.snapshots.publish(snapshot, new.snapshots.latest())
        if not carried and new.snapshots.read(snapshot_id) != snapshot:
            raise CommitConflict(
                f"branches {name!r} and {new_name!r} of table {context.name} were both committed to while one was "
                f"renamed to the other (snapshot {snapshot_id}): both stand",
                branch=name,
            )
