"""CompactReport: the result of one compaction: its tasks, the committed snapshots, and counts of files and rows."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.compact.task import CompactionTask
from paimon_core.display import Displayed, Summary, named
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.paths import POSTPONE_BUCKET


@dataclass(frozen=True, slots=True, repr=False)
class CompactReport(Displayed):
    """The compactions that ran, and the committed snapshots. A report is false when nothing was committed.

    >>> report = table.compact()  # doctest: +SKIP
    >>> if report:  # doctest: +SKIP
    ...     print(report.snapshot.id, report.input_files, report.rows_rewritten)
    """

    tasks: tuple[CompactionTask, ...] = ()
    """The compactions that ran, one per bucket, including buckets that were not committed because of a conflict."""
    messages: tuple[CommitMessage, ...] = ()
    """The commit messages that were committed."""
    snapshots: tuple[Snapshot, ...] = ()
    """The committed snapshots, ascending."""
    conflicts: int = 0
    """The number of buckets that were not committed, because a concurrent commit had changed the same files."""

    @property
    def snapshot(self) -> Snapshot | None:
        """The last committed snapshot; None when nothing was committed."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def input_files(self) -> int:
        """The number of files that the compactions read, without the files of the postpone bucket."""
        return sum(len(task.unit.files) for task in self.tasks)

    @property
    def input_bytes(self) -> int:
        """The total bytes of the files that the compactions read, without the files of the postpone bucket."""
        return sum(task.input_bytes for task in self.tasks)

    @property
    def waiting_files(self) -> int:
        """The number of files of the postpone bucket whose rows were moved to fixed buckets."""
        return sum(len(m.compact_before) for m in self.messages if m.bucket == POSTPONE_BUCKET)

    @property
    def files_written(self) -> int:
        """The number of new files; a file that only moved to another level does not count."""
        return len(self._new_rows())

    @property
    def rows_rewritten(self) -> int:
        """The number of rows in the new files."""
        return sum(self._new_rows())

    def __bool__(self) -> bool:
        """Whether anything was committed."""
        return bool(self.snapshots)

    def _summary(self) -> Summary:
        counts = (("tasks", len(self.tasks)), ("input_files", self.input_files), ("input_bytes", self.input_bytes))
        written = (("files_written", self.files_written), ("rows_rewritten", self.rows_rewritten))
        ids = [str(snapshot.id) for snapshot in self.snapshots]
        return Summary("", (*counts, *written, ("snapshots", named(ids)), ("conflicts", self.conflicts or None)))

    def followed_by(self, later: CompactReport) -> CompactReport:
        """Return one report of this compaction and a later compaction."""
        return CompactReport(
            self.tasks + later.tasks,
            self.messages + later.messages,
            self.snapshots + later.snapshots,
            self.conflicts + later.conflicts,
        )

    def _new_rows(self) -> list[int]:
        """Return the number of rows of each new file."""
        return [
            file.row_count
            for message in self.messages
            for moved in [{f.file_name for f in message.compact_before}]
            for file in message.compact_after
            if file.file_name not in moved
        ]
