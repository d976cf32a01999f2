"""Candidate and Budget: one piece of maintenance work with its predicted cost, and what maintenance may use."""

from __future__ import annotations

from dataclasses import dataclass, fields

from paimon_core.errors import InvalidRequest

COMPACT, CLUSTER, RESCALE = "compact", "cluster", "rescale"
COMPACT_MANIFESTS, EXPIRE = "compact-manifests", "expire"
ACTIONS = (COMPACT, CLUSTER, RESCALE, COMPACT_MANIFESTS, EXPIRE)
"""The names of all kinds of work."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One piece of maintenance work that could be done now."""

    table: str
    """The name of the table without its branch."""
    branch: str
    action: str
    """One of ``ACTIONS``."""
    partition: str | None
    """The path of the partition, such as ``dt=2024-01-31``; None for work on the whole table."""
    bucket: int | None
    """None for work that is not on one bucket."""
    saved: float
    """The cost that each full scan saves afterwards, in bytes as ``health.cost`` counts them; for ``expire`` the bytes
    of data files that are freed.
    """
    bytes_read: int
    bytes_written: int
    seconds: float
    peak_memory: int
    """An upper bound, in bytes."""
    reason: str
    """One sentence: what was measured."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What maintenance may use; None: as much as it needs."""

    bytes: int | None = None
    """Bytes read plus bytes written, of all work together."""
    seconds: float | None = None
    """The time of all work together, one piece after the other."""
    memory: int | None = None
    """The largest peak of memory, in bytes."""

    def __post_init__(self) -> None:
        """Raise InvalidRequest for a value that is no number, or is below 0."""
        for f in fields(self):
            value = getattr(self, f.name)
            kinds = (int, float) if f.name == "seconds" else (int,)
            if value is not None and (type(value) not in kinds or not 0 <= value < float("inf")):
                what = "a number of 0 or more" if f.name == "seconds" else "a whole number of 0 or more"
                raise InvalidRequest(f"{f.name} of a budget must be {what} or None, not {value!r:.60}")
