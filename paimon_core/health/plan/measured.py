"""Measured: speeds and corrections for predictions, from the outcomes of earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from paimon_core.health.plan.candidates import Candidate
from paimon_core.health.plan.history import Place
from paimon_core.health.plan.outcome import DONE, Outcome

BYTES_PER_SECOND = 20e6
"""Bytes read and written in a second by one piece of work, before anything was measured on a machine."""
COMMIT_SECONDS = 0.3
"""The time of a commit on an object store, before anything was measured."""
LEAST = 5
"""So many outcomes are needed before they replace a default."""
LAST = 100
"""At most so many of the newest outcomes count, so that a faster machine is noticed."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The time of one kind of work as a straight line."""

    bytes_per_second: float = BYTES_PER_SECOND
    commit_seconds: float = COMMIT_SECONDS

    def seconds(self, size: int) -> float:
        """Return the predicted time of a piece of work that reads and writes ``size`` bytes."""
        return round(self.commit_seconds + size / self.bytes_per_second, 4)


@dataclass(frozen=True, slots=True)
class Measured:
    """What earlier runs say about later ones."""

    speeds: Mapping[str, Speed] = field(default_factory=dict)
    """By action."""
    written: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    """By table, branch and action: the bytes that were written, divided by the bytes that would have been predicted
    without corrections.
    """
    domains: Mapping[Place, float] = field(default_factory=dict)
    """By place: ``key_domain`` of the last outcome that has one."""

    @staticmethod
    def of(outcomes: Sequence[Outcome], host: str) -> Measured:
        """Return what outcomes say: speeds from those of ``host``, corrections of bytes from all."""
        done = [one for one in outcomes if one.status == DONE]
        by_action: dict[str, list[Outcome]] = {}
        by_table: dict[tuple[str, str, str], list[float]] = {}
        for one in done:
            if one.host == host:
                by_action.setdefault(one.candidate.action, []).append(one)
            if one.candidate.bytes_written > 0 and one.bytes_written > 0:
                ratio = one.written_factor * one.bytes_written / one.candidate.bytes_written
                by_table.setdefault(_key(one.candidate), []).append(ratio)
        speeds = {action: _speed(found[-LAST:]) for action, found in by_action.items() if len(found) >= LEAST}
        written = {key: float(np.median(found[-LAST:])) for key, found in by_table.items()}
        domains = {Place.of(one.candidate): one.key_domain for one in done if one.key_domain is not None}
        return Measured(speeds, written, domains)

    def seconds(self, action: str, size: int) -> float:
        """Return the predicted time of a piece of work that reads and writes ``size`` bytes."""
        return self.speeds.get(action, Speed()).seconds(size)


def _key(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.table, candidate.branch, candidate.action


def _speed(outcomes: Sequence[Outcome]) -> Speed:
    """Return the line through the outcomes: its start is the time of a commit, its slope the time of a byte.

    Where the line would start below 0 or fall, the mean speed is taken, and a commit takes no time of its own.
    """
    size = np.array([one.bytes_read + one.bytes_written for one in outcomes], float)
    seconds = np.array([one.seconds for one in outcomes], float)
    if np.ptp(size) > 0:
        slope, start = np.polyfit(size, seconds, 1)
        if slope > 0 and start >= 0:
            return Speed(float(1 / slope), float(start))
    if size.sum() == 0 or seconds.sum() == 0:
        return Speed(BYTES_PER_SECOND, float(np.median(seconds)))
    return Speed(float(size.sum() / seconds.sum()), 0.0)
