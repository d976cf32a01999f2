"""Batch settings: the bounds of the Arrow batches in which Spark sends the rows of a write to Python tasks.

Spark bounds a batch by rows (``maxRecordsPerBatch``) and by bytes (``maxBytesPerBatch``). For the bound in bytes Spark
measures the batch after every row, which takes a fifth of a write. So the bound in bytes is off where a bound in rows
suffices (``batch_rows``), and where the query has no other operator that sends rows to Python (``runs_python``): the
bounds hold for all operators of a query. Rows with texts can be padded so that a bound in rows suffices
(``text_padding``). A setting that the user made is never changed.

In a session of this process the bounds are local properties of the calling thread. Spark passes these to the tasks of
the jobs that the thread starts, unless the session has the setting. So no other query gets other bounds. With Spark
Connect, and without pinned threads, settings of the session are changed until the last write of the session has ended;
then queries that other threads start in the same session meanwhile get the bounds of the writes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from py4j.clientserver import ClientServer  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from paimon_core.spark.tasks import spark_context

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_BYTES = str(2**31 - 1)
"""The only value of BYTES for which Spark does not measure each row."""
MOST_ROWS = 50_000
"""Spark's default of 10,000 rows costs a sixth more processor time for narrow rows."""
BATCH_BYTES = 64 << 20
"""The maximum bytes of the columns of fixed width of a batch, and of its texts."""
_WIDTHS: dict[type[t.DataType], int] = {
    t.NullType: 1,
    t.BooleanType: 1,
    t.ByteType: 1,
    t.ShortType: 2,
    t.IntegerType: 4,
    t.FloatType: 4,
    t.DateType: 4,
    t.YearMonthIntervalType: 4,
    t.LongType: 8,
    t.DoubleType: 8,
    t.TimeType: 8,
    t.TimestampType: 8,
    t.TimestampNTZType: 8,
    t.DayTimeIntervalType: 8,
    t.DecimalType: 16,
}
"""The bytes of a value in Arrow, without the bit that tells whether it is null."""
_PYTHON = re.compile(r"Python|InPandas|InArrow|ExistingRDD|Truncated plan of \d+ char|\.\.\. \d+ more char")
"""In the plan of a query: an operator that sends rows to Python, or rows of an RDD, which may come from such a one, or
Spark's mark of a plan that it has cut (``spark.sql.maxPlanStringLength``)."""
_OWN = re.compile(r"MapInArrow paimon_\w+\(|ExistingRDD\[task_number#\d+, ?payload#\d+\]")
"""The operators by which this library reads splits: they send only numbers, or the names of a few files, to Python."""


def batch_rows(schema: t.StructType) -> int | None:
    """Return the most rows of a batch of these columns that is not bounded in bytes; None: it needs such a bound.

    Columns of fixed width: as many rows as 64 MiB have, at most MOST_ROWS. With any other column, such as a text, None:
    1,024 rows with texts of 0.7 MB would end a JVM of 1 GiB.
    """
    kinds = [column.dataType for column in schema.fields]
    return fixed_rows(kinds) if all(map(is_fixed, kinds)) else None


def is_fixed(kind: t.DataType) -> bool:
    """Whether all values of the type have the same number of bytes in Arrow."""
    return type(kind) in _WIDTHS


def fixed_rows(kinds: Sequence[t.DataType]) -> int:
    """Return the number of rows of columns of fixed width that BATCH_BYTES have, at most MOST_ROWS."""
    return max(1, min(MOST_ROWS, BATCH_BYTES // max(1, sum(_WIDTHS[type(kind)] + 1 for kind in kinds))))


def runs_python(df: DataFrame) -> bool:
    """Whether the query of ``df`` may send rows to Python, by the text of its plan; True when there is no plan.

    A name of a column or file that is like the name of such an operator also counts.
    """
    try:
        if spark_context(df.sparkSession) is None or df.isStreaming:
            plan = _explained(df)
        else:
            plan = df._jdf.queryExecution().sparkPlan().toString()
    except (AttributeError, Py4JError, PySparkException):
        return True
    return _PYTHON.search(_OWN.sub("", plan)) is not None


def _explained(df: DataFrame) -> str:
    context = spark_context(df.sparkSession)
    if context is None:
        return str(df._explain_string())
    return str(context._jvm.PythonSQLUtils.explainString(df._jdf.queryExecution(), "simple"))


@contextmanager
def large_batches(
    df: DataFrame, rows: DataFrame | None = None, *, padded: Callable[[], int | None] = lambda: None
) -> Iterator[bool]:
    """Set the bounds of batches for the jobs that the block starts in this thread; a block inside it changes nothing.

    ``df``: the DataFrame that is written; ``rows``: what is sent to Python, if its columns differ; ``padded``: returns
    the rows of a batch if rows are padded, None if they cannot be. Yields whether the rows must be padded now: only
    then their batches have no bound in bytes. Nothing is changed when the user has set one of the two settings. The
    bounds are as before after the block, also when it raises an error.
    """
    spark = df.sparkSession
    if getattr(_BLOCKS, "inside", False):
        yield False
        return
    in_thread, pads = _has_pinned_threads(spark), False
    if in_thread and any(spark.conf.get(name, None) is not None for name in (RECORDS, BYTES)):
        yield False
        return
    most = batch_rows((df if rows is None else rows).schema)
    if most is None and in_thread:  # in a session, other queries would get batches without a bound in bytes
        most = padded()
        pads = most is not None
    if most is not None and _runs_python(df):
        most, pads = None, False
    _BLOCKS.inside = True
    try:
        with _in_thread(spark, most) if in_thread else _in_session(spark, most):
            yield pads
    finally:
        _BLOCKS.inside = False


@contextmanager
def known_python(runs: bool) -> Iterator[None]:
    """State for the block, in this thread, whether the query that makes the rows runs Python: its plan is not read.

    A micro-batch of a stream does not show its query.
    """
    _BLOCKS.python = runs
    try:
        yield
    finally:
        _BLOCKS.python = None


def _runs_python(df: DataFrame) -> bool:
    known: bool | None = getattr(_BLOCKS, "python", None)
    return runs_python(df) if known is None else known


def _has_pinned_threads(spark: SparkSession) -> bool:
    """Whether each thread of Python has a thread of the JVM, with its own local properties."""
    context = spark_context(spark)
    return context is not None and isinstance(context._gateway, ClientServer)


def _wanted(most: int | None) -> dict[str, str]:
    """Return the settings for batches of ``most`` rows; None: rows are bounded in bytes, as before."""
    return {RECORDS: str(MOST_ROWS)} if most is None else {RECORDS: str(most), BYTES: _NO_BYTES}


@contextmanager
def _in_thread(spark: SparkSession, most: int | None) -> Iterator[None]:
    """Set local properties of this thread."""
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in _wanted(most)}
    try:
        for name, value in _wanted(most).items():
            context.setLocalProperty(name, value)
        yield
    finally:
        for name, old in before.items():
            context.setLocalProperty(name, old)  # None removes the property


@dataclass
class _Session:
    """The blocks that run now in a session, by the rows of their batches, and the settings that they made."""

    running: list[int | None] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)

    def adapt(self, spark: SparkSession) -> None:
        """Make the settings for all running blocks: if one needs a bound in bytes, all have it."""
        wanted: dict[str, str] = {}
        if self.running:
            unbounded = [rows for rows in self.running if rows is not None]
            wanted = _wanted(min(unbounded) if len(unbounded) == len(self.running) else None)
        for name in (RECORDS, BYTES):
            current = spark.conf.get(name, None)
            if current != self.made.get(name):  # the user has set it
                self.made.pop(name, None)
                wanted = {}
        for name in (RECORDS, BYTES):
            if name in wanted:
                spark.conf.set(name, wanted[name])
                self.made[name] = wanted[name]
            elif name in self.made:
                spark.conf.unset(name)
                del self.made[name]


_BLOCKS = threading.local()
_LOCK = threading.Lock()
_SESSIONS: WeakKeyDictionary[SparkSession, _Session] = WeakKeyDictionary()


@contextmanager
def _in_session(spark: SparkSession, most: int | None) -> Iterator[None]:
    """Change settings of the session; what the user has set, before or meanwhile, is left as it is."""
    with _LOCK:
        session = _SESSIONS.setdefault(spark, _Session())
        session.running.append(most)
        session.adapt(spark)
    try:
        yield
    finally:
        with _LOCK:
            session.running.remove(most)
            session.adapt(spark)
