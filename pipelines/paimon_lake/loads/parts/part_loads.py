"""Parts: load the parts of a wide table at the same time, each in commits of its own.

A part that fails does not stop the other parts, and their commits remain. The next load of the table loads the rows
that the failed part did not load, because each part has a ledger of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from paimon_core.table.table import Table
from paimon_lake.check_result import CheckResult
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import PartSpec, load_specs
from paimon_lake.loads.failures import BatchFailed, reason
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.load_result import ADDED, worst_results
from paimon_lake.loads.parts.part_states import part_states
from paimon_lake.protocol import AuditFailed, PartsFailed, PipelineError, StepResult
from paimon_lake.session import Spark
from paimon_lake.tables import TableState, open_table, result_of, state_of

AT_ONCE = 4
"""The number of parts that load at the same time, in threads of the driver."""


@dataclass(frozen=True)
class PartLoad:
    """The load of one part: its result, or its error, or both when a batch failed after other batches."""

    part: str
    result: StepResult | None
    error: Exception | None = None

    def sentence(self) -> str:
        """Return a text about the load: its rows and snapshots, or why nothing was loaded, or the error."""
        failed = "" if self.error is None else f"failed: {reason(self.error)}"
        if self.result is None:
            return failed
        if failed:
            at = ", ".join(map(str, self.result.commits))
            return f"{failed}; before, {self.result.rows_written:,} rows written in snapshot {at}"
        if not self.result.commits:
            return self.result.note or ", ".join(self.result.skipped) or "nothing to load"
        at = ", ".join(map(str, self.result.commits))
        left_out = "".join(f", {text}" for text in self.result.skipped)
        return f"{self.result.note or f'{self.result.rows_written:,} rows written'} in snapshot {at}{left_out}"


def load_parts(
    spark: Spark,
    settings: Settings,
    spec: TableSpec,
    part: str,
    load: Callable[[TableSpec], StepResult],
    *,
    without: Collection[str] = (),
) -> StepResult:
    """Load the parts of a table: all parts except ``without``, or only ``part``; at most ``AT_ONCE`` parts load at the
    same time.

    ``load`` loads one part. Raises PartsFailed when parts failed, the original error when ``part`` failed and nothing
    was committed, and PipelineError for an unknown part.
    """
    started = time.monotonic()
    parts = [one for one in load_specs(spec) if isinstance(one, PartSpec)]
    chosen = [one for one in parts if part in ("", one.part) and one.part not in without]
    if not chosen:
        raise unknown_part(spec, part)
    table = open_table(settings, spec.name, create=True)
    before = state_of(table)
    spark()  # started once, before several threads need it
    loads = _loads(chosen, load)
    if part and loads[0].error is not None and loads[0].result is None:
        raise loads[0].error
    others = {one.part for one in parts} - {one.part for one in chosen}
    states = {one.part: one.sentence() for one in part_states(settings, spec, table) if one.part in others}
    return _combined(table, before, started, loads, states, stale_now(settings, spec.name))


def unknown_part(spec: TableSpec, part: str) -> PipelineError:
    """Return the error for a part that a table does not have; it names the parts of the table."""
    known = f"its parts are {', '.join(spec.parts)}" if spec.parts else "it has no parts"
    return PipelineError(f"{spec.name} has no part {part!r:.80}: {known}")


def _loads(parts: Sequence[PartSpec], load: Callable[[TableSpec], StepResult]) -> list[PartLoad]:
    def one(spec: PartSpec) -> PartLoad:
        try:
            return PartLoad(spec.part, load(spec))
        except BatchFailed as failed:
            return PartLoad(spec.part, failed.result, failed.error)
        except Exception as error:  # the other parts are still loaded; the caller raises the error
            return PartLoad(spec.part, None, error)

    with ThreadPoolExecutor(min(AT_ONCE, len(parts)), "part") as pool:
        return list(pool.map(one, parts))


def _combined(
    table: Table,
    before: TableState,
    started: float,
    loads: Sequence[PartLoad],
    states: Mapping[str, str],
    stale: Mapping[str, str],
) -> StepResult:
    """Return the loads of parts as one result. ``states`` has a text about each part that this run did not load, such
    as "never loaded".

    Raises PartsFailed, with the result, when parts failed.
    """
    results = {load.part: load.result for load in loads if load.result is not None}
    details: dict[str, str | int | float] = {}
    for part, one in results.items():
        for name, value in one.details.items():
            if name in ADDED:
                details[name] = details.get(name, 0) + value  # type: ignore[operator]
            else:
                details[f"{part}_{name}"] = value
    texts = {load.part: load.sentence() for load in loads}
    details |= {f"part_{part}": text for part, text in {**texts, **states}.items()}
    done = result_of(
        "load",
        table,
        before,
        started,
        commits=sorted(number for one in results.values() for number in one.commits),
        skipped=[f"part {part}: {text}" for part, one in results.items() for text in one.skipped],
        details=details,
        rows_written=sum(one.rows_written for one in results.values()),
    )
    lineage = {column: found for one in results.values() for column, found in one.column_lineage.items()}
    done = replace(done, check_results=_check_results(loads), column_lineage=lineage, stale=stale)
    errors = {load.part: load.error for load in loads if load.error is not None}
    if errors:
        told = "; ".join(f"part {part} failed: {reason(error)}" for part, error in errors.items())
        raise PartsFailed(f"{done.sentence()}; {told}", done, errors)
    return done


def _check_results(loads: Sequence[PartLoad]) -> tuple[CheckResult, ...]:
    """Return one result for each blocking check: the last failed result of a part, or the last result if no part failed
    it.
    """

    def of(load: PartLoad) -> Sequence[CheckResult]:
        if isinstance(load.error, AuditFailed):
            return load.error.check_results
        return load.result.check_results if load.result is not None else ()

    return worst_results(map(of, loads))
