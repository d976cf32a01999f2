"""Position: the progress of a streaming read, as a small value that can be stored, and from which a read continues.

A position contains the id of the next snapshot, and the unique name of the delta manifest list of the snapshot before
it. So a stream detects a rollback below the position, although later commits reuse the ids of the deleted snapshots.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from paimon_core.codec.json_text import parse_json
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Position:
    """The point before the changes of ``next_snapshot``."""

    next_snapshot: int
    """Id of the first snapshot whose changes were not read; with ``full``, id of the snapshot to read as a whole."""
    full: bool = False
    index: int = 0
    """The number of units (splits or files) of ``next_snapshot`` that were already read, when it is read in parts."""
    current: str = ""
    """The delta manifest list of ``next_snapshot``, when only a part of this snapshot was read; "" otherwise."""
    previous: str = ""
    """The delta manifest list of the snapshot before ``next_snapshot``; "" when it is not known."""
    previous_uuid: str = ""

    def to_members(self) -> dict[str, Any]:
        """Return the members that are not defaults, as JSON values."""
        defaults = Position(self.next_snapshot)
        return {
            name: value
            for name, value in asdict(self).items()
            if name == "next_snapshot" or value != getattr(defaults, name)
        }

    def to_json(self) -> str:
        """Return the position as one line of JSON."""
        return json.dumps(self.to_members())

    @staticmethod
    def from_members(members: Any) -> Position:
        """Return the position from the result of ``to_members``; raises InvalidRequest for other values."""
        types = {f.name: str(f.type) for f in fields(Position)}
        if isinstance(members, dict) and set(members) <= set(types) and "next_snapshot" in members:
            found = all(type(value).__name__ == types[name] for name, value in members.items())
            if found and 1 <= members["next_snapshot"] < 2**63 and members.get("index", 0) >= 0:
                return Position(**members)
        raise InvalidRequest(f"not a position of a stream: {members!r:.120}")

    @staticmethod
    def from_json(text: str) -> Position:
        """Return the position from the text that ``to_json`` returned; raises InvalidRequest for any other text."""
        try:
            members = parse_json(text.encode())
        except (ValueError, AttributeError, RecursionError):
            members = text
        return Position.from_members(members)

    @staticmethod
    def after(snapshot: Snapshot) -> Position:
        """Return the position after all changes of a snapshot."""
        return Position(snapshot.id + 1, previous=snapshot.delta_manifest_list, previous_uuid=snapshot.uuid or "")
