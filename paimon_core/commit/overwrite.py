"""Overwrite: the partitions whose files a commit deletes before it adds its own (format 14.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest

Matches = Callable[[bytes], bool]
"""Whether a serialized partition is replaced."""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The partitions that a commit replaces, with all files that they contain when it is committed.

    With ``matches`` (static): every partition for which it is true. Without (dynamic): the partitions of the new files;
    without new files, nothing is replaced. Raises InvalidRequest for a ``matches`` that cannot be called.
    """

    matches: Matches | None = None
    waiting: bool = True
    """Whether rows that wait in the postpone bucket are replaced too (format 14.2)."""

    def __post_init__(self) -> None:
        if self.matches is not None and not callable(self.matches):
            raise InvalidRequest(f"matches must be a function of a partition, not {self.matches!r:.60}")

    def target(self, added: Iterable[bytes], name: Callable[[bytes], str] = bytes.hex) -> Matches:
        """Return the test of the partitions to replace.

        ``added`` are the partitions of the new files; ``name`` formats a partition for errors. Raises InvalidRequest
        when a new file lies outside of a static target, because it would be added to rows that are kept.
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
