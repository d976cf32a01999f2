"""KnownSchema: decodes the column chunks of footers that begin with a schema that was verified before.

The chunks are matched with the patterns of ``chunk_patterns``, their numbers are decoded together with numpy, and the
rules of ``footer_checks`` are tested on arrays. See ``known_footers``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paimon_core.codec.parquet.chunk_patterns import (
    ABSENT,
    after_bounds,
    file_rows,
    fixed,
    group_end,
    head,
    places_and_nulls,
)
from paimon_core.codec.parquet.footer_checks import Leaf, check_chunk, is_ordered, leaves_of, number_of
from paimon_core.codec.parquet.footer_columns import UNKNOWN, FileLeaves, FooterColumns, Numbers, stated_sizes
from paimon_core.codec.parquet.thrift import BINARY, LIST, STRUCT, Struct, serialize_struct, struct_at

_FIXED_TYPE, _BYTES_TYPE = 7, 6
_MAGIC_BYTES = 4
_FACTS = 11
"""Numbers of a chunk: codec, values, unpacked, packed, data, dictionary, nulls, nulls, texts, nulls, not nulls."""
_CHUNK_DEPTH = 4
"""The structs and lists around a chunk, as ``parse_struct`` counts them."""
_MOST = 1 << 56
_NOTHING = [ABSENT] * _FACTS

Match = tuple[FooterColumns, int]
"""The chunks of a footer, and the position after them."""


class Scan(NamedTuple):
    """A footer whose chunks match the patterns, before the checks of their numbers."""

    groups: int
    """The number of row groups."""
    varints: list[bytes]
    """The rows of the file and of each row group, then ``_FACTS`` numbers of each chunk."""
    others: dict[int, tuple[int, ...]]
    """The facts of the chunks that no pattern matches, by number."""
    after: int
    """The position after the chunks."""


class KnownSchema:
    """A schema with its leaves, as the bytes at the start of footers, and the verified ends of these footers."""

    def __init__(self, start: bytes, elements: Sequence[Struct]) -> None:
        self.start = start
        self.leaves = FileLeaves(tuple(leaves_of(elements)))
        self.ends: frozenset[bytes] = frozenset()
        self._plans = [_LeafPlan.of(leaf) for leaf in self.leaves.all]
        self._has_one_level = np.array([leaf.definition == 1 for leaf in self.leaves.all], bool)
        self._is_repeated = np.array([leaf.repetition > 0 for leaf in self.leaves.all], bool)
        self._has_repeated = bool(self._is_repeated.any())
        self._chunks = _list_header(len(self._plans))

    def match(self, raw: bytes, end: int) -> Match | None:
        """Return the chunks of a footer that starts with this schema; None: not decoded here.

        ``end``: the position of the footer in the file.
        """
        scan = self.scan(raw)
        (columns,) = (None,) if scan is None else self.checked([scan], [end])
        return None if scan is None or columns is None else (columns, scan.after)

    def scan(self, raw: bytes) -> Scan | None:
        """Return the numbers of a footer that starts with this schema; None: not decoded here."""
        found = file_rows().match(raw, len(self.start))
        if found is None:
            return None
        count, at = _list_size(raw, found.end())
        if count is None:
            return None
        rows, numbers, others = [found[1]], list[bytes](), dict[int, tuple[int, ...]]()
        at_path = head().match
        for _ in range(count):
            if not raw.startswith(self._chunks, at):
                return None
            at += len(self._chunks)
            for plan in self._plans:
                found = at_path(raw, at)
                after = 0
                if found is not None and found[1] == plan.kind and raw.startswith(plan.path, found.end()):
                    after = plan.match(raw, found.end() + len(plan.path), numbers)
                if not after:
                    others[len(numbers) // _FACTS], after = _parsed_chunk(raw, at, plan.leaf)
                    numbers += _NOTHING
                at = after
            closed = group_end().match(raw, at)
            if closed is None:
                return None
            rows.append(closed[1])
            at = closed.end()
        return Scan(count, rows + numbers, others, at)

    def checked(self, scans: Sequence[Scan], ends: Sequence[int]) -> list[FooterColumns | None]:
        """Return the chunks of each footer after the checks; None: not decoded here.

        Footers with the same number of row groups are checked together: for a small file, the time depends on the
        number of calls of numpy. ``ends``: the positions of the footers in their files.
        """
        found: list[FooterColumns | None] = [None] * len(scans)
        for count in {scan.groups for scan in scans}:
            same = [at for at, scan in enumerate(scans) if scan.groups == count]
            some = [scans[at] for at in same]
            for at, columns in zip(same, self._checked(some, count, [ends[at] for at in same]), strict=True):
                found[at] = columns
        return found

    def _checked(self, scans: Sequence[Scan], count: int, ends: Sequence[int]) -> list[FooterColumns | None]:
        """Return the chunks of footers of ``count`` row groups."""
        width = len(self._plans)
        numbers = _varints([part for scan in scans for part in scan.varints]).reshape(len(scans), -1)
        rows = numbers[:, 1 : count + 1] >> 1
        is_right = rows.sum(axis=1) == numbers[:, 0] >> 1
        facts = numbers[:, count + 1 :].reshape(-1, _FACTS)
        others = {
            file * count * width + at: parsed for file, scan in enumerate(scans) for at, parsed in scan.others.items()
        }
        is_absent = (facts & 1).astype(bool)
        facts = facts >> 1
        facts[is_absent] = 0
        codec, values, unpacked, packed, data, dictionary, nulls, others_nulls, texts, *levels = facts.T
        texts[is_absent[:, 8]] = UNKNOWN
        groups = len(scans) * count
        expected = np.repeat(rows, width)
        fits = values == expected
        if self._has_repeated:
            fits |= np.tile(self._is_repeated, groups) & (values > expected)
        fits &= nulls + others_nulls <= values
        has_levels = ~is_absent[:, 9]
        fits &= ~has_levels | ((levels[0] + levels[1] == values) & np.tile(self._has_one_level, groups))
        start = np.where(dictionary > 0, dictionary, data)
        is_empty = (values == 0) & (data == 0)
        start = np.where(is_empty & (start == 0), _MAGIC_BYTES, start)
        fits &= is_empty | (dictionary == 0) | (dictionary < data)
        for at, parsed in others.items():
            start[at], packed[at], values[at], codec[at], unpacked[at], texts[at] = parsed
            fits[at] = parsed[2] >= expected[at] if self._is_repeated[at % width] else parsed[2] == expected[at]
        shape = len(scans), count * width
        is_right &= fits.reshape(shape).all(axis=1)
        is_right &= _are_places(start.reshape(shape), packed.reshape(shape), np.array(ends, np.int64))
        arrays = [a.reshape(len(scans), count, width) for a in (start, packed, unpacked, values, codec, texts)]
        return [
            FooterColumns(self.leaves, rows[file], *(a[file] for a in arrays)) if right else None
            for file, right in enumerate(is_right.tolist())
        ]


@dataclass(frozen=True, slots=True)
class _LeafPlan:
    """How the chunks of a leaf are matched."""

    leaf: Leaf
    kind: bytes
    """The varint of the physical type."""
    path: bytes
    whole: re.Pattern[bytes] | None
    """The pattern of chunks whose values have a fixed size; None: the bounds are read one by one."""
    number: Callable[[bytes], tuple[Any, ...]] | None
    """Decodes a bound that is a number."""

    @staticmethod
    def of(leaf: Leaf) -> _LeafPlan:
        whole = None if leaf.width is None or leaf.physical == _FIXED_TYPE else fixed(leaf.width)
        return _LeafPlan(leaf, bytes([leaf.physical << 1]), _path(leaf.path), whole, number_of(leaf))

    def match(self, raw: bytes, at: int, out: list[bytes]) -> int:
        """Add the numbers of a chunk, whose codec is at ``at``, to ``out``, and return the position after the chunk.

        The statistics are checked here. Returns 0 when no pattern matches.
        """
        if self.whole is None:
            return self._match_texts(raw, at, out)
        found = self.whole.match(raw, at)
        if found is None:
            return 0
        g = found.groups(ABSENT)
        if self.number is not None:
            high, low = (g[6], g[7]) if found[7] is not None else (g[10], g[11])
            if (found[7] is not None or found[11] is not None) and self.number(low) > self.number(high):
                return 0
        out += (g[0], g[1], g[2], g[3], g[4], g[5], g[8], g[9], g[12], g[13], g[14])
        return found.end()

    def _match_texts(self, raw: bytes, at: int, out: list[bytes]) -> int:
        found = places_and_nulls().match(raw, at)
        bounds = None if found is None else _bounds(raw, found.end())
        if found is None or bounds is None:
            return 0
        low, high, at = bounds
        if low is not None and high is not None:
            width = self.leaf.width
            if (width is not None and not len(low) == len(high) == width) or not is_ordered(self.leaf, low, high):
                return 0
        rest = after_bounds().match(raw, at)
        if rest is None:
            return 0
        out += found.groups(ABSENT)
        out.append(ABSENT)
        out += rest.groups(ABSENT)
        return rest.end()


def _bounds(raw: bytes, at: int) -> tuple[bytes | None, bytes | None, int] | None:
    """Return the minimum and the maximum after a null count, and the position after them; None if they are unusual."""
    if raw[at : at + 1] != b"\x28":
        return None, None, at
    high, at = _binary(raw, at + 1)
    if raw[at : at + 1] != b"\x18":
        return None
    low, at = _binary(raw, at + 1)
    return (low, high, at) if at <= len(raw) else None


def _binary(raw: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes with their length before them; the position after them is beyond the end if they are cut."""
    head = raw[at : at + 2]
    if len(head) < 2:
        return b"", len(raw) + 1
    size, at = head[0], at + 1
    if size >= 0x80:
        if head[1] >= 0x80:  # 16 KiB or more
            return b"", len(raw) + 1
        size, at = size & 0x7F | head[1] << 7, at + 1
    return raw[at : at + size], at + size


def _parsed_chunk(raw: bytes, at: int, leaf: Leaf) -> tuple[tuple[int, ...], int]:
    """Return the facts of a chunk that no pattern matches, after its checks, and the position after the chunk.

    Raises ValueError for an invalid chunk.
    """
    parsed, after = struct_at(raw, at, _CHUNK_DEPTH)
    chunk = check_chunk(parsed, leaf)
    unpacked, texts = stated_sizes(parsed)
    facts = chunk.start, chunk.size, chunk.values, chunk.codec, unpacked, texts
    if max(facts) >= _MOST or min(facts) < UNKNOWN:
        raise ValueError("a number is too large")
    return facts, after


def _are_places(start: Numbers, packed: Numbers, ends: Numbers) -> npt.NDArray[np.bool_]:
    """Return for each file, a row of the arrays, whether its chunks are between the magic bytes and its end, and do not
    overlap.
    """
    first, after = start, start + packed
    if not start.size:
        return np.ones(len(start), np.bool_)
    if not (first[:, 1:] >= after[:, :-1]).all():  # the chunks may be in another order than the leaves
        order = np.lexsort((packed, start))
        first, after = np.take_along_axis(first, order, 1), np.take_along_axis(after, order, 1)
    is_apart = (first[:, 1:] >= after[:, :-1]).all(axis=1) & (packed >= 0).all(axis=1)
    return np.asarray(is_apart & (first[:, 0] >= _MAGIC_BYTES) & (after[:, -1] <= ends))


def _list_size(raw: bytes, at: int) -> tuple[int | None, int]:
    """Return the number of structs of a list (None: another list), and the position after its header."""
    header = raw[at : at + 3]
    if len(header) < 3 or header[0] & 15 != STRUCT:
        return None, at
    if header[0] < 0xF0:
        return header[0] >> 4, at + 1
    if header[1] < 0x80:
        return header[1], at + 2
    return (header[1] & 0x7F | header[2] << 7, at + 3) if header[2] < 0x80 else (None, at)


def _list_header(size: int) -> bytes:
    """Return the field header and the header of a list of structs in field 1."""
    return serialize_struct({1: (LIST, (STRUCT, [{}] * size))})[: -size - 1]


def _path(path: Sequence[bytes]) -> bytes:
    """Return the path of a chunk, from its field header on (field 3 after field 2)."""
    return serialize_struct({1: (LIST, (BINARY, list(path)))})[:-1]


def _varints(parts: Sequence[bytes]) -> Numbers:
    """Return the numbers of varints of at most 8 bytes, without zigzag."""
    data = np.frombuffer(b"".join(parts), np.uint8)
    ends = np.flatnonzero(data < 0x80)
    starts = np.zeros(len(ends), np.int64)
    starts[1:] = ends[:-1] + 1
    place = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    return np.asarray(np.add.reduceat((data & 0x7F).astype(np.int64) << 7 * place, starts))
