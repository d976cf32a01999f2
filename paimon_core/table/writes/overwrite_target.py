"""The partitions that an overwrite of a table replaces (format 14.2)."""

from __future__ import annotations

from paimon_core.commit.overwrite import Overwrite
from paimon_core.metadata.context import TableContext
from paimon_core.plan.partitions import matching_partitions
from paimon_core.predicate import Where


def overwrite_target(context: TableContext, where: Where | None = None) -> Overwrite:
    """Return the partitions that an overwrite replaces: the partitions that match, the partitions of the data, or the
    whole table.

    Raises InvalidRequest when ``where`` uses other columns than partition columns.
    """
    if where is not None:
        return Overwrite(matching_partitions(context, where))
    dynamic = context.schema.partition_keys and context.options["dynamic-partition-overwrite"]
    return Overwrite(None if dynamic else lambda partition: True)
