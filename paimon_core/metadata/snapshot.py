"""Snapshot: one committed version of a table, as stored in its JSON file (format 3.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from paimon_core.codec.json_text import parse_json
from paimon_core.display import Displayed, Summary, time_text
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.limits import metadata_text

BATCH_IDENTIFIER = 2**63 - 1
"""The commit identifier of batch commits: such a commit is never recognized as a repetition (format 3.2)."""
BASE = "paimon-core.base"
"""The property that contains ``Snapshot.base``."""


class CommitKind(StrEnum):
    """Why a snapshot was created; DO NOT CHANGE, on disk."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, repr=False)
class Snapshot(Displayed):
    """One committed version.

    File names are relative to the table's directory ``manifest``, the name ``statistics`` to its directory
    ``statistics``.
    """

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int
    delta_record_count: int
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    changelog_record_count: int | None = None
    index_manifest: str | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    next_row_id: int | None = None
    uuid: str | None = None
    writer_version: str | None = None
    operation: str | None = None
    base: str | None = None
    """The id and uuid of the snapshot on which this snapshot was built (see ``link``).

    None for the first snapshot, for snapshots of other engines, and when the snapshot below has no uuid. The value is
    stored as the property ``paimon-core.base``, which other engines ignore.
    """

    def _summary(self) -> Summary:
        facts = (
            ("kind", self.commit_kind),
            ("operation", self.operation),
            ("rows_added", self.delta_record_count),
            ("rows_in_files", self.total_record_count),
        )
        details = (
            ("committed", time_text(self.time_millis)),
            ("commit user", self.commit_user),
            ("schema", self.schema_id),
            ("watermark", self.watermark),
            ("properties", ", ".join(f"{key}={value}" for key, value in self.properties.items()) or None),
        )
        return Summary(str(self.id), facts, details)

    def link(self) -> str | None:
        """Return the id and uuid of this snapshot, for ``base`` of a snapshot built on it; None if it has no uuid."""
        return None if self.uuid is None else f"{self.id} {self.uuid}"

    def is_built_on(self, below: Snapshot) -> bool | None:
        """Whether this snapshot was built on ``below``, a snapshot with the previous id; None when this is unknown."""
        if self.base is None or below.uuid is None or not self.base.startswith(f"{self.id - 1} "):
            return None  # also unknown for a copy under another id, because ``base`` then does not have the previous id
        return self.base == below.link()

    def is_same_commit(self, other: Snapshot) -> bool:
        """Whether the same attempt of a commit created both snapshots.

        Every attempt has a delta manifest list with a unique name. The uuids must be equal as well, unless this
        snapshot has no uuid: a server may have removed the uuid.
        """
        return self.delta_manifest_list == other.delta_manifest_list and self.uuid in (other.uuid, None)

    def to_members(self) -> dict[str, Any]:
        """Return the JSON members in Java's order; absent members are left out, never null."""
        out: dict[str, Any] = {"version": 3}
        for attribute, member in _MEMBERS:
            value = getattr(self, attribute)
            if value is not None and value != {}:
                out[member] = dict(value) if attribute == "properties" else value
        if self.base is not None:
            out["properties"] = {**self.properties, BASE: self.base}
        return out

    def to_json(self) -> str:
        """Return the text of the snapshot file; raises InvalidRequest if it is too long or not valid Unicode."""
        return metadata_text(json.dumps(self.to_members(), indent=2, ensure_ascii=False), f"snapshot {self.id}")

    @staticmethod
    def from_members(value: Mapping[str, Any]) -> Snapshot:
        """Return the snapshot of parsed JSON; unknown members (such as ``logOffsets``) are ignored.

        Raises CorruptTable for a missing or mistyped member, UnsupportedFeature for a newer version.
        """
        version = value.get("version", 3)
        if not isinstance(version, int) or version > 3:
            raise UnsupportedFeature(f"snapshot version {version!r} is newer than 3", version=version)
        for member in _REQUIRED:
            if value.get(member) is None:
                raise CorruptTable(f"not a snapshot: it has no {member}")
        try:
            known = {attribute: value[member] for attribute, member in _MEMBERS if value.get(member) is not None}
            known["commit_kind"] = CommitKind(known["commit_kind"])
            if isinstance(properties := known.get("properties"), dict) and BASE in properties:
                known["properties"] = {key: text for key, text in properties.items() if key != BASE}
                known["base"] = properties[BASE] if isinstance(properties[BASE], str) else None
            known.setdefault("total_record_count", 0)
            known.setdefault("delta_record_count", 0)
            snapshot = Snapshot(**known)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptTable(f"not a snapshot: {error!r}") from error
        for attribute, _ in _MEMBERS:
            number = getattr(snapshot, attribute)
            if attribute in _INTEGERS and number is not None and type(number) is not int:
                raise CorruptTable(f"not a snapshot: {attribute} is {number!r:.80}")
            if (
                attribute in _RANGES
                and number is not None
                and not _RANGES[attribute][0] <= number < _RANGES[attribute][1]
            ):
                raise CorruptTable(f"not a snapshot: {attribute} is {number}, outside of its range")
        return snapshot

    @staticmethod
    def from_json(text: str | bytes) -> Snapshot:
        """Parse a snapshot file; raises the errors of ``from_members``, and CorruptTable for text that is not JSON."""
        try:
            value = parse_json(text if isinstance(text, bytes) else text.encode())
        except ValueError as error:
            raise CorruptTable(f"not a snapshot: {error}") from error
        if not isinstance(value, dict):
            raise CorruptTable(f"not a snapshot: {value!r:.80}")
        return Snapshot.from_members(value)


_MEMBERS = (
    ("uuid", "uuid"),
    ("id", "id"),
    ("schema_id", "schemaId"),
    ("base_manifest_list", "baseManifestList"),
    ("base_manifest_list_size", "baseManifestListSize"),
    ("delta_manifest_list", "deltaManifestList"),
    ("delta_manifest_list_size", "deltaManifestListSize"),
    ("changelog_manifest_list", "changelogManifestList"),
    ("changelog_manifest_list_size", "changelogManifestListSize"),
    ("index_manifest", "indexManifest"),
    ("commit_user", "commitUser"),
    ("writer_version", "writerVersion"),
    ("commit_identifier", "commitIdentifier"),
    ("commit_kind", "commitKind"),
    ("time_millis", "timeMillis"),
    ("total_record_count", "totalRecordCount"),
    ("delta_record_count", "deltaRecordCount"),
    ("changelog_record_count", "changelogRecordCount"),
    ("watermark", "watermark"),
    ("statistics", "statistics"),
    ("properties", "properties"),
    ("next_row_id", "nextRowId"),
    ("operation", "operation"),
)
_INTEGERS = frozenset(
    attribute
    for attribute, _ in _MEMBERS
    if attribute.endswith(("_id", "_size", "_count", "_millis", "_identifier")) or attribute in ("id", "watermark")
)
_LONG = 2**63
_RANGES = {
    "id": (1, _LONG),
    # Up to the year 9999: a larger number is not a time in milliseconds.
    "time_millis": (0, 253_370_764_800_000),
    **dict.fromkeys(
        (
            "schema_id",
            "total_record_count",
            "changelog_record_count",
            "base_manifest_list_size",
            "delta_manifest_list_size",
            "changelog_manifest_list_size",
        ),
        (0, _LONG),
    ),
}
"""The range of a member's values: from the first number (included) to the second (excluded)."""
_REQUIRED = (
    "id",
    "schemaId",
    "baseManifestList",
    "deltaManifestList",
    "commitUser",
    "commitIdentifier",
    "commitKind",
    "timeMillis",
)
