"""Unreferenced files: files that a crash left, or that are not committed yet (I29, for information)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.known_names import name_hashes
from paimon_core.storage.storage import FileInfo

MOST_NAMED = 20
"""Maximum number of files that get one finding each; for more files, one more finding states the total."""
COMPARED = 10_000
"""The number of names that are compared at once."""
_OWN = re.compile(r"(snapshot|tag|consumer|changelog|schema|branch|quarantine)/.*|(.*/)?_SUCCESS")
"""Paths that are never reported: files that other invariants check, files in quarantine, and marks for other tools."""


def list_unreferenced_files(run: CheckRun, location: Location) -> None:
    """Report unreferenced files; skip this check when metadata that may reference files could not be read."""
    collector, root = run.collector, run.context.paths.root
    if collector.incomplete:
        collector.skip("I29", "some metadata could not be read, so the references to files are not known")
        return
    count = size = 0
    with collector.guarding("I29", location):
        for info in _unreferenced(run, root):
            count, size = count + 1, size + info.size
            if count <= MOST_NAMED:
                below = info.path.removeprefix(root).lstrip("/")
                collector.find(
                    "I29",
                    location,
                    f"nothing references {below} ({info.size:,} bytes)",
                    level=Level.INFO,
                    path=info.path,
                )
    if count > MOST_NAMED:
        collector.find(
            "I29", location, f"nothing references {count:,} files ({size:,} bytes) in total", level=Level.INFO
        )


def _unreferenced(run: CheckRun, root: str) -> Iterator[FileInfo]:
    """Yield the files that nothing references; the names of many files are compared at once."""
    others: list[FileInfo] = []
    try:
        for info in _walk(run, root):
            run.collector.check("I29")
            if info.path not in run.reached and not _OWN.fullmatch(info.path.removeprefix(root).lstrip("/")):
                others.append(info)
            if len(others) >= COMPARED:
                yield from _without_reference(run, others)
                others = []
    except Exception:
        yield from _without_reference(run, others)
        raise
    yield from _without_reference(run, others)


def _without_reference(run: CheckRun, infos: list[FileInfo]) -> list[FileInfo]:
    hashes = name_hashes([info.name.encode(errors="surrogateescape") for info in infos])
    known = run.files.find(hashes)[0] | run.extra_files.find(hashes)[0]
    return [info for info, is_known in zip(infos, known.tolist(), strict=True) if not is_known]


def _walk(run: CheckRun, directory: str) -> Iterator[FileInfo]:
    """Yield every file; local directories are not listed again if all of their files are referenced data files."""
    storage = run.context.storage
    if not storage.is_local:
        yield from storage.walk(directory)
        return
    for info in storage.list(directory):
        if not info.is_directory or info.is_link:
            yield info
        elif (count := run.complete(info.path)) is not None:
            run.collector.check("I29", count)
        else:
            yield from _walk(run, info.path)
