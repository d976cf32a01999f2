"""Records of a table group: the intent of a publish, and the version that it becomes.

Intents and versions are JSON files that never change.

An intent contains everything that is needed to complete the publish: any process that finds an intent without a version
can complete it, and may repeat this any number of times.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.versioned_json import pack, unpacked

RECORD_VERSION = 1
ABANDONED = "group.abandoned"
"""The property of a version that changes nothing, because its publish was abandoned."""


class Mode(StrEnum):
    """How a table changes in a publish. DO NOT CHANGE: the values are on disk."""

    APPEND = "append"
    """Rows are added, or upserted by key."""
    OVERWRITE_PARTITIONS = "overwrite-partitions"
    """The partitions that contain the new files are replaced."""
    OVERWRITE_TABLE = "overwrite-table"
    ROLLBACK = "rollback"
    """The table is rolled back to the snapshot that an earlier version names."""
    SNAPSHOT = "snapshot"
    """The table does not change: the version shows a snapshot that the table already has."""


@dataclass(frozen=True)
class Part:
    """The change of one table in a publish."""

    mode: Mode
    messages: tuple[CommitMessage, ...] = ()
    tag: str | None = None
    """For a rollback: the tag to roll back to."""
    undone: tuple[int, str] | None = None
    """For a rollback: id and uuid of the last snapshot before it. The rollback is done when this snapshot is
    deleted."""
    schema: tuple[int, int] | None = None
    """Id and time of the table's schema; a re-created table has another id or time. None in records of the older
    format."""
    shown: tuple[int, str] | None = None
    """For a part that changes nothing: id and uuid of the snapshot that the version shows."""

    def to_plain(self) -> dict[str, Any]:
        """Return plain JSON values."""
        texts = [base64.b64encode(m.to_bytes()).decode() for m in self.messages]
        plain = {"mode": self.mode, "messages": texts, "tag": self.tag, "undone": self.undone, "schema": self.schema}
        return plain if self.shown is None else {**plain, "shown": self.shown}

    @staticmethod
    def from_plain(value: Mapping[str, Any]) -> Part:
        """Return the part from the values that ``to_plain`` returned."""
        messages = tuple(CommitMessage.from_bytes(base64.b64decode(text)) for text in value["messages"])
        undone, schema, shown = value["undone"], value.get("schema"), value.get("shown")
        return Part(
            Mode(value["mode"]),
            messages,
            value["tag"],
            None if undone is None else (undone[0], undone[1]),
            None if schema is None else (_whole(schema[0]), _whole(schema[1])),
            None if shown is None else (_whole(shown[0]), _text(shown[1])),
        )


@dataclass(frozen=True)
class Intent:
    """A publish that is decided and must be completed."""

    number: int
    token: str
    """A unique text that distinguishes the intent from another intent with the same number."""
    parts: Mapping[str, Part]
    """The change of each table, by ``database.table``."""
    properties: Mapping[str, str] = field(default_factory=dict)
    restores: int | None = None
    """For a rollback: the version to roll back to."""

    @property
    def shows_snapshots(self) -> bool:
        """Whether no table changes: the version has exactly the tables of the intent."""
        return all(part.mode is Mode.SNAPSHOT for part in self.parts.values())

    def to_bytes(self) -> bytes:
        """Return versioned JSON."""
        members = {"number": self.number, "token": self.token, "properties": dict(self.properties)}
        parts = {name: part.to_plain() for name, part in self.parts.items()}
        return pack(RECORD_VERSION, {**members, "restores": self.restores, "parts": parts})

    @staticmethod
    def from_bytes(data: bytes) -> Intent:
        """Parse the bytes that ``to_bytes`` returned; raises InvalidRequest for bad data, UnsupportedFeature for newer
        formats.
        """
        with unpacked(data, "group intent", RECORD_VERSION) as value:
            parts = {_text(name): Part.from_plain(part) for name, part in value["parts"].items()}
            restores = None if value["restores"] is None else _whole(value["restores"])
            return Intent(_whole(value["number"]), _text(value["token"]), parts, _texts(value["properties"]), restores)


@dataclass(frozen=True, slots=True)
class Member:
    """One table in a version of the group: a snapshot, and the tag that protects it."""

    snapshot: int
    tag: str


@dataclass(frozen=True)
class GroupVersion:
    """One consistent state of all tables of a group."""

    number: int
    tables: Mapping[str, Member]
    """The snapshot and tag of each table, by ``database.table``; an unchanged table has those of the version before."""
    time_millis: int
    properties: Mapping[str, str] = field(default_factory=dict)
    restores: int | None = None
    """For a rollback: the version that was rolled back to; the versions in between are withdrawn."""

    def to_bytes(self) -> bytes:
        """Return versioned JSON."""
        return pack(RECORD_VERSION, asdict(self))

    @staticmethod
    def from_bytes(data: bytes) -> GroupVersion:
        """Parse the bytes that ``to_bytes`` returned; raises InvalidRequest for bad data, UnsupportedFeature for newer
        formats.
        """
        with unpacked(data, "group version", RECORD_VERSION) as value:
            tables = {
                name: Member(_whole(member["snapshot"]), _text(member["tag"]))
                for name, member in value["tables"].items()
            }
            restores = None if value["restores"] is None else _whole(value["restores"])
            numbers = _whole(value["number"]), _whole(value["time_millis"])
            return GroupVersion(numbers[0], tables, numbers[1], _texts(value["properties"]), restores)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.60} is not a whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    return value


def _texts(value: Mapping[object, object]) -> dict[str, str]:
    return {_text(k): _text(v) for k, v in value.items()}
