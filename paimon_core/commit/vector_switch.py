"""Vector switch: checks that ``deletion-vectors.enabled`` may change in a table with snapshots (format 12.2).

With deletion vectors, readers of a table with a primary key do not merge the files above level 0. So no key may be
visible in two of these files. A compaction of a handle that was opened without vectors, or a compaction that was
planned before the change, would violate this condition. So the option is changed in two steps: first the new schema is
written, then a snapshot without changes is published. The base of this snapshot must fulfil the condition. A compaction
of a handle with the old value is either part of this base, or reads the new schema after its own base and then
conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.commit.base import Base
from paimon_core.commit.indexes import IndexChange, IndexStep
from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.schema import TableSchema

OPTION = "deletion-vectors.enabled"


def has_vectors(schema: TableSchema) -> bool:
    """Whether a schema enables deletion vectors."""
    return schema.options.get(OPTION, "").strip().lower() == "true"


@dataclass(frozen=True, slots=True)
class VectorSwitch:
    """A change of option ``deletion-vectors.enabled`` to the value ``enabled``."""

    enabled: bool
    merges_level_0: bool
    """Whether reads merge level 0 after the change; otherwise reads leave out level 0 until it is compacted."""

    def problem(self, base: Base, *, later: bool = False) -> str | None:
        """Return why the option cannot be changed in the state ``base``; None when it can be changed.

        ``later``: the state may be later than the new schema. Level 0 may then have rows, because writers with the new
        schema may have written these rows.
        """
        if not self.enabled:
            held = [e for e in base.indexes if e.file.vectors]
            return f"index file {held[0].file.file_name} deletes rows, which Java would show again" if held else None
        if not base.context.is_keyed:
            return None
        for place, entries in by_bucket(e for e in base.live(lambda partition: True) if e.bucket >= 0).items():
            path, found = base.context.bucket_path(*place), {e.file.level for e in entries}
            if len(found - {0}) > 1:
                return f"{path} has files of several levels, in which a key could be visible twice"
            if 0 in found and not (later or self.merges_level_0):
                return f"{path} has rows in level 0, which reads would leave out"
        return None

    def check(self, base: Base) -> None:
        """Raise CommitConflict when the option cannot be changed in the state ``base`` of the second step."""
        if problem := self.problem(base, later=True):
            raise CommitConflict(
                f"table {base.context.name}: option {OPTION} was not changed: after another commit {problem}: "
                "compact the table fully and repeat the change",
                table=base.context.name,
                option=OPTION,
            )


def check_mode(context: TableContext, latest: TableSchema, kind: CommitKind, indexes: Sequence[IndexStep]) -> None:
    """Raise CommitConflict for a change that was computed with another value of the option than the table has now.

    Only compactions of tables with a primary key, and changes that add deletion vectors, depend on the option.
    """
    if latest is context.schema or has_vectors(latest) == has_vectors(context.schema):
        return
    adds = (s for s in indexes if isinstance(s, IndexChange) and s.kind is FileKind.ADD)
    if (context.is_keyed and kind is CommitKind.COMPACT) or any(s.entry.file.vectors for s in adds):
        raise CommitConflict(
            f"table {context.name}: option {OPTION} has changed since this handle was opened: open the table again",
            table=context.name,
            switched=True,
        )


def check_rollback(context: TableContext, to: Snapshot) -> None:
    """Raise InvalidRequest when the option has changed after snapshot ``to``, whose files do not allow the change."""
    latest = context.schemas.latest()
    if latest is None or has_vectors(latest) == has_vectors(context.schemas.read(to.schema_id)):
        return
    now = context.reopened(latest)
    switch = VectorSwitch(has_vectors(latest), now.options["deletion-vectors.merge-on-read"])
    if problem := switch.problem(Base(now, to)):
        raise InvalidRequest(
            f"table {context.name}: it cannot be rolled back to snapshot {to.id}, because option {OPTION} has changed "
            f"since and in that snapshot {problem}: change the option back first",
            table=context.name,
            snapshot=to.id,
        )
