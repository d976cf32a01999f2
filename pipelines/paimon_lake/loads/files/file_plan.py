"""File plan: selects the files that a load reads: new files, and late or changed files if the declaration says so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.sources.change_events import has_events
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.ledger.loaded_files import LoadedFiles
from paimon_lake.loads.partitions.partition_keys import is_later, is_outside
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.files.listing import SourceFile


def advice(spec: TableSpec) -> str:
    """Return a text that says how changed files can be loaded."""
    if spec.write_mode == "append":
        return "a load of the whole table with `--reload` replaces its rows"
    if has_events(spec.source):
        return "a load of the whole table with `--reload` applies all events again"
    return "`source.changed: load` loads files that change, and a load with `--reload` reads files again"


@dataclass(frozen=True)
class FilePlan:
    """The files to load, in the order of their paths, and other files that the result of the load mentions."""

    files: tuple[SourceFile, ...]
    late: tuple[SourceFile, ...] = ()
    """New files of partitions that were loaded before."""
    changed: tuple[SourceFile, ...] = ()
    """Files that changed after they were loaded."""
    loaded: int = 0
    """The number of files that are unchanged since they were loaded."""
    outside: tuple[SourceFile, ...] = ()
    """Files that are left out because the declaration does not have their partition."""
    early: tuple[SourceFile, ...] = ()
    """Files that are left out because their partition does not exist yet, such as the partition of the current day."""
    again: tuple[SourceFile, ...] = ()
    """Files that are loaded again because rows were lost: the files with lost rows, and the files that were loaded
    after them.
    """
    same: tuple[SourceFile, ...] = ()
    """Loaded files that have a new version with the same content; they are not read."""

    @property
    def details(self) -> dict[str, str | int | float]:
        """The numbers of files, with some paths, for ``StepResult.details``."""
        told: dict[str, str | int | float] = {"files_read": len(self.files), "files_loaded_before": self.loaded}
        for name, files in (
            ("late_files", self.late),
            ("changed_files", self.changed),
            ("files_loaded_again", self.again),
            ("files_outside_of_partitions", self.outside),
            ("files_of_later_partitions", self.early),
        ):
            if files:
                told[name] = f"{len(files)}: {some([file.path for file in files])}"
        if self.same:
            told["files_with_the_same_content"] = len(self.same)
        return told


def split_files(
    spec: TableSpec, files: Sequence[SourceFile], now: datetime | None = None
) -> tuple[list[SourceFile], list[SourceFile], list[SourceFile]]:
    """Return three lists: files to consider, files of partitions that are not declared, files of later partitions.

    A later partition does not exist yet at ``now``; without ``now``, its files are in the first list. A file whose path
    names no partition is in the first list.
    """
    partitions = spec.partitions
    kept, outside, early = [], list[SourceFile](), list[SourceFile]()
    for file in files:
        if partitions is None or file.partition is None:
            kept.append(file)
        elif is_outside(partitions, file.partition, spec.name):
            outside.append(file)
        elif now is not None and is_later(partitions, file.partition, spec.name, now):
            early.append(file)
        else:
            kept.append(file)
    return kept, outside, early


def plan_files(
    spec: TableSpec,
    source: FilesSource,
    listed: Sequence[SourceFile],
    loaded: LoadedFiles,
    *,
    reload: bool = False,
    again: Collection[SourceFile] = (),
    same: Collection[SourceFile] = (),
) -> FilePlan:
    """Return the files that a load of the table reads.

    With ``reload``, the load reads all listed files. The load reads the files ``again`` in any case.

    The files in ``same`` have another version than the loaded one, but the same content; they are not read.

    If the load replaces all rows, it reads all listed files as soon as it reads one. If it replaces partitions, it
    reads all files of each partition of which it reads a file. Raises PipelineError for a changed file when the
    declaration says ``changed: fail``, except with ``reload``.
    """
    states = {file: "loaded" if file in same else loaded.state(file.ledger_name, file.version) for file in listed}
    known = {file.partition for file, state in states.items() if state != "new" and file.partition is not None}
    late = tuple(f for f, state in states.items() if state == "new" and f.partition in known)
    changed = tuple(f for f, state in states.items() if state == "changed")
    if changed and source.changed == "fail" and not reload:
        raise PipelineError(
            f"{spec.name}: the declaration says changed: fail, and {len(changed)} changed after it was loaded: "
            f"{some([file.path for file in changed])}; {advice(spec)}"
        )
    chosen = {f for f, state in states.items() if reload or state == "new"}
    if source.late == "tell" and not reload:
        chosen -= set(late)
    if source.changed == "load":
        chosen |= set(changed)
    chosen |= set(again)
    if chosen and spec.write_mode == "overwrite":
        chosen = set(listed)
    elif chosen and spec.write_mode == "overwrite-partitions":
        partitions = {file.partition for file in chosen}
        chosen = {file for file in listed if file.partition in partitions}
    unchanged = sum(state == "loaded" for file, state in states.items() if file not in again)
    files = sorted(chosen, key=lambda file: file.path)
    in_order = tuple(sorted(again, key=lambda file: file.path))
    return FilePlan(tuple(files), late, changed, unchanged, same=tuple(same), again=in_order)
