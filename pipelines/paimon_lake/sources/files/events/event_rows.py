"""Event rows: read lines that are change events as rows of a table with their kinds, in the order of the lines.

A block is read by Arrow. The parts that Arrow refuses are read in Python, event by event, which also finds the reason
why an event is rejected. Each row of an event is one change, which is written or rejected.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import TypeRoot
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.columns import RowRules, exact_type
from paimon_lake.sources.files.events.changes import ChangeBuilder
from paimon_lake.sources.files.events.connect_types import ConnectType, connect_types, stated_types
from paimon_lake.sources.files.events.dialects import DELETE, DIALECTS, TOMBSTONE
from paimon_lake.sources.files.events.envelopes import BARE, Unwrapped, payload_of, unwrap
from paimon_lake.sources.files.events.event_columns import EventColumn
from paimon_lake.sources.files.events.heads import Heads, check_one_source, heads_of
from paimon_lake.sources.files.events.images import Bad, ImageReader, Images, without_others
from paimon_lake.sources.files.events.new_columns import NewColumns
from paimon_lake.sources.files.rejects import Parsed, no_rejects
from paimon_lake.sources.files.text.blocks import TextFile
from paimon_lake.sources.files.text.json_members import OBJECT, Members, parsed_text
from paimon_lake.sources.files.text.json_records import has_braces, read_lines, records_with, trimmed
from paimon_lake.sources.files.text.json_types import has_root
from paimon_lake.sources.files.text.json_values import Object, Unfit, parse_object
from paimon_lake.sources.files.text.lost_records import Lost, lost_batch
from paimon_lake.sources.files.text.records import Records
from paimon_lake.sources.files.text.text_values import TextRules

_FEW = 64
"""A group of at most this many events that Arrow refuses is read in Python; a larger group is divided."""
_PARTS = 16
_MOST_READERS = 100
_TRUNCATE = (
    "the event empties the table, which a load cannot do: delete the rows of the table, remove this line and all lines "
    "and files before it, whose rows it deletes, and load again"
)


def read_events(file: TextFile, schema: pa.Schema, required: Collection[str], rules: RowRules) -> Iterator[Parsed]:
    """Yield the rows and rejects of each block of a split; the column ``KIND`` of the rows is the last column.

    Raises PipelineError for an event that empties the table, for events of several tables, and for rows with columns
    that the table does not have, unless they are ignored.
    """
    yield from read_lines(file, EventReader(file, schema, required, rules).parse)


class TableEmptied(PipelineError):
    """An event empties the table; ``line`` is the line of the event."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__(f"file {path}, line {line}: {_TRUNCATE}")
        self.line = line


class EventReader:
    """Reads records that are events."""

    def __init__(self, file: TextFile, schema: pa.Schema, required: Collection[str], rules: RowRules) -> None:
        self.file, self.schema, self.rules = file, schema, rules
        self.form, self.dialect = file.file_format, DIALECTS[file.file_format.kind]
        self.kinds = {field.name: exact_type(field) for field in schema}
        members = {name: kind for name, kind in self.kinds.items() if name != rules.source}
        needed = [name for name in required if name != rules.source]
        self.members = Members(members, needed if self.form.allow_missing_columns else members)
        self.builder = ChangeBuilder(schema, required, rules.key, rules.order)
        self.has_map = any(has_root(kind, TypeRoot.MAP) for kind in self.kinds.values())
        self.readers: dict[str, ImageReader] = {}
        self.sources: frozenset[str] = frozenset()
        self.new_columns = None if rules.new_columns == "refuse" else NewColumns()
        self.skipped: Counter[str] = Counter()
        self.line: Callable[[int], int] = int
        """Returns the line of a record of the current block."""

    def parse(self, records: Records, lost: list[Lost], lines_before: Callable[[], int]) -> Parsed:
        """Return the rows of the records and their rejects, together with the rejects in ``lost``."""
        records = trimmed(records)
        self.skipped = Counter()
        self.line = lambda at: lines_before() + int(records.lines[at]) + 1
        broken: Bad = []
        """The records that are no events."""
        bad: Bad = []
        read, parts = len(lost), []
        for reader, images in self._images(records, broken, bad):
            self._note_members(records, images)
            written = self.builder.written(images, reader.columns.values(), bad)
            parts.append(written)
            read += images.count + written.moved
        rejected = [
            Lost(int(records.lines[at]), unfit.column, unfit.reason, records.raw(at), at) for at, unfit in broken + bad
        ]
        return Parsed(
            self.builder.in_order(parts),
            lost_batch(self.file, lost + rejected, lines_before()) if lost or rejected else no_rejects(),
            read + len(broken),
            members=frozenset(self.members.seen),
            skipped=dict(self.skipped),
            sources=self.sources,
            new_columns={} if self.new_columns is None else self.new_columns.seen,
        )

    def _images(self, records: Records, broken: Bad, bad: Bad) -> Iterator[tuple[ImageReader, Images]]:
        """Yield the changes of the events of each schema, with the reader of the schema."""
        none = np.zeros(len(records), np.int64)
        found = unwrap(records) if self.dialect.has_envelope else Unwrapped(records, [BARE], none, none[:0])
        objects, is_slow = self._objects(found.events, broken), self._is_slow(found)
        fast = np.flatnonzero(objects & ~is_slow)
        for schema, events in self._parsed(found, np.flatnonzero(objects & is_slow), broken).items():
            yield self._reader(schema), self._reader(schema).by_python(events, bad)
        if self.form.database or self.form.table:
            fast, others = without_others(found.events, fast, self.dialect, self.form)
            self.skipped.update(others)
        for number, schema in enumerate(found.schemas):
            positions = fast[found.of_event[fast] == number]
            if len(positions):
                for images in self._in_parts(found, schema, positions, broken, bad):
                    yield self._reader(schema), images

    def _objects(self, events: Records, broken: Bad) -> np.ndarray:
        """Return flags for the events that may be objects; count tombstones, and add all other events to ``broken``."""
        objects = has_braces(events)
        for at in np.flatnonzero(~objects).tolist():
            if events.raw(at) == b"null":
                self.skipped[TOMBSTONE] += 1
                continue
            try:
                parse_object(events.raw(at).decode())
                broken.append((at, Unfit(None, "not valid JSON")))
            except Unfit as unfit:
                broken.append((at, unfit))
        return objects

    def _is_slow(self, found: Unwrapped) -> np.ndarray:
        """Return flags for the events that are always read in Python, not by Arrow."""
        slow = np.full(len(found.events), self.has_map)
        slow[found.wrapped] = True
        slow[records_with(found.events, self.dialect.placeholders)] = True
        return slow

    def _parsed(self, found: Unwrapped, positions: np.ndarray, broken: Bad) -> dict[str, list[tuple[int, Object]]]:
        """Return events that are parsed in Python, each with its position, by the schema of the envelope."""
        parsed: dict[str, list[tuple[int, Object]]] = {}
        wrapped = set(found.wrapped.tolist())
        for at in positions.tolist():
            try:
                event, schema = parse_object(found.events.raw(at).decode()), found.schemas[found.of_event[at]]
                if at in wrapped and event.member(self.dialect.op) is None:
                    schema, payload = payload_of(event)
                    if payload is None:
                        self.skipped[TOMBSTONE] += 1
                        continue
                    event = payload
                parsed.setdefault(schema, []).append((at, event))
            except Unfit as unfit:
                broken.append((at, unfit))
        return parsed

    def _in_parts(
        self, found: Unwrapped, schema: str, positions: np.ndarray, broken: Bad, bad: Bad
    ) -> Iterator[Images]:
        """Read events of one schema by Arrow, and the parts that Arrow refuses in Python."""
        images = self._reader(schema).by_arrow(found.events, positions, bad)
        if images is not None:
            yield images
        elif len(positions) > _FEW:
            for part in np.array_split(positions, _PARTS):
                yield from self._in_parts(found, schema, part, broken, bad)
        else:
            yield self._reader(schema).by_python(self._parsed(found, positions, broken).get(schema, []), bad)

    def _reader(self, schema: str) -> ImageReader:
        if schema not in self.readers:
            if len(self.readers) >= _MOST_READERS:
                self.readers.clear()
            types = connect_types(json.loads(schema)) if schema != BARE else {}
            rules = TextRules((), self.form.date_format, self.form.timestamp_format)
            unit = self.form.timestamp_unit
            self.readers[schema] = ImageReader(
                self.file.path,
                self.dialect,
                self.schema,
                {
                    name: EventColumn.of(name, kind, self.dialect, types.get(name, ConnectType()), unit, rules)
                    for name, kind in self.kinds.items()
                },
                self.rules.key,
                self.form.ignore_extra_columns,
                self._heads,
                self.rules.source,
                self.new_columns,
                self._stated(schema),
            )
        return self.readers[schema]

    def _stated(self, schema: str) -> dict[str, str]:
        """Return the types that the schema of an envelope states; note the types of columns that the table has."""
        if self.new_columns is None or schema == BARE:
            return {}
        stated = stated_types(json.loads(schema))
        for name in self.kinds.keys() & stated.keys() if self.rules.new_columns == "apply" else ():
            self.new_columns.seen.setdefault(name, set()).add(stated[name])
        return stated

    def _heads(self, table: pa.Table, positions: Sequence[int]) -> Heads:
        """Return the heads of events, and count skipped events; raises TableEmptied if an event empties the table."""
        heads = heads_of(table, self.dialect, self.form)
        if heads.truncates.any():
            line = self.line(int(positions[int(np.argmax(heads.truncates))]))
            raise TableEmptied(self.file.path, line)
        self.sources |= heads.sources
        if not self.form.has_patterns:
            check_one_source(self.sources, f"file {self.file.path}")
        self.skipped.update({one["values"]: one["counts"] for one in heads.skipped.value_counts().to_pylist()})
        self.skipped.pop(None, None)  # type: ignore[call-overload]
        return heads

    def _note_members(self, records: Records, images: Images) -> None:
        """Note which columns the written rows have: by values, or by the JSON texts for columns with only nulls."""
        writes = pc.not_equal(images.kinds, DELETE)
        if not pc.any(writes).as_py():
            return
        self.members.seen.add((OBJECT,))
        names = list(self.kinds)
        for name in {path[0] for path in self.members.unseen()}:
            for values in images.rows[names.index(name)].values():
                self.members.note_values(name, values.filter(writes))
        if self.members.unseen():
            positions = np.unique(images.positions[np.asarray(writes.to_numpy(zero_copy_only=False))])
            for at in positions.tolist():
                self.members.note_objects(self._rows_in(parsed_text(records.raw(at))))
                if not self.members.unseen():
                    break

    def _rows_in(self, event: Any) -> Iterator[object]:
        """Yield the rows of a parsed event; nothing for a value that is no event."""
        if not isinstance(event, dict):
            return
        payload = event.get("payload")
        event = payload if self.dialect.op not in event and isinstance(payload, dict) else event
        rows = event.get(self.dialect.row)
        yield from rows if isinstance(rows, list) else [rows]
