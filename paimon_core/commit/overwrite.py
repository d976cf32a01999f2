"""Overwrite: the partitions whose files a commit deletes before it adds its new files (format 14.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from paimon_core.errors import InvalidRequest
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.levels import num_levels
from paimon_core.lsm.sections import intervals
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry

Matches = Callable[[bytes], bool]
"""Whether a serialized partition is replaced."""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The partitions that a commit replaces; all their files at the time of the commit are deleted.

    A static overwrite has ``matches`` and replaces every partition for which ``matches`` is true. A dynamic overwrite
    has no ``matches`` and replaces the partitions of its new files; without new files, it replaces nothing. Raises
    InvalidRequest for a ``matches`` that cannot be called.
    """

    matches: Matches | None = None
    waiting: bool = True
    """Whether rows that wait in the postpone bucket are replaced as well (format 14.2)."""

    def __post_init__(self) -> None:
        if self.matches is not None and not callable(self.matches):
            raise InvalidRequest(f"matches must be a function of a partition, not {self.matches!r:.60}")

    def target(self, added: Iterable[bytes], name: Callable[[bytes], str] = bytes.hex) -> Matches:
        """Return a function that decides whether a partition is replaced.

        ``added`` are the partitions of the new files; ``name`` formats a partition for errors. Raises InvalidRequest
        when the partition of a new file is not replaced by a static overwrite: the new rows would be added to rows that
        are kept.
        """
        partitions = frozenset(added)
        if self.matches is None:
            return partitions.__contains__
        for partition in partitions:
            if not self.matches(partition):
                raise InvalidRequest(
                    f"the overwrite contains rows of partition {name(partition)!r}, which it does not replace",
                    partition=name(partition),
                )
        return self.matches


def upgraded(context: TableContext, entries: Sequence[ManifestEntry]) -> Sequence[ManifestEntry]:
    """Return the entries of an overwrite with its new files at the last level, if option ``overwrite-upgrade`` is true.

    The files of a bucket stay at level 0 if their keys overlap, or if a file has deletes, because the last level must
    not contain deletes. The entries are unchanged when the overwrite adds a file above level 0, or a file without a
    bucket.
    """
    new = [e for e in entries if e.kind is FileKind.ADD]
    if not context.is_keyed or not context.options["overwrite-upgrade"]:
        return entries
    if any(e.file.level > 0 or e.bucket < 0 for e in new):
        return entries
    buckets = {place: [e.file for e in some] for place, some in by_bucket(new).items()}
    order = key_order([f.type for f in context.schema.key_fields])
    rising = {
        place
        for place, files in buckets.items()
        if all(f.delete_row_count == 0 for f in files) and len(intervals(files, order)) == len(files)
    }
    last = num_levels(context.options) - 1
    return [
        replace(e, file=e.file.upgraded(last)) if e.kind is FileKind.ADD and (e.partition, e.bucket) in rising else e
        for e in entries
    ]
