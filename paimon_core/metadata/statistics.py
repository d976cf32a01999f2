"""Statistics: the results of an ANALYZE of a table, as stored in a JSON file (format 1.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_core.codec.json_text import parse_json
from paimon_core.display import Displayed, Summary, named
from paimon_core.errors import CorruptTable
from paimon_core.limits import metadata_text
from paimon_core.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The statistics of one column; None for values that were not computed."""

    column_id: int
    distinct_count: int | None = None
    """Number of distinct values, without nulls."""
    min: str | None = None
    """The minimum as text in Java's form: a date is a day number, a time is the milliseconds of the day."""
    max: str | None = None
    null_count: int | None = None
    avg_len: int | None = None
    """Average length of a value in bytes, rounded up."""
    max_len: int | None = None


_MEMBERS = (
    ("column_id", "colId"),
    ("distinct_count", "distinctCount"),
    ("min", "min"),
    ("max", "max"),
    ("null_count", "nullCount"),
    ("avg_len", "avgLen"),
    ("max_len", "maxLen"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Statistics(Displayed):
    """The statistics of one snapshot: number and total bytes of its merged rows, and statistics by column name."""

    snapshot_id: int
    schema_id: int
    row_count: int | None = None
    size_bytes: int | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)

    def _summary(self) -> Summary:
        shown = ("distinct_count", "min", "max", "null_count", "avg_len", "max_len")
        rows = [(name, *(getattr(column, one) for one in shown)) for name, column in self.columns.items()]
        facts = (("rows", self.row_count), ("bytes", self.size_bytes), ("columns", named(list(self.columns))))
        return Summary(f"snapshot {self.snapshot_id}", facts, (), ("column", *shown), rows)

    def to_json(self) -> str:
        """Return the text of the file, with Java's members; None values are left out.

        Raises InvalidRequest for a text that is too long or not valid Unicode.
        """
        members: dict[str, Any] = {"snapshotId": self.snapshot_id, "schemaId": self.schema_id}
        if self.row_count is not None:
            members["mergedRecordCount"] = self.row_count
        if self.size_bytes is not None:
            members["mergedRecordSize"] = self.size_bytes
        members["colStats"] = self.column_members()
        return metadata_text(json.dumps(members, indent=2, ensure_ascii=False), "a statistics file")

    def column_members(self) -> dict[str, dict[str, Any]]:
        """Return the JSON members of the columns, by column; None values are left out."""
        return {
            name: {member: v for attribute, member in _MEMBERS if (v := getattr(column, attribute)) is not None}
            for name, column in self.columns.items()
        }

    @staticmethod
    def read(storage: Storage, path: str) -> Statistics:
        """Read a statistics file; raises CorruptTable, which names the path, for a missing or invalid file."""
        try:
            return _parsed(parse_json(storage.read(path)))
        except FileNotFoundError:
            raise CorruptTable(f"{path} is missing", path=path, missing=True) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptTable(f"{path} is not a statistics file: {error!r}", path=path) from error


def _parsed(value: Mapping[str, Any]) -> Statistics:
    columns = {
        name: ColumnStatistics(**{a: column[m] for a, m in _MEMBERS if column.get(m) is not None})
        for name, column in (value.get("colStats") or {}).items()
    }
    numbers = (value["snapshotId"], value["schemaId"], value.get("mergedRecordCount"), value.get("mergedRecordSize"))
    if any(n is not None and type(n) is not int for n in numbers):
        raise ValueError("its counts are not integers")
    return Statistics(*numbers, columns)
