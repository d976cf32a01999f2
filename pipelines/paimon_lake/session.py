"""Session: start the Spark session that the settings describe, when a step first needs it; a process has one JVM."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

import paimon_core
from paimon_lake.class_archive import archive_options
from paimon_lake.declarations import Settings
from paimon_lake.protocol import PipelineError

Spark: TypeAlias = Callable[[], SparkSession]
"""A function that returns the Spark session. A step calls it only when it needs Spark, so a step with nothing to do
starts no JVM."""

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Workers are forks of a process that has imported these packages, so that no worker imports them by itself.
    "spark.python.daemon.module": "paimon_lake.daemon",
    # Tasks of RDDs have whole tracebacks. With short tracebacks for queries, Spark would start a second daemon.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
_LOCAL_DEFAULTS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    # A simple garbage collector, so that short sessions start faster.
    _JAVA_OPTIONS: "-XX:+UseSerialGC",
}
_LOG_SETTINGS = Path(__file__).resolve().with_name("log4j2.properties")
_SOURCES = (str(Path(paimon_core.__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1]))


def start_session(settings: Settings) -> SparkSession:
    """Start the session, or return the running one of this process.

    Raises PipelineError when Java is not found. Also raises it when the running session has another master, or another
    value of a setting that a running session cannot change: Spark would ignore the settings of this lake.
    """
    require_java()
    if SparkContext._active_spark_context is not None:
        _require_settings(SparkSession.builder.getOrCreate(), settings)
    # Spark uses python3 from the PATH by default, but workers must run the same interpreter as the driver.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if settings.spark.master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark logs the errors of queries as JSON with the traceback of the JVM. That log is switched off, because steps
    # report each error in one sentence.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.master(settings.spark.master).appName(settings.spark.app_name)
    for key, value in _configuration(settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def spark_reason(error: Exception) -> str:
    """Return the line of a Spark error that states the cause: the last that names an exception, else the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Mismatch|Request|Feature): ", line)]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0]


JVM_ERRORS = (OSError, Py4JError)
"""The exceptions that calls of a session raise when its JVM has ended."""
_END_SECONDS = 5


def jvm_has_ended() -> bool:
    """Whether the JVM that this process started for Spark has ended, so that the process cannot use Spark any more."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)  # the connections of the JVM end a moment before its process
    return process.poll() is not None


def require_java() -> None:
    """Raise PipelineError when there is no Java to start Spark with."""
    java_home = os.environ.get("JAVA_HOME")
    if not (java_home and (Path(java_home) / "bin" / "java").exists()) and shutil.which("java") is None:
        raise PipelineError("Spark needs Java 17 or later: install it, or set JAVA_HOME")


def _configuration(settings: Settings) -> dict[str, str]:
    local = settings.spark.master.startswith("local")
    conf = {**_DEFAULTS, **(_LOCAL_DEFAULTS if local else {}), **settings.spark.conf}
    logging = f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
    archive = archive_options() if local else ""
    # When options contradict each other, Java obeys the last option: the options of the settings come after the options
    # of the archive.
    conf[_JAVA_OPTIONS] = " ".join(part for part in (archive, conf.get(_JAVA_OPTIONS), logging) if part)
    # Workers must be able to import both packages even when the packages are not installed, for example in a git clone.
    path = os.pathsep.join(dict.fromkeys(part for part in (*_SOURCES, os.environ.get("PYTHONPATH")) if part))
    conf.setdefault("spark.executorEnv.PYTHONPATH", path)
    conf.setdefault("spark.sql.warehouse.dir", str(_local_directory(settings) / "spark-warehouse"))
    return conf


def _require_settings(running: SparkSession, settings: Settings) -> None:
    """Raise PipelineError when the running session has other values of settings that it cannot change."""
    fixed = {
        key: value
        for key, value in settings.spark.conf.items()
        if key != _JAVA_OPTIONS and not running.conf.isModifiable(key)  # a start adds parts to the Java options
    }
    for key, value in {"spark.master": settings.spark.master, **fixed}.items():
        if running.conf.get(key, None) != value:  # the error has no values: they may be secrets
            raise PipelineError(
                f"the Spark session that runs in this process has another {key} than {settings.folder} declares, and "
                "cannot change it: use another process, or declare the same value in both lakes"
            )


def _local_directory(settings: Settings) -> Path:
    """Return a local directory for the files that Spark itself stores; tables of the lake are never in it."""
    if settings.is_remote and not settings.landing_directory:
        return Path(tempfile.gettempdir())
    return settings.landing.parent
