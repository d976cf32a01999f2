"""Dimensions: planes, airlines and airports, each table replaced as a whole by its source file."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from pipelines import source
from pipelines.flights import read_csv
from pipelines.protocol import PipelineError, StepResult
from pipelines.session import Spark
from pipelines.settings import Settings
from pipelines.tables import Stage, load, open_table

DIMENSIONS = {"dim.planes": source.PLANES, "dim.airlines": source.AIRLINES, "dim.airports": source.AIRPORTS}


def load_dimension(
    spark: Spark, settings: Settings, name: str, *, properties: Mapping[str, str] | None = None
) -> StepResult:
    """Overwrite one dimension table with its source file; raises PipelineError for a table that is none."""
    if name not in DIMENSIONS:
        raise PipelineError(f"{name!r} is no dimension ({', '.join(DIMENSIONS)})")
    file = DIMENSIONS[name]
    table = open_table(settings, name, create=True)

    def rows() -> DataFrame:
        return read_csv(spark, file, [str(source.land(file, settings.landing))]).select(*table.schema.names)

    return load(
        "load-dimension",
        table,
        [Stage("rows", rows, overwrite="dynamic")],
        user=f"{name} {source.fingerprint(file)}",
        properties=properties,
    )
