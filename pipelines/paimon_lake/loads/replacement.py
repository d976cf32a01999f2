"""Replacement: which rows of the table the rows of a load replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paimon_core import col
from paimon_core.predicate import Predicate
from paimon_core.table.table import Table
from paimon_lake.loads.partition_keys import rows_of

if TYPE_CHECKING:
    from paimon_lake.loads.step import LoadStep


@dataclass(frozen=True)
class Replace:
    """What the rows of a load replace: ``everything``, the partitions ``where``, or those in the rows (neither)."""

    everything: bool = False
    where: Predicate | None = None

    def predicate(self, table: Table) -> Predicate | None:
        """Return the partitions to replace as a predicate; None for those in the rows and without partitions."""
        if not self.everything or not table.schema.partition_keys:
            return self.where
        key = col(table.schema.partition_keys[0])
        return key.is_null() | key.is_not_null()


def replacement(step: LoadStep, keys: Sequence[str] | None) -> Replace | None:
    """Return what the rows of a load of the partitions ``keys`` replace: everything, the partitions, or nothing.

    Without keys, a load of all partitions replaces everything. A table without declared partitions replaces those that
    occur in the rows.
    """
    if not step.replaces:
        return None
    if step.spec.write_mode != "overwrite-partitions" or (not keys and step.spec.partitions is not None):
        return Replace(everything=True)
    if not keys or step.spec.partitions is None:
        return Replace()
    return Replace(where=rows_of(step.spec, step.table, keys, step.spec.partitions))
