"""Native reads: the raw Parquet files of a scan, read by Spark's own Parquet reader.

Files are grouped by the names that the needed columns have in the files. So files of schemas that differ only in
options or comments are in one group. Files without an added column, or from before a column was renamed, are a group
of their own: its columns are renamed, and the missing columns are null. Files in which a needed column has another type
are left to Python tasks.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import DoubleType, FloatType, StructType

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate
from paimon_core.read.damaged_files import DamagedFiles
from paimon_core.schema import TRACKING_NAMES, DataField, TableSchema
from paimon_core.spark.columns import column, quoted
from paimon_core.spark.reads.filters import compares_types_natively, has_plain_literals, to_column
from paimon_core.spark.reads.hadoop import Place
from paimon_core.spark.tasks import spark_context
from paimon_core.spark.types import spark_schema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.types import TIMESTAMP_ROOTS, DataType, TypeRoot

_GLOB = re.compile(r"[\[\]{}*?\\]")
_MOST_COMPARISONS = 256
"""A filter with more comparisons is too deep for Spark's optimizer: all splits are then read in Python tasks."""
_MOST_GROUPS = 8
"""Spark plans each group separately: the files of further groups are read in Python tasks."""
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_LISTING_LOCK = threading.Lock()

Names = tuple[str | None, ...]
"""The names of the needed columns in a file; None for a column that the file does not have."""
Placed = tuple[Split, DataFile]
"""A file and its split."""


@dataclass(frozen=True)
class NativeRule:
    """Decides which splits of a scan Spark's Parquet reader reads with the same result as this library."""

    context: TableContext
    fields: Sequence[DataField]
    """The needed columns: the columns of the result and the columns of the filter."""
    is_possible: bool
    known: dict[int, Names | None] = field(default_factory=dict)
    """The names of the needed columns by schema id; None when the files must be read in Python tasks."""

    @staticmethod
    def of(context: TableContext, names: Sequence[str], where: Predicate | None) -> NativeRule:
        """Return the rule for a read of the columns ``names``.

        Python tasks must read all splits if ``names`` contains a member of a column, a row id or a metadata column; and
        if damaged files are left out, because only Python tasks report damaged files.
        """
        if not context.schema.by_name.keys() >= set(names) or not set(names).isdisjoint(TRACKING_NAMES):
            return NativeRule(context, (), False)
        fields = context.schema.select(names)
        is_possible = (
            DamagedFiles.of(context.options) is None
            and not any(_is_unsupported(f.type) for f in fields)
            and (
                where is None
                or (
                    where.comparisons <= _MOST_COMPARISONS
                    and compares_types_natively(where, spark_schema(fields))
                    and has_plain_literals(where, context.schema.by_name)
                )
            )
        )
        return NativeRule(context, fields, is_possible)

    def names(self, split: Split, file: DataFile) -> Names | None:
        """Return the names of the needed columns in a file of a split; None: a Python task must read the file."""
        if not self.is_possible or not split.raw or file.file_name in split.vectors:
            return None
        return self._in_file(file)

    def _in_file(self, file: DataFile) -> Names | None:
        if not file.file_name.endswith(".parquet"):
            return None
        if file.schema_id not in self.known:
            schema = self.context.schema
            stored = schema if file.schema_id == schema.id else self.context.schemas.read(file.schema_id)
            self.known[file.schema_id] = stored_names(self.fields, stored)
        names = self.known[file.schema_id]
        if names is None or file.write_cols is None or {n for n in names if n is not None} <= {*file.write_cols}:
            return names
        return None


def stored_names(fields: Sequence[DataField], stored: TableSchema) -> Names | None:
    """Return the names that the columns ``fields`` have in files of the schema ``stored``.

    A column is found by its id, as elsewhere in the library. Returns None when a column has another type in the files,
    and when the files have none of the columns.
    """
    by_id = {f.id: f for f in stored.fields}
    old = [by_id.get(f.id) for f in fields]
    if not any(old) or not all(o is None or _is_stored_alike(f.type, o.type) for f, o in zip(fields, old, strict=True)):
        return None
    return tuple(None if o is None else o.name for o in old)


def _is_stored_alike(kind: DataType, stored: DataType) -> bool:
    """Whether two types differ at most in their nullability and in the comments of members."""
    size = (kind.root, kind.precision, kind.scale, kind.length, len(kind.children))
    return size == (stored.root, stored.precision, stored.scale, stored.length, len(stored.children)) and all(
        (a.id, a.name) == (b.id, b.name) and _is_stored_alike(a.type, b.type)
        for a, b in zip(kind.children, stored.children, strict=True)
    )


def _is_unsupported(kind: DataType) -> bool:
    """Whether files store the type in a form that Spark does not read: TIME, or timestamps as INT96."""
    if any(_is_unsupported(c.type) for c in kind.children):
        return True
    return kind.root is TypeRoot.TIME or (kind.root in TIMESTAMP_ROOTS and kind.precision > 6)


def divided(rule: NativeRule, splits: Sequence[Split]) -> tuple[dict[Names, list[Placed]], list[Split]]:
    """Return the files that Spark's Parquet reader reads, by the names of their columns, and splits of all other files.

    A raw split may have files in both results, because its files are read one by one.
    """
    named = [[rule.names(split, file) for file in split.files] for split in splits]
    sizes: Counter[Names] = Counter()
    for split, names in zip(splits, named, strict=True):
        for file, found in zip(split.files, names, strict=True):
            if found is not None:
                sizes[found] += file.file_size
    groups: dict[Names, list[Placed]] = {names: [] for names, _ in sizes.most_common(_MOST_GROUPS)}
    others: list[Split] = []
    for split, names in zip(splits, named, strict=True):
        rest = []
        for file, found in zip(split.files, names, strict=True):
            if found is not None and found in groups:
                groups[found].append((split, file))
            else:
                rest.append(file)
        if len(rest) == len(names):
            others.append(split)
        elif rest:
            left = {file.file_name for file in rest}
            vectors = {name: vector for name, vector in split.vectors.items() if name in left}
            others.append(replace(split, files=tuple(rest), vectors=vectors))
    return groups, others


def native_frame(
    spark: SparkSession,
    rule: NativeRule,
    place: Place,
    names: Names,
    files: Sequence[Placed],
    columns: Sequence[str],
    where: Predicate | None,
) -> DataFrame:
    """Return the rows of ``columns`` that satisfy ``where`` in ``files``, whose columns have ``names``.

    Spark looks up the files during this call, and reads them when the query runs. Raises StorageError for a symbolic
    link.
    """
    context = rule.context
    paths = [context.file_path(s.partition, s.bucket, f) for s, f in files]
    if isinstance(context.storage, FsspecStorage):
        for path in paths:  # refuse symbolic links, which Spark would follow
            context.storage.check_file(path)
    schema = spark_schema(rule.fields)
    stored = [(kept, name) for kept, name in zip(schema.fields, names, strict=True) if name is not None]
    read = StructType()
    for kept, name in stored:
        read.add(name, kept.dataType, True, kept.metadata)
    # Spark treats paths as glob patterns, and looks for paths without a scheme in its default file system.
    urls = [_GLOB.sub(r"\\\g<0>", place.url(path)) for path in paths]
    with _listed_by_the_driver(spark, place):
        rows = spark.read.schema(read).options(**place.options).parquet(*urls)
    if list(names) != schema.names or any(_has_floats(kept.dataType) for kept in schema.fields):
        pairs = zip(schema.fields, names, strict=True)
        rows = rows.select(
            *[_value(name, kept.dataType).alias(kept.name, metadata=kept.metadata) for kept, name in pairs]
        )
    if where is not None:
        rows = rows.where(to_column(where, schema))
    if list(columns) == schema.names:
        return rows  # one more selection costs 20 to 30 ms, because Spark analyzes the query again
    return rows.select(*map(quoted, columns))


def _value(name: str | None, kind: SparkType) -> Column:
    """Return the column of the files, in a form in which Spark pushes no filter on FLOAT and DOUBLE down to Parquet.

    Spark orders NaN last, but the statistics in the files ignore NaN: a filter that is pushed down loses rows with NaN.
    """
    if name is None:
        return F.lit(None).cast(kind)
    if isinstance(kind, FloatType | DoubleType):
        return F.negative(F.negative(column(name)))
    return F.when(column(name).isNotNull(), column(name)) if _has_floats(kind) else column(name)


def _has_floats(kind: SparkType) -> bool:
    """Whether Spark could push a filter on a FLOAT or DOUBLE of this type down: on the column or a member of a ROW."""
    if isinstance(kind, StructType):
        return any(_has_floats(member.dataType) for member in kind.fields)
    return isinstance(kind, FloatType | DoubleType)


@contextlib.contextmanager
def _listed_by_the_driver(spark: SparkSession, place: Place) -> Iterator[None]:
    """Make Spark look up local files in the driver during the block: by default, 33 or more files take a task each.

    A look-up takes 0.3 ms on a local disk, a task 8 ms. On object stores a look-up takes longer than a task.
    """
    if not place.is_local or spark_context(spark) is None:
        yield
        return
    with _LISTING_LOCK:
        before = spark.conf.get(_LISTING, None)
        spark.conf.set(_LISTING, str(2**31 - 1))
        try:
            yield
        finally:
            spark.conf.unset(_LISTING) if before is None else spark.conf.set(_LISTING, before)
