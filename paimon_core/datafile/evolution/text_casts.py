"""Text casts: converts columns to text and from text, in the same text forms as Java's casts (format 2.3).

Each function converts a whole column. If a text is not a value of the wanted type, the function raises pa.ArrowInvalid,
which shows the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.evolution.nested_arrays import assembled, parts, whole
from paimon_core.types import BINARY_ROOTS, STRING, STRING_ROOTS, DataType, TypeRoot

TextCast = Callable[[pa.Array, DataType, DataType], pa.Array]
_FLOATS = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NULL = "null"


def _joined(*texts: Any) -> pa.Array:
    """Return for each row the concatenation of the texts; null where one of the texts is null."""
    return pc.binary_join_element_wise(*texts, "")


# -- lengths -----------------------------------------------------------------------------------------------------------


def of_length(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Return texts or binaries cut to the length of ``wanted``; CHAR is padded with blanks, BINARY with zeros."""
    if wanted.root in STRING_ROOTS:
        cut = pc.utf8_slice_codeunits(array, 0, wanted.length) if wanted.length < stored.length else array
        return pc.utf8_rpad(cut, wanted.length, " ") if wanted.root is TypeRoot.CHAR else cut
    cut = pc.binary_slice(array, 0, wanted.length) if wanted.length < stored.length else array
    if wanted.root is not TypeRoot.BINARY:
        return cut
    lacking = pc.subtract(pa.scalar(wanted.length, pa.int32()), pc.binary_length(cut))
    counts = lacking.drop_null().unique()
    zeros = pa.array([b"\0" * count for count in counts.to_pylist()], pa.binary())
    return pc.binary_join_element_wise(cut, zeros.take(pc.index_in(lacking, counts)), b"")


# -- to text -----------------------------------------------------------------------------------------------------------


def scalar_to_text(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Return numbers, booleans and texts as text of the length that ``wanted`` allows."""
    if stored.root in _FLOATS:
        text = _float_texts(array)
    elif stored.root is TypeRoot.DECIMAL:
        text = _decimal_texts(array, stored.scale)
    else:
        text = array.cast(pa.string())
    return of_length(text, stored if stored.root in STRING_ROOTS else STRING, wanted)


def _decimal_texts(array: pa.Array, scale: int) -> pa.Array:
    """Return each decimal as text with all digits, without an exponent."""
    kind = pa.decimal128(38, 0)
    digits = pa.Array.from_buffers(kind, len(array), array.buffers(), offset=array.offset).cast(pa.string())
    if not scale:
        return digits
    sign = pc.if_else(pc.starts_with(digits, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    return _joined(sign, pc.utf8_slice_codeunits(digits, 0, -scale), ".", pc.utf8_slice_codeunits(digits, -scale, None))


_FLOAT = r"^-?(?P<whole>\d+)(?:\.(?P<part>\d+))?(?:e(?P<exponent>[+-]\d+))?$"
_PLAIN_POINTS = range(-2, 8)
"""The positions of the decimal point, before or after the first digit, for which Java writes no exponent."""


def _float_texts(array: pa.Array) -> pa.Array:
    """Return the shortest digits that identify each value, in Java's form: ``1.0``, ``1.0E10``, ``NaN``."""
    short = array.cast(pa.string())
    found = pc.extract_regex(short, _FLOAT)
    exponent = pc.replace_substring_regex(pc.struct_field(found, "exponent"), r"^\+?$|^\+", "")
    exponent = pc.if_else(pc.equal(exponent, ""), "0", exponent).cast(pa.int32())
    digits = _joined(pc.struct_field(found, "whole"), pc.struct_field(found, "part"))
    point = pc.add(pc.utf8_length(pc.struct_field(found, "whole")), exponent)
    significant = pc.utf8_ltrim(digits, "0")
    point = pc.subtract(point, pc.subtract(pc.utf8_length(digits), pc.utf8_length(significant)))
    digits = pc.utf8_rtrim(significant, "0")
    point = pc.if_else(pc.equal(digits, ""), 1, point)
    out = _joined(
        pc.utf8_slice_codeunits(digits, 0, 1),
        ".",
        _or_zero(pc.utf8_slice_codeunits(digits, 1, None)),
        "E",
        pc.subtract(point, 1).cast(pa.string()),
    )
    for at in _PLAIN_POINTS:
        is_here = pc.equal(point, at)
        if not pc.any(is_here).as_py():
            continue
        if at <= 0:
            plain = _joined("0." + "0" * -at, digits)
        else:
            padded = pc.utf8_rpad(digits, at, "0")
            plain = _joined(
                pc.utf8_slice_codeunits(padded, 0, at), ".", _or_zero(pc.utf8_slice_codeunits(padded, at, None))
            )
        out = pc.if_else(is_here, plain, out)
    out = _joined(pc.if_else(pc.starts_with(short, "-"), "-", ""), out)
    out = pc.if_else(pc.is_nan(array), "NaN", out)
    infinite = pc.is_inf(array)
    return pc.if_else(infinite, pc.if_else(pc.less(array, pa.scalar(0, array.type)), "-Infinity", "Infinity"), out)


def _or_zero(text: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(text, ""), "0", text)


def times_to_text(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Return dates, times and timestamps as ``2024-01-31``, ``10:00:00.5`` and ``2024-01-31 10:00:00.500``."""
    if stored.root is TypeRoot.DATE:
        return pc.strftime(array, "%Y-%m-%d")
    if stored.root is TypeRoot.TIME:
        millis = array.cast(pa.int32())
        clock = pc.strftime(pc.divide(millis, 1000).cast(pa.int64()).cast(pa.timestamp("s")), "%H:%M:%S")
        if not stored.precision:
            return clock
        part = pc.utf8_lpad(pc.subtract(millis, pc.multiply(pc.divide(millis, 1000), 1000)).cast(pa.string()), 3, "0")
        part = pc.utf8_rtrim(pc.utf8_slice_codeunits(part, 0, stored.precision), "0")
        return _joined(clock, ".", _or_zero(part))
    per_second = _UNITS[array.type.unit]
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    numbers = array.cast(pa.int64()).fill_null(0).to_numpy()
    seconds = np.floor_divide(numbers, per_second)
    clock = pc.strftime(pa.array(seconds, mask=nulls).cast(pa.timestamp("s")), "%Y-%m-%d %H:%M:%S")
    part = pa.array((numbers - seconds * per_second) * (10**9 // per_second), mask=nulls).cast(pa.string())
    part = pc.utf8_rtrim(pc.utf8_lpad(part, 9, "0"), "0")
    if stored.precision:
        part = pc.utf8_rpad(part, stored.precision, "0")
    return _joined(clock, pc.if_else(pc.equal(part, ""), "", "."), part)


def nested_to_text(stored: DataType, find: Callable[[DataType, DataType], TextCast | None]) -> TextCast | None:
    """Return the cast to text of an ARRAY (``[1, null]``), MAP (``{a -> 1}``) or ROW (``{1, x}``).

    ``find`` returns the cast of a member, or None. If a member has no cast, the result is None.
    """
    casts = [find(child.type, STRING) for child in stored.children]
    if any(cast is None for cast in casts):
        return None

    def cast_nested(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
        array = whole(array)
        texts = []
        for part, cast, child in zip(parts(array, array.type), casts, stored.children, strict=True):
            assert cast is not None
            texts.append(cast(part, child.type, STRING).fill_null(_NULL))
        if stored.root is TypeRoot.ROW:
            inner = pc.binary_join_element_wise(*texts, ", ")
            inner = pc.if_else(array.is_valid(), inner, pa.scalar(None, pa.string()))
        else:
            items = texts[0] if len(texts) == 1 else _joined(texts[0], " -> ", texts[1])
            inner = pc.binary_join(assembled(array, [items], pa.list_(pa.string())), ", ")
        left, right = ("[", "]") if stored.root is TypeRoot.ARRAY else ("{", "}")
        return _joined(left, inner, right)

    return cast_nested


# -- from text ---------------------------------------------------------------------------------------------------------


def from_text(wanted: DataType) -> TextCast | None:
    """Return the cast from text to ``wanted``; None for nested types, which are not parsed."""
    if wanted.root in BINARY_ROOTS:
        return _to_binary
    return _PARSERS.get(wanted.root)


def _matching(array: pa.Array, pattern: str, wanted: DataType) -> pa.Array:
    """Return ``array`` unchanged; raises pa.ArrowInvalid, which shows the text, for a text that does not match."""
    _require(pc.match_substring_regex(array, pattern), array, wanted)
    return array


def _require(fits: pa.Array, texts: pa.Array, wanted: DataType) -> None:
    if pc.any(pc.invert(fits)).as_py():
        raise pa.ArrowInvalid(f"{texts.filter(pc.invert(fits))[0].as_py()!r:.60} is not a {wanted}")


def _to_binary(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    longest = stored.with_nullable(True)
    return of_length(array.cast(pa.binary()), DataType(wanted.root, length=max(longest.length, 2**31 - 1)), wanted)


def _to_boolean(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    words = pc.utf8_lower(array)
    is_true = pc.is_in(words, pa.array(["t", "true", "y", "yes", "1"]))
    known = pc.or_(is_true, pc.is_in(words, pa.array(["f", "false", "n", "no", "0"])))
    _require(pc.or_(known, array.is_null()), array, wanted)
    return pc.if_else(array.is_valid(), is_true, pa.scalar(None, pa.bool_()))


def _to_integer(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Parse the digits before a decimal point; raises for a number out of range."""
    _matching(array, r"^[+-]?(\d+(\.\d*)?|\.\d*)$", wanted)
    text = pc.replace_substring_regex(pc.replace_substring_regex(array, r"\..*$|^\+", ""), r"^(-?)$", "0")
    return text.cast(wanted.to_arrow())


def _to_float(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    text = pc.utf8_trim_whitespace(array)
    _matching(text, r"^[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)$", wanted)
    text = pc.replace_substring_regex(text, r"^[+-]?NaN$", "nan")
    text = pc.replace_substring(pc.replace_substring_regex(text, r"([\d.])[fFdD]$", r"\1"), "Infinity", "inf")
    return text.cast(wanted.to_arrow())


def decimal_texts(array: pa.Array, wanted: DataType) -> pa.Array:
    """Return ``array`` unchanged; raises pa.ArrowInvalid for a text that is not a decimal number."""
    return _matching(array, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$", wanted)


def _days(parts_of: Callable[[str], pa.Array], texts: pa.Array, wanted: DataType) -> np.ndarray[Any, Any]:
    """Return the days since 1970 for the year, month and day that ``parts_of`` returns; 0 for null.

    Raises pa.ArrowInvalid for a day that does not exist.
    """
    year, month, day = (
        _whole_numbers(parts_of(name), 1).fill_null(1).to_numpy(zero_copy_only=False)
        for name in ("year", "month", "day")
    )
    months = (year - 1970) * 12 + month - 1
    start = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    fits = (month >= 1) & (month <= 12) & (day >= 1) & (day <= end - start) & (year <= 9999)
    _require(pc.or_(pa.array(fits), texts.is_null()), texts, wanted)
    return np.asarray(start + day - 1)


def _whole_numbers(text: pa.Array, absent: int) -> pa.Array:
    return pc.if_else(pc.equal(text, ""), str(absent), text).cast(pa.int64())


def _to_date(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Parse a date such as ``2024-1-31``, which a time may follow, or a number of days since 1970."""
    counts = pc.match_substring_regex(array, r"^\d+$")
    dates = pc.if_else(counts, "1970-1-1", pc.replace_substring_regex(array, r"^([^ ]+) .*$", r"\1"))
    pattern = r"^(?P<year>\d{1,9})-(?P<month>\d{1,9})(?:-(?P<day>\d{1,9}))?$"
    found = pc.extract_regex(dates, pattern)
    _require(pc.or_(found.is_valid(), array.is_null()), array, wanted)
    days = _days(partial(pc.struct_field, found), array, wanted)
    numbers = pc.if_else(counts, array, "0").cast(pa.int32())
    return pc.add(numbers, _nulled(days, array, pa.int32())).cast(pa.date32())


def _nulled(numbers: np.ndarray[Any, Any], like: pa.Array, kind: pa.DataType) -> pa.Array:
    mask = like.is_null().to_numpy(zero_copy_only=False) if like.null_count else None
    return pa.array(numbers, mask=mask).cast(kind)


def _to_time(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Parse ``10:00:00.123``, rounded to milliseconds, or a number of milliseconds of the day."""
    counts = pc.match_substring_regex(array, r"^\d+$")
    clock = pc.if_else(counts, "0:0:0", array)
    found = pc.extract_regex(
        clock, r"^(?P<hour>\d{1,4}):(?P<minute>\d{1,4})(?::(?P<second>\d{1,4})(?:\.(?P<part>\d*))?)?$"
    )
    _require(pc.or_(found.is_valid(), array.is_null()), array, wanted)
    hour, minute, second = (_whole_numbers(pc.struct_field(found, n), 0) for n in ("hour", "minute", "second"))
    part = pc.utf8_rpad(pc.struct_field(found, "part"), 4, "0")
    millis = pc.utf8_slice_codeunits(part, 0, 3).cast(pa.int64())
    rounded = pc.greater_equal(pc.utf8_slice_codeunits(part, 3, 4).cast(pa.int64()), 5).cast(pa.int64())
    minutes = pc.add(pc.multiply(hour, 60), minute)
    total = pc.add(pc.add(pc.multiply(pc.add(pc.multiply(minutes, 60), second), 1000), millis), rounded)
    total = pc.add(total, pc.if_else(counts, array, "0").cast(pa.int64()))
    _require(pc.or_(pc.less(total, 86_400_000), array.is_null()), array, wanted)
    return total.cast(pa.int32()).cast(pa.time32("ms"))


_TIMESTAMP = (
    r"^(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)"
    r"(?:[ T](?P<hour>\d\d?):(?P<minute>\d\d?)(?::(?P<second>\d\d?)(?:\.(?P<part>\d{0,9}))?)?)?$"
)


def _to_timestamp(array: pa.Array, stored: DataType, wanted: DataType) -> pa.Array:
    """Parse ``2024-01-31 10:00:00.123``, or a number in the unit of the precision 0, 3, 6 or 9."""
    counts = pc.match_substring_regex(array, r"^\d+$")
    if pc.any(counts).as_py() and wanted.precision % 3:
        raise pa.ArrowInvalid(f"{array.filter(counts)[0].as_py()!r:.60} is not a {wanted}: a number has no unit there")
    found = pc.extract_regex(pc.if_else(counts, "1970-01-01", array), _TIMESTAMP)
    _require(pc.or_(found.is_valid(), array.is_null()), array, wanted)
    days = _days(partial(pc.struct_field, found), array, wanted)
    hour, minute, second = (
        _whole_numbers(pc.struct_field(found, n), 0).fill_null(0).to_numpy() for n in ("hour", "minute", "second")
    )
    fits = (hour < 24) & (minute < 60) & (second < 60)
    _require(pc.or_(pa.array(fits), array.is_null()), array, wanted)
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second
    unit = wanted.timestamp_unit
    digits = {"ms": 3, "us": 6, "ns": 9}[unit]
    kept = pc.utf8_slice_codeunits(pc.struct_field(found, "part"), 0, wanted.precision)
    part = _whole_numbers(pc.utf8_rpad(kept, digits, "0"), 0)
    total = pc.add_checked(pc.multiply_checked(_nulled(seconds, array, pa.int64()), 10**digits), part)
    given = pc.if_else(counts, array, "0").cast(pa.int64())
    total = pc.add_checked(total, pc.multiply_checked(given, 10 ** (digits - wanted.precision)))
    return total.cast(wanted.to_arrow())


_PARSERS: dict[TypeRoot, TextCast] = {
    TypeRoot.BOOLEAN: _to_boolean,
    TypeRoot.TINYINT: _to_integer,
    TypeRoot.SMALLINT: _to_integer,
    TypeRoot.INT: _to_integer,
    TypeRoot.BIGINT: _to_integer,
    TypeRoot.FLOAT: _to_float,
    TypeRoot.DOUBLE: _to_float,
    TypeRoot.DATE: _to_date,
    TypeRoot.TIME: _to_time,
    TypeRoot.TIMESTAMP: _to_timestamp,
    TypeRoot.TIMESTAMP_LTZ: _to_timestamp,
}
