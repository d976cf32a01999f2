"""``python -m assets.demo.record_classes``: create an archive of Java classes, so that Spark sessions start faster.

The archive is valid for this Python environment and for the Java version that wrote it. ``paimon_lake.class_archive``
finds the archive for a session.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from paimon_lake.class_archive import (
    LEAST_JAVA,
    archive_folder,
    archive_name,
    digest_of,
    find_java,
    java_options,
    java_version,
)

_EXIT_SECONDS = 300
"""The timeout in seconds for Java to write the archive."""


class ArchiveFailed(Exception):
    """No archive was created; the text is the reason."""


def main() -> int:
    """Create the archive, print one line about it, and return the exit code."""
    try:
        path = create_archive()
    except Exception as error:  # sessions work without an archive
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        print(f"note: no class archive was created, so Spark starts more slowly: {reason}", file=sys.stderr)
        return 1
    print(f"Spark sessions start faster with {path} ({path.stat().st_size >> 20} MB).")
    return 0


def create_archive() -> Path:
    """Create the archive, remove older archives, and return its path; sessions never see an incomplete archive.

    Starts a Spark session, so the process must not have one. Raises ArchiveFailed, OSError or an error of Spark when
    the archive cannot be created.
    """
    version = java_version()
    if not version:
        raise ArchiveFailed(f"no Java {LEAST_JAVA} or later was found, or its version is not known")
    folder = archive_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for part in folder.glob(".new-*.jsa"):  # Java may write an archive after this process was killed
        part.unlink()
    new = folder / f".new-{os.getpid()}.jsa"
    try:
        _record(new)
        _check(new, version)
        path = folder / f"{archive_name(version)}-{digest_of(new)}.jsa"
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
    for other in folder.glob("*.jsa"):
        is_old = other.name.startswith(archive_name(version)) or f"-{pyspark.__version__}-" not in other.name
        if other != path and is_old:
            other.unlink()
    return path


def _record(path: Path) -> None:
    """Run a session with the kinds of jobs that a small load needs; Java writes the archive when the session ends."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the same values as in ``start_session``
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    option = shlex.quote(f"-XX:ArchiveClassesAtExit={path}")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", f"{option} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xlog:cds*=off")
        .getOrCreate()
    )
    process = SparkContext._gateway.proc
    _run_jobs(session)
    session.stop()
    process.stdin.close()  # ends the process
    if process.wait(_EXIT_SECONDS) != 0 or not path.exists():
        raise ArchiveFailed("Java wrote no archive")


def _run_jobs(session: SparkSession) -> None:
    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    session.sparkContext.parallelize([b"a", b"b"], 2).map(len).collect()
    rows = session.createDataFrame([(1, "a"), (2, "b")], "k bigint, v string").mapInArrow(same, "k bigint, v string")
    rows.createTempView("rows")
    summed = session.sql("SELECT v, count(*) AS n, sum(k) AS s FROM rows WHERE k > 0 GROUP BY v ORDER BY v")
    summed.repartitionById(2, summed.n.cast("int")).mapInArrow(same, "v string, n bigint, s bigint").collect()


def _check(path: Path, version: str) -> None:
    """Raise ArchiveFailed when Java, started with the archive, fails or prints more than its version."""
    java = str(find_java())
    plain = subprocess.run([java, "-version"], capture_output=True, check=False)
    with_archive = subprocess.run([java, *java_options(path, version), "-version"], capture_output=True, check=False)
    outputs = [(one.returncode, one.stdout, len(one.stderr.splitlines())) for one in (plain, with_archive)]
    if outputs[0] != outputs[1]:
        raise ArchiveFailed(f"{java} fails or prints messages when it starts with the archive")


if __name__ == "__main__":
    raise SystemExit(main())
