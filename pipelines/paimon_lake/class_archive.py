"""Class archive: the classes that a local Spark session loads, in a file from which Java loads them quickly.

``python -m paimon_lake.class_archive`` runs a small session and stores the classes that it used in the directory of the
Python environment, ``<sys.prefix>/share/paimon-lake``. The name of the file has the versions of pyspark and Java, and a
digest of its bytes: Java can abort on a damaged archive, so a file with another digest is not used. Java itself ignores
an archive of another build of Java or of other jars. A session without archive only starts more slowly.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

_LEAST_JAVA = 17
_DIGEST_LENGTH = 16
_EXIT_SECONDS = 300
"""How long Java may take to write the archive."""


class ArchiveFailed(Exception):
    """No archive was created; the text is the reason."""


def archive_options() -> str:
    """Return the options with which Java uses the archive; no options when there is no whole and readable one."""
    version = _java_version()
    for path in sorted(_folder().glob(f"{_name(version)}-*.jsa")) if version else ():
        try:
            if path.stem.endswith(f"-{_digest(path)}"):
                return shlex.join(_options(path, version))
        except OSError:  # not readable, or being replaced
            continue
    return ""


def create_archive() -> Path:
    """Create the archive, remove older ones, and return its path; no session ever sees a part of one.

    Starts a Spark session, so the process must not have one. Raises ArchiveFailed, OSError, and the errors of Spark.
    """
    version = _java_version()
    if not version:
        raise ArchiveFailed(f"no Java {_LEAST_JAVA} or later was found, or it does not tell its version")
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    for part in folder.glob(".new-*.jsa"):  # Java also writes one after this process was killed
        part.unlink()
    new = folder / f".new-{os.getpid()}.jsa"
    try:
        _record(new)
        _check(new, version)
        path = folder / f"{_name(version)}-{_digest(new)}.jsa"
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
    for other in folder.glob("*.jsa"):
        if other != path and (other.name.startswith(_name(version)) or f"-{pyspark.__version__}-" not in other.name):
            other.unlink()
    return path


def main() -> int:
    """Create the archive and print one line; return the exit code."""
    try:
        path = create_archive()
    except Exception as error:  # sessions work without it
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        print(f"note: no class archive was created, so Spark starts more slowly: {reason}", file=sys.stderr)
        return 1
    print(f"Spark sessions start faster with {path} ({path.stat().st_size >> 20} MB).")
    return 0


def _folder() -> Path:
    return Path(sys.prefix) / "share" / "paimon-lake"


def _name(java_version: str) -> str:
    return f"pyspark-{pyspark.__version__}-java-{java_version}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGEST_LENGTH]


def _options(path: Path, version: str) -> list[str]:
    """Return the options, which print nothing when Java ignores the archive; its log has another name since Java 24."""
    log = "cds*=off,aot*=off" if int(version.split(".")[0]) >= 24 else "cds*=off"
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", f"-Xlog:{log}"]


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    return Path(found).resolve() if found else None


def _java_version() -> str:
    """Return the version of the Java that Spark starts, empty when it is not known or too old."""
    java = _java()
    try:
        text = (java.parent.parent / "release").read_text(encoding="utf-8") if java else ""
    except (OSError, UnicodeDecodeError):
        return ""
    version = re.search(r'^JAVA_VERSION="(\d+)((?:\.\d+)*)"$', text, re.MULTILINE)
    return version[1] + version[2] if version and int(version[1]) >= _LEAST_JAVA else ""


def _record(path: Path) -> None:
    """Run a session with a job of each kind that a small load needs; Java writes the classes when it ends."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # as start_session does
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
    """Raise ArchiveFailed when Java refuses the options or prints more than its version with them."""
    java = str(_java())
    plain = subprocess.run([java, "-version"], capture_output=True, check=False)
    with_archive = subprocess.run([java, *_options(path, version), "-version"], capture_output=True, check=False)
    outputs = [(one.returncode, one.stdout, len(one.stderr.splitlines())) for one in (plain, with_archive)]
    if outputs[0] != outputs[1]:
        raise ArchiveFailed(f"{java} does not accept an archive quietly")


if __name__ == "__main__":
    raise SystemExit(main())
