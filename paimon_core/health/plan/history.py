"""History: what earlier rounds of maintenance left behind for one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from paimon_core.health.plan.candidates import Candidate


class Place(NamedTuple):
    """What a piece of work is done on, and how: at most one candidate of a place is chosen in a round."""

    table: str
    branch: str
    action: str
    partition: str | None
    bucket: int | None

    @staticmethod
    def of(candidate: Candidate) -> Place:
        """Return the place of a candidate."""
        return Place(candidate.table, candidate.branch, candidate.action, candidate.partition, candidate.bucket)


@dataclass(frozen=True, slots=True)
class History:
    """The state of one place between rounds. A place without a history has the defaults."""

    wanted: bool = False
    """Whether the value of the work has reached the start mark and has not been below the stop mark since."""
    waited: int = 0
    """Rounds in a row in which the work was wanted, could have been done, and was left out."""
    failures: int = 0
    """Conflicts and errors in a row."""
    failed_millis: int | None = None
    """The time of the last conflict or error, in epoch milliseconds."""

    def failed(self, now: int) -> History:
        """Return the history after work that ended with a conflict or an error at a time in epoch milliseconds."""
        return replace(self, failures=self.failures + 1, failed_millis=now)

    def succeeded(self) -> History:
        """Return the history after work that was committed; ``wanted`` stays until the value is below the stop mark."""
        return History(wanted=self.wanted)


NEW = History()
"""The history of a place that was never a candidate."""
