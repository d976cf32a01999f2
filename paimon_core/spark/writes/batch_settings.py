"""Batch settings: the sizes of the Arrow batches that Spark sends to the tasks of a write.

Spark's default of 10,000 rows a batch costs a sixth more processor time for narrow rows. The bytes of a batch are
limited too, so that batches of wide rows are not larger than before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
}


@dataclass
class _Changed:
    """The settings of a session before the first write that runs now."""

    writes: int = 0
    before: dict[str, str] = field(default_factory=dict)


_LOCK = threading.Lock()
_CHANGED: WeakKeyDictionary[SparkSession, _Changed] = WeakKeyDictionary()


@contextmanager
def large_batches(spark: SparkSession) -> Iterator[None]:
    """Set the settings for the queries of the block, and restore them when the last such block of the session ends.

    Other queries that run at the same time in the session get larger batches too.
    """
    with _LOCK:
        changed = _CHANGED.setdefault(spark, _Changed())
        if not changed.writes:
            changed.before = {key: str(spark.conf.get(key)) for key in _SETTINGS}
            for key, value in _SETTINGS.items():
                spark.conf.set(key, value)
        changed.writes += 1
    try:
        yield
    finally:
        with _LOCK:
            changed.writes -= 1
            if not changed.writes:
                for key, value in changed.before.items():
                    spark.conf.set(key, value)
