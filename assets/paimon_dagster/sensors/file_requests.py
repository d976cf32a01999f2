"""Requests for files: the runs that load files which are not in a table's ledger, and the files that must wait."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dagster as dg

from paimon_dagster.factories.loads import load_requests
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.ledger.ledger import Ledger
from paimon_lake.protocol import some

if TYPE_CHECKING:
    from paimon_lake.loads.files.file_plan import FilePlan
    from paimon_lake.sources.files.listing import SourceFile

MOST_REQUESTS = 100
"""The largest number of runs that one tick requests; later ticks request the remaining runs."""


@dataclass(frozen=True)
class TickResult:
    """The result of one tick of the sensor for one table."""

    message: str = ""
    """The text that the sensor logs about the table; "" when there is nothing to log."""
    state: str | None = None
    """A digest of the files and the snapshot. While the digest is the same, the sensor does nothing. None: check at
    the next tick."""
    requests: tuple[dg.RunRequest, ...] = ()
    added: tuple[str, ...] = ()
    """The dynamic partitions to add."""
    loads: int = 0
    """The number of the newest load; a smaller number than at the last tick means that the table was rolled back."""
    rollbacks: int = 0
    """The number of rollbacks that ticks have noticed. Run keys contain this number, so that files are loaded again
    after a rollback."""


def listed(settings: Settings, spec: TableSpec) -> list[SourceFile]:
    """List the files of a table's source."""
    from paimon_lake.loads.files.source_files import source_files

    assert isinstance(spec.source, FilesSource)
    return source_files(settings, spec.source, None)


def planned(spec: TableSpec, files: Sequence[SourceFile], ledger: Ledger) -> FilePlan:
    """Return the plan of the files that a load would read now.

    With ``changed: fail``, changed files are planned as if a load read them, so that a run is requested and reports the
    error.
    """
    from paimon_lake.loads.files.file_plan import plan_files

    source = spec.source
    assert isinstance(source, FilesSource)
    changed = "load" if source.changed == "fail" else source.changed
    return plan_files(spec, source.model_copy(update={"changed": changed}), files, ledger.files)


def decide(
    spec: TableSpec,
    found: Sequence[SourceFile],
    ledger: Ledger,
    partitions: dg.PartitionsDefinition[str] | None,
    state: str,
    room: int = MOST_REQUESTS,
    rollbacks: int = 0,
    translator: PaimonTranslator = PLAIN,
) -> TickResult:
    """Return the result with the runs that load files which are not in the ledger, by the same rules as a load.

    Files of a partition that does not exist yet, such as the current day, are checked again at the next tick.
    """
    from paimon_lake.loads.files.file_plan import split_files

    kept, outside, _ = split_files(spec, found)
    plan = planned(spec, kept, ledger)
    messages = [_file_message(spec, plan)] if plan.late or plan.changed else []
    if outside:
        paths = some([file.path for file in outside])
        messages.append(f"files outside of the declared partitions, which are not loaded, {len(outside)}: {paths}")
    if partitions is None:
        run_key = _run_key(spec, plan.files, rollbacks)
        requests = load_requests(spec, None, lambda keys: run_key, translator) if plan.files else []
        return _tick_result(requests, messages, state, room)
    by_key: dict[str, list[SourceFile]] = {}
    for file in plan.files:
        by_key.setdefault(file.partition or "", []).append(file)
    known = {key for key in by_key if partitions.has_partition_key(key)}
    added = sorted(set(by_key) - known) if isinstance(partitions, dg.DynamicPartitionsDefinition) else []
    waiting = sorted(set(by_key) - known - set(added))
    if waiting:
        more = f" and {len(waiting) - 5} more" if len(waiting) > 5 else ""
        messages.append(f"files wait for a partition that does not exist yet: {', '.join(waiting[:5])}{more}")
    requests = load_requests(
        spec,
        sorted({*known, *added}),
        lambda keys: _run_key(spec, [file for key in keys for file in by_key[key]], rollbacks),
        translator,
    )
    return _tick_result(requests, messages, None if waiting else state, room, tuple(added))


def _tick_result(
    requests: Sequence[dg.RunRequest],
    messages: Sequence[str],
    state: str | None,
    room: int,
    added: tuple[str, ...] = (),
) -> TickResult:
    """Return a result with at most ``room`` runs.

    If more runs are needed, its ``state`` is None, so that the next tick checks again.
    """
    kept = tuple(requests[:room])
    runs = f"{len(kept)} run{'s' * (len(kept) != 1)} requested; repeat a failed run by hand"
    messages = [*([runs] if kept else []), *messages]
    return TickResult("; ".join(messages), state if len(kept) == len(requests) else None, kept, added)


def _file_message(spec: TableSpec, plan: FilePlan) -> str:
    from paimon_lake.loads.files.file_plan import advice

    details, names = plan.details, {"late_files": "late files", "changed_files": "changed files"}
    messages = [f"{text}: {details[name]}" for name, text in names.items() if name in details]
    return "; ".join([*messages, *([advice(spec)] if plan.changed else [])])


def _run_key(spec: TableSpec, files: Sequence[SourceFile], rollbacks: int) -> str:
    return f"{spec.name}@{digest_of(files)}{f'@{rollbacks}' if rollbacks else ''}"


def digest_of(files: Sequence[SourceFile]) -> str:
    """Return a digest of the paths and versions of files, in the order of their paths."""
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.path}\0{file.version}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()[:24]
