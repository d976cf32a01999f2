"""Option: the description of one option of Paimon, and a constructor for each of the three kinds of support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from paimon_core.options.parsers import one_of, parse_bool, parse_bytes, parse_millis, parse_number, whole


class Kind(StrEnum):
    """The type of an option's value in Paimon."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    LONG = "long"
    DOUBLE = "double"
    SIZE = "size"
    DURATION = "duration"
    TEXT = "text"
    ENUM = "enum"


BOOLEAN, INTEGER, LONG, DOUBLE = Kind.BOOLEAN, Kind.INTEGER, Kind.LONG, Kind.DOUBLE
SIZE, DURATION, TEXT, ENUM = Kind.SIZE, Kind.DURATION, Kind.TEXT, Kind.ENUM


class Support(StrEnum):
    """How this library supports an option."""

    OBEYED = "obeyed"
    """The option has an effect in this library."""
    CARRIED = "for other engines"
    """The option is stored for the readers and writers of other engines; it changes no row, and this library ignores
    it."""
    REFUSED = "refused"
    """The option changes what is read or written and is not supported: only values that leave its feature off are
    accepted."""


class Stops(Enum):
    """Which operations an unsupported value of an option prevents in an existing table."""

    READS = "reads and writes"
    """The table cannot be opened."""
    SCANS = "reads"
    """The table can be written but not read, unless the caller selects the snapshot."""
    WRITES = "writes"
    NOTHING = "nothing"
    """The unsupported value is ignored, because it only concerns other engines."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of Paimon."""

    key: str
    kind: Kind
    default: str
    """Paimon's default as text; "" for none."""
    meaning: str
    support: Support
    parse: Callable[[str], Any]
    """Returns the value of a text; raises ValueError, which states the rule, for a value that is not supported."""
    value: Any = None
    """The parsed value when the option is absent."""
    values: tuple[str, ...] = ()
    """The words that Paimon allows; () when any text, or a number, is allowed."""
    stops: Stops = Stops.WRITES
    older: tuple[str, ...] = ()
    """Older names. When the current name is absent, the first older name that is set is used."""
    immutable: bool = False
    """Whether the option cannot change once the table has a snapshot, in Paimon 1.4 or in 2.1."""
    only_to_true: bool = False
    """Whether the option cannot change from true to false once the table has a snapshot."""
    shared: bool = False
    """Whether all handles of a table must use the same value, because it decides where files are, or which row a merge
    selects."""
    is_columns: bool = False
    """Whether the value is a list of columns; if so, a renamed column is renamed in the value too."""
    fixed: str = ""
    """Why the option of an existing table can never be set or removed; "" when it can."""
    argument: str = ""
    """The argument, or "the catalog", that sets this value for a new table, which refuses the option; "" otherwise."""


_PARSERS: Mapping[Kind, Callable[[str], Any]] = {
    BOOLEAN: parse_bool,
    INTEGER: whole(-(2**31)),
    LONG: whole(-(2**63), 2**63 - 1),
    DOUBLE: parse_number,
    SIZE: parse_bytes,
    DURATION: parse_millis,
    TEXT: str,
}


def obeyed(
    key: str,
    kind: Kind,
    default: str,
    meaning: str,
    parse: Callable[[str], Any] | None = None,
    *,
    value: Any = None,
    values: tuple[str, ...] = (),
    supported: tuple[str, ...] = (),
    stops: Stops = Stops.WRITES,
    **properties: Any,
) -> Option:
    """Return an option that is obeyed.

    Without ``parse``, the parser accepts the words ``supported`` (default: all ``values``). Without ``parse`` and
    ``values``, the parser of the kind is used. ``value`` is the parsed value when the option is absent, if this value
    differs from Paimon's ``default``.
    """
    reader = parse or (one_of(*(supported or values)) if values else _PARSERS[kind])
    known = reader(default) if value is None and default else value
    return Option(key, kind, default, meaning, Support.OBEYED, reader, known, values, stops, **properties)


def carried(
    key: str, kind: Kind, default: str, meaning: str, values: tuple[str, ...] = (), **properties: Any
) -> Option:
    """Return an option for other engines; a new table accepts only texts of this kind, or the words ``values``."""
    reader = one_of(*(v.lower() for v in values)) if values else _PARSERS[kind]
    return Option(key, kind, default, meaning, Support.CARRIED, reader, None, values, Stops.NOTHING, **properties)


def refused(
    key: str,
    kind: Kind,
    default: str,
    meaning: str,
    *,
    values: tuple[str, ...] = (),
    stops: Stops = Stops.READS,
    **properties: Any,
) -> Option:
    """Return an option of an unsupported feature: only its default is accepted, or a blank text if it has none."""
    reader = _off if kind is BOOLEAN else one_of(default) if default else _blank
    return Option(key, kind, default, meaning, Support.REFUSED, reader, None, values, stops, **properties)


def _off(text: str) -> None:
    if parse_bool(text):
        raise ValueError("false")


def _blank(text: str) -> None:
    if text.strip():
        raise ValueError("absent")
