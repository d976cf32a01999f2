"""Merge source: the source of ``merge_spark`` as a DataFrame whose columns have the types of the table.

The source is cached while the merge runs, so that a source that is not deterministic has the same rows in all jobs. One
job counts the rows of each key, and finds the range of each key column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, StructField, StructType

from paimon_core.alter.data_columns import recognised
from paimon_core.arrow import conform
from paimon_core.errors import InvalidRequest, SchemaMismatch, listed
from paimon_core.metadata.context import TableContext
from paimon_core.predicate import Predicate, col
from paimon_core.schema import DataField
from paimon_core.spark.columns import column
from paimon_core.spark.row_changes.key_filter import KeyFilter, filter_of_keys
from paimon_core.spark.tasks import map_batches
from paimon_core.spark.types import spark_schema
from paimon_core.table.rows.merge_source import LISTED_KEYS, key_filter, selected
from paimon_core.types import STRING_ROOTS, TypeRoot, read_annotations
from paimon_core.types.spark_json import from_spark_json

_RANGED = {TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT, TypeRoot.DATE} | STRING_ROOTS
"""Types whose least and greatest values are the same in Spark and in this library."""
_LISTED_BYTES = 16 << 20
"""The maximum number of bytes of the texts of a key column that the driver lists."""


@dataclass(frozen=True)
class KeyStatistics:
    """Statistics of the keys in the source."""

    most_rows_of_a_key: int
    may_match: Predicate
    """True for all table rows whose key is in the source, and maybe for other rows; it selects files."""
    key_filter: KeyFilter | None
    """True for all table rows whose key is in the source, and for few other rows; None for more than MOST_KEYS keys."""


def fields_of(df: DataFrame, context: TableContext) -> tuple[DataField, ...]:
    """Return the columns of the source that the table has, with the types of the table, then the other columns."""
    known = context.schema.by_name
    described = {c.name: c for c in from_spark_json(df.schema.jsonValue())}
    fields = [replace(f, type=f.type.with_nullable(True), default=None) for f in context.schema.fields]
    found = [f for f in fields if f.name in df.columns]
    others = [
        DataField(-1, n, recognised(read_annotations(c).type, None)) for n, c in described.items() if n not in known
    ]
    return (*found, *others)


def check_names(df: DataFrame, on: Sequence[str]) -> None:
    """Raise InvalidRequest for two columns of the source with one name, SchemaMismatch for a missing column."""
    if doubled := sorted({name for name in df.columns if df.columns.count(name) > 1}):
        raise InvalidRequest(f"the source has several columns {doubled[0]!r}: rename them", column=doubled[0])
    for name in on:
        if name not in df.columns:
            raise SchemaMismatch(
                f"the source has no column {name!r}; its columns are {listed(df.columns)}", column=name
            )


def converted(
    df: DataFrame, fields: Sequence[DataField], known: Sequence[str], flags: Mapping[str, Predicate]
) -> DataFrame:
    """Return the source with the types of the table, and with a boolean column for each of ``flags``.

    The rows pass through Python only if a type differs or there are flags. Raises SchemaMismatch in a task for a value
    that does not fit its column.
    """
    same = {f.name: _same(df.schema[f.name].dataType, spark_schema([f]).fields[0].dataType) for f in fields}
    if all(same[name] for name in known) and not flags:
        return df
    own = [f for f in fields if f.name in known]
    tested = frozenset[str]().union(*(p.columns for p in flags.values()))
    extra = [f for f in fields if f.name in tested and f.name not in known]
    columns = [spark_schema([f]).fields[0] if f.name in known else df.schema[f.name] for f in fields]
    schema = StructType([*columns, *(StructField(n, BooleanType(), False) for n in flags)])
    names, predicates = [f.name for f in fields], dict(flags)

    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            typed = conform(rows.select([f.name for f in own]), own)
            others = conform(rows.select([f.name for f in extra]), extra)
            full = pa.table({n: typed[n] if n in typed.column_names else rows[n] for n in names})
            seen = pa.table(
                {**{n: typed[n] for n in typed.column_names}, **{n: others[n] for n in others.column_names}}
            )
            for name, predicate in predicates.items():
                full = full.append_column(name, pa.array(selected(seen, predicate, [*own, *extra])))
            yield from full.to_batches()

    return map_batches(df.select(*map(column, names)), convert, schema)


def _same(one: DataType, other: DataType) -> bool:
    return str(one.simpleString()) == str(other.simpleString())


def key_statistics(source: DataFrame, context: TableContext, on: Sequence[str]) -> KeyStatistics:
    """Run a job that counts the rows of each key of the source; keys with a null are left out.

    A second job makes the key filter. The driver holds at most ``LISTED_KEYS`` keys, and the bits of the filter.
    """
    fields = {name: context.schema.by_name[name] for name in on}
    valid = reduce(and_, (column(name).isNotNull() for name in on))
    keys = source.where(valid).groupBy(*map(column, on)).agg(F.count(F.lit(1)).alias("__paimon_rows"))
    wanted: list[Column] = [F.max("__paimon_rows"), F.count(F.lit(1))]
    ranged = [name for name in on if fields[name].type.root in _RANGED]
    for name in ranged:
        wanted += [F.min(column(name)), F.max(column(name)), F.sum(F.octet_length(column(name).cast("string")))]
    found = keys.agg(*wanted).collect()[0]
    most, count = int(found[0] or 1), int(found[1])
    size = sum(int(found[4 + 3 * at] or 0) for at in range(len(ranged)))
    values: dict[str, list[Any]] = {name: [found[2 + 3 * at], found[3 + 3 * at]] for at, name in enumerate(ranged)}
    listed_here = count <= LISTED_KEYS and size <= _LISTED_BYTES and bool(ranged)
    if listed_here:
        rows = keys.select(*map(column, ranged)).collect()
        values = {name: list({row[at] for row in rows}) for at, name in enumerate(ranged)}
    filters = [_filter(context, name, some, count, whole=listed_here) for name, some in values.items()]
    may_match = reduce(and_, [f for f in filters if f is not None] or [col(on[0]).is_not_null()])
    return KeyStatistics(most, may_match, filter_of_keys(keys.select(*map(column, on)), list(fields.values()), count))


def _filter(context: TableContext, name: str, values: list[Any], count: int, *, whole: bool) -> Predicate | None:
    if not count:
        return None
    if whole:
        return key_filter(context, name, pa.array(values, context.schema.by_name[name].arrow.type))
    return col(name).between(*values)
