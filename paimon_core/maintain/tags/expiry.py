"""Tag expiry: deletes tags whose retention is over, and the files that only these tags used (format 16.4).

Tags expire by a plan, or directly after a commit. In both cases tags are deleted one at a time, as by ``delete_tag``,
so a crash leaves complete tags and at worst orphan files.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from paimon_core.errors import TagNotFound
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.removable_files import Removal
from paimon_core.maintain.tags.operations import delete_tag, drop_tag
from paimon_core.maintain.tags.release import files_used_only_by
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.tag_store import Tag

OPERATION = "expire-tags"


@dataclass(frozen=True)
class TagReport:
    """The result of a tag expiry."""

    table: str
    expired: tuple[str, ...] = ()
    """The names of the deleted tags."""
    removed: Removal = field(default_factory=Removal)


def expire_tags(context: TableContext, now_millis: int, *, older_than_millis: int | None = None) -> list[str]:
    """Delete the tags whose retention is over and return their names.

    Tags that were created before ``older_than_millis`` (epoch milliseconds) are deleted as well, even if their
    retention has not ended. For a tag without a creation time, the modification time of its file is used.
    """
    deleted = []
    for tag in context.tags.list():
        if _is_over(context, tag, now_millis, older_than_millis):
            with contextlib.suppress(TagNotFound):  # a concurrent process deleted the tag
                delete_tag(context, tag.name)
                deleted.append(tag.name)
    return deleted


def plan_tag_expiry(context: TableContext, *, now_millis: int, older_than_millis: int | None = None) -> Plan:
    """Find the tags that ``expire_tags`` would delete now, and the files that only these tags use.

    Raises CorruptTable when a snapshot or a tag cannot be read completely.
    """
    state = TableState.of(context)
    over = [t for t in context.tags.list() if _is_over(context, t, now_millis, older_than_millis)]
    data, metadata = files_used_only_by(context, *over).files()
    return Plan(
        OPERATION,
        context.name,
        context.branch,
        state,
        tuple(f"tag {t.name}" for t in over),
        existing_files(context.storage, (*data, *metadata)),
        arguments={
            "tags": {t.name: t.snapshot.delta_manifest_list for t in over},
            "now_millis": now_millis,
            **({} if older_than_millis is None else {"older_than_millis": older_than_millis}),
        },
    )


def apply_tag_expiry(context: TableContext, plan: Plan) -> TagReport:
    """Delete the planned tags. Then delete the planned files that nothing references.

    A tag that now references another snapshot, or whose retention was extended, is kept. Raises PlanOutdated when the
    table has changed.
    """
    plan.check(context, OPERATION)
    now_millis = plan.argument("now_millis", int)
    older_than = plan.argument("older_than_millis", int) if "older_than_millis" in plan.arguments else None
    allowed = frozenset(f.path for f in plan.files)
    report = TagReport(context.name)
    for name, delta in plan.argument("tags", dict).items():
        with contextlib.suppress(TagNotFound):  # a concurrent process deleted the tag
            tag = context.tags.read(name)
            if tag.snapshot.delta_manifest_list == delta and _is_over(context, tag, now_millis, older_than):
                removed = drop_tag(context, tag, allowed)
                report = TagReport(context.name, (*report.expired, name), report.removed + removed)
    return report


def _is_over(context: TableContext, tag: Tag, now_millis: int, older_than_millis: int | None) -> bool:
    if tag.expires_millis is not None and tag.expires_millis < now_millis:
        return True
    if older_than_millis is None:
        return False
    created = tag.create_time_millis or _file_millis(context, tag.name)
    return created is not None and created < older_than_millis


def _file_millis(context: TableContext, name: str) -> int | None:
    found = [e.modified_millis for e in context.storage.list(context.paths.tag_directory) if e.name == f"tag-{name}"]
    return found[0] if found and found[0] else None
