"""Database texts: convert columns of PostgreSQL's text forms to the Arrow types that its driver returns.

So rows that a query reads and rows from the log go through the same casts. The texts have the forms of the settings
DateStyle = ISO, TimeZone = UTC, bytea_output = hex and extra_float_digits = 1. Infinite dates and years outside 1
to 9999 do not fit: they are rejected. An array has one dimension; its lower bound is ignored.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import parse_type
from paimon_lake.sources.files.text.text_values import TextRules, cast_or_null, convert_text

TYPES = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    **dict.fromkeys(("numeric", "text", "varchar", "bpchar"), pa.string()),
}
"""The types that the driver reads without a cast, and their Arrow types."""
AS_TEXT = frozenset({"json", "jsonb", "uuid", "xml", "inet", "cidr", "macaddr", "name", "enum"})
"""The types that are read as texts; ``enum`` stands for every enumerated type."""
_TIMES = {
    "date": parse_type("DATE"),
    "timestamp": parse_type("TIMESTAMP(6)"),
    "timestamptz": parse_type("TIMESTAMP(6) WITH LOCAL TIME ZONE"),
}
Flags = np.ndarray | None
_BACKSLASH, _QUOTE, _COMMA = b"\xfd", b"\xfe", b"\xff"
"""Bytes that replace characters inside of quotes; these bytes do not occur in UTF-8."""


def arrow_type(type_name: str) -> pa.DataType | None:
    """Return the Arrow type for the name of a PostgreSQL type (``_`` begins the name of an array); None for others."""
    if type_name.startswith("_"):
        element = arrow_type(type_name[1:])
        return None if element is None or pa.types.is_list(element) else pa.list_(element)
    return pa.string() if type_name in AS_TEXT else TYPES.get(type_name)


def values_of(texts: pa.Array, type_name: str) -> tuple[pa.Array, Flags]:
    """Return the values of binary texts, and flags for texts that do not fit (None: all fit); the value of a text that
    does not fit is null.
    """
    given = texts.is_valid()
    utf8 = cast_or_null(texts, pa.string())
    values = _arrays(utf8.cast(pa.binary()), type_name[1:]) if type_name.startswith("_") else _values(utf8, type_name)
    bad = np.asarray(pc.and_(given, values.is_null()).to_numpy(zero_copy_only=False))
    return values, bad if bad.any() else None


def _values(texts: pa.Array, type_name: str) -> pa.Array:
    arrow = arrow_type(type_name)
    assert arrow is not None, type_name
    match type_name:
        case "bool":
            return pc.equal(texts, "t")
        case "bytea":
            return unhex(pc.utf8_slice_codeunits(_matching(texts, r"^\\x"), 2))
        case "date" | "timestamp" | "timestamptz":
            return convert_text(texts, _TIMES[type_name], TextRules())[0]
        case "time":
            times = _matching(texts, "^(?:[01]|2[0-3])")  # PostgreSQL also has 24:00:00
            return pc.binary_join_element_wise("1970-01-01", times, " ").cast(pa.timestamp("us")).cast(arrow)
        case _:
            return texts.cast(arrow)


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string()))


def _arrays(texts: pa.Array, type_name: str) -> pa.Array:
    """Return arrays of one dimension; null for arrays of more dimensions and for arrays with an element that is bad.

    The texts are divided at quotes, where every other piece is quoted. Characters with a meaning in quoted pieces are
    replaced by single bytes before the texts are divided at commas.
    """
    texts = pc.replace_substring(pc.replace_substring(texts, b"\\\\", _BACKSLASH), b'\\"', _QUOTE)
    pieces = pc.split_pattern(texts, b'"')
    counts = np.asarray(pc.fill_null(pc.list_value_length(pieces), 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    starts = np.cumsum(counts) - counts
    is_quoted = pa.array((np.arange(counts.sum()) - np.repeat(starts, counts)) % 2 == 1)
    flat = pc.list_flatten(pieces)
    nested = pc.and_(pc.invert(is_quoted), pc.match_substring_regex(flat, r"[{,]\{"))
    many = np.zeros(len(texts), bool)
    many[np.repeat(np.arange(len(texts)), counts)[np.asarray(nested)]] = True
    flat = pc.if_else(is_quoted, pc.replace_substring(flat, b",", _COMMA), flat)
    joined = pc.binary_join(_lists(flat, counts, texts.is_valid()), b'"')
    inner = pc.replace_substring_regex(joined, pattern=rb"^(?:\[[^=]*\]=)?\{", replacement=b"")
    inner = pc.if_else(pa.array(many), pa.scalar(None, pa.binary()), pc.binary_slice(inner, 0, -1))
    empty = pc.equal(inner, b"")
    parts = pc.split_pattern(inner, b",")
    counts = np.asarray(pc.fill_null(pc.list_value_length(parts), 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    is_empty = np.asarray(pc.fill_null(empty, False).to_numpy(zero_copy_only=False))
    elements = pc.list_flatten(parts).filter(pa.array(~np.repeat(is_empty, counts)))
    counts[is_empty] = 0
    values, bad = values_of(_elements(elements), type_name)
    held = np.asarray(inner.is_valid().to_numpy(zero_copy_only=False)).copy()
    if bad is not None:
        held[np.repeat(np.arange(len(texts)), counts)[bad]] = False
    return _lists(values, counts, pa.array(held))


def _lists(flat: pa.Array, counts: np.ndarray, held: pa.Array) -> pa.Array:
    """Return one list per row, with ``counts`` elements; null for rows where ``held`` is false."""
    valid = np.asarray(held.to_numpy(zero_copy_only=False))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(~valid))


def _elements(parts: pa.Array) -> pa.Array:
    """Return the texts of elements without quotes; NULL without quotes is null."""
    texts = pc.if_else(pc.equal(pc.binary_length(parts), 4), pc.if_else(pc.equal(parts, b"NULL"), None, parts), parts)
    quoted = pc.starts_with(texts, b'"')
    texts = pc.if_else(quoted, pc.binary_slice(texts, 1, -1), texts)
    for byte, character in ((_COMMA, b","), (_QUOTE, b'"'), (_BACKSLASH, b"\\")):
        texts = pc.replace_substring(texts, byte, character)
    return texts


def unhex(texts: pa.Array) -> pa.Array:
    """Return the bytes of texts of hexadecimal digits."""
    filled = pa.concat_arrays([texts.fill_null("")])
    offsets = np.frombuffer(filled.buffers()[1], np.int32, len(filled) + 1)
    digits = filled.buffers()[2].to_pybytes()[: offsets[-1]] if offsets[-1] else b""
    halved = pa.py_buffer((offsets // 2).astype(np.int32).tobytes())
    made = pa.Array.from_buffers(pa.binary(), len(filled), [None, halved, pa.py_buffer(bytes.fromhex(digits.decode()))])
    return pc.if_else(texts.is_valid(), made, pa.scalar(None, pa.binary()))
