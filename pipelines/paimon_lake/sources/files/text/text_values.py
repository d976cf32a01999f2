"""Text values: convert columns of texts to the types of a table, exactly.

First, the whole column is cast. Only when that fails, or when the cast could accept an invalid text, a regular
expression selects the valid texts, and these are cast. So the result for a text never depends on the other texts.

===================  ===================================================================================================
type                 texts
===================  ===================================================================================================
integers             decimal digits with an optional sign, within the range of the type
DECIMAL(p, s)        digits with an optional point and exponent, at most 76 characters; digits that do not fit are bad
FLOAT, DOUBLE        the same, also ``nan``, ``inf``, ``infinity`` in any case; numbers that become infinite are bad
BOOLEAN              ``true``, ``false`` in any case, ``1``, ``0``
DATE, TIME           ISO 8601: ``2024-01-31``, ``23:59:59.123``
TIMESTAMP            ISO 8601 with ``T`` or a space; the time, its seconds and fraction and an offset may be missing
BINARY, BYTES        base64 with padding
CHAR, VARCHAR        any text of at most the stated number of characters
===================  ===================================================================================================

Spaces and tabs around a text are ignored, except in texts for CHAR, VARCHAR and STRING. A timestamp without an offset
is read as UTC. A timestamp with an offset is converted to UTC, even for a TIMESTAMP without time zone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, MAX_LENGTH, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from paimon_lake.sources.files.rejects import shown
from paimon_lake.sources.files.text.base64_values import decode_base64
from paimon_lake.sources.files.text.source_time_format import (
    ISO_DATE,
    ISO_TIME,
    ISO_TIMESTAMP,
    SourceTimeFormat,
    parsed_format,
    times_of,
)

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_DOUBLE = rf"^(?:{_NUMBER}(?:[eE][+-]?[0-9]+)?|[+-]?(?i:nan|inf|infinity))$"
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS = {"": (-62_135_596_800, 253_402_300_800), "ns": (-(2**63) // 10**9 + 1, 2**63 // 10**9)}
"""The range of valid seconds by unit; the end is exclusive. For "ns": the times that 64 bits of nanoseconds can hold;
for "": the years 1 to 9999.
"""
_SMALLEST_DAY = -719_162
"""The day 0001-01-01."""


@dataclass(frozen=True)
class TextRules:
    """How a source writes values; ``formats.OPTIONS`` describes the options."""

    null_values: tuple[str, ...] = ()
    date_format: str = ""
    timestamp_format: str = ""
    decimal_point: str = "."


Converted = tuple[pa.Array, np.ndarray | None]
"""The values, and flags for texts that are not valid (None: all are valid); the values of invalid texts are null."""


def convert_text(texts: pa.Array, kind: DataType, rules: TextRules) -> Converted:
    """Convert a string column to the Arrow type of ``kind``."""
    if kind.root in STRING_ROOTS:
        return with_length(texts, kind)
    nulls = [text for text in rules.null_values if text]
    if nulls:
        texts = _without(texts, pc.is_in(pc.utf8_trim(texts, " \t"), value_set=pa.array(nulls)))
    fast, slow = _converter(kind, rules)
    if fast is not None:
        try:
            values = fast(texts)
        except pa.ArrowInvalid:
            values = None
        if values is not None:
            return values, None
    texts = pc.utf8_trim(texts, " \t")
    if "" in rules.null_values:
        texts = _without(texts, pc.equal(texts, ""))
    values = slow(texts)
    bad = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False)) & values.is_null().to_numpy(zero_copy_only=False)
    return values, bad if bad.any() else None


def _without(texts: pa.Array, dropped: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(dropped, False), pa.scalar(None, pa.string()), texts)


Convert = Callable[[pa.Array], pa.Array]


def _converter(kind: DataType, rules: TextRules) -> tuple[Callable[[pa.Array], pa.Array | None] | None, Convert]:
    """Return two conversions: a fast one, which may fail (None for some types), and a slow one, which returns null for
    bad texts.
    """
    arrow = kind.to_arrow()
    match kind.root:
        case TypeRoot.TINYINT | TypeRoot.SMALLINT | TypeRoot.INT | TypeRoot.BIGINT:
            return (
                lambda t: None if _has(t, "xX") else t.cast(arrow),
                lambda t: cast_or_null(_matching(pc.utf8_ltrim(t, "+"), r"^-?[0-9]+$", t, "^[+-]?[0-9]+$"), arrow),
            )
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            return (
                lambda t: _finite(_pointed(t, rules).cast(arrow)),
                lambda t: _in_range(_matching(_pointed(t, rules), _DOUBLE), arrow),
            )
        case TypeRoot.DECIMAL:
            return (
                lambda t: None if _is_long(t) or _has(t, "eE") else _pointed(t, rules).cast(arrow),
                lambda t: _decimals(_pointed(t, rules), kind),
            )
        case TypeRoot.BOOLEAN:
            return lambda t: t.cast(arrow), lambda t: _matching(t, "^(?:(?i:true|false)|[01])$").cast(arrow)
        case TypeRoot.DATE:
            form = parsed_format(rules.date_format) if rules.date_format else ISO_DATE
            return None if rules.date_format else _dates, lambda t: _dates_of(t, form)
        case TypeRoot.TIME:
            return None, lambda t: _clock_times(t, kind)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            form = parsed_format(rules.timestamp_format) if rules.timestamp_format else ISO_TIMESTAMP
            fast = (
                None if rules.timestamp_format or kind.precision not in (3, 6, 9) else (lambda t: _timestamps(t, kind))
            )
            return fast, lambda t: _timestamps_of(t, form, kind)
        case _:
            assert kind.root in BINARY_ROOTS, kind
            return None, lambda t: with_length(decode_base64(t)[0], kind)[0]


def is_text_type(kind: DataType) -> bool:
    """Whether one text can hold a value of the type: all types that are not nested."""
    return not kind.children


def with_length(values: pa.Array, kind: DataType) -> Converted:
    """Return the values, and flags for values whose length the type does not allow; these values become null."""
    if kind.length in (0, MAX_LENGTH):
        return values, None
    lengths = pc.utf8_length(values) if kind.root in STRING_ROOTS else pc.binary_length(values)
    bad = pc.fill_null(pc.greater(lengths, kind.length), False)
    if kind.root is TypeRoot.BINARY:
        bad = pc.fill_null(pc.not_equal(lengths, kind.length), False)
    if not pc.any(bad).as_py():
        return values, None
    return pc.if_else(bad, pa.scalar(None, values.type), values), np.asarray(bad.to_numpy(zero_copy_only=False))


def _matching(values: pa.Array, pattern: str, checked: pa.Array | None = None, also: str = "") -> pa.Array:
    """Return the values that match ``pattern``, and whose ``checked`` text matches ``also``; null for other values."""
    keep = pc.match_substring_regex(values, pattern)
    if checked is not None:
        keep = pc.and_(keep, pc.match_substring_regex(checked, also))
    return pc.if_else(keep, values, pa.scalar(None, values.type))


def _has(texts: pa.Array, letters: str) -> bool:
    """Whether the texts may contain a letter in upper or lower case; when False, the texts do not contain the
    letter.
    """
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return bool(((data | 0x20) == ord(letters.lower()[0])).any())


def _is_long(texts: pa.Array) -> bool:
    """Whether a text has more than 38 characters: Arrow would read such a decimal wrongly, modulo 2**128."""
    return (pc.max(pc.binary_length(texts)).as_py() or 0) > 38


def cast_or_null(values: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Cast the values; a value that cannot be cast becomes null. Such values are found by bisection."""
    try:
        return values.cast(arrow)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, arrow)
    half = len(values) // 2
    return pa.concat_arrays([cast_or_null(values.slice(0, half), arrow), cast_or_null(values.slice(half), arrow)])


def _pointed(texts: pa.Array, rules: TextRules) -> pa.Array:
    """Return the texts with ``.`` for the decimal point of the source; a text that has a ``.`` becomes invalid."""
    if rules.decimal_point == ".":
        return texts
    pointed = pc.replace_substring(texts, rules.decimal_point, ".")
    return pc.if_else(pc.match_substring(texts, "."), pa.scalar("?"), pointed)


def _finite(values: pa.Array) -> pa.Array | None:
    return values if pc.all(pc.is_finite(values)).as_py() in (True, None) else None


def _in_range(texts: pa.Array, arrow: pa.DataType) -> pa.Array:
    values = texts.cast(arrow)
    lost = pc.and_(pc.is_inf(values), pc.invert(pc.match_substring(texts, "inf", ignore_case=True)))
    return pc.if_else(pc.fill_null(lost, False), pa.scalar(None, arrow), values)


def _decimals(texts: pa.Array, kind: DataType) -> pa.Array:
    """Convert texts through decimals of 76 digits, so that texts of at most 76 characters cannot overflow unnoticed."""
    whole, scale = kind.precision - kind.scale, kind.scale
    fits = rf"^[+-]?0*[0-9]{{0,{whole}}}(?:\.[0-9]{{0,{scale}}}0*)?$"
    with_exponent = rf"^{_NUMBER}[eE][+-]?[0-9]{{1,2}}$"
    number = pc.match_substring_regex(texts, rf"^{_NUMBER}$")
    exponent = pc.and_(pc.match_substring_regex(texts, with_exponent), pc.less(pc.binary_length(texts), 39))
    keep = pc.or_(pc.and_(number, pc.match_substring_regex(texts, fits)), exponent)
    keep = pc.and_(keep, pc.less_equal(pc.binary_length(texts), 76))
    kept = pc.if_else(keep, texts, pa.scalar(None, pa.string()))
    return cast_or_null(cast_or_null(kept, pa.decimal256(76, kind.scale)), kind.to_arrow())


def _dates(texts: pa.Array) -> pa.Array | None:
    values = texts.cast(pa.date32())
    first = pc.min(values.cast(pa.int32())).as_py()
    return values if first is None or first >= _SMALLEST_DAY else None


def _masked(numbers: np.ndarray, valid: np.ndarray, arrow: pa.DataType, stored: pa.DataType) -> pa.Array:
    return pa.array(numbers, stored, mask=~valid).cast(arrow) if len(numbers) else pa.nulls(0, arrow)


def _dates_of(texts: pa.Array, form: SourceTimeFormat) -> pa.Array:
    times = times_of(texts, form)
    valid = times.valid & (times.seconds == 0) & (times.nanos == 0)
    return _masked(times.days.astype(np.int32), valid, pa.date32(), pa.int32())


def _clock_times(texts: pa.Array, kind: DataType) -> pa.Array:
    times = times_of(texts, ISO_TIME)
    valid = times.valid & (times.digits <= min(3, kind.precision))
    millis = (times.seconds * 1000 + times.nanos // 10**6).astype(np.int32)
    return _masked(millis, valid, pa.time32("ms"), pa.int32())


def _timestamps(texts: pa.Array, kind: DataType) -> pa.Array | None:
    """Cast texts; None if a year is not from 1 to 9999. Raises ArrowInvalid when only some texts have an offset."""
    unit = kind.timestamp_unit
    try:
        numbers = texts.cast(pa.timestamp(unit)).cast(pa.int64())
    except pa.ArrowInvalid:
        numbers = texts.cast(pa.timestamp(unit, "UTC")).cast(pa.int64())
    ends = pc.min_max(numbers).as_py()
    first, last = _SECONDS["ns" if unit == "ns" else ""]
    if ends["min"] is not None and not first * _TICKS[unit] <= ends["min"] <= ends["max"] < last * _TICKS[unit]:
        return None
    return numbers.cast(kind.to_arrow())


def _timestamps_of(texts: pa.Array, form: SourceTimeFormat, kind: DataType) -> pa.Array:
    times = times_of(texts, form)
    ticks = _TICKS[kind.timestamp_unit]
    seconds = times.days * 86_400 + times.seconds
    valid = times.valid & (times.digits <= kind.precision)
    if kind.timestamp_unit == "ns":
        valid &= (seconds >= _SECONDS["ns"][0]) & (seconds < _SECONDS["ns"][1])
    numbers = np.where(valid, seconds, 0) * ticks + times.nanos * ticks // 10**9
    return _masked(numbers, valid, kind.to_arrow(), pa.int64())


def bad_value(text: object, kind: DataType, rules: TextRules) -> str:
    """Return the reason for the reject of a text that is not valid."""
    form = ""
    if kind.root is TypeRoot.DATE and rules.date_format:
        form = f" in the form {rules.date_format}"
    if kind.root in TIMESTAMP_ROOTS and rules.timestamp_format:
        form = f" in the form {rules.timestamp_format}"
    return f"{shown(text)} is not valid for {kind}{form}"
