"""MaintenancePlan: the maintenance of tables under one budget: what is chosen, what is left out and why."""

from __future__ import annotations

import logging
import platform
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.compact.compaction import Work as RunTasks
from paimon_core.display import text_html
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.health.places import counted, megabytes
from paimon_core.health.plan.candidates import SAFE_ACTIONS, Budget, Candidate
from paimon_core.health.plan.choice import LeftOut, Reason, choose
from paimon_core.health.plan.history import History, Place
from paimon_core.health.plan.measured import Measured
from paimon_core.health.plan.outcome import FAILED, Outcome, OutcomeLog
from paimon_core.health.plan.policy import Policy
from paimon_core.health.plan.sampled import with_sampled_keys
from paimon_core.health.plan.works import Work, works_of
from paimon_core.metadata import clock
from paimon_core.metadata.table_identity import unless_dropped
from paimon_core.table.upkeep.maintenance_report import MaintenanceReport
from paimon_core.table.upkeep.plan_run import PlanRun

if TYPE_CHECKING:
    from paimon_core.table.table import Table

_LOG = logging.getLogger(__name__)
_SHOWN = 50
"""The most lines of chosen and of left out work in a text; ``to_arrow`` has all."""
_TEXT, _SIZE, _REAL = pa.string(), pa.int64(), pa.float64()
PLAN_SCHEMA = pa.schema(
    [
        pa.field("chosen", pa.bool_(), nullable=False),
        pa.field("why", _TEXT, nullable=False),
        *(pa.field(name, _TEXT, nullable=name == "partition") for name in ("table", "branch", "action", "partition")),
        pa.field("bucket", pa.int32()),
        *(pa.field(name, kind, nullable=False) for name, kind in (("saved", _REAL), ("bytes_read", _SIZE))),
        *(pa.field(name, kind, nullable=False) for name, kind in (("bytes_written", _SIZE), ("seconds", _REAL))),
        pa.field("peak_memory", _SIZE, nullable=False),
        pa.field("reason", _TEXT, nullable=False),
    ]
)
"""The columns of ``MaintenancePlan.to_arrow``."""


@dataclass(frozen=True, repr=False)
class MaintenancePlan:
    """What maintenance would do now; nothing is changed before ``run``.

    The plan is for the versions of the tables that were the latest when it was made. ``run`` compacts exactly the files
    that the plan names, whatever was committed in between: files that other commits added stay as they are, and a
    bucket of which another commit removed a file is not changed (outcome ``conflict``).
    """

    chosen: tuple[Candidate, ...]
    """In the order in which they run."""
    left_out: tuple[LeftOut, ...]
    """With the reasons."""
    budget: Budget
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """By name of a table that could not be examined: the error."""
    tables: Mapping[tuple[str, str], Table] = field(default_factory=dict)
    """By name and branch."""
    works: Mapping[Candidate, Work] = field(default_factory=dict)
    histories: Mapping[Place, History] = field(default_factory=dict)
    """The state of the places for the next round, if the chosen work is done."""
    log: OutcomeLog | None = None
    errors: Mapping[Place, str] = field(default_factory=dict)
    """By place whose last work failed, other than by a conflict: the error."""
    host: str = ""
    """Where compactions run, if not in this process; speeds are learned for each place. "": this machine."""

    @property
    def failing(self) -> dict[str, str]:
        """By name of a table with work that failed in an earlier run and now rests: the work, and the error.

        The table is not in order, although this plan does nothing to it.
        """
        found: dict[str, str] = {}
        for one in self.left_out:
            error = self.errors.get(Place.of(one.candidate))
            if one.reason is Reason.BACKS_OFF and error is not None:
                found.setdefault(one.candidate.table, f"{name(one.candidate)} failed and {one.detail}: {error}")
        return found

    @property
    def bytes(self) -> int:
        """The predicted bytes that the chosen work reads and writes."""
        return sum(c.bytes_read + c.bytes_written for c in self.chosen)

    @property
    def seconds(self) -> float:
        """The predicted time of the chosen work, one piece after the other."""
        return sum(c.seconds for c in self.chosen)

    @property
    def peak_memory(self) -> int:
        """The predicted peak of memory of the largest chosen work, in bytes."""
        return max((c.peak_memory for c in self.chosen), default=0)

    def __repr__(self) -> str:
        """Return the numbers of works, and the predicted bytes and seconds."""
        return (
            f"MaintenancePlan(chosen={len(self.chosen)}, left_out={len(self.left_out)}, bytes={self.bytes}, "
            f"seconds={self.seconds:.1f}, peak_memory={self.peak_memory})"
        )

    def _repr_html_(self) -> str:
        return text_html(self.text())

    def text(self) -> str:
        """Return the plan as text for a person."""
        head = (
            f"{counted(len(self.chosen), 'piece')} of work: {megabytes(self.bytes)} read and written, "
            f"{self.seconds:,.0f} seconds, peak memory {megabytes(self.peak_memory)}; {len(self.left_out)} left out"
        )
        lines = [f"{name(c)}: saves {megabytes(c.saved)} for {_cost(c)}; {c.reason}" for c in self.chosen]
        left = [f"left out: {name(one.candidate)}: {one.reason}: {one.detail}" for one in self.left_out]
        lines = [head, *_first(lines), *_first(left)]
        lines += [f"{table} could not be examined: {why}" for table, why in self.unreadable.items()]
        lines += [f"{table} is not in order: {why}" for table, why in self.failing.items()]
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """Return the chosen and the left out candidates as values of JSON types."""
        left = [{**asdict(one.candidate), "why": str(one.reason), "detail": one.detail} for one in self.left_out]
        return {"chosen": [asdict(c) for c in self.chosen], "left_out": left}

    def to_arrow(self) -> pa.Table:
        """Return one row for each candidate, the chosen ones first, in the order in which they run."""
        rows: list[dict[str, Any]] = [{"chosen": True, "why": "chosen", **asdict(c)} for c in self.chosen]
        rows += [
            {"chosen": False, "why": f"{one.reason}: {one.detail}", **asdict(one.candidate)} for one in self.left_out
        ]
        return pa.Table.from_pylist(rows, schema=PLAN_SCHEMA)

    def run(self, *, properties: Mapping[str, str] | None = None, work: RunTasks | None = None) -> MaintenanceReport:
        """Do the chosen work, in its order, and return what was really done, beside the predictions.

        ``work`` runs the compactions of buckets elsewhere, such as ``paimon_core.spark.compactor.spark_work`` in tasks
        of Spark; the plan must then have been made for this place (``plan_tables(host=...)``). Their memory is not
        measured. All other work, and all work without ``work``, runs in this process.

        Buckets of one table are compacted together and committed together, in groups of at most ``GROUP_BYTES`` input
        bytes; as many run at the same time as there are processors and the memory of the budget allows. Before each
        group that would exceed the seconds of the budget the run ends. The snapshots of compactions have the
        predictions and the outcomes as properties, besides ``properties``.

        If the plan was made with a log, the outcomes are added to the log. An error of the log never hides them: it is
        logged, and is ``log_error`` of the report. Errors of the work are outcomes, too: other work still runs. Raises
        InvalidRequest for wrong properties, and if only one of ``host`` of the plan and ``work`` is given;
        AfterCommitFailed when a callback of a handle failed.
        """
        if (work is None) != (not self.host):
            raise InvalidRequest(
                f"the plan was made for {self.host or 'this machine'}, so run "
                + ("needs work, which runs its compactions there" if self.host else "takes no work: plan with a host")
            )
        host = self.host or platform.node()
        return PlanRun(self, uuid.uuid4().hex, host, dict(properties or {}), work).run()


def name(candidate: Candidate) -> str:
    """Return a text such as ``compact shop.orders dt=2024-01-31 bucket 3``."""
    table = candidate.table if candidate.branch == "main" else f"{candidate.table} (branch {candidate.branch})"
    bucket = None if candidate.bucket is None else f"bucket {candidate.bucket}"
    return " ".join(part for part in (candidate.action, table, candidate.partition, bucket) if part)


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return lines if more <= 0 else [*lines[:_SHOWN], f"... and {more:,} more"]


def _cost(candidate: Candidate) -> str:
    return f"{megabytes(candidate.bytes_read + candidate.bytes_written)} and {candidate.seconds:,.1f} seconds"


def plan_tables(
    tables: Sequence[Table],
    budget: Budget | None = None,
    *,
    actions: Collection[str] = SAFE_ACTIONS,
    policy: Policy | None = None,
    log: OutcomeLog | None = None,
    unreadable: Mapping[str, str] | None = None,
    host: str = "",
    sample_keys: bool = True,
) -> MaintenancePlan:
    """Plan the maintenance of several tables under one budget; see ``Table.plan_maintenance``.

    ``host`` is a name for the place where compactions will run, if not in this process: its speeds are learned apart.
    With ``sample_keys``, the first keys of the chosen buckets whose number of different keys is not known are read
    (``health.plan.sampled``), so that their bytes are predicted better; without it, only metadata is read.

    A table that cannot be examined is left out and listed in ``unreadable``, after the tables that the caller lists
    there; if ``unreadable`` is None and there is one table, its error is raised instead.
    """
    budget, policy = budget or Budget(), policy or Policy()
    outcomes, histories = _learned(log)
    measured = Measured.of(outcomes, host or platform.node()) if outcomes else Measured()
    last = {Place.of(one.candidate): one for one in outcomes}
    works: dict[Candidate, Work] = {}
    raises = unreadable is None and len(tables) == 1
    failures = dict(unreadable or {})
    for table in tables:
        try:
            examine = partial(works_of, table.context, table.latest_snapshot(), measured, actions)
            found = unless_dropped(table.context, examine)
        except PaimonError as error:
            if raises:
                raise
            failures[table.name] = f"{error.kind}: {error}"
            continue
        works |= {work.candidate: work for work in found}
    choice = choose(works, budget, histories, policy, clock.now_millis())
    by_name = {(table.name.partition("$")[0], table.context.branch): table for table in tables}
    chosen = choice.chosen
    if sample_keys:
        contexts = {key: table.context for key, table in by_name.items()}
        sampled = with_sampled_keys(contexts, {c: works[c] for c in chosen}, measured)
        works |= {work.candidate: work for work in sampled.values()}
        chosen = tuple(sampled[c].candidate if c in sampled else c for c in chosen)
    return MaintenancePlan(
        chosen=chosen,
        left_out=choice.left_out,
        budget=budget,
        unreadable=failures,
        tables=by_name,
        works=works,
        histories=choice.histories,
        log=log,
        errors={place: one.error or "unknown error" for place, one in last.items() if one.status == FAILED},
        host=host,
    )


def _learned(log: OutcomeLog | None) -> tuple[Sequence[Outcome], Mapping[Place, History]]:
    """Return the outcomes, the oldest first, and the histories of the log.

    A log that cannot be read is as good as none, and this is logged.
    """
    if log is None:
        return (), {}
    try:
        return log.outcomes(), log.histories()
    except PaimonError as error:
        _LOG.warning("the log of maintenance cannot be read, so nothing is known of earlier runs: %s", error)
        return (), {}
