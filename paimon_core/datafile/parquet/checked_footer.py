"""CheckedFooter: a verified footer as Arrow metadata; the most recently used footers are cached in memory.

Verifying a footer takes longer than decoding a small file. The key of a cached footer is the bytes at the end of the
file. Every read of a file reads these bytes, so a file that was changed is verified again.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.parquet.footer_checks import RowGroup
from paimon_core.codec.parquet.footer_columns import FooterColumns
from paimon_core.codec.parquet.known_footers import Form, forget_known
from paimon_core.codec.parquet.raw_footer import check_columns, check_known, read_raw_footer
from paimon_core.datafile.parquet.decoded_sizes import DecodedSizes
from paimon_core.datafile.parquet.footer import has_int96
from paimon_core.datafile.parquet.optional_map_keys import open_metadata, with_maps

KEPT_BYTES = 16 << 20
"""Maximum size of all cached footers, as bytes in their files; in memory a footer takes a few times as much."""

KEPT_SCHEMAS = 64

Bounds = tuple[Any, Any, int | None]
"""Minimum, maximum and null count of a column in a row group, as in the footer; None: unknown."""
MetadataOf = Callable[[bytes], tuple[pq.FileMetaData, bool]]
"""Returns a footer as Arrow metadata, and whether its maps were changed to lists."""
_UNKNOWN: Bounds = (None, None, None)


@dataclass(frozen=True)
class FooterSchema:
    """The facts of a footer that depend only on its schema."""

    arrow: pa.Schema
    leaves: Mapping[str, int]
    """For each column that is not nested, the position of its leaf in the footer."""
    has_int96: bool


@dataclass(frozen=True)
class CheckedFooter:
    """A verified footer; it is never changed and may be used by several threads."""

    raw: bytes
    metadata: pq.FileMetaData
    maps_are_lists: bool
    """Whether ``metadata`` was changed by ``optional_map_keys``."""
    schema: FooterSchema
    columns: FooterColumns
    known: dict[str, tuple[Bounds, ...]] = field(default_factory=dict)
    """The result of ``bounds`` by column."""

    @cached_property
    def row_groups(self) -> Sequence[RowGroup]:
        """The row groups, whose chunks are built when they are asked for."""
        return self.columns.row_groups

    @cached_property
    def sizes(self) -> DecodedSizes:
        """The sizes in memory that the footer states."""
        return DecodedSizes.of(self.columns)

    def bounds(self, column: str) -> tuple[Bounds, ...]:
        """Return the statistics in each row group of a column that is not nested, as physical values."""
        found = self.known.get(column)
        if found is None:
            leaf = self.schema.leaves.get(column)
            groups = range(len(self.row_groups))
            found = tuple(_UNKNOWN if leaf is None else _bounds(self.metadata, at, leaf) for at in groups)
            self.known[column] = found
        return found


class KnownFooter(NamedTuple):
    """A footer that ``known_footers`` has verified, and its facts."""

    raw: bytes
    start: int
    """The position of the footer in the file."""
    columns: FooterColumns
    form: Form


def known_footers(sources: Sequence[pa.BufferReader]) -> list[KnownFooter | None]:
    """Verify the footers of several files in memory together; None: the footer is cached, or must be read alone.

    A footer takes less time than alone, if a footer of the same form was verified before. The caller may pass each
    result to ``read_checked``.
    """
    found: list[KnownFooter | None] = [None] * len(sources)
    footers: list[tuple[int, tuple[bytes, int]]] = []
    for number, source in enumerate(sources):
        with contextlib.suppress(ValueError):  # raised again when the footer is read alone
            footers.append((number, read_raw_footer(source)))
    unknown = [(number, footer) for number, footer in footers if _KEPT.find(*footer) is None]
    for (number, footer), checked in zip(unknown, check_known([footer for _, footer in unknown]), strict=True):
        found[number] = None if checked is None else KnownFooter(*footer, *checked)
    return found


def read_checked(
    source: pa.NativeFile, metadata_of: MetadataOf = open_metadata, known: KnownFooter | None = None
) -> CheckedFooter:
    """Return the verified footer of an open Parquet file; raises ValueError for a footer that is not valid.

    ``metadata_of`` is called with a footer that is verified and not cached. ``known``: the verified footer of this
    file, if it was read before.
    """
    raw, start = read_raw_footer(source) if known is None else known[:2]
    found = _KEPT.find(raw, start)
    if found is None:
        columns, form = check_columns(raw, start) if known is None else known[2:]
        metadata, maps_are_lists = metadata_of(raw)
        schema = _SCHEMAS.get(form) if form is not None else None
        if schema is None:
            schema = _schema_of(metadata, maps_are_lists=maps_are_lists)
            if form is not None:
                _SCHEMAS.keep(form, schema)
        found = CheckedFooter(raw, metadata, maps_are_lists, schema, columns)
        _KEPT.keep(raw, start, found)
    return found


def _schema_of(metadata: pq.FileMetaData, *, maps_are_lists: bool) -> FooterSchema:
    schema: pa.Schema = metadata.schema.to_arrow_schema()
    if maps_are_lists:
        schema = pa.schema([f.with_type(with_maps(f.type)) for f in schema])
    leaves = {}
    for at in range(metadata.num_columns):
        leaf = metadata.schema.column(at)
        if leaf.path == leaf.name and leaf.max_repetition_level == 0:
            leaves[leaf.name] = at
    return FooterSchema(schema, leaves, has_int96(metadata))


def _bounds(metadata: pq.FileMetaData, row_group: int, leaf: int) -> Bounds:
    found = metadata.row_group(row_group).column(leaf).statistics
    if found is None:
        return _UNKNOWN
    nulls = found.null_count if found.has_null_count else None
    return (found.min_raw, found.max_raw, nulls) if found.has_min_max else (None, None, nulls)


class _Kept:
    """A cache of the most recently used footers, up to KEPT_BYTES bytes; several threads may use the cache."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._footers: OrderedDict[tuple[bytes, int], CheckedFooter] = OrderedDict()
        self._size = 0

    def find(self, raw: bytes, start: int) -> CheckedFooter | None:
        with self._lock:
            found = self._footers.get((raw, start))
            if found is not None:
                self._footers.move_to_end((raw, start))
            return found

    def keep(self, raw: bytes, start: int, footer: CheckedFooter) -> None:
        with self._lock:
            if (raw, start) in self._footers or len(raw) > KEPT_BYTES // 4:
                return
            self._footers[raw, start] = footer
            self._size += len(raw)
            while self._size > KEPT_BYTES:
                (dropped, _), _ = self._footers.popitem(last=False)
                self._size -= len(dropped)

    def clear(self) -> None:
        with self._lock:
            self._footers.clear()
            self._size = 0


class _Schemas:
    """A cache of the schemas of the most recently used forms; several threads may use the cache."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schemas: OrderedDict[tuple[bytes, bytes], FooterSchema] = OrderedDict()

    def get(self, form: tuple[bytes, bytes]) -> FooterSchema | None:
        with self._lock:
            return self._schemas.get(form)

    def keep(self, form: tuple[bytes, bytes], schema: FooterSchema) -> None:
        with self._lock:
            self._schemas[form] = schema
            while len(self._schemas) > KEPT_SCHEMAS:
                self._schemas.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._schemas.clear()


_KEPT = _Kept()
_SCHEMAS = _Schemas()


def forget() -> None:
    """Remove all footers and schemas from the caches."""
    _KEPT.clear()
    _SCHEMAS.clear()
    forget_known()
