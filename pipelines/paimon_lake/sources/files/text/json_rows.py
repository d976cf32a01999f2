"""JSON rows: read lines that are JSON objects as rows of a table.

Arrow reads a whole block. When Arrow refuses a block, the reader searches the lines that Arrow refuses and rejects
them. A line is rejected only if Arrow also refuses this line alone, so the result does not depend on the other lines of
the block. Members are matched with the columns by their exact names, in nested objects as well; a member that is
missing is null. ``json_members`` finds members that no object of the file has.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from paimon_core.types import DataType, TypeRoot
from paimon_lake.sources.files.columns import exact_type, extra_columns
from paimon_lake.sources.files.rejects import Parsed, no_rejects
from paimon_lake.sources.files.row_builder import RowBuilder, one_chunk
from paimon_lake.sources.files.text.blocks import TextFile
from paimon_lake.sources.files.text.json_members import Members
from paimon_lake.sources.files.text.json_records import (
    bytes_of,
    has_braces,
    inexact,
    read_by_arrow,
    read_lines,
    trimmed,
)
from paimon_lake.sources.files.text.json_types import convert_json, has_root, read_type
from paimon_lake.sources.files.text.json_values import ExtraMember, Unfit, object_of
from paimon_lake.sources.files.text.lost_records import Lost, lost_batch
from paimon_lake.sources.files.text.records import Records
from paimon_lake.sources.files.text.text_values import TextRules, bad_value

NOT_READ = "not valid JSON"
_FEW = 256
_PARTS = 16


def read_jsonl(file: TextFile, schema: pa.Schema, required: Collection[str]) -> Iterator[Parsed]:
    """Yield the rows and rejects of each block of a split."""
    yield from read_lines(file, JsonReader(file, schema, required).parse)


@dataclass
class _Read:
    """Objects that were read by Arrow or in Python: their ``positions`` among the records, and their columns."""

    positions: np.ndarray
    columns: list[pa.Array]


class JsonReader:
    """Reads records that are JSON objects."""

    def __init__(self, file: TextFile, schema: pa.Schema, required: Collection[str]) -> None:
        form = file.file_format
        self.file, self.schema, self.required = file, schema, required
        self.rules = TextRules((), form.date_format, form.timestamp_format)
        self.kinds = {field.name: exact_type(field) for field in schema}
        self.read_schema = pa.schema([(name, read_type(kind)) for name, kind in self.kinds.items()])
        self.members = Members(self.kinds, required if form.allow_missing_columns else self.kinds)
        self.has_map = any(has_root(kind, TypeRoot.MAP) for kind in self.kinds.values())
        self.has_decimal = any(has_root(kind, TypeRoot.DECIMAL) for kind in self.kinds.values())

    def parse(self, records: Records, lost: list[Lost], lines_before: Callable[[], int]) -> Parsed:
        """Return the rows of the records and their rejects, together with the rejects in ``lost``."""
        records = trimmed(records)
        positions, read = np.arange(len(records)), len(records) + len(lost)
        in_python = positions if self.has_map else inexact(records) if self.has_decimal else positions[:0]
        bad: dict[int, Unfit] = {}
        objects = has_braces(records)
        for at in np.flatnonzero(~objects).tolist():
            bad[at] = self._unfit(records, at) or Unfit(None, NOT_READ)
        in_python = in_python[objects[in_python]]
        parts = self._by_arrow(records, np.setdiff1d(positions[objects], in_python), bad)
        parts.append(self._by_python(records, in_python, bad))
        self._note_members(records, parts, [*in_python.tolist(), *bad])
        order = np.concatenate([part.positions for part in parts])
        columns = [pa.concat_arrays([part.columns[at] for part in parts]) for at in range(len(self.kinds))]
        if not np.all(order[1:] > order[:-1]):
            indexes = np.argsort(order)
            order, columns = order[indexes], [column.take(pa.array(indexes)) for column in columns]
        builder = RowBuilder(self.schema, self.required, len(order))
        for column, kind in zip(columns, self.kinds.values(), strict=True):
            values, unfit = convert_json(column, kind, self.rules)
            builder.add(values, unfit, functools.partial(self._reason, column, kind))
        found = [(order[reject.row], reject.column, reject.reason) for reject in builder.rejects]
        found += [(at, unfit.column, unfit.reason) for at, unfit in bad.items()]
        lost = lost + [
            Lost(int(records.lines[at]), column, reason, records.raw(at), int(at)) for at, column, reason in found
        ]
        rejects = lost_batch(self.file, lost, lines_before()) if lost else no_rejects()
        return Parsed(builder.rows(), rejects, read, members=frozenset(self.members.seen))

    def _note_members(self, records: Records, parts: Sequence[_Read], others: Sequence[int]) -> None:
        """Note which members the objects have: from the values, and for members with only nulls from the JSON texts."""
        for part in parts[:-1]:
            self.members.note_columns(dict(zip(self.kinds, part.columns, strict=True)))
        self.members.note_texts(records.raw(at) for at in others)
        for part in parts[:-1]:
            if columns := {path[0] for path in self.members.unseen()}:
                self._note_null_members(records, part.positions, columns)

    def _note_null_members(self, records: Records, positions: np.ndarray, columns: Collection[str]) -> None:
        known = pa.schema([field for field in self.read_schema if field.name not in columns])
        parse = pa_json.ParseOptions(explicit_schema=known, unexpected_field_behavior="infer")
        try:
            self.members.note_schema(read_by_arrow(bytes_of(records, positions), parse).schema)
        except pa.ArrowInvalid:  # such as a member with values of two types
            self.members.note_texts(records.raw(int(at)) for at in positions)

    def _reason(self, column: pa.Array, kind: DataType, row: int) -> str:
        value = column[row].as_py()
        return bad_value(json.dumps(value, default=str) if kind.children else value, kind, self.rules)

    def _by_arrow(self, records: Records, positions: np.ndarray, bad: dict[int, Unfit]) -> list[_Read]:
        """Read records with Arrow. When Arrow refuses a group of records, halve the group repeatedly, and add the
        refused records to ``bad``.
        """
        if not len(positions):
            return []
        columns = self._arrow_columns(records, positions)
        if columns is not None:
            return [_Read(positions, columns)]
        if len(positions) == 1:
            at = int(positions[0])
            bad[at] = self._unfit(records, at) or Unfit(None, NOT_READ)
            return []
        parts = np.array_split(positions, _PARTS if len(positions) > _FEW else 2)
        if len(positions) <= _FEW:
            suspect = np.array([self._unfit(records, int(at)) is not None for at in positions])
            if suspect.any() and not suspect.all():
                parts = [positions[~suspect], *np.split(positions[suspect], suspect.sum())]
            elif suspect.all():
                parts = np.array_split(positions, len(positions))
        return [read for part in parts for read in self._by_arrow(records, part, bad)]

    def _arrow_columns(self, records: Records, positions: np.ndarray) -> list[pa.Array] | None:
        """Return the columns of the records; None when Arrow refuses one of the records."""
        beyond = "ignore" if self.file.file_format.ignore_extra_columns else "error"
        parse = pa_json.ParseOptions(explicit_schema=self.read_schema, unexpected_field_behavior=beyond)
        try:
            table = read_by_arrow(bytes_of(records, positions), parse)
            if self.has_decimal:
                table.validate(full=True)
        except pa.ArrowInvalid:
            return None
        # Each record begins and ends with a brace. So an equal number of rows means that each record is one object.
        return [one_chunk(table[name]) for name in self.kinds] if len(table) == len(positions) else None

    def _unfit(self, records: Records, at: int) -> Unfit | None:
        try:
            self._object(records, at)
        except Unfit as unfit:
            return unfit
        return None

    def _object(self, records: Records, at: int) -> dict[str, object]:
        ignore_extra = self.file.file_format.ignore_extra_columns
        try:
            return object_of(records.raw(at).decode(), self.kinds, ignore_extra=ignore_extra)
        except ExtraMember as extra:
            raise extra_columns(self.file.path, [extra.name], self.schema) from None

    def _by_python(self, records: Records, positions: Sequence[int] | np.ndarray, bad: dict[int, Unfit]) -> _Read:
        kept, objects = [], []
        for at in positions:
            try:
                objects.append(self._object(records, int(at)))
                kept.append(int(at))
            except Unfit as unfit:
                bad[int(at)] = unfit
        columns = [pa.array([o[f.name] for o in objects], f.type) for f in self.read_schema]
        return _Read(np.array(kept, np.int64), columns)
