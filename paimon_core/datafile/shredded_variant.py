"""Shredded VARIANT: rebuilds values that a writer stored partly in typed columns (Parquet's rules).

A *group* is a struct of two columns, of which one may be missing: ``value`` has encoded values, and ``typed_value`` has
scalars, lists of groups, or rows of groups. The rebuilt values use the metadata of the file. Whole columns are encoded
at once, in steps of some thousand rows; only rows with fields that have no typed column are rebuilt one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import UnsupportedFeature
from paimon_core.types import VARIANT, is_list
from paimon_core.types.variant_decoding import Decoder
from paimon_core.types.variant_encoding import SHORT_BYTES, Id, byte_width, decimal_type, object_of_fields

TYPED = "typed_value"
_STEP_ROWS = 1 << 13
_BLOB = pa.large_binary()
_NULL = b"\x00"
_FIXED = {
    pa.int8(): Id.INT8,
    pa.int16(): Id.INT16,
    pa.int32(): Id.INT32,
    pa.int64(): Id.INT64,
    pa.float32(): Id.FLOAT,
    pa.float64(): Id.DOUBLE,
    pa.date32(): Id.DATE,
    pa.time64("us"): Id.TIME,
}
Numbers = np.ndarray[Any, Any]


def is_shredded(found: pa.DataType) -> bool:
    """Whether the type of a VARIANT's file column has values in typed columns.

    Raises UnsupportedFeature, which names the type, when the values cannot be rebuilt.
    """
    if not pa.types.is_struct(found) or found.get_field_index(TYPED) < 0:
        return False
    _check_group(found)
    return True


def _check_group(group: pa.DataType) -> None:
    members = [f.name for f in group] if pa.types.is_struct(group) else []
    if not {"value", TYPED} & set(members) or len(set(members)) < len(members):
        raise UnsupportedFeature(f"a shredded VARIANT has a group of the type {group!s:.120}")
    if group.get_field_index(TYPED) < 0:
        return
    typed = group.field(TYPED).type
    if pa.types.is_struct(typed):
        for field in typed:
            _check_group(field.type)
    elif is_list(typed):
        _check_group(typed.value_type)
    elif not _is_scalar(typed):
        raise UnsupportedFeature(f"a shredded VARIANT has a {TYPED} of the type {typed}, which is not supported")


def _is_scalar(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return bool(kind.unit != "ns")  # the time zone is not known for the timestamps that Java writes as INT96
    known = (pa.types.is_boolean, pa.types.is_decimal, pa.types.is_binary, pa.types.is_string)
    return kind in _FIXED or any(bool(test(kind)) for test in known)


def unshredded(array: pa.Array) -> pa.Array:
    """Convert a column for which ``is_shredded`` is true to a VARIANT column.

    Raises pa.ArrowInvalid for invalid values.
    """
    parts = [_step(array.slice(start, _STEP_ROWS)) for start in range(0, len(array), _STEP_ROWS)]
    return pa.concat_arrays(parts) if parts else pa.nulls(0, VARIANT.to_arrow())


def _step(array: pa.StructArray) -> pa.StructArray:
    members = _members(array)
    metadata = members["metadata"].cast(pa.binary())
    valid = array.is_valid()
    if pc.any(pc.and_(valid, metadata.is_null())).as_py():
        raise pa.ArrowInvalid("a VARIANT has no metadata")
    encoded = metadata.fill_null(b"\x01\x00\x00").dictionary_encode()
    try:
        decoders = [Decoder(found) for found in encoded.dictionary.to_pylist()]
        names = _Names(decoders, encoded.indices.to_numpy())
        value = _rebuilt(members, names).fill_null(_NULL)
    except pa.ArrowInvalid:
        raise
    except ValueError as error:
        raise pa.ArrowInvalid(f"a VARIANT {error}") from None
    kept = metadata.fill_null(b"")
    mask = pc.invert(valid) if array.null_count else None
    return pa.StructArray.from_arrays([value.cast(pa.binary()), kept], fields=list(VARIANT.to_arrow()), mask=mask)


def _members(group: pa.StructArray) -> dict[str, pa.Array]:
    return dict(zip((f.name for f in group.type), group.flatten(), strict=True))


@dataclass(frozen=True)
class _Names:
    """The numbers that the metadata of each row assigns to field names."""

    decoders: Sequence[Decoder]
    codes: Numbers
    """For each row, the index of the decoder of its metadata."""

    @cached_property
    def numbers(self) -> list[dict[str, int]]:
        """For each decoder, the number of each name."""
        return [{name: number for number, name in enumerate(d.names)} for d in self.decoders]

    def of(self, name: str) -> Numbers:
        """Return the number of a name for each row, or -1 where the metadata lacks the name."""
        return np.array([known.get(name, -1) for known in self.numbers], np.int64)[self.codes]

    def repeated(self, counts: Numbers) -> _Names:
        """Return the names for the elements of arrays: row ``i`` is repeated ``counts[i]`` times."""
        return _Names(self.decoders, np.repeat(self.codes, counts))


def _rebuilt(group: dict[str, pa.Array], names: _Names) -> pa.Array:
    """Return the encoded values of a group, null where the value is missing."""
    value = group["value"].cast(_BLOB) if "value" in group else None
    if TYPED not in group:
        assert value is not None
        return value
    typed = group[TYPED]
    if value is None:
        value = pa.nulls(len(typed), _BLOB)
    both = pc.and_(typed.is_valid(), value.is_valid())
    if pa.types.is_struct(typed.type):
        return pc.coalesce(_objects(typed, value, both, names), value)
    if pc.any(both).as_py():
        raise pa.ArrowInvalid("a VARIANT is stored both with and without a type")
    rebuilt = _arrays(typed, names) if is_list(typed.type) else _scalars(typed)
    return pc.coalesce(rebuilt, value)


# -- arrays and objects ------------------------------------------------------------------------------------------------


def _arrays(lists: pa.Array, names: _Names) -> pa.Array:
    counts = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    items = _rebuilt(_members(lists.flatten()), names.repeated(counts)).fill_null(_NULL)
    ends, data = _buffers(items)
    starts = np.concatenate(([0], np.cumsum(counts)))
    rows = np.arange(len(lists))
    inner = np.arange(len(items) + len(lists)) - np.repeat(rows, counts + 1)
    places = ends[inner] - np.repeat(ends[starts[:-1]], counts + 1)
    width = _width(places)
    header = 3 | (1 << 2 | (width - 1)) << 2
    pieces = (
        _headers(header, counts, 4),
        _joined_rows(_little(places, width), (starts + np.arange(len(starts))) * width),
        pa.LargeBinaryArray.from_buffers(_BLOB, len(lists), [None, pa.py_buffer(ends[starts]), data]),
    )
    return _nulled(pc.binary_join_element_wise(*pieces, pa.scalar(b"", _BLOB)), lists)


def _objects(typed: pa.StructArray, value: pa.Array, partly: pa.Array, names: _Names) -> pa.Array:
    """Return the encoded objects; in rows that are ``partly`` shredded, the objects include the fields of ``value``."""
    members = sorted(_members(typed).items(), key=lambda member: member[0].encode())
    if any(pc.any(pc.and_(typed.is_valid(), group.is_null())).as_py() for _, group in members):
        raise pa.ArrowInvalid("a field of a shredded VARIANT is a null group")
    fields = [_rebuilt(_members(group), names) for _, group in members]
    present = np.array([f.is_valid().to_numpy(zero_copy_only=False) for f in fields]).T
    numbers = np.array([names.of(name) for name, _ in members]).T
    if (numbers[present] < 0).any():
        raise pa.ArrowInvalid("a field of a shredded VARIANT has a name that its metadata lack")
    lengths = np.array([pc.binary_length(f).fill_null(0).to_numpy() for f in fields], np.int64).T
    counts, totals = present.sum(axis=1), lengths.sum(axis=1)
    places = np.column_stack([np.cumsum(lengths, axis=1) - lengths, totals])
    shown = np.column_stack([present, np.ones(len(typed), bool)])
    id_width, width = _width(numbers[present]), _width(totals)
    header = 2 | (1 << 4 | (id_width - 1) << 2 | (width - 1)) << 2
    pieces = (
        _headers(header, counts, 4),
        _joined_rows(_little(numbers[present], id_width), np.concatenate(([0], np.cumsum(counts))) * id_width),
        _joined_rows(_little(places[shown], width), np.concatenate(([0], np.cumsum(counts + 1))) * width),
        *(f.fill_null(b"") for f in fields),
    )
    objects = _nulled(pc.binary_join_element_wise(*pieces, pa.scalar(b"", _BLOB)), typed)
    rows = np.flatnonzero(partly.to_numpy(zero_copy_only=False))
    if not len(rows):
        return objects
    known = [name for name, _ in members]
    merged = [_merged(known, [f[row].as_py() for f in fields], value[row].as_py(), names, row) for row in rows.tolist()]
    order = np.arange(len(objects))
    order[rows] = len(objects) + np.arange(len(rows))
    return pa.concat_arrays([objects, pa.array(merged, _BLOB)]).take(pa.array(order))


def _merged(known: Sequence[str], fields: Sequence[bytes | None], rest: bytes, names: _Names, row: int) -> bytes:
    """Return one encoded object with the shredded fields of a row and the fields of the encoded object ``rest``."""
    code = int(names.codes[row])
    others, numbers = names.decoders[code].fields(rest), names.numbers[code]
    if twice := others.keys() & set(known):
        raise ValueError(f"has the field {min(twice)!r:.60} both in a column and in the value")
    found = {name: data for name, data in zip(known, fields, strict=True) if data is not None} | others
    return object_of_fields([(name.encode(), numbers[name], data) for name, data in found.items()])


# -- scalars -----------------------------------------------------------------------------------------------------------


def _scalars(typed: pa.Array) -> pa.Array:
    kind = typed.type
    if pa.types.is_boolean(kind):
        return pc.if_else(typed, pa.scalar(bytes([Id.TRUE << 2]), _BLOB), pa.scalar(bytes([Id.FALSE << 2]), _BLOB))
    if pa.types.is_timestamp(kind):
        micros = typed.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        return _fixed(micros, Id.TIMESTAMP_NTZ if kind.tz is None else Id.TIMESTAMP)
    if pa.types.is_decimal(kind):
        return _decimals(typed)
    if kind in _FIXED:
        plain = {pa.date32(): pa.int32(), pa.time64("us"): pa.int64()}.get(kind)
        return _fixed(typed if plain is None else typed.cast(plain), _FIXED[kind])
    data = typed.cast(_BLOB)
    lengths = pc.binary_length(data).fill_null(0).to_numpy().astype(np.int64)
    is_text = pa.types.is_string(kind)
    long = _headers((Id.STRING if is_text else Id.BINARY) << 2, lengths, 4)
    if is_text:
        headers = np.where(lengths > SHORT_BYTES, 0, 1 | lengths << 2).astype(np.uint8)[:, None]
        short = _joined_rows(headers, np.arange(len(lengths) + 1))
        long = pc.if_else(pa.array(lengths > SHORT_BYTES), long, short)
    return pc.binary_join_element_wise(long, data, pa.scalar(b"", _BLOB))


def _fixed(numbers: pa.Array, kind: int) -> pa.Array:
    filled = np.ascontiguousarray(numbers.fill_null(0).to_numpy(zero_copy_only=False))
    data = filled.view(np.uint8).reshape(len(filled), filled.itemsize)
    return _nulled(_with_first(bytes([kind << 2]), data), numbers)


def _decimals(typed: pa.Array) -> pa.Array:
    precision, scale = typed.type.precision, typed.type.scale
    wide = typed.cast(pa.decimal128(38, scale)).fill_null(0)
    if not 0 <= scale <= precision:
        raise pa.ArrowInvalid(f"a shredded VARIANT has decimals of the scale {scale}")
    kind, size = decimal_type(precision)
    held = np.frombuffer(wide.buffers()[1], np.uint8)[wide.offset * 16 : (wide.offset + len(wide)) * 16]
    return _nulled(_with_first(bytes([kind << 2, scale]), held.reshape(-1, 16)[:, :size]), typed)


def _with_first(first: bytes, data: Numbers) -> pa.Array:
    """Return one binary for each row of ``data``: the bytes ``first``, then the bytes of the row."""
    whole = np.column_stack([np.tile(np.frombuffer(first, np.uint8), (len(data), 1)), data])
    return _joined_rows(whole, np.arange(len(data) + 1) * whole.shape[1])


# -- bytes -------------------------------------------------------------------------------------------------------------


def _headers(first: int, counts: Numbers, width: int) -> pa.Array:
    whole = np.column_stack([np.full(len(counts), first, np.uint8), _little(counts, width)])
    return _joined_rows(whole, np.arange(len(counts) + 1) * whole.shape[1])


def _little(numbers: Numbers, width: int) -> Numbers:
    """Return the numbers as rows of ``width`` bytes, the lowest byte first."""
    return np.ascontiguousarray(numbers, "<u8").view(np.uint8).reshape(-1, 8)[:, :width]


def _width(numbers: Numbers) -> int:
    return byte_width(int(numbers.max(initial=0)))


def _joined_rows(data: Numbers, ends: Numbers) -> pa.Array:
    """Return binaries: value ``i`` has the bytes of ``data`` from ``ends[i]`` to ``ends[i + 1]``."""
    buffers = [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(_BLOB, len(ends) - 1, buffers)


def _buffers(binaries: pa.Array) -> tuple[Numbers, pa.Buffer]:
    """Return the n + 1 offsets of n large binaries without nulls, and the buffer of their bytes."""
    _, ends, data = binaries.buffers()
    held = np.frombuffer(ends, np.int64)[binaries.offset : binaries.offset + len(binaries) + 1]
    return held, data if data is not None else pa.py_buffer(b"")


def _nulled(binaries: pa.Array, like: pa.Array) -> pa.Array:
    return pc.if_else(like.is_valid(), binaries, pa.scalar(None, _BLOB)) if like.null_count else binaries
