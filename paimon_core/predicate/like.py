r"""Patterns of LIKE: ``%`` matches any number of characters, ``_`` exactly one, ``\`` takes the next one literally.

Characters are code points, line breaks included, as in SQL. A pattern without inner wildcards is a simpler test, such
as "starts with". Java Paimon (2.1) matches ``_`` with no line break.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import InvalidRequest
from paimon_core.predicate.op import Op

ESCAPE = "\\"
_WILD = "%_"

Pieces = tuple[tuple[bool, str], ...]
"""The pattern as (is a wildcard, text) in order; the text of literals is joined."""


def normalized(pattern: str, escape: str | None) -> str:
    """Return the pattern with a backslash as its escape character; None: it has no escape character.

    Raises InvalidRequest when ``escape`` is not one character or a wildcard, or is not followed by ``%``, ``_`` or
    itself in the pattern.
    """
    if escape is not None and (not isinstance(escape, str) or len(escape) != 1 or escape in _WILD):
        raise InvalidRequest(f"the escape character of like must be one character, but not % or _: {escape!r:.40}")
    out = []
    for wild, text in _pieces(pattern, escape):
        out.append(text if wild else re.sub(r"([%_\\])", r"\\\1", text))
    return "".join(out)


def _pieces(pattern: str, escape: str | None) -> Pieces:
    out: list[tuple[bool, str]] = []
    literal: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            character = next(characters, "")
            if character not in (*_WILD, escape):
                raise InvalidRequest(
                    f"like {pattern!r:.80}: the escape character {escape!r} must be followed by %, _ or itself"
                    + (f", not {character!r}" if character else ""),
                    pattern=pattern,
                )
        elif character in _WILD:
            if literal:
                out.append((False, "".join(literal)))
                literal = []
            if (character, out[-1:]) != ("%", [(True, "%")]):
                out.append((True, character))
            continue
        literal.append(character)
    if literal:
        out.append((False, "".join(literal)))
    return tuple(out)


def simple_test(pattern: str) -> tuple[Op, tuple[str, ...]] | None:
    """Return the test on a part of the value that a normalized pattern stands for; None when there is none."""
    match _pieces(pattern, ESCAPE):
        case ():
            return Op.EQ, ("",)
        case ((True, "%"),):
            return Op.NOT_NULL, ()
        case ((False, text),):
            return Op.EQ, (text,)
        case ((False, text), (True, "%")):
            return Op.STARTS, (text,)
        case ((True, "%"), (False, text)):
            return Op.ENDS, (text,)
        case ((True, "%"), (False, text), (True, "%")):
            return Op.CONTAINS, (text,)
    return None


def prefix(pattern: str) -> str:
    """Return the text with which all values start that match a normalized pattern."""
    first = next(iter(_pieces(pattern, ESCAPE)), (True, ""))
    return "" if first[0] else first[1]


def matches(pattern: str, value: str) -> bool:
    """Whether the value matches a normalized pattern."""
    return bool(pc.match_substring_regex(pa.scalar(value), pattern=arrow_pattern(pattern)).as_py())


@lru_cache(maxsize=64)
def arrow_pattern(pattern: str) -> str:
    """Return the regular expression of a normalized pattern in the syntax of RE2, which Arrow uses.

    Arrow's own match_like replaces ``_`` by ``.``, which is a byte in binary columns, and takes other escapes. Raises
    InvalidRequest when the pattern is too long for RE2.
    """
    wild = {"%": ".*", "_": "."}
    inner = "".join(wild[text] if is_wild else _quoted(text) for is_wild, text in _pieces(pattern, ESCAPE))
    out = rf"(?s)\A{inner}\z"
    try:
        pc.match_substring_regex(pa.array([], pa.string()), pattern=out)
    except pa.ArrowInvalid as error:
        raise InvalidRequest(f"like {pattern!r:.80}: the pattern cannot be compiled: {error!s:.200}") from None
    return out


def _quoted(text: str) -> str:
    quoted = re.sub(r"([^A-Za-z0-9_\x80-\U0010ffff])", r"\\\1", text)
    return quoted.replace("\\\x00", r"\x00")
