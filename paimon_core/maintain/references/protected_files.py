"""Protected files: keeps files of expired snapshots that tags, other branches or changelogs reference (format 16.1).

References are read twice: when the removable files are computed, and again after the snapshot files were deleted, to
find tags and branches that were created in between (``used_since``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from paimon_core.maintain.planning.plan import PlannedFile, Protected
from paimon_core.maintain.references.removable_files import RemovableFiles
from paimon_core.maintain.references.used_files import used_names
from paimon_core.maintain.roots import Holder, Root, contexts_of_branches, roots_of
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.read_again import read_again


@dataclass(frozen=True)
class Seen:
    """The branches (by name) and tags (by branch, name and snapshot) that existed at one moment."""

    branches: frozenset[str]
    tags: frozenset[tuple[str, str, str]]


def seen_now(context: TableContext) -> Seen:
    """Return the branches and tags that exist now.

    Call it before the removable files are computed: ``used_since`` then checks every later tag and branch.
    """
    contexts = contexts_of_branches(context)
    return Seen(frozenset(c.branch for c in contexts), frozenset(_mark(root) for c in contexts for root in _tags_of(c)))


def keep_tags(removable: RemovableFiles) -> tuple[list[Protected], int]:
    """Take the files that tags of the current branch use out of ``removable``.

    Return what each tag protects, for tags that use removable files, and the number of data files that all tags
    protect. Raises CorruptTable when a file of a tag's snapshot cannot be read.
    """
    kept = [(root, removable.keep([root.snapshot])) for root in _tags_of(removable.context)]
    return [_files(count, f"tag {root.name}") for root, count in kept if count], sum(count for _, count in kept)


def keep_branches(removable: RemovableFiles) -> list[Protected]:
    """Take the files that other branches, with their tags and changelogs, use out of ``removable``.

    Return, for each branch that uses removable files, which files the branch protects. Raises CorruptTable when a
    branch cannot be read completely, SnapshotNotFound when a root of a branch is deleted or restored during the call.
    """
    own, protected = removable.context.branch, []
    for context in contexts_of_branches(removable.context) if removable.context.branches.names() else ():
        if context.branch == own:
            continue
        count, by_delta = 0, delta_may_be_changelog(context)
        for root in roots_of(context):
            if root.holder is not Holder.CHANGELOG:
                count += removable.keep([root.snapshot])
            if root.holder is not Holder.TAG:
                count += removable.keep_changes([root.snapshot], by_delta=by_delta)
        if count:
            protected.append(_files(count, f"branch {context.branch}"))
    return protected


def keep_own_changelogs(removable: RemovableFiles) -> None:
    """Take the files with the changes of the current branch's lasting changelogs out of ``removable``.

    When every schema of the branch has a changelog producer, the changes are never in appended data files. Then no
    candidate can contain changes, and nothing is read.
    """
    context = removable.context
    ids = context.changelogs.ids()
    if ids and delta_may_be_changelog(context):
        removable.keep_changes(map(context.changelogs.read, ids), by_delta=True)


def delta_may_be_changelog(context: TableContext) -> bool:
    """Whether appended files may be the changelog of this branch (format 10.4).

    This is possible when at least one schema of the branch has no changelog producer.
    """
    schemas = map(context.schemas.read, context.schemas.ids())
    return any(s.options.get("changelog-producer", "none").strip().lower() == "none" for s in schemas)


def used_since(context: TableContext, seen: Seen, files: Collection[PlannedFile]) -> set[str]:
    """Return the paths among ``files`` that are used by tags and branches created after ``seen``.

    When a new tag or branch is deleted during the call, all are read again, because an error here leaves the files of
    snapshots or tags that are deleted already. Raises CorruptTable when a new tag or branch cannot be read,
    SnapshotNotFound when tags or branches were deleted during every attempt.
    """
    return read_again(lambda: _used_since(context, seen, files))


def _used_since(context: TableContext, seen: Seen, files: Collection[PlannedFile]) -> set[str]:
    new: list[Root] = []
    for branch in contexts_of_branches(context):
        if branch.branch in seen.branches:
            new += [root for root in _tags_of(branch) if _mark(root) not in seen.tags]
        else:
            new += roots_of(branch)
    if not new:
        return set()
    paths = {f.path.rsplit("/", 1)[-1]: f.path for f in files}
    return {paths[name] for name in used_names(context, new, paths.keys()) & paths.keys()}


def _tags_of(context: TableContext) -> list[Root]:
    return [Root(Holder.TAG, tag.name, context.branch, tag.snapshot) for tag in context.tags.list()]


def _mark(root: Root) -> tuple[str, str, str]:
    return root.branch, root.name, root.snapshot.delta_manifest_list


def _files(count: int, by: str) -> Protected:
    return Protected(f"{count} data file{'s' if count > 1 else ''}", by)
