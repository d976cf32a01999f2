"""Known footers: decodes footers that begin and end like a footer that was verified before (format 7.7).

The files of a table differ in their column chunks; the schema before the chunks and the rest after them are the same
bytes. Once ``check_footer`` has accepted a footer, its first and last part are *known*: the same bytes between the same
parts mean the same and are not parsed again. The chunks are matched with the patterns of ``chunk_patterns``, their
numbers are decoded together with numpy, and the rules of ``footer_checks`` are tested on arrays.

A footer is accepted here only if ``check_footer`` accepts it. Everything else, valid or not, is left to
``check_footer``, which also words the errors. At most ``KNOWN_BYTES`` bytes are known.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from paimon_core.codec.parquet.footer_checksum import without_seal
from paimon_core.codec.parquet.footer_columns import UNKNOWN, FileLeaves, FooterColumns, Numbers, stated_sizes
from paimon_core.codec.parquet.thrift import BINARY, LIST, STRUCT, Struct, parse_struct, serialize_struct, struct_at

KNOWN_BYTES = 4 << 20
_MOST_SCHEMAS, _MOST_ENDS = 64, 8
"""The maximum numbers of schemas, and of last parts that are known for a schema."""
_SCHEMA, _VERSION = 2, 1
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
        columns = self._checked(_varints(rows + numbers), count, others, end)
        return None if columns is None else (columns, at)

    def _checked(
        self, numbers: Numbers, count: int, others: dict[int, tuple[int, ...]], end: int
    ) -> FooterColumns | None:
        """Return the chunks after the checks; ``numbers``: the varints of the rows, and then of all chunks."""
        rows = numbers[1 : count + 1] >> 1
        if rows.sum() != numbers[0] >> 1:
            return None
        facts = numbers[count + 1 :].reshape(-1, _FACTS)
        is_absent = (facts & 1).astype(bool)
        facts = facts >> 1
        facts[is_absent] = 0
        codec, values, unpacked, packed, data, dictionary, nulls, others_nulls, texts, *levels = facts.T
        texts[is_absent[:, 8]] = UNKNOWN
        width = len(self._plans)
        expected = np.repeat(rows, width)
        fits = values == expected
        if self._has_repeated:
            fits |= np.tile(self._is_repeated, count) & (values > expected)
        fits &= nulls + others_nulls <= values
        has_levels = ~is_absent[:, 9]
        fits &= ~has_levels | ((levels[0] + levels[1] == values) & np.tile(self._has_one_level, count))
        start = np.where(dictionary > 0, dictionary, data)
        is_empty = (values == 0) & (data == 0)
        start = np.where(is_empty & (start == 0), _MAGIC_BYTES, start)
        fits &= is_empty | (dictionary == 0) | (dictionary < data)
        for at, parsed in others.items():
            start[at], packed[at], values[at], codec[at], unpacked[at], texts[at] = parsed
            fits[at] = parsed[2] >= expected[at] if self._is_repeated[at % width] else parsed[2] == expected[at]
        if not fits.all() or not _are_places(start, packed, end):
            return None
        shape = count, width
        arrays = (a.reshape(shape) for a in (start, packed, unpacked, values, codec, texts))
        return FooterColumns(self.leaves, rows, *arrays)


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


def _are_places(start: Numbers, packed: Numbers, end: int) -> bool:
    """Whether the chunks are between the magic bytes and ``end`` and do not overlap."""
    first, after = start, start + packed
    if not (first[1:] >= after[:-1]).all():  # the chunks may be in another order than the leaves
        order = np.lexsort((packed, start))
        first, after = first[order], after[order]
    is_apart = (first[1:] >= after[:-1]).all() and (packed >= 0).all()
    return bool(is_apart and (len(first) == 0 or (first[0] >= _MAGIC_BYTES and after[-1] <= end)))


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


class _Known:
    """The most recently used schemas; several threads may use the object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schemas: OrderedDict[bytes, KnownSchema] = OrderedDict()
        self._lengths: tuple[int, ...] = ()

    def find(self, raw: bytes) -> KnownSchema | None:
        """Return the schema with which the footer starts."""
        for length in self._lengths:
            with self._lock:
                found = self._schemas.get(raw[:length])
                if found is not None:
                    self._schemas.move_to_end(found.start)
                    return found
        return None

    def add(self, schema: KnownSchema, end: bytes | None = None) -> None:
        """Add a schema, or an end of a schema that is known."""
        with self._lock:
            if self._schemas.setdefault(schema.start, schema) is schema and end is not None:
                schema.ends = schema.ends | {end}
            sizes = {start: len(start) + sum(map(len, known.ends)) for start, known in self._schemas.items()}
            size = sum(sizes.values())
            while size > KNOWN_BYTES or len(self._schemas) > _MOST_SCHEMAS:
                dropped, _ = self._schemas.popitem(last=False)
                size -= sizes[dropped]
            self._lengths = tuple(sorted({len(start) for start in self._schemas}, reverse=True))

    def clear(self) -> None:
        with self._lock:
            self._schemas.clear()
            self._lengths = ()


_KNOWN = _Known()


def match_known(raw: bytes, end: int) -> tuple[FooterColumns, tuple[bytes, bytes]] | None:
    """Return the chunks of a footer whose schema and end are known, and these two parts; None: not decoded here.

    The caller has verified the checksum of the footer. ``end``: the position of the footer in the file.
    """
    schema = _KNOWN.find(raw)
    body = without_seal(raw)
    if schema is None or not body.endswith(tuple(schema.ends)):
        return None
    try:
        found = schema.match(raw, end)
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    if found is None or found[1] >= len(body):
        return None
    rest = body[found[1] :]
    return (found[0], (schema.start, rest)) if rest in schema.ends else None


def learn(raw: bytes, footer: Struct, end: int) -> None:
    """Remember the schema of a footer that ``check_footer`` has accepted, and its end if the schema was known."""
    schema = _KNOWN.find(raw)
    if schema is None:
        start = serialize_struct({number: footer[number] for number in (_VERSION, _SCHEMA) if number in footer})[:-1]
        if _VERSION in footer and raw.startswith(start) and len(start) <= KNOWN_BYTES // 4:
            _KNOWN.add(KnownSchema(start, footer[_SCHEMA][1][1]))
        return
    if len(schema.ends) >= _MOST_ENDS:
        return
    body = without_seal(raw)
    try:
        if len(body) < len(raw):
            parse_struct(body, whole=True)  # raises ValueError if the checksum is inside of another field
        found = schema.match(raw, end)
    except ValueError:
        return
    if found is not None and found[1] < len(body) and len(body) - found[1] <= KNOWN_BYTES // 16:
        _KNOWN.add(schema, body[found[1] :])


def forget_known() -> None:
    """Forget all schemas."""
    _KNOWN.clear()
