"""The Spark session that the settings describe: started when a step first needs it, one JVM a process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from pipelines.protocol import PipelineError
from pipelines.settings import CONFIGS, ROOT, Settings

Spark: TypeAlias = Callable[[], SparkSession]
"""How steps receive Spark: a step that finds everything done never starts a JVM."""


def start_session(settings: Settings) -> SparkSession:
    """Start (or join) the session; raises PipelineError when there is no Java."""
    require_java()
    # Spark takes python3 from the PATH unless told: workers must run the interpreter that runs the driver.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if settings.spark.master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(settings.spark.master).appName(settings.spark.app_name)
    for key, value in _configuration(settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def require_java() -> None:
    """Raises PipelineError when there is no Java to start Spark with."""
    java_home = os.environ.get("JAVA_HOME")
    if not (java_home and (Path(java_home) / "bin" / "java").exists()) and shutil.which("java") is None:
        raise PipelineError("Spark needs Java 17 or later: install it, or set JAVA_HOME")


def _configuration(settings: Settings) -> dict[str, str]:
    conf = dict(settings.spark.conf)
    logging = f"-Dlog4j2.configurationFile={(CONFIGS / 'log4j2.properties').as_uri()}"
    java = "spark.driver.extraJavaOptions"
    conf[java] = " ".join(part for part in (conf.get(java), logging) if part)
    # Workers import paimon_core by name, also when it is not installed and the driver was started elsewhere.
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    conf.setdefault("spark.executorEnv.PYTHONPATH", path)
    conf.setdefault("spark.sql.warehouse.dir", str(settings.landing.parent / "spark-warehouse"))
    return conf
