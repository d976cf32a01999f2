"""Known footers: decodes footers that begin and end like a footer that was verified before (format 7.7).

The files of a table differ in their column chunks; the schema before the chunks and the rest after them are the same
bytes. Once ``check_footer`` has accepted a footer, its first and last part are *known*: the same bytes between the same
parts mean the same and are not parsed again. The chunks are matched with the patterns of ``chunk_patterns``, their
numbers are decoded together with numpy, and the rules of ``footer_checks`` are tested on arrays.

A footer is accepted here only if ``check_footer`` accepts it. Everything else, valid or not, is left to
``check_footer``, which also words the errors. At most ``KNOWN_BYTES`` bytes are known.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from paimon_core.codec.parquet.footer_checksum import without_seal
from paimon_core.codec.parquet.footer_columns import FooterColumns
from paimon_core.codec.parquet.known_schema import KnownSchema, Scan
from paimon_core.codec.parquet.thrift import Struct, parse_struct, serialize_struct

KNOWN_BYTES = 4 << 20
_MOST_SCHEMAS, _MOST_ENDS = 64, 8
"""The maximum numbers of schemas, and of last parts that are known for a schema."""
_SCHEMA, _VERSION = 2, 1
_ERRORS = (ValueError, KeyError, TypeError, IndexError)
Form = tuple[bytes, bytes]
"""The schema and the end of a footer."""


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


def match_known(raw: bytes, end: int) -> tuple[FooterColumns, Form] | None:
    """Return the chunks of a footer whose schema and end are known, and these two parts; None: not decoded here.

    The caller has verified the checksum of the footer. ``end``: the position of the footer in the file.
    """
    return match_together([(raw, end)])[0]


def match_together(footers: Sequence[tuple[bytes, int]]) -> list[tuple[FooterColumns, Form] | None]:
    """Return ``match_known`` of several footers in less time; ``footers``: each with its position in its file."""
    scans: dict[KnownSchema, list[tuple[int, Scan, bytes]]] = {}
    for number, (raw, _) in enumerate(footers):
        if (scanned := _scanned(raw)) is not None:
            schema, scan, rest = scanned
            scans.setdefault(schema, []).append((number, scan, rest))
    found: list[tuple[FooterColumns, Form] | None] = [None] * len(footers)
    for schema, some in scans.items():
        try:
            checked = schema.checked([scan for _, scan, _ in some], [footers[number][1] for number, _, _ in some])
        except _ERRORS:
            continue
        for (number, _, rest), columns in zip(some, checked, strict=True):
            if columns is not None:
                found[number] = columns, (schema.start, rest)
    return found


def _scanned(raw: bytes) -> tuple[KnownSchema, Scan, bytes] | None:
    """Return the schema of a footer whose schema and end are known, the scan of its chunks, and its end."""
    schema = _KNOWN.find(raw)
    body = without_seal(raw)
    if schema is None or not body.endswith(tuple(schema.ends)):
        return None
    try:
        scan = schema.scan(raw)
    except _ERRORS:
        return None
    if scan is None or scan.after >= len(body):
        return None
    rest = body[scan.after :]
    return (schema, scan, rest) if rest in schema.ends else None


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
