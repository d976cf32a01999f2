"""Images: read the rows of events, by Arrow or in Python, as columns with values in the forms of ``event_columns``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from paimon_core.types import TypeRoot
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.columns import extra_columns
from paimon_lake.sources.files.events.dialects import DELETE, OTHER_TABLE, Dialect
from paimon_lake.sources.files.events.event_columns import EventColumn, Values, form_of
from paimon_lake.sources.files.events.heads import Heads, head_of, heads_of
from paimon_lake.sources.files.events.new_columns import NewColumns
from paimon_lake.sources.files.formats import FileFormat
from paimon_lake.sources.files.row_builder import one_chunk
from paimon_lake.sources.files.text.json_records import bytes_of, is_inexact, read_by_arrow
from paimon_lake.sources.files.text.json_types import has_root
from paimon_lake.sources.files.text.json_values import ExtraMember, Object, Unfit, parse_object, word_of
from paimon_lake.sources.files.text.records import Records
from paimon_lake.sources.files.typed_values import extra_members

_SAMPLE = 16
"""The number of events from which the forms of the columns are determined."""

Bad = list[tuple[int, Unfit]]
"""The rejected changes, each as the position of its record and the reason; a record may occur several times."""


@dataclass(frozen=True)
class Images:
    """The changes of rows in some events."""

    positions: np.ndarray
    """The position of the record of each change, ascending."""
    kinds: pa.Array
    """The kind of each change."""
    rows: list[Values]
    """The columns of the rows that are inserted, updated or deleted."""
    old: list[Values]
    """The key columns of the rows before an update; a value is null if it is not known or has not changed."""
    count: int
    """The number of changes, rejected changes included."""


@dataclass
class ImageReader:
    """Reads the rows of events whose columns are written in the same way."""

    path: str
    dialect: Dialect
    schema: pa.Schema
    columns: Mapping[str, EventColumn]
    key: Sequence[str]
    ignore_extra: bool
    heads: Callable[[pa.Table, Sequence[int]], Heads]
    """Returns the heads of events from a table of their members and the positions of their records; raises
    PipelineError when the events cannot be loaded.
    """
    source: str = ""
    """The column that gets the name of the table of an event; "" when there is no such column."""
    new_columns: NewColumns | None = None
    """Notes the members that the table does not have; None: such members are refused or ignored."""
    stated: Mapping[str, str] = field(default_factory=dict)
    """The types that the schema of the envelope states."""
    forms: dict[str, str] = field(default_factory=dict)
    """The form in which each column was written last."""

    def by_arrow(self, records: Records, positions: np.ndarray, bad: Bad) -> Images | None:
        """Read events by Arrow; return None when Arrow refuses an event."""
        if not self.forms:
            self._sample(records, positions)
        row = pa.struct([(name, self._form(one)[1]) for name, one in self.columns.items()])
        image = pa.list_(row) if self.dialect.is_list else row
        known = pa.schema([*self.dialect.head.items(), (self.dialect.old, image), (self.dialect.row, image)])
        beyond = "ignore" if self.ignore_extra and self.new_columns is None else "infer"
        parse = pa_json.ParseOptions(explicit_schema=known, unexpected_field_behavior=beyond)
        data = bytes_of(records, positions)
        if self._reads_decimals() and is_inexact(data):
            return None
        try:
            table = read_by_arrow(data, parse)
            for name in (self.dialect.old, self.dialect.row):
                table[name].validate(full=True)
        except pa.ArrowInvalid:
            return None
        # Each record begins and ends with a brace. So an equal number of rows means that each record is one event.
        if len(table) != len(positions):
            return None
        heads = self.heads(table.select(list(self.dialect.head)), positions.tolist())
        self._check_extra(table)
        bad += [(int(positions[at]), unfit) for at, unfit in heads.reasons.items()]
        images = self._of_table(table, heads.kinds, positions, bad)
        images = self._with_sources(images, positions, heads.names)
        return replace(images, count=images.count + len(heads.reasons))

    def _form(self, column: EventColumn) -> tuple[str, pa.DataType]:
        form = self.forms.get(column.name) or next(iter(column.forms))
        return form, column.forms[form]

    def _reads_decimals(self) -> bool:
        """Whether Arrow reads one of the columns as a decimal."""
        forms = ((one.kind, self._form(one)[0]) for one in self.columns.values())
        return any(form != "text" and has_root(kind, TypeRoot.DECIMAL) for kind, form in forms)

    def _sample(self, records: Records, positions: np.ndarray) -> None:
        for at in positions[:_SAMPLE].tolist():
            try:
                event = parse_object(records.raw(at).decode())
                for one in (self.dialect.old, self.dialect.row):
                    for row in self._list(event.member(one), one):
                        self._note_forms(row)
            except Unfit:
                continue

    def _note_forms(self, row: Any) -> None:
        for name, value in row if isinstance(row, Object) else ():
            if name in self.columns and value is not None and form_of(value) in self.columns[name].forms:
                self.forms[name] = form_of(value)

    def _check_extra(self, table: pa.Table) -> None:
        for name in {self.dialect.row, self.dialect.deleted}:
            image = table.schema.field(name).type
            image = image.value_type if self.dialect.is_list else image
            extra = [one.name for one in image if one.name not in self.columns]
            if self.new_columns is not None:
                for new in extra:
                    self.new_columns.note_arrow(new, image.field(new).type, self.stated)
                extra = []
            for one in image:
                extra += (
                    []
                    if one.name not in self.columns
                    else extra_members(one.type, self.columns[one.name].kind, one.name)
                )
            if extra and not self.ignore_extra:
                raise extra_columns(self.path, extra, self.schema)

    def _of_table(self, table: pa.Table, kinds: pa.Array, positions: np.ndarray, bad: Bad) -> Images:
        """Return the changes of events that were read by Arrow."""
        new, old = one_chunk(table[self.dialect.row]), one_chunk(table[self.dialect.old])
        events = np.flatnonzero(kinds.is_valid().to_numpy(zero_copy_only=False))
        if len(events) < len(kinds):
            new, old, kinds = new.take(pa.array(events)), old.take(pa.array(events)), kinds.take(pa.array(events))
        if self.dialect.is_list:
            at, new, old = _flattened(new, old)
            without = np.setdiff1d(np.arange(len(events)), at)
            bad += [(int(positions[events[one]]), self._no_row(kinds[int(one)].as_py())) for one in without]
            events, kinds = events[at], kinds.take(pa.array(at))
        elif self.dialect.deleted != self.dialect.row:
            new, old = self._known(new), self._known(old)
            new = pc.if_else(pc.equal(kinds, DELETE), old, new)
        missing = np.flatnonzero(new.is_null().to_numpy(zero_copy_only=False))
        bad += [(int(positions[events[one]]), self._no_row(kinds[int(one)].as_py())) for one in missing]
        count = len(events) + (len(without) if self.dialect.is_list else 0)
        if len(missing):
            kept = new.is_valid()
            events = events[kept.to_numpy(zero_copy_only=False)]
            new, old, kinds = new.filter(kept), old.filter(kept), kinds.filter(kept)
        values, before = new.flatten(), old.flatten()
        forms = [self._form(one)[0] for one in self.columns.values()]
        rows: list[Values] = [{form: values[at]} for at, form in enumerate(forms)]
        at_key = [list(self.columns).index(name) for name in self.key]
        return Images(positions[events], kinds, rows, [{forms[at]: before[at]} for at in at_key], count)

    def _known(self, image: pa.Array) -> pa.Array:
        """Return rows without the members that the table does not have, which come after the columns of the table."""
        count = len(self.columns)
        if image.type.num_fields == count:
            return image
        fields = [image.type.field(at) for at in range(count)]
        return pa.StructArray.from_arrays([image.field(at) for at in range(count)], fields=fields, mask=image.is_null())

    def by_python(self, events: Sequence[tuple[int, Object]], bad: Bad) -> Images:
        """Read events one by one; ``events`` has the position of the record of each event."""
        heads, read = [], []
        for at, event in events:
            try:
                heads.append(head_of(event, self.dialect))
                read.append((at, event))
            except Unfit as unfit:
                bad.append((at, unfit))
        table = pa.Table.from_pylist(heads, pa.schema(list(self.dialect.head.items())))
        found = self.heads(table, [at for at, _ in read])
        bad += [(read[at][0], unfit) for at, unfit in found.reasons.items()]
        positions, kinds, rows, old = [], [], [], []
        count = len(events) - len(read) + len(found.reasons)
        for (at, event), kind in zip(read, found.kinds.to_pylist(), strict=True):
            if kind is None:
                continue
            try:
                changes = self._changes(event, kind)
            except Unfit as unfit:
                bad.append((at, unfit))
                count += 1
                continue
            count += len(changes)
            for row, before in changes:
                try:
                    new = self._read(row, self.columns, kind)
                    known = self._read(before, self.key, DELETE) if before is not None else {}
                except Unfit as unfit:
                    bad.append((at, unfit))
                    continue
                positions.append(at)
                kinds.append(kind)
                rows.append(new)
                old.append(known)
        images = Images(
            np.array(positions, np.int64),
            pa.array(kinds, pa.string()),
            [_values(rows, column) for column in self.columns.values()],
            [_values(old, self.columns[name]) for name in self.key],
            count,
        )
        return self._with_sources(images, np.array([at for at, _ in read], np.int64), found.names)

    def _with_sources(self, images: Images, positions: np.ndarray, names: pa.Array) -> Images:
        """Return the changes with the name of the table of each row in the column that ``source`` names.

        ``names`` has the tables of the records at ``positions``, which ascend. Raises PipelineError when the rows
        already have a value in this column.
        """
        if not self.source:
            return images
        at = list(self.columns).index(self.source)
        if any(values.null_count < len(values) for values in images.rows[at].values()):
            raise PipelineError(
                f"file {self.path}: rows have a member {self.source!r} of their own: name another column in "
                "source.source_column"
            )
        own: Values = {"text": names.take(pa.array(np.searchsorted(positions, images.positions)))}
        rows = [*images.rows[:at], own, *images.rows[at + 1 :]]
        old = [own if name == self.source else values for name, values in zip(self.key, images.old, strict=True)]
        return replace(images, rows=rows, old=old)

    def _changes(self, event: Object, kind: str) -> list[tuple[Any, Any]]:
        """Return the rows that an event changes, each with its old row; raises Unfit when the event has no rows."""
        row, old = self.dialect.row, self.dialect.old
        new, before = self._list(event.member(row), row), self._list(event.member(old), old)
        if kind == DELETE and self.dialect.deleted == old:
            new = before
        if not new:
            raise self._no_row(kind)
        return list(zip(new, before if len(before) == len(new) else [None] * len(new), strict=True))

    def _list(self, value: Any, name: str) -> list[Any]:
        if not self.dialect.is_list:
            return [value]
        if value is not None and type(value) is not list:
            raise Unfit(name, f"{word_of(value)} instead of an array")
        return value or []

    def _no_row(self, kind: str) -> Unfit:
        if kind == DELETE:
            return Unfit(self.dialect.deleted, f"the event deletes a row, and {self.dialect.deleted} does not have it")
        return Unfit(self.dialect.row, f"the event writes a row, and {self.dialect.row} does not have it")

    def _read(self, row: Any, wanted: Sequence[str] | Mapping[str, Any], kind: str) -> dict[str, tuple[str, Any]]:
        """Return the values that are not null of the wanted columns of a row, each with its form."""
        if row is None:
            raise self._no_row(kind)
        if not isinstance(row, Object):
            raise Unfit(self.dialect.row, f"{word_of(row)} instead of an object")
        seen: dict[str, tuple[str, Any]] = {}
        names = set[str]()
        for name, value in row:
            if name not in self.columns and wanted is self.columns and self.new_columns is not None:
                self.new_columns.note_value(name, value, self.stated)
            elif name not in self.columns and wanted is self.columns and not self.ignore_extra:
                raise extra_columns(self.path, [name], self.schema)
            if name in names and name in wanted:
                raise Unfit(name, f"the member {name!r} occurs twice")
            names.add(name)
            if name not in wanted or value is None:
                continue
            if kind != DELETE and self._is_unavailable(value):
                advice = "in PostgreSQL set REPLICA IDENTITY FULL"
                raise Unfit(name, f"the event does not have this large value, which did not change; {advice}")
            try:
                seen[name] = self.columns[name].read(value, ignore_extra=self.ignore_extra)
            except ExtraMember as extra:
                raise extra_columns(self.path, [extra.name], self.schema) from None
        self._note_forms(row)
        return seen

    def _is_unavailable(self, value: Any) -> bool:
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        value = value[0] if isinstance(value, tuple) else value  # a member of an object
        return isinstance(value, str) and value in self.dialect.placeholders


def _values(rows: Sequence[Mapping[str, tuple[str, Any]]], column: EventColumn) -> Values:
    """Return the values of a column by form; a column without values gets its first form."""
    found = [row.get(column.name) for row in rows]
    forms = list(dict.fromkeys(one[0] for one in found if one is not None)) or [next(iter(column.forms))]
    return {
        form: pa.array([one[1] if one and one[0] == form else None for one in found], column.forms[form])
        for form in forms
    }


def _flattened(new: pa.Array, old: pa.Array) -> tuple[np.ndarray, pa.Array, pa.Array]:
    """Return the event of each row, the rows, and the old rows (null if an event has not as many old as new rows)."""
    counts = np.asarray(pc.fill_null(pc.list_value_length(new), 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    before = np.asarray(pc.fill_null(pc.list_value_length(old), 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    at = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    same = (counts == before)[at]
    taken = np.where(same, (np.cumsum(before) - before)[at] + place, 0)
    return at, new.flatten(), old.flatten().take(pa.array(taken, pa.int64(), mask=~same))


def without_others(
    events: Records, positions: np.ndarray, dialect: Dialect, form: FileFormat
) -> tuple[np.ndarray, dict[str, int]]:
    """Return the positions of the events that may be of the table in the options, and the number of the others."""
    if not len(positions):
        return positions, {}
    parse = pa_json.ParseOptions(pa.schema(list(dialect.head.items())), unexpected_field_behavior="ignore")
    try:
        table = read_by_arrow(bytes_of(events, positions), parse)
    except pa.ArrowInvalid:
        table = None
    if table is None or len(table) != len(positions):
        if len(positions) == 1:
            return positions, {}
        parts = [without_others(events, part, dialect, form) for part in np.array_split(positions, 2)]
        others = sum(count.get(OTHER_TABLE, 0) for _, count in parts)
        return np.concatenate([kept for kept, _ in parts]), {OTHER_TABLE: others}
    is_other = pc.fill_null(pc.equal(heads_of(table, dialect, form).skipped, OTHER_TABLE), False)
    kept = ~np.asarray(is_other.to_numpy(zero_copy_only=False))
    return positions[kept], {OTHER_TABLE: int((~kept).sum())}
