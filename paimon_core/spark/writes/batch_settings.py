"""Batch settings: the number of rows of the Arrow batches that Spark sends to the tasks of a write.

Spark's default of 10,000 rows costs a sixth more processor time for narrow rows. Spark also limits the bytes of a
batch. This limit is not changed, so batches of wide rows do not grow.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

_SETTING, _ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch", 50_000


@dataclass
class _Changed:
    """The number of writes that run now in a session, and the setting as it was before the first of them."""

    writes: int = 0
    before: str = ""


_LOCK = threading.Lock()
_CHANGED: WeakKeyDictionary[SparkSession, _Changed] = WeakKeyDictionary()


@contextmanager
def large_batches(spark: SparkSession) -> Iterator[None]:
    """Raise the limit of rows for the queries of the block; restore it when the last such block of the session ends.

    Other queries that run at the same time in the session also get larger batches.
    """
    with _LOCK:
        changed = _CHANGED.setdefault(spark, _Changed())
        if not changed.writes:
            changed.before = str(spark.conf.get(_SETTING))
            if 0 < int(changed.before) < _ROWS:  # zero and less mean no limit
                spark.conf.set(_SETTING, str(_ROWS))
        changed.writes += 1
    try:
        yield
    finally:
        with _LOCK:
            changed.writes -= 1
            if not changed.writes:
                spark.conf.set(_SETTING, changed.before)
