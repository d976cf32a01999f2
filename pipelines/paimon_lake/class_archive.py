"""Class archive: the classes that a local Spark session loads, in a file from which Java loads them quickly.

A session uses the archive of its Python environment, ``<sys.prefix>/share/paimon-lake``, when there is one; ``make
setup-java`` records it. The name of the file has the versions of pyspark and Java, and a digest of the bytes of the
file. Java can abort on a damaged archive, so a file whose bytes have another digest than its name is not used. Java
itself ignores an archive that another Java wrote or that was recorded with other jars. A session without an archive
works as well, but starts more slowly.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pyspark

LEAST_JAVA = 17
_DIGEST_LENGTH = 16


def archive_options() -> str:
    """Return the options of Java for the archive, as one text; "" when no archive is readable and undamaged."""
    version = java_version()
    for path in sorted(archive_folder().glob(f"{archive_name(version)}-*.jsa")) if version else ():
        try:
            if path.stem.endswith(f"-{digest_of(path)}"):
                return shlex.join(java_options(path, version))
        except OSError:  # not readable, or being replaced
            continue
    return ""


def archive_folder() -> Path:
    """Return the directory of archives in the Python environment."""
    return Path(sys.prefix) / "share" / "paimon-lake"


def archive_name(version: str) -> str:
    """Return the first part of the names of archives for the installed pyspark and the given version of Java."""
    return f"pyspark-{pyspark.__version__}-java-{version}"


def digest_of(path: Path) -> str:
    """Return the digest of a file in hexadecimal; the name of an archive ends with the digest of its content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGEST_LENGTH]


def java_options(path: Path, version: str) -> list[str]:
    """Return the options of Java for an archive.

    The options switch off Java's log about archives; the name of this log changed in Java 24.
    """
    log = "cds*=off,aot*=off" if int(version.split(".")[0]) >= 24 else "cds*=off"
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", f"-Xlog:{log}"]


def find_java() -> Path | None:
    """Return the path of the ``java`` program that Spark starts; None when there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    return Path(found).resolve() if found else None


def java_version() -> str:
    """Return the version of the Java that Spark starts; "" when the version is not known or is too old."""
    java = find_java()
    try:
        text = (java.parent.parent / "release").read_text(encoding="utf-8") if java else ""
    except (OSError, UnicodeDecodeError):
        return ""
    version = re.search(r'^JAVA_VERSION="(\d+)((?:\.\d+)*)"$', text, re.MULTILINE)
    return version[1] + version[2] if version and int(version[1]) >= LEAST_JAVA else ""
