"""MergeEngine: what makes several rows of one key one row (format 9).

The single-record rule holds for all (format 9.1): a key with one row in a merge keeps that row as it is, whatever its
kind; the engine's rules begin at two. Compactions with lookups ask for engines without it (format 10.6).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import pyarrow as pa

from paimon_core.lsm.key_groups import Groups


class MergeEngine(Protocol):
    """The rules of one table; ``rows`` have no ``_VALUE_KIND`` when all of them are +I or +U and nobody asks."""

    @property
    def keeps_last(self) -> bool:
        """Whether the result of a group is its last row whatever the others are; ``survivors`` depend on it alone."""

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The table's columns that the fold of ``columns`` reads, these included, each once."""

    def survivors(self, rows: pa.Table, groups: Groups, *, drop_deletes: bool) -> Groups:
        """The groups that have a result; with ``drop_deletes`` those whose result is of kind +I or +U."""

    def fold(self, rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
        """``columns`` of the result, a row per group in the order of the groups; all of them are ``survivors``.

        ``columns`` may name the key columns ``_KEY_*``, ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND`` as well; ``rows`` has
        the ``inputs`` of ``columns``. Raises InvalidRequest naming the column and the rule for rows that the engine
        does not merge, such as a retract that no option allows.
        """

    def check_retract(self, kinds: Collection[int]) -> None:
        """Raises InvalidRequest naming the option to set when the table takes no rows of these ``kinds``.

        ``kinds`` are the retracts among the kinds of the rows to write: -U, -D or both.
        """

    def check_rows(self, rows: pa.Table) -> None:
        """Raises InvalidRequest naming the column when ``rows`` to write could leave null in one that is NOT NULL.

        They are of the table's columns, of any kind, and hold no such null themselves.
        """
