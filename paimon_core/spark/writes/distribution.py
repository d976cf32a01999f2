"""Distribution: the number of tasks that write a DataFrame, and the columns by which rows are sent to the tasks.

The optimizer of Spark states the bytes of the inputs. Files count with their size on disk, so a task of ROUTE_BYTES has
up to about four times as many bytes of rows. Without buckets, Spark itself divides and combines the parts of a shuffle
by the bytes that it has measured (the hint ``rebalance``), so that a large partition is written by several tasks.
"""

from __future__ import annotations

import logging

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from paimon_core.metadata.context import TableContext
from paimon_core.spark.columns import quoted
from paimon_core.spark.tasks import cores
from paimon_core.write.staging import is_staged

_LOG = logging.getLogger(__name__)
ROUTE_BYTES = 128 << 20
"""The bytes of the inputs for each task of a large write."""
_TASKS_PER_CORE = 4
"""The number of tasks for each core when the bytes of the inputs are not known."""
_LARGE_BYTES = 4 << 30
"""A log entry warns of tasks that get more bytes than this."""
_KNOWN_BYTES = 1 << 60
"""The optimizer states a higher number for inputs of unknown size."""


def route_count(df: DataFrame, context: TableContext) -> int:
    """Return the number of tasks that write ``df`` to the buckets of a table.

    A table with fixed buckets and without partitions has no more tasks than buckets. A warning is logged when few
    buckets make the tasks large. ``spark.sql.shuffle.partitions`` is the maximum when the bytes of the inputs are not
    known.
    """
    spark = df.sparkSession
    at_once = cores(spark)
    size = input_bytes(df)
    if size is None:
        wanted = min(int(spark.conf.get("spark.sql.shuffle.partitions") or 1), _TASKS_PER_CORE * at_once)
    else:
        wanted = max(at_once, -(-size // ROUTE_BYTES))
    if context.schema.partition_keys or is_staged(context):
        return max(1, wanted)
    buckets = int(context.options["bucket"])
    count = max(1, min(wanted, buckets))
    if size is not None and size // count > _LARGE_BYTES:
        _LOG.warning(
            "table %s has %d buckets, so %d tasks write %d GiB: more buckets would allow more tasks",
            context.name,
            buckets,
            count,
            size >> 30,
        )
    return count


def input_bytes(df: DataFrame) -> int | None:
    """Return the bytes of the inputs of ``df``, as the optimizer of Spark estimates them; None without an estimate.

    The estimate of a join is the product of its inputs, so the sum of the inputs is used if the sum is smaller.
    """
    try:
        plan = df._jdf.queryExecution().optimizedPlan()
        leaves = plan.collectLeaves()
        inputs = sum(int(leaves.apply(at).stats().sizeInBytes()) for at in range(leaves.size()))
        size = min(int(plan.stats().sizeInBytes()), inputs)
    except (AttributeError, Py4JError, PySparkException):  # Spark Connect has no plan here
        return None
    return size if size < _KNOWN_BYTES else None


def spread_rows(df: DataFrame, context: TableContext, tasks: int | None) -> DataFrame:
    """Return ``df`` repartitioned for a table without buckets, so that the rows of one partition go to few tasks.

    A table without partitions needs no shuffle; the rows stay in their tasks, unless ``tasks`` is given.
    """
    keys = [*map(quoted, context.schema.partition_keys)]
    if keys:
        return df.hint("rebalance", *([] if tasks is None else [tasks]), *keys)
    return df if tasks is None else df.repartition(tasks)
