"""Choice: which candidates of many tables are worth doing now, within one budget (decision 0068).

``choose`` is a pure function. The state between rounds is a ``History`` of each place, which the caller keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from paimon_core.errors import InvalidRequest
from paimon_core.health.plan.allowance import Allowance
from paimon_core.health.plan.candidates import CLUSTER, COMPACT, EXPIRE, RESCALE, Budget, Candidate
from paimon_core.health.plan.history import NEW, History, Place
from paimon_core.health.plan.policy import Policy

REWRITES = frozenset({COMPACT, CLUSTER, RESCALE})
"""Actions that rewrite data files: two of them on the same files would conflict."""


class Reason(StrEnum):
    """Why a candidate was left out."""

    SAVES_LITTLE = "saves-little"
    """Its value is below the start mark, or below the stop mark if it was wanted before."""
    BACKS_OFF = "backs-off"
    """It rests after conflicts or errors."""
    TOO_LARGE = "too-large"
    """It does not fit the budget or the limits of its tags even alone, so it is never chosen."""
    PEAK_HOURS = "peak-hours"
    """It fits the budget, but not the part that may be used at this hour."""
    OVERLAPS = "overlaps"
    """Other chosen work rewrites the same files, or is an alternative of the same place."""
    BUDGET = "budget"
    """Other work used up the budget or the limits of its tags."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that was not chosen."""

    candidate: Candidate
    reason: Reason
    detail: str
    """The numbers, as text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome of one round."""

    chosen: tuple[Candidate, ...]
    """In the order in which they should be done."""
    left_out: tuple[LeftOut, ...]
    """Those that could not be done even alone, then those without room, each by rank."""
    histories: Mapping[Place, History] = field(default_factory=dict)
    """The histories for the next round. When chosen work has ended, replace the history of its place by
    ``History.succeeded`` or ``History.failed``. Places with the default state have no history.
    """


def choose(
    candidates: Iterable[Candidate], budget: Budget, histories: Mapping[Place, History], policy: Policy, now: int
) -> Choice:
    """Return which candidates to do at a time in epoch milliseconds, in order, and why the others are left out.

    Several candidates of one place are alternatives: at most one of them is chosen.

    Candidates are ranked by value (``Policy``), which grows with the rounds that they have waited. Candidates that have
    waited ``policy.patience`` rounds come first, the longest waiting ahead, within ``policy.overdue_share`` of the
    budget; the first of them may use the whole budget. Hence the bound: a place whose candidate stays wanted, fits the
    budget alone and does not fail is worked on after at most ``policy.patience`` + n rounds in which the whole budget
    may be used. n is the number of other places that were wanted when it became wanted.

    Raises InvalidRequest for a candidate whose numbers are negative or not finite.
    """
    whole = Allowance.of(budget, policy)
    ranked = _ranked(candidates, histories, policy)
    able: list[_Ranked] = []
    left: list[LeftOut] = []
    for r in ranked:
        refused = _refused(r, whole, policy, now)
        if refused is None:
            able.append(r)
        else:
            left.append(refused)
    round_ = _Round(budget, policy, policy.share_at(now))
    overdue = sorted(
        (r for r in able if r.history.waited >= policy.patience), key=lambda r: (-r.history.waited, r.rank)
    )
    round_.do_overdue(overdue)
    left += [lack for r in able if (lack := round_.do(r)) is not None]
    could = {r.place for r in able}
    # Work that rests or is too large keeps the rounds that it has waited; work that saves little loses them.
    wanted = could | {Place.of(one.candidate) for one in left if one.reason is not Reason.SAVES_LITTLE}
    after = {place: h for place, h in histories.items() if h.failures}  # others are forgotten with their candidates
    for r in ranked:
        waited = r.history.waited + (r.place in could) if r.place in wanted and r.place not in round_.places else 0
        after[r.place] = replace(r.history, wanted=r.place in wanted, waited=waited)
    return Choice(tuple(round_.chosen), tuple(left), {place: h for place, h in after.items() if h != NEW})


@dataclass(frozen=True, slots=True)
class _Ranked:
    candidate: Candidate
    place: Place
    history: History
    value: float
    rank: tuple[object, ...]
    """The sort key, the best first; equal ranks are ordered by place and size."""


def _ranked(candidates: Iterable[Candidate], histories: Mapping[Place, History], policy: Policy) -> list[_Ranked]:
    places: dict[Place, list[Candidate]] = {}
    for c in candidates:
        numbers = (c.bytes_read, c.bytes_written, c.peak_memory, c.seconds)
        if not (all(0 <= n < float("inf") for n in numbers) and abs(c.saved) < float("inf")):
            raise InvalidRequest(f"a number of the candidate for {_name(c)} is negative or not finite: {c!r:.400}")
        places.setdefault(Place.of(c), []).append(c)
    ranked: list[_Ranked] = []
    for place, alternatives in places.items():
        history = histories.get(place, NEW)
        # Expiry frees bytes once, whatever the number of scans is.
        scans = 1.0 if place.action == EXPIRE else policy.scans.get(place.table, 1.0)
        for c in alternatives:
            moved = c.bytes_read + c.bytes_written
            value = c.saved * scans / (moved + policy.overhead_bytes)
            aged = value * (1 + history.waited / policy.patience)
            # None cannot be compared with text or numbers.
            tie = (c.table, c.branch, c.action, c.partition or "", -1 if c.bucket is None else c.bucket)
            ranked.append(
                _Ranked(
                    c,
                    place,
                    history,
                    value,
                    (-aged, tie, moved, -c.saved, c.seconds, c.peak_memory, c.bytes_read, c.reason),
                )
            )
    return sorted(ranked, key=lambda r: r.rank)


def _refused(r: _Ranked, whole: Allowance, policy: Policy, now: int) -> LeftOut | None:
    """Return why a candidate could not be done even if it were the only one."""
    c, h = r.candidate, r.history
    mark, name = (policy.stop_mark, "stop") if h.wanted else (policy.start_mark, "start")
    if r.value < mark or r.value <= 0:
        text = f"a scan saves {r.value:.3g} of what the work costs; the {name} mark is {mark:g}"
        return LeftOut(c, Reason.SAVES_LITTLE, text)
    rest = 0 if h.failed_millis is None else h.failed_millis + policy.pause_millis(h.failures) - now
    if rest > 0:
        failures = "1 failure" if h.failures == 1 else f"{h.failures} failures in a row"
        text = f"after {failures}, it rests for another {rest / 1000:.0f} seconds"
        return LeftOut(c, Reason.BACKS_OFF, text)
    if lack := whole.lack(c):
        return LeftOut(c, Reason.TOO_LARGE, f"even alone, {lack}")
    return None


class _Round:
    """The work chosen so far, and what is left of the budget."""

    def __init__(self, budget: Budget, policy: Policy, share: float) -> None:
        self.chosen: list[Candidate] = []
        self._share = share
        self._left = Allowance.of(budget, policy, share)
        # Work that has waited long has a part of the budget only, so that a lake whose budget is too small does not
        # do all of its work in the order of waiting, without regard to value.
        self._of_overdue = Allowance.of(budget, policy, share * policy.overdue_share)
        self.places: dict[Place, Candidate] = {}
        self._busy: dict[tuple[str, str], list[Candidate]] = {}

    def do_overdue(self, overdue: Iterable[_Ranked]) -> None:
        """Choose work that has waited long, in this order; the first that has room may exceed the part for it."""
        for r in overdue:
            c = r.candidate
            if self._lack(r) is None and (not self.chosen or self._of_overdue.lack(c) is None):
                self._of_overdue.take(c)
                self._take(r)

    def do(self, r: _Ranked) -> LeftOut | None:
        """Choose a candidate if there is room for it, and otherwise return why not."""
        if self.places.get(r.place) is r.candidate:
            return None
        lack = self._lack(r)
        if lack is None:
            self._take(r)
        return lack

    def _take(self, r: _Ranked) -> None:
        c = r.candidate
        self.chosen.append(c)
        self.places[r.place] = c
        self._left.take(c)
        if c.action in REWRITES:
            self._busy.setdefault((c.table, c.branch), []).append(c)

    def _lack(self, r: _Ranked) -> LeftOut | None:
        c = r.candidate
        if r.place in self.places:
            return LeftOut(c, Reason.OVERLAPS, "another way to do this work was chosen")
        for other in self._busy.get((c.table, c.branch), ()) if c.action in REWRITES else ():
            if _meet(c.partition, other.partition) and _meet(c.bucket, other.bucket):
                return LeftOut(c, Reason.OVERLAPS, f"the same files are rewritten by {_name(other)}")
        lack = self._left.lack(c)
        if lack and self._share < 1 and self._left.lack(c, alone=True):
            return LeftOut(c, Reason.PEAK_HOURS, f"of {self._share:.0%} of the budget in peak hours, {lack}")
        return LeftOut(c, Reason.BUDGET, lack) if lack else None


def _meet(one: object, other: object) -> bool:
    return one is None or other is None or one == other


def _name(c: Candidate) -> str:
    table = c.table if c.branch == "main" else f"{c.table} (branch {c.branch})"
    bucket = None if c.bucket is None else f"bucket {c.bucket}"
    return " ".join(part for part in (c.action, table, c.partition, bucket) if part is not None)
