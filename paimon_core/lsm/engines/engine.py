"""Merge engine: the interface of the rules that combine several rows of one key into one row (format 9).

The single-record rule applies to all engines (format 9.1): if a key has only one row in a merge, the result is this row
unchanged, whatever the row kind is. The rules of an engine apply only to keys with two or more rows. Compactions with
lookups use engines without the single-record rule (format 10.6).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import pyarrow as pa

from paimon_core.lsm.key_groups import Groups


class MergeEngine(Protocol):
    """The rules of one table.

    The argument ``rows`` of a method may lack the column ``_VALUE_KIND`` if all rows are +I or +U and the result does
    not need this column.
    """

    @property
    def keeps_last(self) -> bool:
        """Whether the result of a group is always its last row; ``survivors`` then depends only on that row."""

    def last_values(self, rows: pa.Table, columns: Sequence[str]) -> frozenset[str] | None:
        """Return which of ``columns`` get the last non-null value of a key, if all others get the last row's value.

        A column without nulls is not returned, because both are the same. None: the result of ``rows`` is computed by
        ``survivors`` and ``fold``. Otherwise every key of ``rows`` has a result, or its last row decides on that as
        ``keeps_last`` says.
        """

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the table's columns that are needed to compute ``columns`` of the results, including ``columns``."""

    def survivors(self, rows: pa.Table, groups: Groups, *, drop_deletes: bool) -> Groups:
        """Return the groups that have a result; with ``drop_deletes``, only groups whose result is of kind +I or +U."""

    def fold(self, rows: pa.Table, groups: Groups, columns: Sequence[str]) -> pa.Table:
        """Return ``columns`` of the results, one row per group, in order; ``groups`` must be a result of ``survivors``.

        ``columns`` may include the key columns ``_KEY_*``, ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND``; ``rows`` has the
        ``inputs`` of ``columns``. Raises InvalidRequest naming the column and the rule for rows that the engine cannot
        merge, such as a retract that no option allows.
        """

    def check_retract(self, kinds: Collection[int]) -> None:
        """Raise InvalidRequest when the table does not accept rows of ``kinds``; the error names the option to set.

        ``kinds`` are the retracts among the kinds of the rows to write: -U, -D or both.
        """

    def check_rows(self, rows: pa.Table) -> None:
        """Raise InvalidRequest, naming the column, when a merge of ``rows`` could set a NOT NULL column to null.

        The rows have the table's columns and may be of any kind; they have no null in a NOT NULL column.
        """
