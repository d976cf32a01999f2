"""Footer checks: validates a Parquet footer before Arrow reads it; Arrow crashes on some invalid footers.

Each field that a reader uses must have its type, and the parts must be consistent: the schema is a tree, each row group
has a chunk for each leaf, chunks are inside the file and do not overlap, the numbers of rows and values add up, and
statistics are values of their type. If a footer lacks the checksum of ``footer_checksum``, its statistics may be wrong
even when it passes the checks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from paimon_core.codec.parquet.thrift import BINARY, I16, I32, I64, LIST, STRUCT, Struct
from paimon_core.limits import STORED_DEPTH

_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
_WIDTHS = {_BOOLEAN: 1, _INT32: 4, _INT64: 8, _INT96: 12, _FLOAT: 4, _DOUBLE: 8}
_NUMBERS = {_INT32: "<i", _INT64: "<q", _FLOAT: "<f", _DOUBLE: "<d"}
_REQUIRED_FIELD, _OPTIONAL, _REPEATED = range(3)
_CODECS, _ENCODINGS = 7, 9
_UTF8, _UNSIGNED = 0, range(11, 15)
_MAGIC_BYTES = 4

# Types of fields, by their ids in format/parquet.thrift. A number is a thrift type. A list with one item is a list:
# its item is the type of the items. A dict is a struct: its items are the types of the struct's fields.
_STATISTICS = {1: BINARY, 2: BINARY, 3: I64, 4: I64, 5: BINARY, 6: BINARY}
_SIZES = {1: I64, 2: [I64], 3: [I64]}
_METADATA = {
    1: I32,
    2: [I32],
    3: [BINARY],
    4: I32,
    5: I64,
    6: I64,
    7: I64,
    9: I64,
    10: I64,
    11: I64,
    8: [{1: BINARY, 2: BINARY}],
    12: _STATISTICS,
    13: [{1: I32, 2: I32, 3: I32}],
    14: I64,
    15: I32,
    16: _SIZES,
}
_CHUNK = {1: BINARY, 2: I64, 3: _METADATA, 4: I64, 5: I32, 6: I64, 7: I32, 8: {}, 9: BINARY}
_GROUP = {1: [_CHUNK], 2: I64, 3: I64, 4: [{}], 5: I64, 6: I64, 7: I16}
_ELEMENT = {1: I32, 2: I32, 3: I32, 4: BINARY, 5: I32, 6: I32, 7: I32, 8: I32, 9: I32, 10: {}}
_FILE = {1: I32, 2: [_ELEMENT], 3: I64, 4: [_GROUP], 5: [{1: BINARY, 2: BINARY}], 6: BINARY, 7: [{}], 8: {}, 9: BINARY}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of the file that has values: a member of a nested column, or a column that is not nested."""

    path: tuple[bytes, ...]
    physical: int
    width: int | None
    """The fixed size of a value in bytes; None when values have different sizes."""
    converted: int | None
    definition: int
    repetition: int


class Chunk(NamedTuple):
    """A column chunk of a row group: its place in the file, and the facts that its pages must match."""

    leaf: Leaf
    start: int
    size: int
    """The packed bytes of all pages with their headers."""
    values: int
    codec: int


class RowGroup(NamedTuple):
    """The row count and the chunk of each leaf of a row group."""

    rows: int
    chunks: Sequence[Chunk]
    leaves: Sequence[Leaf]

    def chunks_of(self, columns: Collection[bytes]) -> list[int]:
        """Return the numbers of the chunks of some columns."""
        return [number for number, leaf in enumerate(self.leaves) if leaf.path[0] in columns]


def check_footer(footer: Struct, end: int, *, statistics: bool = True) -> list[RowGroup]:
    """Return the row groups of a footer; raises ValueError for an invalid footer.

    ``end`` is the byte position in the file where the footer begins. ``statistics``: whether to check the statistics;
    old writers stored wrong statistics.
    """
    _check_types(footer, _FILE, "the file")
    if 8 in footer:
        raise ValueError("it is encrypted")
    elements = _needed(footer, 2, "the file")[1]
    leaves = leaves_of(elements)
    if 7 in footer and len(footer[7][1][1]) != len(leaves):
        raise ValueError(f"its footer has {len(footer[7][1][1])} column orders for {len(leaves)} columns")
    rows, groups = 0, list[RowGroup]()
    for group in _needed(footer, 4, "the file")[1]:
        count, chunks = _needed(group, 3, "a row group"), _needed(group, 1, "a row group")[1]
        if count < 0 or len(chunks) != len(leaves):
            raise ValueError(f"a row group has {count} rows and {len(chunks)} chunks for {len(leaves)} columns")
        rows += count
        groups.append(
            RowGroup(
                count, [_checked(c, leaf, count, statistics) for c, leaf in zip(chunks, leaves, strict=True)], leaves
            )
        )
    if rows != _needed(footer, 3, "the file"):
        raise ValueError(f"its footer states {footer[3][1]} rows, and its row groups have {rows}")
    before = _MAGIC_BYTES
    for start, size in sorted((chunk.start, chunk.size) for group in groups for chunk in group.chunks):
        if start < before or size < 0:
            raise ValueError(f"its footer has a chunk of {size} bytes at {start} that overlaps another one")
        before = start + size
    if before > end:
        raise ValueError(f"its footer has a chunk that ends at {before}, after the data ends at {end}")
    return groups


def check_chunk(chunk: Struct, leaf: Leaf) -> Chunk:
    """Return a column chunk after its checks, except the number of rows; raises ValueError for an invalid chunk."""
    _check_types(chunk, _CHUNK, "a column chunk")
    what = f"column {b'.'.join(leaf.path).decode()!r}"
    return _checked(chunk, leaf, _needed(_needed(chunk, 3, what), 5, what), statistics=True)


def is_ordered(leaf: Leaf, low: bytes, high: bytes) -> bool:
    """Whether a minimum is not greater than the maximum; True for values whose order depends on more than their type.

    Values of a fixed size have the size of the leaf.
    """
    if leaf.converted in _UNSIGNED:
        return True
    if form := _NUMBERS.get(leaf.physical):
        return not struct.unpack(form, low) > struct.unpack(form, high)
    return not (leaf.physical == _BYTES and leaf.converted == _UTF8 and low > high)


def number_of(leaf: Leaf) -> Callable[[bytes], tuple[Any, ...]] | None:
    """Return a function that decodes a bound whose order ``is_ordered`` tests as a number; None: it is no number."""
    form = None if leaf.converted in _UNSIGNED else _NUMBERS.get(leaf.physical)
    return None if form is None else struct.Struct(form).unpack


def _check_types(fields: Struct, expected: dict[int, Any], what: str) -> None:
    for number, (kind, value) in fields.items():
        if (wanted := expected.get(number)) is not None and not _is_of(kind, value, wanted, what):
            raise ValueError(f"field {number} of {what} in its footer is of the thrift type {kind}")


def _is_of(kind: int, value: Any, wanted: Any, what: str) -> bool:
    if isinstance(wanted, list):
        return kind == LIST and all(_is_of(value[0], item, wanted[0], what) for item in value[1])
    if isinstance(wanted, dict):
        if kind == STRUCT:
            _check_types(value, wanted, what)
        return kind == STRUCT
    if wanted == I32 == kind:
        return bool(-(2**31) <= value < 2**31)
    return bool(kind == wanted) and (kind != I64 or -(2**63) <= value < 2**63)


def _needed(fields: Struct, number: int, what: str) -> Any:
    if number not in fields:
        raise ValueError(f"its footer lacks field {number} of {what}")
    return fields[number][1]


def leaves_of(elements: Sequence[Struct]) -> list[Leaf]:
    """Return the leaves of a schema, whose elements are in depth-first order."""
    rest = iter(elements)
    root = next(rest, None)
    if root is None:
        raise ValueError("its footer has no schema")
    leaves: list[Leaf] = []
    _walk(root, (), 0, 0, rest, leaves)
    if next(rest, None) is not None:
        raise ValueError("its footer has a schema that is not a tree")
    return leaves


def _walk(
    group: Struct, path: tuple[bytes, ...], definition: int, repetition: int, rest: Iterator[Struct], out: list[Leaf]
) -> None:
    count = _needed(group, 5, "a schema group")
    if count < 0 or len(path) > STORED_DEPTH:
        raise ValueError(f"its footer has a schema of {count} columns {len(path)} deep")
    for _ in range(count):
        element = next(rest, None)
        if element is None:
            raise ValueError("its footer has a schema that is not a tree")
        mode, name = _needed(element, 3, "a column"), _needed(element, 4, "a column")
        name.decode()
        if mode not in (_REQUIRED_FIELD, _OPTIONAL, _REPEATED):
            raise ValueError(f"its footer has a column of the repetition {mode}")
        levels = definition + (mode != _REQUIRED_FIELD), repetition + (mode == _REPEATED)
        if 1 in element:
            out.append(_leaf(element, (*path, name), *levels))
        else:
            _walk(element, (*path, name), *levels, rest, out)


def _leaf(element: Struct, path: tuple[bytes, ...], definition: int, repetition: int) -> Leaf:
    physical = element[1][1]
    width = _needed(element, 2, "a column") if physical == _FIXED else _WIDTHS.get(physical)
    if not _BOOLEAN <= physical <= _FIXED or element.get(5, (I32, 0))[1] or (width is not None and width < 1):
        raise ValueError(f"its footer has a column of the type {physical} with values of {width} bytes")
    return Leaf(path, physical, width, element.get(6, (I32, None))[1], definition, repetition)


def _checked(chunk: Struct, leaf: Leaf, rows: int, statistics: bool) -> Chunk:
    what = f"column {b'.'.join(leaf.path).decode()!r}"
    if 1 in chunk or 8 in chunk or 9 in chunk:
        raise ValueError(f"{what} is in another file or is encrypted")
    data = _needed(chunk, 3, what)
    if _needed(data, 1, what) != leaf.physical or tuple(_needed(data, 3, what)[1]) != leaf.path:
        raise ValueError(f"{what} has another type or path in a row group than in the schema")
    values, codec, encodings = _needed(data, 5, what), _needed(data, 4, what), _needed(data, 2, what)[1]
    if (values < rows if leaf.repetition else values != rows) or min(_needed(data, 6, what), rows) < 0:
        raise ValueError(f"{what} has {values} values in {rows} rows")
    if not 0 <= codec <= _CODECS or not all(0 <= encoding <= _ENCODINGS for encoding in encodings):
        raise ValueError(f"{what} has the codec {codec} and the encodings {encodings}")
    for number, levels in ((2, leaf.repetition), (3, leaf.definition)):
        counts = data.get(16, (STRUCT, {}))[1].get(number, (LIST, (I64, [])))[1][1]
        if counts and (len(counts) != levels + 1 or sum(counts) != values or min(counts) < 0):
            raise ValueError(f"{what} has a histogram of {len(counts)} levels that does not match its values")
    if statistics and 12 in data:
        _check_statistics(data[12][1], leaf, values, what)
    first, dictionary = _needed(data, 9, what), data.get(11, (I64, 0))[1]
    if not values and not first:  # no page at all
        first = dictionary or _MAGIC_BYTES
    elif dictionary >= first:
        raise ValueError(f"{what} has its dictionary after its data")
    return Chunk(leaf, dictionary or first, _needed(data, 7, what), values, codec)


def _check_statistics(statistics: Struct, leaf: Leaf, values: int, what: str) -> None:
    if not 0 <= statistics.get(3, (I64, 0))[1] <= values:
        raise ValueError(f"{what} has {statistics[3][1]} nulls of {values} values")
    bounds, older = ([statistics[number][1] for number in pair if number in statistics] for pair in ((6, 5), (2, 1)))
    if leaf.width is not None:
        if any(len(bound) != leaf.width for bound in (*bounds, *older)):
            raise ValueError(f"{what} has a minimum or maximum that is not of {leaf.width} bytes")
        if len(bounds) == len(older) == 2 and bounds != older:
            raise ValueError(f"{what} has two different minimums or maximums")
    if len(bounds) == 2 and not is_ordered(leaf, *bounds):
        raise ValueError(f"the minimum of {what} is greater than the maximum")
