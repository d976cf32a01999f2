"""Restore: decides which loads may run, and which files they read, while rows of earlier loads are lost.

A load of the whole table reads the lost source files again if that gives the same rows as before. That is possible for
two kinds of tables. If rows replace rows with the same key, all files that were loaded after the lost files are read
again too. If loads replace partitions, all files of the partitions with lost rows are read again, also by a load of
only some partitions. A load of the whole table with ``reload`` restores all lost rows. Every other load is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimon_core.table.view import TableView
from paimon_lake.checks.text import many
from paimon_lake.declarations import Settings
from paimon_lake.declarations.part_spec import load_specs
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.files.source_files import source_files
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.ledger.load_properties import load_command
from paimon_lake.loads.ledger.loaded_files import path_digest
from paimon_lake.loads.step import LoadStep
from paimon_lake.protocol import PipelineError, some
from paimon_lake.sources.files.listing import SourceFile


def makes_up_for_all(step: LoadStep) -> bool:
    """Whether a load reads the whole source again, and so restores all lost rows."""
    return step.reload and step.partitions is None


def check_lost(step: LoadStep) -> None:
    """Raise PipelineError for a load that is not allowed while rows of earlier loads are lost."""
    lost, spec = step.ledger.lost, step.spec
    if not lost or makes_up_for_all(step):
        return
    if lost.rest or not isinstance(spec.source, FilesSource):
        raise _refused(step, "it is not known which loads had written the rows")
    if spec.write_mode == "overwrite-partitions":
        return
    if spec.write_mode == "append" or step.table.options["merge-engine"] != "deduplicate":
        raise _refused(step, "rows that are still in the table would be added twice if these files were loaded again")
    if step.partitions is not None or step.reload:
        raise _refused(step, "these files must be loaded again before a load of some partitions", reload=False)


def files_again(step: LoadStep, listed: Sequence[SourceFile], planned: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files to load again because rows are lost; ``planned``: files that the load reads in any case.

    Raises PipelineError when files are not in the source any more. Also raises it when the order of the paths, in which
    the files would be loaded now, differs from the order of the earlier loads, because older rows could then replace
    newer rows.
    """
    lost, mode = step.ledger.lost, step.spec.write_mode
    if not lost or makes_up_for_all(step):
        return []
    rank = {digest: number for number, files in enumerate(lost.order) for digest in files}
    files = {path_digest(file.ledger_name): file for file in listed}
    if mode == "overwrite-partitions":
        if step.partitions is None and (gone := len(lost.files - files.keys())):
            raise _refused(step, f"{gone} of the lost files are not in the source any more")
        return [file for digest, file in files.items() if digest in lost.files]
    if gone := len(rank.keys() - files.keys()):
        raise _refused(step, f"{gone} of the files that were loaded since then are not in the source any more")
    again = {file: rank[digest] for digest, file in files.items() if digest in rank}
    last = len(lost.order)
    ordered = sorted((again.get(file, last), file.path) for file in again.keys() | set(planned))
    if [path for _, path in ordered] != sorted(path for _, path in ordered):
        raise _refused(
            step, "the files were not loaded in the order of their paths, so old rows could replace new ones"
        )
    return list(again)


def _refused(step: LoadStep, why: str, *, reload: bool = True) -> PipelineError:
    lost, name = step.ledger.lost, step.spec.load_name
    removals = ", ".join(map(str, lost.snapshots))
    command = f"`{load_command(name)}{' --reload' if reload else ''}`"
    how = f"{command} {_advice(step)}" if reload else command
    return PipelineError(
        f"{name}: nothing was loaded, because of {many(lost.rows, 'lost row')}: snapshot {removals} removed missing "
        f"data files{_named(step)}; {why}. Load them with {how}"
    )


def _advice(step: LoadStep) -> str:
    if step.replaces_on_reload:
        return "which replaces all rows of the table by the rows of the source"
    return "which reads the whole source again"


def _named(step: LoadStep) -> str:
    """Return a text that names the lost source files that are still in the source."""
    lost, source = step.ledger.lost, step.spec.source
    if lost.rest or not isinstance(source, FilesSource):
        return ""
    found = source_files(step.settings, source, None)
    names = [file.path for file in found if path_digest(file.ledger_name) in lost.files]
    return f" with rows of {many(len(lost.files), 'source file')} ({some(names)})" if names else ""


def left_lost(step: LoadStep, listed: Sequence[SourceFile]) -> list[str]:
    """Return a sentence when a reload of the whole table does not find files with lost rows in the source."""
    gone = step.ledger.lost.files - {path_digest(file.ledger_name) for file in listed}
    if not gone or not makes_up_for_all(step):
        return []
    return [f"{many(len(gone), 'file')} with lost rows not in the source any more: these rows stay lost"]


def lost_inputs(settings: Settings, inputs: Mapping[str, TableView]) -> list[str]:
    """Return a sentence about each input that is incomplete because rows of its loads are lost."""
    return [
        f"its input {name} is not complete, {lost.sentence()}"
        for name, table in inputs.items()
        for one in load_specs(settings.table(name)) or (settings.table(name),)
        if (lost := read_ledger(table, one.load_name, accept_gaps=True).lost)
    ]
