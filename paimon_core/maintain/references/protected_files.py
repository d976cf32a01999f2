"""Holders: what keeps files although their snapshot goes: tags, other branches, changelogs that live on (format 16.1).

They are asked twice: when garbage is worked out, and again, for those that came since, once the snapshots are gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_core.maintain.planning.plan import PlannedFile, Protected
from paimon_core.maintain.references.removable_files import RemovableFiles
from paimon_core.maintain.references.used_files import used_names
from paimon_core.maintain.roots import Holder, Root, contexts_of_branches, roots_of
from paimon_core.metadata.context import TableContext


@dataclass(frozen=True)
class Seen:
    """The references there were: branches by name, tags by branch, name and snapshot."""

    branches: frozenset[str]
    tags: frozenset[tuple[str, str, str]]


def seen_now(context: TableContext) -> Seen:
    """Look; taken before the garbage is worked out, so that what came later is not among it."""
    contexts = contexts_of_branches(context)
    return Seen(frozenset(c.branch for c in contexts), frozenset(_mark(root) for c in contexts for root in _tags_of(c)))


def keep_tags(removable: RemovableFiles) -> tuple[list[Protected], int]:
    """Keep what the tags of the table's own branch use: which tags held what, and the number of data files.

    Raises CorruptTable when a tag cannot be read whole.
    """
    held = [(root, removable.keep([root.snapshot])) for root in _tags_of(removable.context)]
    return [_files(count, f"tag {root.name}") for root, count in held if count], sum(count for _, count in held)


def keep_branches(removable: RemovableFiles) -> list[Protected]:
    """Keep what all other branches use, their tags and the changes of their snapshots too: which branches held what.

    Raises CorruptTable when one cannot be read whole, SnapshotNotFound when it expires meanwhile.
    """
    own, held = removable.context.branch, []
    for context in contexts_of_branches(removable.context) if removable.context.branches.names() else ():
        if context.branch == own:
            continue
        count, by_delta = 0, told_by_delta_once(context)
        for root in roots_of(context):
            if root.holder is not Holder.CHANGELOG:
                count += removable.keep([root.snapshot])
            if root.holder is not Holder.TAG:
                count += removable.keep_changes([root.snapshot], by_delta=by_delta)
        if count:
            held.append(_files(count, f"branch {context.branch}"))
    return held


def keep_own_changelogs(removable: RemovableFiles) -> int:
    """Keep what tells the changes of the branch's own lasting changelogs; how many data files.

    Where a producer always wrote changelog files, those are all, and nothing else uses them: then nothing is read.
    """
    context = removable.context
    ids = context.changelogs.ids()
    if not ids or not told_by_delta_once(context):
        return 0
    return removable.keep_changes(map(context.changelogs.read, ids), by_delta=True)


def told_by_delta_once(context: TableContext) -> bool:
    """Whether appended files may tell changes of this branch, by any of its schemas (format 10.4)."""
    schemas = map(context.schemas.read, context.schemas.ids())
    return any(s.options.get("changelog-producer", "none").strip().lower() == "none" for s in schemas)


def used_since(context: TableContext, seen: Seen, files: Iterable[PlannedFile]) -> set[str]:
    """The paths among ``files`` that a tag or branch uses which was not ``seen``.

    Raises CorruptTable when such a one cannot be read, SnapshotNotFound when it goes again meanwhile.
    """
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
