"""Overwrite: which partitions a commit empties before it adds (format 14.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest

Matches = Callable[[bytes], bool]
"""Tests a serialized partition."""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """What a commit replaces, whatever lies there when it lands.

    With ``matches`` (static): every partition for which it is true. Without (dynamic): the partitions that the new
    files lie in; no new files, nothing replaced.
    """

    matches: Matches | None = None

    def target(self, added: Iterable[bytes], name: Callable[[bytes], str] = bytes.hex) -> Matches:
        """The test of the partitions to empty; ``added`` are those of the new files, ``name`` shows one in an error.

        Raises InvalidRequest when a new file lies outside of a static target: it would join rows that stay.
        """
        partitions = frozenset(added)
        if self.matches is None:
            return partitions.__contains__
        for partition in partitions:
            if not self.matches(partition):
                raise InvalidRequest(
                    f"the overwrite holds rows of partition {name(partition)!r}, which it does not replace",
                    partition=name(partition),
                )
        return self.matches
