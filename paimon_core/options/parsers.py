"""Parsers of option texts: each parser returns the value, or raises ValueError, which states what the text must be
(format 18).
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable, Mapping
from typing import TypeVar

from paimon_core.limits import NAME_BYTES

T = TypeVar("T")

_UNITS = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "m": 1 << 20,
    "mb": 1 << 20,
    "g": 1 << 30,
    "gb": 1 << 30,
    "t": 1 << 40,
    "tb": 1 << 40,
}
_TIMES = {
    unit: millis
    for units, millis in (
        ("ns", 1e-6),
        ("us", 1e-3),
        ("ms", 1.0),
        ("s sec second seconds", 1e3),
        ("m min minute minutes", 6e4),
        ("h hour hours", 3.6e6),
        ("d day days", 8.64e7),
    )
    for unit in units.split()
} | {"": 1.0}
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/[^?#\x00-\x1f]*)")
_AMOUNT = re.compile(r"^\s*+(\d++)\s*+([a-z]*+)\s*+$", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Parse a size such as ``128 mb``, ``64kb`` or ``100`` (binary units); return bytes."""
    found = _AMOUNT.match(text)
    unit = found.group(2).lower().removesuffix("ytes").removesuffix("yte") if found else "?"
    if found is None or unit not in _UNITS or len(found.group(1)) > 19:
        raise ValueError("a size such as '128 mb'")
    size = int(found.group(1)) * _UNITS[unit]
    if size >= 2**63:
        raise ValueError("a size of less than 2^63 bytes")
    return size


def parse_size(text: str) -> int:
    """Parse a size of at least one byte; return bytes."""
    if parse_bytes(text) < 1:
        raise ValueError("a size of at least one byte")
    return parse_bytes(text)


def parse_millis(text: str) -> int:
    """Parse a duration such as ``1 h``, ``10 ms`` or ``2 d``; return milliseconds."""
    found = _AMOUNT.match(text)
    if found is None or found.group(2).lower() not in _TIMES or len(found.group(1)) > 15:
        raise ValueError("a duration such as '1 h'")
    return int(int(found.group(1)) * _TIMES[found.group(2).lower()])


def parse_positive_millis(text: str) -> int:
    """Parse a duration of at least one millisecond; return milliseconds."""
    if parse_millis(text) < 1:
        raise ValueError("a duration of at least one millisecond")
    return parse_millis(text)


def lacks_unit(text: str) -> bool:
    """Whether the text of a size or a duration is a number other than 0 without a unit."""
    number = text.strip()
    return number.isdecimal() and number.strip("0") != ""


def with_unit(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return a stricter ``parse`` for options of new tables: a size or duration other than 0 needs a unit.

    Paimon reads a number without a unit as bytes or milliseconds, but users rarely mean this. Parsers of values other
    than sizes and durations are returned unchanged.
    """
    units = ("b", "mb") if parse in (parse_bytes, parse_size) else ("ms", "s")
    if parse not in (parse_bytes, parse_size, parse_millis, parse_positive_millis):
        return parse

    def strictly(text: str) -> T:
        if lacks_unit(text):
            raise ValueError(" or ".join(f"'{text.strip()} {unit}'" for unit in units) + ", with its unit")
        return parse(text)

    return strictly


def parse_number(text: str) -> float:
    """Parse a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def parse_bool(text: str) -> bool:
    """Parse true or false, in upper or lower case."""
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.strip().lower() == "true"


def whole(low: int, high: int = 2**31 - 1) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``low`` to ``high``, both included."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\s*-?\d{1,40}\s*", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def parse_fraction(text: str) -> float:
    """Parse a number from 0 to 1."""
    if not re.fullmatch(r"\s*(0|1|0?\.\d+|0\.\d+|1\.0+)\s*", text):
        raise ValueError("a number from 0 to 1")
    return float(text)


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a parser that accepts the ``allowed`` words in any case and returns the word in lower case."""

    def parse(text: str) -> str:
        if text.strip().lower() not in allowed:
            raise ValueError(" or ".join(map(repr, allowed)))
        return text.strip().lower()

    return parse


def list_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a comma-separated list without the spaces around them.

    Empty parts at the end do not count, as in Java: ``a,`` has one part.
    """
    return tuple(part.strip() for part in text.rstrip(",").split(","))


def parse_names(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of column names."""
    names = list_parts(text)
    if not all(names):
        raise ValueError("a comma list of column names")
    return names


def parse_some_names(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of column names; a blank text has none."""
    return parse_names(text) if text.strip() else ()


def parse_file_name(text: str) -> str:
    """Parse the name of a file or directory, without slashes."""
    if not re.fullmatch(r"[^/\\\x00-\x1f]+", text) or not text.strip() or text in (".", ".."):
        raise ValueError("a plain name without slashes")
    return text


def parse_file_prefix(text: str) -> str:
    """Parse the prefix of data files.

    The prefix must not have a dot: the part of a file name before the first dot identifies the file (``stem_of``).
    """
    if "." in parse_file_name(text):
        raise ValueError("a plain name without slashes and dots")
    return text


_OWN_DIRECTORIES = frozenset(
    ["branch", "changelog", "consumer", "index", "manifest", "quarantine", "schema", "snapshot", "statistics", "tag"]
)


def parse_directory(text: str) -> str:
    """Parse the path of a directory below a table; a directory of metadata is refused. Returns "" for a blank text."""
    path = text.strip().removesuffix("/")
    parts = path.split("/")
    if path and (not all(map(_is_plain, parts)) or parts[0] in _OWN_DIRECTORIES or len(path.encode()) > NAME_BYTES):
        raise ValueError("a relative path of plain names, the first none of the table's own directories")
    return path


def parse_locations(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of URLs of directories; return the URLs in Java's form, such as ``file:/x``."""
    return tuple(map(_location, list_parts(text))) if text.strip() else ()


def _location(url: str) -> str:
    found = _URL.fullmatch(url)
    parts = [] if found is None else [part for part in found["path"].split("/") if part]
    if found is None or {".", ".."} & set(parts):
        raise ValueError("a comma list of URLs of directories with a scheme, such as s3://bucket/path, without '..'")
    authority = f"//{found['authority']}" if found["authority"] else ""
    return "/".join((f"{found['scheme']}:{authority}", *parts))


def parse_weights(text: str) -> tuple[int, ...]:
    """Parse a comma-separated list of positive whole numbers."""
    parts = list_parts(text) if text.strip() else ()
    if not all(re.fullmatch(r"[0-9]{1,9}", part) and int(part) for part in parts):
        raise ValueError("a comma list of whole numbers above 0")
    return tuple(map(int, parts))


def _is_plain(name: str) -> bool:
    """Whether a name is a valid path component in every store and cannot be a partition, bucket or hidden file."""
    return bool(re.fullmatch(r"[\w-][\w.-]*", name)) and not name.startswith("bucket-")


def parse_word(text: str) -> str:
    """Return the text without spaces at its ends; raises ValueError when nothing is left."""
    if not text.strip():
        raise ValueError("text that is not blank")
    return text.strip()


def parse_local_time(text: str) -> int:
    """Parse a time of the local time zone such as ``2024-01-31 12:00:00``; return epoch milliseconds."""
    try:
        return int(datetime.datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ValueError("a local time such as '2024-01-31 12:00:00'") from None


def parse_word_or_none(text: str) -> str | None:
    """Return the text without spaces at its ends; None when nothing is left."""
    return text.strip() or None


def parse_pair(text: str) -> tuple[str, str] | None:
    """Parse two words that a comma separates; None for a blank text."""
    parts = list_parts(text)
    if not text.strip():
        return None
    if len(parts) != 2 or not all(parts):
        raise ValueError("two snapshot ids or tags, separated by a comma")
    return parts[0], parts[1]


def parse_times(text: str) -> tuple[int, int] | None:
    """Parse two epoch milliseconds or local times that a comma separates; None for a blank text."""
    try:
        pair = parse_pair(text)
        if pair is None or all(re.fullmatch(r"-?[0-9]{1,18}", part) for part in pair):
            return pair and (int(pair[0]), int(pair[1]))
        return parse_local_time(pair[0]), parse_local_time(pair[1])
    except ValueError:
        raise ValueError("two epoch milliseconds or local times, separated by a comma") from None


def parse_stats_mode(text: str) -> str:
    """Parse a statistics mode of columns: none, counts, full or truncate(n) (format 4.5)."""
    if not re.fullmatch(r"none|counts|full|truncate\([1-9]\d*\)", text.strip().lower()):
        raise ValueError("none, counts, full or truncate(n)")
    return text.strip().lower()


def per_level(value: Callable[[str], str]) -> Callable[[str], Mapping[int, str]]:
    """Return a parser of values by level, such as ``0:a,5:b``; ``value`` parses each value."""

    def parse(text: str) -> Mapping[int, str]:
        out: dict[int, str] = {}
        for item in list_parts(text):
            level, colon, name = item.partition(":")
            if not colon or not re.fullmatch(r"\s*\d{1,3}\s*", level) or int(level) in out:
                raise ValueError("a comma list of level:value, each level once")
            out[int(level)] = value(name)
        return out

    return parse


def parse_bucket(text: str) -> int:
    """Parse a number of buckets: -1 (dynamic buckets, or no buckets), -2 (postpone bucket), or a positive number."""
    value = whole(-2)(text)
    if value == 0:
        raise ValueError("-2, -1 or a positive number")
    return value


MAX_DYNAMIC_BUCKETS = 2**15 - 1
"""The largest number of dynamic buckets of a partition: their ids are 16-bit numbers (format 11.1)."""


def parse_max_buckets(text: str) -> int:
    """Parse the largest number of dynamic buckets; -1 means no limit besides ``MAX_DYNAMIC_BUCKETS``."""
    value = whole(-1, MAX_DYNAMIC_BUCKETS)(text)
    if value == 0:
        raise ValueError(f"-1, or 1 to {MAX_DYNAMIC_BUCKETS}")
    return value


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?:([+-])(\d{1,2})(?::?([0-5]\d))?(?::?([0-5]\d))?)?|Z")


def parse_zone(text: str) -> datetime.tzinfo:
    """Parse a time zone such as ``Europe/Berlin``, ``UTC``, ``GMT-08:00`` or ``+05:30``."""
    found = _OFFSET.fullmatch(text.strip())
    if text.strip() and found is not None:
        sign, hours, minutes, seconds = found.groups()
        offset = datetime.timedelta(hours=int(hours or 0), minutes=int(minutes or 0), seconds=int(seconds or 0))
        if offset <= datetime.timedelta(hours=18):
            return datetime.timezone(-offset if sign == "-" else offset)
    try:
        return zoneinfo.ZoneInfo(text.strip())
    except (ValueError, OSError, KeyError):
        raise ValueError("a time zone such as 'Europe/Berlin' or 'GMT-08:00'") from None
