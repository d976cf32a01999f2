"""Split reports: the checksum and the JSON members of each split that a task has read, combined for each file.

The checksum of a split is a digest of its bytes. The digest of a file is computed from the checksums of its splits, so
tasks compute it in parallel. The places of splits depend only on the size of the file and its format.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_lake.checks.text import many
from paimon_lake.declarations.sources.source import EVENT_FORMATS
from paimon_lake.loads.ledger.loaded_files import LoadedFiles, digest
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.columns import ALLOW_MISSING, RowRules, exact_type, required_columns
from paimon_lake.sources.files.events.dialects import SCHEMA_CHANGE
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.listing import SourceFile, open_source_file
from paimon_lake.sources.files.splits import FileSplit, plan_splits
from paimon_lake.sources.files.text.json_members import Path, lacking

CONTENT = 8
"""The number of bytes of the digest of the content of a file."""
_BLOCK = 4 << 20
_THREADS = 4


@dataclass(frozen=True)
class SplitReport:
    """The report of a task about one split that it has read."""

    file: str
    """The name of the file in ledgers."""
    start: int
    checksum: str = ""
    """A digest of the bytes in hexadecimal; "" if the store itself states a checksum of the file."""
    members: tuple[Path, ...] = ()
    """The members that the objects of a JSON file have."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of skipped change events, by kind."""
    sources: tuple[str, ...] = ()
    """The tables of the change events that are applied."""
    new_columns: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The types that were seen for members of change events that the table does not have."""

    def to_bytes(self) -> bytes:
        """Return the report as JSON."""
        return json.dumps(list(vars(self).values()), default=sorted).encode()

    @staticmethod
    def from_bytes(data: bytes) -> SplitReport:
        """Return the report that ``to_bytes`` encoded."""
        file, start, checksum, members, skipped, sources, new = json.loads(data)
        return SplitReport(file, start, checksum, tuple(tuple(path) for path in members), skipped, tuple(sources), new)


def report_of(
    split: FileSplit,
    options: Mapping[str, str],
    members: Collection[Path] = (),
    skipped: Mapping[str, int] | None = None,
    sources: Collection[str] = (),
) -> SplitReport:
    """Return the report on a split that was read; reads its bytes again, which the system has cached."""
    checksum = "" if split.file.checksum else checksum_of(split, options).hex()
    seen = tuple(sorted(members))
    return SplitReport(split.file.ledger_name, split.start, checksum, seen, skipped or {}, tuple(sorted(sources)))


def skipped_events(reports: Sequence[SplitReport]) -> list[str]:
    """Return one sentence for each kind of skipped change events, with their number."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report.skipped)
    return skipped_sentences(counts)


def skipped_sentences(counts: Mapping[str, int]) -> list[str]:
    """Return one sentence for each kind of skipped events, with their number."""
    more = {SCHEMA_CHANGE: ": columns and tables are not changed from files, change the declaration"}
    told = []
    for what, count in sorted(counts.items()):
        noun, of, tables = what.partition(" of ")
        told.append(f"{many(count, noun)}{of}{tables} skipped{more.get(what, '')}")
    return told


def checksum_of(split: FileSplit, options: Mapping[str, str]) -> bytes:
    """Return a digest of the bytes of a split; raises PipelineError as ``open_source_file`` does."""
    found = hashlib.blake2b(digest_size=16)
    with open_source_file(split.file, options) as stream:
        stream.seek(split.start)
        left = split.size
        while left and (data := stream.read(min(_BLOCK, left))):
            found.update(data)
            left -= len(data)
    return found.digest()


def contents_of(files: Sequence[SourceFile], reports: Sequence[SplitReport]) -> dict[str, bytes]:
    """Return the digest of the content of each file by its name in ledgers."""
    checksums: dict[str, list[tuple[int, str]]] = {}
    for report in reports:
        checksums.setdefault(report.file, []).append((report.start, report.checksum))
    return {
        file.ledger_name: _content(file, [text for _, text in sorted(checksums.get(file.ledger_name, []))])
        for file in files
    }


def _content(file: SourceFile, checksums: Sequence[str]) -> bytes:
    return digest(file.checksum or "".join(checksums), CONTENT)


def unchanged_files(
    files: Sequence[SourceFile], loaded: LoadedFiles, kind: FileFormat, options: Mapping[str, str]
) -> Iterator[tuple[SourceFile, bytes]]:
    """Yield those of ``files``, which have new versions, whose content is the loaded content, with the digest of the
    content.

    Reads the files whose store states no checksum, at about 1 GB/s for each of 4 threads.
    """
    known = [(file, content) for file in files if (content := loaded.content(file.ledger_name)) is not None]

    def found(file: SourceFile) -> bytes:
        splits = [] if file.checksum else plan_splits([file], kind)
        return _content(file, [checksum_of(split, options).hex() for split in splits])

    with ThreadPoolExecutor(_THREADS) as pool:
        for (file, content), now in zip(known, pool.map(found, [file for file, _ in known]), strict=True):
            if now == content:
                yield file, content


def check_members(
    files: Sequence[SourceFile],
    reports: Sequence[SplitReport],
    kind: FileFormat,
    schema: pa.Schema,
    rules: RowRules,
    added: Collection[str] = (),
) -> None:
    """Raise PipelineError for a JSON file in which no object has a member for some column of the table.

    Files before the first file that has a column in ``added`` may lack the column.
    Members of nested columns are checked as well. With ``allow_missing_columns``, only columns that must not be null
    are required.
    """
    if kind.kind not in ("json", "jsonl", *EVENT_FORMATS):
        return
    seen: dict[str, set[Path]] = {}
    for report in reports:
        seen.setdefault(report.file, set()).update(report.members)
    kinds = {field.name: exact_type(field) for field in schema if field.name != rules.source}
    required = required_columns(schema, rules)
    lacked = [lacking(kinds, seen.get(file.ledger_name, set())) for file in files]
    for at, (file, missing) in enumerate(zip(files, lacked, strict=True)):
        later = {name for name in added if any((name,) not in other for other in lacked[at + 1 :])}
        earlier = {name for name in added if any((name,) not in other for other in lacked[:at])}
        missing = [path for path in missing if path[0] not in later - earlier]
        needed = [path for path in missing if path[0] in required and len(path) == 1]
        if needed or (missing and not kind.allow_missing_columns):
            names = ", ".join(repr(".".join(path)) for path in needed or missing)
            rule = ", which must not be null" if needed else f"; {ALLOW_MISSING}"
            raise PipelineError(f"file {file.path}: no object has the member {names}{rule}")
