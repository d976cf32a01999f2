"""Query analysis: check without data whether Spark accepts the queries of a lake, for ``paimon-lake check``.

Spark analyses each query on empty DataFrames instead of tables. A DataFrame has the declared columns of its table. If
the declaration has no columns, the DataFrame has the columns of the table in the lake. The columns of a result are
compared with the columns of its table, as in a load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import DataField
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.definition import declared_schema
from paimon_lake.declarations.agreement.tables import place_of
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.declarations.tables.checks import SqlCheck
from paimon_lake.protocol import PipelineError
from paimon_lake.query_text import query_place, query_text
from paimon_lake.session import Spark
from paimon_lake.tables import open_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def query_problems(spark: Spark, settings: Settings, names: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the problems of the queries of sources and checks of tables (None: all), with file and line.

    Spark starts only if there is a query.
    """
    for spec in map(settings.table, settings.tables if names is None else names):
        for one in load_specs(spec):
            if isinstance(one.source, SqlSource):
                yield from _of_source(spark, settings, one, one.source)
        for number, check in enumerate(spec.checks):
            if isinstance(check, SqlCheck):
                place = place_of(settings, spec.name, ("checks", number, "query"))
                try:
                    _analysed(spark(), settings, check.query, list(settings.tables))
                except PipelineError as error:
                    yield f"{place}: {spec.name}: {error}"


def _of_source(spark: Spark, settings: Settings, spec: TableSpec, source: SqlSource) -> Iterator[str]:
    try:
        query = query_text(settings, spec)
    except PipelineError:
        return  # ``disagreements``, which ``check`` also calls, reports the missing file
    try:
        found = _analysed(spark(), settings, query, source.inputs, changes=source.read == "changes")
        if spec.columns:
            _check_result(spec, query, found)
    except (PipelineError, SchemaMismatch, InvalidRequest) as error:
        named = str(error).removeprefix(f"{spec.load_name}: ")
        yield f"{query_place(settings, spec)}: {spec.load_name}: {named}"


def _analysed(
    spark: SparkSession, settings: Settings, query: str, tables: Sequence[str], *, changes: bool = False
) -> DataFrame:
    from paimon_lake.sources.views import with_views  # imports pyspark, which a lake without queries does not need

    return with_views(spark, query, _Empty(spark, settings, tables, changes))


class _Empty(Mapping[str, "DataFrame"]):
    """Empty DataFrames with the columns of tables, by table name; a DataFrame is created when a query names its
    table."""

    def __init__(self, spark: SparkSession, settings: Settings, names: Sequence[str], changes: bool) -> None:
        self._spark, self._settings, self._names, self._changes = spark, settings, names, changes

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> DataFrame:
        from pyspark.sql.types import StringType, StructField, StructType

        from paimon_core.spark.types import spark_schema
        from paimon_lake.loads.inputs.changes import ROWKIND

        more = [StructField(ROWKIND, StringType())] if self._changes else []
        schema = StructType([*spark_schema(self._fields(name)).fields, *more])
        return self._spark.createDataFrame([], schema)

    def _fields(self, name: str) -> Sequence[DataField]:
        spec = self._settings.table(name)
        if spec.columns:
            return declared_schema(spec).fields
        catalog = open_lake(self._settings)
        if not catalog.table_exists(name):
            raise PipelineError(
                f"the columns of {name} are not known: `paimon-lake infer --table {name}` writes them down"
            )
        return catalog.table(name).schema.fields


def _check_result(spec: TableSpec, query: str, found: DataFrame) -> None:
    """Raise SchemaMismatch or PipelineError when the columns of a query's result do not fit its table."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from paimon_lake.loads.shapes.frame_shape import FrameShape
    from paimon_lake.loads.shapes.row_shape import check_filled

    check_filled(spec, found.columns)
    fields, kinds = [f for f in declared_schema(spec).fields if spec.fills(f.name)], spec.kinds
    known = {field.name for field in fields}
    ordering = {*spec.order_by, *(() if kinds is None else (kinds.column,))}
    for name in sorted(ordering - set(found.columns)):
        raise SchemaMismatch(f"the query has no column {name!r}; its columns are {', '.join(found.columns)}")
    for name in found.columns:
        if name not in known | ordering:
            raise SchemaMismatch(f"the table has no column {name!r}; its columns are {', '.join(sorted(known))}")
    for field in fields:
        if field.name not in found.columns and not field.type.nullable:
            raise SchemaMismatch(f"the query has no column {field.name!r}, which is NOT NULL in the table")
    dropped = [name for name in spec.order_by if name not in known and (kinds is None or name != kinds.column)]
    rows = to_arrow_schema(found.schema, timezone="UTC").empty_table().drop_columns(dropped)
    FrameShape(query, tuple(fields), kinds).parsed(rows)
