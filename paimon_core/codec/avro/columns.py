"""Avro columns: decodes all records of many Avro blocks at once with numpy; each field becomes a column.

An Avro record does not state its length, so a reader finds the end of a record only by decoding it. Here the caller
names all places at which records may start; some of these places may be wrong. The records at all places are decoded
together: one step decodes one field of every record. The result contains only the records that follow each other
without a gap from the start of a block to its end; a sequential reader finds the same records. All other records are
dropped.

Bytes are not copied: the value of a text or an array is a span of the buffer. NotInColumns is raised for everything
that this module does not decode: invalid bytes, schemas with maps or unions of several types, arrays in blocks that
state their size, and branch numbers that use more bytes than necessary. The caller then decodes the file record by
record, which raises a precise error for an invalid file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32] | Numbers
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

PADDING = bytes(16)
"""Zeros after the last block: a record that continues after the end reads only zeros, and is dropped."""
MOST_ITEMS = 1 << 15
"""Maximum number of items of an array; files with longer arrays are decoded record by record."""
_LEAST_STEPS = 256
"""The number of steps for arrays that are allowed in addition to two steps per record."""
_MOST_SPURIOUS = 256
"""The number of places that may be tried in addition to twice the number of records."""
_NUMBER_BYTES = 10
_BYTE = np.arange(256, dtype=np.int64)
_ONE_BYTE = (_BYTE >> 1) ^ -(_BYTE & 1)
"""For each byte value, the number that this single byte encodes."""
_WIDTHS = {"null": 0, "boolean": 1, "float": 4, "double": 8}


class NotInColumns(Exception):
    """Raised for blocks that must be decoded record by record."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the records, or the items of an array: ``kind`` is long, bytes, string, array, fixed or branch.

    A branch is the number before a record that is in a union with null. It must be equal to ``width``, the position of
    the record type in the union: this module does not decode a null in place of a record.
    """

    path: tuple[str, ...]
    """The names of the field and of the records around it, from the outermost on."""
    kind: str
    null: int | None = None
    """The position of null in a union of null and the field's type; None if the field is not a union."""
    width: int = 0
    items: Field | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one field: numbers, or for texts and arrays the starts and lengths of spans.

    The span of a text contains its bytes; the span of an array contains its whole encoding: counts, items and the final
    zero.
    """

    values: Numbers
    lengths: Numbers | None
    nulls: Mask | None
    """Whether each value is null; None if the field is not a union with null."""

    def taken(self, at: Numbers) -> Column:
        """Return the values at the positions ``at``."""
        lengths = None if self.lengths is None else self.lengths[at]
        return Column(self.values[at], lengths, None if self.nulls is None else self.nulls[at])


@dataclass(frozen=True, slots=True)
class Records:
    """The fields of the records in a schema that is a record, or a union of null and a record."""

    fields: tuple[Field, ...]
    branch: int | None
    """The position of the record in a union with null; None if the schema is not a union."""

    @staticmethod
    def of(schema: Any) -> Records:
        """Return the fields of a schema that ``plain_schema`` parsed. Raises NotInColumns for other schemas."""
        branch = None
        if isinstance(schema, list):
            branch, schema = _branch(schema)
        return Records(tuple(_fields(schema, ())), branch)


def _fields(record: Any, path: tuple[str, ...]) -> list[Field]:
    out: list[Field] = []
    for field in record["fields"]:
        kind, name = field["type"], (*path, field["name"])
        if isinstance(kind, list) and any(isinstance(k, dict) and k["type"] == "record" for k in kind):
            branch, kind = _branch(kind)
            out.append(Field(name, "branch", width=branch))
        if isinstance(kind, dict) and kind["type"] == "record":
            out += _fields(kind, name)
        else:
            out.append(_field(kind, name))
    return out


def _branch(union: list[Any]) -> tuple[int, Any]:
    """Return the position of the type in a union with null, and the type."""
    if len(union) != 2 or union.count("null") != 1:
        raise NotInColumns(f"a union of {len(union)} types")
    branch = 1 - union.index("null")
    return branch, union[branch]


def _field(kind: Any, path: tuple[str, ...]) -> Field:
    if isinstance(kind, list):
        branch, kind = _branch(kind)
        inner = _field(kind, path)
        return Field(path, inner.kind, 1 - branch, inner.width, inner.items)
    if isinstance(kind, dict):
        if kind["type"] == "array":
            return Field(path, "array", items=_field(kind["items"], path))
        if kind["type"] == "fixed":
            return Field(path, "fixed", width=kind["size"])
        kind = kind["type"]
    if kind in ("int", "long"):
        return Field(path, "long")
    if kind in ("bytes", "string"):
        return Field(path, kind)
    if isinstance(kind, str) and kind in _WIDTHS:
        return Field(path, "fixed", width=_WIDTHS[kind])
    raise NotInColumns(f"a field of type {kind!r:.40}")


def decode_columns(
    buffer: Bytes, blocks: Sequence[tuple[int, int, int]], places: Numbers, records: Records
) -> dict[tuple[str, ...], Column]:
    """Return the fields of all records, by path.

    ``blocks`` are the starts, ends and record counts of blocks in ``buffer``, in order; ``PADDING`` follows the last
    block. ``places`` are the places where records may start, in addition to the starts of the blocks. Raises
    NotInColumns for blocks that must be decoded record by record.
    """
    bounds = np.array(blocks, np.int64).reshape(-1, 3)
    starts = np.sort(np.concatenate([bounds[:, 0], places]))
    starts = starts[np.diff(starts, prepend=-1) > 0]
    if len(starts) > 2 * int(bounds[:, 2].sum()) + _MOST_SPURIOUS:
        raise NotInColumns("too many places where a record may start")
    lanes = Lanes(buffer, starts.copy())
    if records.branch is not None:
        lanes.end_unless(lanes.long() == records.branch)
    columns = {field.path: lanes.read(field) for field in records.fields}
    kept = _chained(bounds, starts, lanes.at)
    return columns if kept is None else {path: column.taken(kept) for path, column in columns.items()}


def _chained(bounds: Numbers, starts: Numbers, ends: Numbers) -> Numbers | None:
    """Return the positions of the records that follow each other from start to end of a block; None: all records."""
    first = np.searchsorted(starts, bounds[:, 0])
    after = np.append(first[1:], len(starts))
    following = np.append(starts[1:], 0)
    following[after - 1] = bounds[:, 1]
    wrong = np.flatnonzero(ends != following)
    counts = after - first
    if not len(wrong) and bool((counts == bounds[:, 2]).all()):
        return None
    bad = set((np.searchsorted(first, wrong, side="right") - 1).tolist())
    bad |= set(np.flatnonzero(counts != bounds[:, 2]).tolist())
    parts = [
        _walked(starts[a:b], ends[a:b], int(bounds[number, 1]), int(bounds[number, 2])) + a
        if number in bad
        else np.arange(a, b)
        for number, (a, b) in enumerate(zip(first.tolist(), after.tolist(), strict=True))
    ]
    return np.concatenate(parts)


def _walked(starts: Numbers, ends: Numbers, end: int, count: int) -> Numbers:
    position = {start: number for number, start in enumerate(starts.tolist())}
    out: list[int] = []
    at: int | None = 0
    reached = 0
    while at is not None and len(out) < count:
        out.append(at)
        reached = int(ends[at])
        at = position.get(reached)
    if len(out) != count or reached != end:
        raise NotInColumns("the records of a block do not end at its end")
    return np.array(out, np.int64)


@dataclass(slots=True)
class Budget:
    """How many array items and steps may still be decoded before NotInColumns is raised.

    The number of items is limited by the size of the buffer, because nearly every item takes at least one byte.
    """

    items: int
    steps: int
    """A step decodes one item of several records; long arrays of a few records are decoded faster record by record."""

    def spend(self, items: int) -> None:
        """Subtract one step and ``items`` items. Raises NotInColumns when no step or item is left."""
        self.items -= items
        self.steps -= 1
        if self.items < 0 or self.steps < 0:
            raise NotInColumns("too many items of arrays")


class Lanes:
    """Positions in a buffer, one for each record that is decoded; all positions move forward together.

    A lane is one such position. A lane that finds invalid bytes moves to the end of the buffer and stays there. All
    reads are clipped to the buffer, and only a few numbers per lane and field are stored.
    """

    def __init__(self, buffer: Bytes, at: Numbers, budget: Budget | None = None) -> None:
        self.buffer = buffer
        self.at = at
        self.end = len(buffer)
        self.budget = budget or Budget(2 * len(buffer), _LEAST_STEPS + 2 * len(at))

    def end_unless(self, valid: Mask) -> None:
        """Move the lanes that are not ``valid`` to the end of the buffer."""
        if not valid.all():
            self.at[~valid] = self.end

    def long(self) -> Numbers:
        """Read a number in each lane."""
        first = self.buffer.take(self.at, mode="clip")
        value: Numbers = _ONE_BYTE.take(first)
        self.at += 1
        longer = np.flatnonzero(first > 0x7F)
        if len(longer):
            self._longer(first, value, longer)
        return value

    def _longer(self, first: Bytes, value: Numbers, lanes: Numbers) -> None:
        """Read the remaining bytes of the numbers that have more than one byte; ``lanes`` are the positions of these
        numbers.
        """
        whole = (first[lanes] & 0x7F).astype(np.uint64)
        at = self.at[lanes]
        for count in range(1, _NUMBER_BYTES):
            byte = self.buffer.take(at, mode="clip")
            at += 1
            whole |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * count)
            more = byte > 0x7F if count < _NUMBER_BYTES - 1 else byte > 1
            if more.all():
                continue
            done = ~more
            value[lanes[done]] = _signed(whole[done])
            self.at[lanes[done]] = at[done]
            if not more.any():
                return
            lanes, whole, at = lanes[more], whole[more], at[more]
        self.at[lanes] = self.end

    def span(self) -> tuple[Numbers, Numbers]:
        """Read the length of a text in each lane and skip the text; return starts and lengths."""
        lengths = self.long()
        starts = self.at.copy()
        # Converted to an unsigned number, a negative length is larger than any buffer.
        np.minimum(lengths.view(np.uint64), np.uint64(self.end), out=lengths.view(np.uint64))
        self.at += lengths
        return starts, lengths

    def read(self, field: Field) -> Column:
        """Read one field of every lane."""
        if field.null is None:
            return self._read(field)
        branch = self.buffer.take(self.at, mode="clip")
        self.at += 1
        nulls = branch == 2 * field.null
        self.end_unless(nulls | (branch == 2 - 2 * field.null))
        if not nulls.any():
            column = self._read(field)
            return Column(column.values, column.lengths, nulls)
        values = np.zeros(len(nulls), np.int64)
        lengths = None if field.kind in ("long", "fixed") else np.zeros(len(nulls), np.int64)
        some = np.flatnonzero(~nulls)
        if len(some):
            chosen = self._some(some)
            column = chosen._read(field)
            self.at[some] = chosen.at
            values[some] = column.values
            if lengths is not None and column.lengths is not None:
                lengths[some] = column.lengths
        return Column(values, lengths, nulls)

    def _read(self, field: Field) -> Column:
        if field.kind == "long":
            return Column(self.long(), None, None)
        if field.kind == "fixed":
            starts = self.at.copy()
            self.at += min(field.width, self.end)
            return Column(starts, None, None)
        if field.kind == "branch":
            branch = self.long()
            self.end_unless(branch == field.width)
            return Column(branch, None, None)
        if field.kind == "array":
            starts = self.at.copy()
            assert field.items is not None
            self._skip_items(field.items)
            return Column(starts, self.at - starts, None)
        return Column(*self.span(), None)

    def _skip_items(self, items: Field) -> None:
        """Skip an array, which consists of blocks: a count and that number of items. A count of zero ends the array."""
        count = self.long()
        lanes = np.flatnonzero(count)
        while len(lanes):
            count = count[lanes]
            self.at[lanes[(count < 0) | (count > MOST_ITEMS)]] = self.end
            within = (count > 0) & (count <= MOST_ITEMS)
            lanes, count = lanes[within], count[within]
            if not len(lanes):
                return
            self._skip(items, lanes, count)
            ahead = self._some(lanes)
            found = ahead.long()
            self.at[lanes] = ahead.at
            count = np.zeros(len(self.at), np.int64)
            count[lanes] = found
            lanes = lanes[found != 0]

    def _skip(self, items: Field, lanes: Numbers, count: Numbers) -> None:
        moving = self._some(lanes)
        for number in range(int(count.max())):
            going = count > number
            if not going.all():
                self.at[lanes] = moving.at
                lanes, count = lanes[going], count[going]
                moving = self._some(lanes)
            self.budget.spend(len(lanes))
            moving.read(items)
        self.at[lanes] = moving.at

    def _some(self, lanes: Numbers) -> Lanes:
        return Lanes(self.buffer, self.at[lanes], self.budget)


def _signed(whole: npt.NDArray[np.uint64]) -> Numbers:
    out: Numbers = ((whole >> np.uint64(1)) ^ (np.uint64(0) - (whole & np.uint64(1)))).view(np.int64)
    return out
