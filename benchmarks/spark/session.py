"""Session: a Spark session of a benchmark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.spark.lake import SETTINGS


@contextlib.contextmanager
def started(
    folder: Path, master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Start a session, with the files of its shuffles in ``folder``, and stop it at the end."""
    builder = SparkSession.builder.master(master).appName("benchmark")
    for key, value in {**SETTINGS, "spark.local.dir": str(folder / "local"), **(settings or {})}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()
