"""Lookup counts: the numbers of rows that waited, or whose row in another table was missing, in one load."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LookupCounts:
    """The numbers of rows of a task, or of a load."""

    waiting: int = 0
    """The rows read by this load that wait from now on."""
    retried: int = 0
    """The rows that waited before, and that this load wrote or rejected."""
    late_rejected: int = 0
    """The rejected rows of ``retried``, and the rejected rows that the source delivered again after their wait."""
    nulls: Mapping[str, int] = field(default_factory=dict)
    """The rows that were written with nulls, by the table that has no matching row."""

    def to_json(self) -> str:
        """Return the numbers as a JSON list."""
        return json.dumps(list(vars(self).values()))

    @staticmethod
    def from_json(text: str) -> LookupCounts:
        """Return the numbers that ``to_json`` encoded; "" stands for no rows."""
        return LookupCounts(*json.loads(text)) if text else LookupCounts()

    @staticmethod
    def sum(found: Iterable[LookupCounts]) -> LookupCounts:
        """Return the numbers of all tasks together."""
        listed, nulls = list(found), Counter[str]()
        for one in listed:
            nulls.update(one.nulls)
        return LookupCounts(
            sum(one.waiting for one in listed),
            sum(one.retried for one in listed),
            sum(one.late_rejected for one in listed),
            dict(nulls),
        )
