"""Allowance: what is left of a budget and of the limits of tags while work is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paimon_core.health.plan.candidates import Budget, Candidate
from paimon_core.health.plan.policy import Policy


@dataclass(slots=True)
class _Counter:
    """One budget, with a number of tasks, and what was taken from it."""

    name: str
    budget: Budget
    tasks: int | None = None
    bytes_taken: int = 0
    seconds_taken: float = 0.0
    tasks_taken: int = 0

    def lack(self, c: Candidate, *, alone: bool) -> str | None:
        taken = (0, 0.0, 0) if alone else (self.bytes_taken, self.seconds_taken, self.tasks_taken)
        size = c.bytes_read + c.bytes_written
        if self.tasks is not None and taken[2] >= self.tasks:
            return f"{self.name} allows {self.tasks} pieces of work"
        if self.budget.bytes is not None and size > (left := self.budget.bytes - taken[0]):
            return f"{size:,} bytes are more than the {max(left, 0):,} that are left of {self.name}"
        if self.budget.seconds is not None and c.seconds > (rest := self.budget.seconds - taken[1]):
            return f"{c.seconds:.0f} seconds are more than the {max(rest, 0):.0f} that are left of {self.name}"
        if self.budget.memory is not None and c.peak_memory > self.budget.memory:
            return f"{c.peak_memory:,} bytes of memory are more than the {self.budget.memory:,} of {self.name}"
        return None


class Allowance:
    """A budget for all work, and one for each tag. Bytes, seconds and tasks are used up; memory limits each work."""

    def __init__(self, total: _Counter, by_tag: dict[str, _Counter], policy: Policy) -> None:
        self._total, self._by_tag, self._policy = total, by_tag, policy

    @staticmethod
    def of(budget: Budget, policy: Policy, share: float = 1.0) -> Allowance:
        """Return what one round may use, with a share of the bytes and seconds of ``budget``; with 0, nothing."""
        size = None if budget.bytes is None else int(budget.bytes * share)
        seconds = None if budget.seconds is None else budget.seconds * share
        total = _Counter("the budget", Budget(size, seconds, budget.memory), 0 if share == 0 else None)
        by_tag = {tag: _Counter(f"tag {tag}", limit.budget, limit.tasks) for tag, limit in policy.limits.items()}
        return Allowance(total, by_tag, policy)

    def lack(self, candidate: Candidate, *, alone: bool = False) -> str | None:
        """Return what is missing for a candidate, or None if it fits; ``alone``: as if nothing was taken."""
        return next((text for c in self._counters(candidate) if (text := c.lack(candidate, alone=alone))), None)

    def take(self, candidate: Candidate) -> None:
        """Use up what a candidate needs."""
        for counter in self._counters(candidate):
            counter.bytes_taken += candidate.bytes_read + candidate.bytes_written
            counter.seconds_taken += candidate.seconds
            counter.tasks_taken += 1

    def _counters(self, candidate: Candidate) -> Iterator[_Counter]:
        yield self._total
        if self._by_tag:
            for tag in sorted(set(self._policy.tags.get(candidate.table, ()))):
                if tag in self._by_tag:
                    yield self._by_tag[tag]
