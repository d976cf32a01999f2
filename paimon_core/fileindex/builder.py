"""Builder: collects the indexed columns of one data file and returns the bytes of its container (format 13.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidOption
from paimon_core.fileindex import bitmap, bloom, bsi, range_bitmap
from paimon_core.fileindex.container import Payloads, write_container
from paimon_core.fileindex.java_order import computed_order, put_order, text_hash
from paimon_core.fileindex.keys import Keys, keys_of, supports, width_of
from paimon_core.options.file_index_options import IndexedColumn
from paimon_core.schema import DataField
from paimon_core.types import STRING_ROOTS, DataType, TypeRoot

_WRITERS = {"bloom-filter": bloom.write, "bitmap": bitmap.write, "bsi": bsi.write, "range-bitmap": range_bitmap.write}
_MOST_TEXT_BYTES = 1 << 30
"""Maximum size in bytes of the texts of one column of a file; a column with longer texts gets no index."""
_CHUNK_BYTES = 16 << 10
_UNCHUNKED = frozenset({TypeRoot.BOOLEAN, TypeRoot.TINYINT, TypeRoot.SMALLINT})
"""The types whose range bitmaps have one key per chunk by default."""


@dataclass(frozen=True, slots=True)
class IndexedField:
    """One index of a table, with the type of its values."""

    index: IndexedColumn
    type: DataType


def indexed_fields(indexes: Sequence[IndexedColumn], fields: Mapping[str, DataField]) -> tuple[IndexedField, ...]:
    """Return the indexes with their types; raises InvalidOption for a column that does not exist or has no such index.

    The kind of the index must support the type of the values. An index of a map key needs a map with text keys.
    """
    out = []
    for index in indexes:
        option = f"file-index.{index.kind}.columns"
        field = fields.get(index.column)
        if field is None:
            raise InvalidOption(f"option {option} names {index.column!r}, which is no column", option=option)
        kind = field.type
        if index.key is not None:
            if kind.root is not TypeRoot.MAP or kind.children[0].type.root not in STRING_ROOTS:
                raise InvalidOption(
                    f"option {option} names {index.name!r}: {field.name!r} is {kind}, not a map with keys of text",
                    option=option,
                )
            kind = kind.children[1].type
        if not supports(index.kind, kind):
            raise InvalidOption(
                f"option {option} names {index.name!r}: values of type {kind} have no {index.kind} index",
                option=option,
            )
        out.append(IndexedField(index, kind))
    return tuple(out)


class IndexBuilder:
    """Collects the indexed columns of one file, and keeps their keys in memory until ``finish``."""

    def __init__(self, fields: Sequence[IndexedField]) -> None:
        self._fields = fields
        self._parts: dict[str, list[Keys | None]] = {f.index.name: [] for f in fields}

    def add(self, rows: pa.Table) -> None:
        """Add rows, in file order; the indexed columns are found by name."""
        taken = set()
        for field in self._fields:
            name = field.index.name
            if name not in taken:
                taken.add(name)
                for chunk in rows.column(field.index.column).chunks:
                    values = chunk if field.index.key is None else _of_key(chunk, field.index.key)
                    self._parts[name].append(keys_of(values, field.type))

    def keys(self, name: str) -> Keys | None:
        """Return the keys of the column or map key ``name`` in all rows so far; None when no index can store them."""
        return _joined(self._parts[name])

    def finish(self) -> bytes:
        """Return the container.

        An index is left out when its format cannot store the values of the column: a decimal of more than 64 bits,
        -2**63 in a bsi index, a text longer than a block of a bitmap index, or more than 1 GiB of text.
        """
        payloads: dict[tuple[str, str], bytes | None] = {}
        for field in self._fields:
            index = field.index
            keys = self.keys(index.name)
            options = dict(index.options)
            if index.kind == "range-bitmap" and options["chunk-size"] is None:
                options["chunk-size"] = 0 if field.type.root in _UNCHUNKED else _CHUNK_BYTES
            if keys is not None:
                payloads[index.name, index.kind] = _WRITERS[index.kind](keys, options)
        return write_container(in_java_order([f.index for f in self._fields], payloads))


def _of_key(array: pa.Array, key: str) -> pa.Array:
    """Return the value of ``key`` in each map, null where the map lacks the key."""
    return pc.map_lookup(array, pa.scalar(key, array.type.key_type), "first")


def _joined(parts: Sequence[Keys | None]) -> Keys | None:
    """Return the keys of a whole column from the keys of its chunks."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    counts = np.cumsum([0] + [k.row_count for k in known])
    rows = np.concatenate([k.rows + before for k, before in zip(known, counts, strict=False)])
    dtype = known[0].dtype
    if width_of(dtype) is not None:
        ints = np.concatenate([k.ints for k in known if k.ints is not None])
        return Keys(int(counts[-1]), rows, ints, None, dtype)
    texts = [k.texts for k in known if k.texts is not None]
    if sum(t.nbytes for t in texts) > _MOST_TEXT_BYTES:
        return None
    return Keys(int(counts[-1]), rows, None, pa.concat_arrays(texts), dtype)


def in_java_order(indexes: Sequence[IndexedColumn], payloads: Mapping[tuple[str, str], bytes | None]) -> Payloads:
    """Return the payloads by column and kind in the order of Java's hash maps; payloads that are None are left out."""
    kinds = put_order(i.kind for i in indexes)
    declared = sorted(indexes, key=lambda i: kinds.index(i.kind))
    by_place = {(i.column, i.key, i.kind): i for i in declared}
    writers: dict[str, list[IndexedColumn]] = {}
    calls = []
    for column, key in computed_order(((i.column, i.key) for i in declared), lambda c: _column_hash(*c)):
        of_column = [i.kind for i in declared if (i.column, i.key) == (column, key)]
        for kind in computed_order(of_column, text_hash):
            calls.append(kind)
            writers.setdefault(kind, []).append(by_place[column, key, kind])
    found: dict[str, dict[str, bytes]] = {}
    names = []
    for kind in computed_order(calls, text_hash):
        for column in put_order(i.column for i in writers[kind]):
            for key in put_order(i.key or "" for i in writers[kind] if i.column == column):
                index = by_place.get((column, key, kind)) or by_place[column, None, kind]
                payload = payloads.get((index.name, kind))
                if payload is not None:
                    names.append(index.name)
                    found.setdefault(index.name, {})[kind] = payload
    return {name: {k: found[name][k] for k in put_order(found[name])} for name in computed_order(names, text_hash)}


def _column_hash(column: str, key: str | None) -> int:
    out = 1
    for part in (text_hash(column), 0 if key is None else text_hash(key), 1237 if key is None else 1231):
        out = (31 * out + part) & 0xFFFFFFFF
    return out
