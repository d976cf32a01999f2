"""An archive of the packages that Spark's Python workers need: ``paimon-core cluster-archive TARGET``.

The archive has the packages of the environment that runs this command, so that the driver and the workers have the same
versions: this package, the packages that it requires, and the packages of the extras that ``--extras`` names. Spark
unpacks it on each executor. The workers need a Python of the same minor version and platform as the driver, and nothing
else:

    spark-submit --archives paimon.tar.gz#paimon --conf spark.executorEnv.PYTHONPATH=paimon \\
        --conf spark.pyspark.python=python3.11 job.py
"""

from __future__ import annotations

import contextlib
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata, util
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from paimon_core.errors import InvalidRequest

DISTRIBUTION = "paimon-core"
OWN_PACKAGES = ("paimon_core", "paimon_lake")
ON_EXECUTORS = frozenset({"pyspark"})
"""Distributions that Spark provides on its workers."""


def write_archive(target: Path, extras: Sequence[str] = ()) -> list[str]:
    """Write a ``.tar.gz`` of the packages to ``target``; return their names and versions, such as ``numpy==2.4.0``.

    The archive is either complete or does not exist: it is written beside ``target`` under another name, and then
    renamed. Raises InvalidRequest for an extra that does not exist, a required distribution that is not installed, and
    a target that does not end with ``.tar.gz``.
    """
    if not target.name.endswith(".tar.gz"):
        raise InvalidRequest(f"the archive {target} must end with .tar.gz: Spark unpacks archives by their ending")
    found = required(extras)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(part, "w:gz", compresslevel=1) as archive:
            for source, name in (*_own_files(), *(file for one in found for file in _files(one))):
                archive.add(source, name, recursive=False)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return sorted(f"{canonicalize_name(one.metadata['Name'])}=={one.version}" for one in found)


def required(extras: Sequence[str]) -> list[metadata.Distribution]:
    """Return the distributions that ``paimon-core`` requires with ``extras``, directly or indirectly.

    ``paimon-core`` itself and the distributions that Spark provides are left out. Raises InvalidRequest as
    ``write_archive`` does.
    """
    own = metadata.distribution(DISTRIBUTION)
    known = own.metadata.get_all("Provides-Extra") or []
    for extra in extras:
        if extra not in known:
            raise InvalidRequest(f"{DISTRIBUTION} has no extra {extra!r}; its extras are {', '.join(sorted(known))}")
    waiting = [(own, frozenset(extras))]
    found: dict[str, metadata.Distribution] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        distribution, wanted = waiting.pop()
        for need in _requirements(distribution, wanted):
            name = canonicalize_name(need.name)
            step = (name, frozenset(need.extras))
            if name in ON_EXECUTORS or step in done:
                continue
            done.add(step)
            one = own if name == DISTRIBUTION else _installed(name, distribution)
            if one is not own:
                found[name] = one
            waiting.append((one, frozenset(need.extras)))
    return list(found.values())


def _requirements(distribution: metadata.Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements of a distribution that hold in this environment, with the extras that are asked for."""
    for text in distribution.requires or ():
        need = Requirement(text)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield need


def _installed(name: str, by: metadata.Distribution) -> metadata.Distribution:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.distribution(name)
    raise InvalidRequest(f"{by.metadata['Name']} requires {name}, which is not installed: pip install {name}")


def _own_files() -> Iterator[tuple[Path, str]]:
    """Yield the files of our own packages, which may be in a clone instead of the environment."""
    for package in OWN_PACKAGES:
        spec = util.find_spec(package)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                yield path, f"{package}/{path.relative_to(folder).as_posix()}"


def _files(distribution: metadata.Distribution) -> Iterator[tuple[Path, str]]:
    """Yield the installed files of a distribution, without scripts and compiled Python files."""
    if distribution.files is None:
        raise InvalidRequest(f"{distribution.metadata['Name']} has no list of its files (RECORD): install it with pip")
    for file in distribution.files:
        name = PurePosixPath(file)
        if ".." not in name.parts and not name.is_absolute() and name.suffix != ".pyc":
            path = Path(str(distribution.locate_file(file)))
            if path.is_file():
                yield path, name.as_posix()
