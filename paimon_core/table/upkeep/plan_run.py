"""PlanRun: one run of a maintenance plan: groups of buckets, the time of the budget, and the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from paimon_core.compact.compaction import Work as RunTasks
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.health.plan.candidates import Candidate
from paimon_core.health.plan.history import NEW, History, Place
from paimon_core.health.plan.outcome import CONFLICT, FAILED, Outcome
from paimon_core.health.plan.works import Work
from paimon_core.metadata import clock
from paimon_core.processors import usable
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.upkeep.group_run import RunLabel, run_group, threads_within
from paimon_core.table.upkeep.maintenance_report import MaintenanceReport
from paimon_core.table.upkeep.single_run import run_single

if TYPE_CHECKING:
    from paimon_core.table.upkeep.maintenance_plan import MaintenancePlan

_LOG = logging.getLogger(__name__)
GROUP_BYTES = 2 << 30
"""Buckets that together have so many input bytes are committed together: a lost process loses at most this work."""


@dataclass
class PlanRun:
    """The state of one run."""

    plan: MaintenancePlan
    name: str
    host: str
    properties: Mapping[str, str]
    elsewhere: RunTasks | None = None
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self) -> MaintenanceReport:
        """Do the chosen work; see ``MaintenancePlan.run``."""
        self._check_properties()
        begun = time.perf_counter()
        groups = list(self._groups())
        done = 0
        try:
            for group in groups:
                limit = self.plan.budget.seconds
                needs = max(c.seconds for c in group) if len(group) > 1 else group[0].seconds
                if limit is not None and done and time.perf_counter() - begun + needs > limit:
                    break
                self._run_group(group)
                done += 1
        finally:
            late = tuple(c for group in groups[done:] for c in group)
            error = self._log(late)
        seconds = round(time.perf_counter() - begun, 3)
        return MaintenanceReport(tuple(self.outcomes), late, seconds, error)

    def _check_properties(self) -> None:
        """Raise InvalidRequest for wrong properties; other errors of a table are outcomes of its work."""
        for table in list(self.plan.tables.values())[:1]:
            try:
                CommitRequest.of(table.context, None, None, self.properties)
            except InvalidRequest:
                raise
            except PaimonError as error:
                _LOG.debug("table %s: %s", table.name, error)

    def _groups(self) -> Iterator[list[Candidate]]:
        """Yield the candidates in groups that are committed together, in the order of the first of each group."""
        open_groups: dict[tuple[str, str], list[Candidate]] = {}
        order: list[list[Candidate]] = []
        for candidate in self.plan.chosen:
            key = (candidate.table, candidate.branch)
            if self._work(candidate).task is None:
                order.append([candidate])
                continue
            group = open_groups.get(key)
            if group is None or sum(c.bytes_read for c in group) + candidate.bytes_read > GROUP_BYTES:
                group = open_groups[key] = []
                order.append(group)
            group.append(candidate)
        yield from order

    def _work(self, candidate: Candidate) -> Work:
        return self.plan.works[candidate]

    def _run_group(self, group: list[Candidate]) -> None:
        first = group[0]
        table, label = self.plan.tables[first.table, first.branch], RunLabel(self.name, self.host)
        try:
            table = table.refresh()
            author = CommitRequest.of(table.context, None, None, self.properties).author()
        except PaimonError as error:
            self.outcomes += [label.outcome(c, FAILED, 0.0, clock.now_millis(), error) for c in group]
            return
        works = [self._work(c) for c in group]
        if works[0].task is None:
            self.outcomes.append(run_single(table, author, works[0], label))
            return
        threads = 1 if self.elsewhere else threads_within(group, self.plan.budget.memory, usable())
        outcomes, report = run_group(table.context, author, works, threads, label, self.elsewhere)
        self.outcomes += outcomes
        if report.snapshot is not None:
            table.settle(report.snapshot)

    def _log(self, late: tuple[Candidate, ...]) -> str | None:
        """Add the outcomes and the histories to the log; return the error if this fails, None otherwise."""
        if self.plan.log is None:
            return None
        try:
            self.plan.log.append(self.outcomes, self._histories(late))
        except PaimonError as error:
            _LOG.warning("the outcomes of maintenance could not be added to the log: %s", error)
            return f"{error.kind}: {error}"
        return None

    def _histories(self, late: tuple[Candidate, ...]) -> dict[Place, History]:
        found = dict(self.plan.histories)
        for one in self.outcomes:
            place = Place.of(one.candidate)
            history = found.get(place, NEW)
            failed = one.status in (CONFLICT, FAILED)
            found[place] = history.failed(clock.now_millis()) if failed else history.succeeded()
        for candidate in late:
            history = found.get(Place.of(candidate), NEW)
            found[Place.of(candidate)] = replace(history, wanted=True, waited=history.waited + 1)
        return {place: history for place, history in found.items() if history != NEW}
