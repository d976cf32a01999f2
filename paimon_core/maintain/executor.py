"""Hands: who does the long parts of a clean-up, where one process after the other would take hours.

A clean-up decides in one place, in one order, with one last look. What may be handed out is what needs no judgement:
listing directories, opening manifests for the names in them, moving and deleting files that are decided on. Whoever
does them must have finished when the call returns, and must raise rather than leave something out of an answer: a name
that is missing from ``data_names`` is a file that gets deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from paimon_core.maintain.candidate_files import Directory, Found, candidates
from paimon_core.metadata.context import TableContext


class WorkExecutor(Protocol):
    """Others who work for a clean-up; without them it does everything itself, one after the other."""

    def candidates(self, context: TableContext, places: Sequence[Directory], before_millis: int) -> Found:
        """``maintain.candidates.candidates``, complete before it returns: references are read after that."""

    def data_names(self, context: TableContext, manifests: Mapping[str, bool], among: Collection[str]) -> set[str]:
        """``maintain.references.data_names``; raises CorruptTable as that does, with its facts."""

    def move(self, context: TableContext, moves: Sequence[tuple[str, str]]) -> list[bool]:
        """Move files by source and target, in any order; which of them are at their target now, in the order given.

        A file that was gone is False. No move may happen after the call returned: a file that was brought back would
        go again.
        """

    def delete(self, context: TableContext, paths: Sequence[str]) -> None:
        """Delete files; missing ones are no error. Late deletions do no harm: the names never come again."""


def find_candidates(
    executor: WorkExecutor | None, context: TableContext, places: Iterable[Directory], before_millis: int
) -> Found:
    """``candidates``, by others or here."""
    if executor is None:
        return candidates(context, places, before_millis)
    return executor.candidates(context, list(places), before_millis)


def delete_files(executor: WorkExecutor | None, context: TableContext, paths: Sequence[str]) -> None:
    """Delete files that are decided on, by others or here."""
    if executor is None:
        context.storage.delete(paths)
    else:
        executor.delete(context, paths)
