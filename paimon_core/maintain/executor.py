"""WorkExecutor: runs the long steps of a clean-up in parallel, for example as Spark tasks.

The calling process makes all decisions in order, up to the last check. An executor only lists directories, reads the
file names in manifests, and moves or deletes files that were already selected. An executor must have finished its work
when a call returns, and must raise an error instead of returning an incomplete result: a file whose name is missing
from the result of ``data_names`` is treated as unused and deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from paimon_core.maintain.candidate_files import Directory, Found, candidates
from paimon_core.metadata.context import TableContext
from paimon_core.progress_meter import meter


class WorkExecutor(Protocol):
    """Runs the long steps of a clean-up; without an executor, the calling process runs these steps one after the
    other.
    """

    def candidates(self, context: TableContext, places: Sequence[Directory], before_millis: int) -> Found:
        """Return the result of ``candidate_files.candidates``.

        All listings must end before the call returns, because the caller reads the references next.
        """

    def data_names(self, context: TableContext, manifests: Mapping[str, bool], among: Collection[str]) -> set[str]:
        """Return the result of ``references.used_files.data_names``; a CorruptTable that a task raises keeps its
        ``facts``.
        """

    def move(self, context: TableContext, moves: Sequence[tuple[str, str]]) -> list[bool]:
        """Move files from source to target, in any order; return for each move, in order, whether the file was moved.

        The result for a missing source is False. No move may happen after the call has returned: a late move would
        remove a file that the caller has restored in the meantime.
        """

    def delete(self, context: TableContext, paths: Sequence[str]) -> None:
        """Delete files; a missing file is no error.

        A deletion after the call has returned is harmless, because file names are never reused.
        """


def find_candidates(
    executor: WorkExecutor | None, context: TableContext, places: Iterable[Directory], before_millis: int
) -> Found:
    """Run ``candidates`` with the executor; without an executor, in this process."""
    if executor is None:
        return candidates(context, places, before_millis)
    return executor.candidates(context, list(places), before_millis)


def delete_files(executor: WorkExecutor | None, context: TableContext, paths: Sequence[str]) -> None:
    """Delete the files with the executor; without an executor, in this process."""
    if executor is None:
        context.storage.delete(meter("delete files", "files", len(paths)).counting(paths))
    else:
        executor.delete(context, paths)
