"""Input loads: the records of the loads of a table that is made from other tables, and the partitions that were loaded.

The snapshot of a load records which snapshots of its inputs it read, which partitions it loaded, and which earlier
loaded partitions are stale. All other loaded partitions were not stale when the load read its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_core.metadata.commit_message import Position
from paimon_lake.loads.inputs.stale_text import by_reason

STALE, LOADED = "pipeline.stale", "pipeline.partitions-all"
"""Names of properties. ``STALE``: the partitions that a load left stale, by reason. ``LOADED``: all loaded partitions,
in a snapshot that copies the ledger.
"""


@dataclass(frozen=True)
class InputLoad:
    """One load of a table that is made from other tables: the input snapshots that it read, and its partitions."""

    inputs: Mapping[str, Position]
    keys: tuple[str, ...] = ()
    is_whole: bool = False
    """Whether the load loaded the whole table. In a record that combines several loads, ``keys`` were loaded after
    the whole table."""
    stale: Mapping[str, str] | None = None
    """The stale partitions, with the reason of each; None: the load did not compare the other partitions with the
    inputs."""


@dataclass(frozen=True)
class LoadedPartitions:
    """The partitions of a table that were loaded, each with the position of its newest load in the list of loads."""

    owners: Mapping[str, int] = field(default_factory=dict)
    whole: int | None = None
    """The position of the newest load of the whole table; None when no such load is known."""
    stale: Mapping[str, str] = field(default_factory=dict)
    """The partitions that loads recorded as stale and that were not loaded since, with the reason of each."""

    @staticmethod
    def of(loads: Sequence[InputLoad]) -> LoadedPartitions:
        """Return the partitions that a list of loads, the oldest first, has loaded."""
        owners: dict[str, int] = {}
        whole: int | None = None
        stale: dict[str, str] = {}
        for number, load in enumerate(loads):
            if load.is_whole:
                owners, whole, stale = {}, number, {}
            owners |= dict.fromkeys(load.keys, number)
            if load.stale is not None:
                stale = dict(load.stale)
            else:
                stale = {key: why for key, why in stale.items() if key not in load.keys}
        return LoadedPartitions(owners, whole, stale)

    def to_json(self) -> dict[str, Any]:
        """Return the value of the property ``LOADED``."""
        return {"whole": self.whole is not None, "keys": sorted(self.owners), STALE: by_reason(self.stale)}

    @staticmethod
    def from_json(value: Any, inputs: Mapping[str, Position]) -> InputLoad:
        """Return the load that ``to_json`` encoded, with ``inputs``; raises ValueError for another value."""
        if not isinstance(value, dict):
            raise ValueError("not an object")
        return InputLoad(inputs, texts(value.get("keys")), value.get("whole") is True, from_reasons(value.get(STALE)))


def from_reasons(value: Any) -> dict[str, str]:
    """Return the reason of each stale partition; raises ValueError for a value that ``by_reason`` does not return."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return {key: why for why, keys in value.items() for key in texts(keys)}


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts from JSON as a tuple; raises ValueError for another value."""
    if not isinstance(value, list) or any(not isinstance(one, str) for one in value):
        raise ValueError("not a list of texts")
    return tuple(value)
