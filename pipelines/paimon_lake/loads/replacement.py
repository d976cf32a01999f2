"""Replacement: which rows of the table the rows of a load replace."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core import col
from paimon_core.predicate import Predicate
from paimon_core.table.table import Table


@dataclass(frozen=True)
class Replace:
    """The rows that a load replaces: all rows with ``everything``, the partitions that ``where`` selects, or, without
    both, the partitions in which its new rows are.
    """

    everything: bool = False
    where: Predicate | None = None

    def predicate(self, table: Table) -> Predicate | None:
        """Return a predicate for the partitions to replace.

        Returns None when the partitions of the new rows are replaced, and for a table without partitions.
        """
        if not self.everything or not table.schema.partition_keys:
            return self.where
        key = col(table.schema.partition_keys[0])
        return key.is_null() | key.is_not_null()
