"""Loss: the files and rows that a removal of missing data files took from a table.

The snapshot of the removal records the loss as JSON in its property ``LOSS``. A loader that records which inputs it has
written into the table reads the loss to find the rows that must be written again. The text counts all files and rows,
and names at most ``MOST`` files and ``MOST`` directories.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import recent_changes
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind

LOSS = "paimon-core.lost"
"""The name of the snapshot property that records the loss."""
MOST = 1000


@dataclass(frozen=True)
class Origin:
    """A snapshot that added lost files: its kind, and the numbers of lost files and of their rows."""

    kind: str
    files: int
    rows: int


@dataclass(frozen=True)
class Loss:
    """The files that a snapshot removed because they were missing."""

    rows: int
    """The number of rows in the files, before rows with the same key are merged."""
    files: int
    names: Sequence[str] = ()
    """Paths relative to the table; at most ``MOST``."""
    directories: Mapping[str, int] = field(default_factory=dict)
    """The number of lost rows by directory of a partition and bucket; at most ``MOST`` directories."""
    added_by: Mapping[int, Origin] = field(default_factory=dict)
    """The snapshots that added the files, by id."""
    unknown: int = 0
    """The number of files whose rows cannot be assigned to a snapshot.

    A compaction wrote these files, or the snapshots that added the files have expired.
    """

    def to_text(self) -> str:
        """Return the loss as JSON, the value of the property."""
        return json.dumps(
            {
                "rows": self.rows,
                "files": self.files,
                "names": list(self.names),
                "directories": dict(self.directories),
                "added-by": {str(n): [o.kind, o.files, o.rows] for n, o in sorted(self.added_by.items())},
                "unknown": self.unknown,
            }
        )

    @staticmethod
    def from_text(text: str) -> Loss:
        """Return the loss of a property; raises ValueError for another text."""
        try:
            record: dict[str, Any] = json.loads(text)
            loss = Loss(
                record["rows"],
                record["files"],
                tuple(record["names"]),
                dict(record["directories"]),
                {int(number): Origin(*origin) for number, origin in record["added-by"].items()},
                record["unknown"],
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no record of lost files: {error}") from None
        counts = [loss.rows, loss.files, loss.unknown, *(n for o in loss.added_by.values() for n in (o.files, o.rows))]
        if any(type(count) is not int or count < 0 for count in counts):
            raise ValueError("no record of lost files: a count is no whole number")
        return loss


def loss_of(context: TableContext, missing: Iterable[tuple[str, ManifestEntry]]) -> Loss:
    """Return the loss of a removal of the ``missing`` live files, which are given as (path, entry).

    Reads the deltas of recent snapshots (``recent_changes``), newest first, until each file was found.
    """
    missing = list(missing)
    relative = [p if e.file.external_path is not None else context.paths.relative(p) for p, e in missing]
    directories: Counter[str] = Counter()
    for path, (_, entry) in zip(relative, missing, strict=True):
        directories[path.rpartition("/")[0]] += entry.file.row_count
    rows = {entry.file.file_name: entry.file.row_count for _, entry in missing}
    added_by = _origins(context, rows)
    return Loss(
        sum(entry.file.row_count for _, entry in missing),
        len(missing),
        tuple(relative[:MOST]),
        dict(sorted(directories.items())[:MOST]),
        added_by,
        len(missing) - sum(origin.files for origin in added_by.values()),
    )


def _origins(context: TableContext, rows: Mapping[str, int]) -> dict[int, Origin]:
    """Return the snapshots that added the files, by id; compactions do not count."""
    remaining, origins = set(rows), dict[int, Origin]()
    for snapshot, entries in recent_changes(Base(context, context.snapshots.latest())):
        if snapshot.commit_kind is not CommitKind.COMPACT:
            names = {e.file.file_name for e in entries if e.kind is FileKind.ADD} & remaining
            if names:
                remaining -= names
                kind = str(snapshot.commit_kind)
                origins[snapshot.id] = Origin(kind, len(names), sum(rows[name] for name in names))
        if not remaining:
            break
    return origins
