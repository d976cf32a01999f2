r"""Patterns of LIKE: ``%`` matches any number of characters, ``_`` one character; a character after ``\`` is literal.

A character is a code point, as in SQL; line breaks are characters as well. A pattern with wildcards ``%`` only at its
ends becomes a simpler test, such as "starts with". In Java Paimon (2.1), ``_`` does not match a line break.
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
"""The pieces of a pattern in order: whether the piece is a wildcard, and its text. Adjacent literals are one piece."""


def normalized(pattern: str, escape: str | None) -> str:
    """Return the pattern rewritten with a backslash as its escape character.

    ``escape`` is the escape character of ``pattern``, None for a pattern without such a character. Raises
    InvalidRequest when ``escape`` is not exactly one character or is a wildcard, or the pattern has ``escape`` before
    any other character than ``%``, ``_`` and itself.
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
    """Return operator and values of a simpler test that is equal to a normalized pattern; None if no test is."""
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
    """Return the literal text at the start of a normalized pattern: every value that matches starts with this text."""
    first = next(iter(_pieces(pattern, ESCAPE)), (True, ""))
    return "" if first[0] else first[1]


def matches(pattern: str, value: str) -> bool:
    """Whether the value matches a normalized pattern."""
    return bool(pc.match_substring_regex(pa.scalar(value), pattern=arrow_pattern(pattern)).as_py())


@lru_cache(maxsize=64)
def arrow_pattern(pattern: str) -> str:
    """Return the regular expression of a normalized pattern in the syntax of RE2, which Arrow uses.

    Arrow's match_like is not used: it replaces ``_`` by ``.``, which matches one byte in binary columns, and it has
    other rules for escapes. Raises InvalidRequest when the pattern is too long for RE2.
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
