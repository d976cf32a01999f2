"""Range reports: the report of a task about a range of offsets, for the result and the batch sizes of a load."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_lake.loads.files.split_reports import skipped_sentences
from paimon_lake.protocol import some
from paimon_lake.sources.files.columns import exact_type
from paimon_lake.sources.files.rejects import Parsed, no_rejects
from paimon_lake.sources.files.text.json_members import Path, lacking


@dataclass
class RangeReport:
    """The report of a task about a range that it has read."""

    size: int = 0
    """The size of the values in bytes."""
    messages: int = 0
    newest: int = -1
    """The timestamp of the newest message in epoch milliseconds; -1 when no message has one."""
    is_whole: bool = True
    """Whether the task read the whole range; if not, the task had read more bytes than a batch may have."""
    members: set[Path] = field(default_factory=set)
    """The members that the objects have."""
    skipped: Counter[str] = field(default_factory=Counter)
    """The number of messages that change no row, by kind."""
    sources: set[str] = field(default_factory=set)
    """The tables of the change events that are applied."""
    new_columns: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The types that were seen for members of change events that the table does not have."""

    def note(self, parsed: Parsed) -> None:
        """Add what the reader of a block noted about its messages to the report."""
        self.members |= parsed.members
        self.sources |= parsed.sources
        self.new_columns = parsed.new_columns
        self.skipped.update(parsed.skipped)

    def to_parsed(self) -> Parsed:
        """Return the report as the last block of a range."""
        told = {**vars(self), "members": sorted(self.members), "sources": sorted(self.sources)}
        return Parsed(no_rejects(), no_rejects(), 0, report=json.dumps(told, default=sorted).encode())

    @staticmethod
    def total(reports: Iterable[bytes]) -> RangeReport:
        """Return the sum of encoded reports."""
        total = RangeReport()
        for one in map(json.loads, reports):
            total.size += one["size"]
            total.messages += one["messages"]
            total.newest = max(total.newest, one["newest"])
            total.is_whole &= one["is_whole"]
            total.members.update(tuple(path) for path in one["members"])
            total.skipped.update(one["skipped"])
            total.sources.update(one["sources"])
            seen = {name: {*total.new_columns.get(name, ()), *texts} for name, texts in one["new_columns"].items()}
            total.new_columns = {**total.new_columns, **seen}
        return total

    def told(self, schema: pa.Schema, *, allow_missing: bool) -> Sequence[str]:
        """Return the skipped messages and the columns that no message has, one sentence each."""
        kinds = {one.name: exact_type(one) for one in schema}
        missing = [] if allow_missing else [".".join(path) for path in lacking(kinds, self.members)]
        lacked = "no message has the member {}; set the option allow_missing_columns: true if that is right"
        return [*skipped_sentences(self.skipped), *([lacked.format(some(missing))] if missing else [])]
