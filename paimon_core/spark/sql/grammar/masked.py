"""Masked: the text of a statement with stars in the place of secrets, for messages."""

from __future__ import annotations

import re

from paimon_core.errors import names_a_secret

_QUOTED = r"""'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.|"")*"?"""
_OPTION = re.compile(
    rf"""
    (?P<key> '[^']*' | "[^"]*" | `[^`]*` | (?<![\w.-]) [\w.-]+ )
    (?= \s* (?: =>? \s* (?P<value> {_QUOTED} | [^\s,)'"]+ ) | (?P<next> {_QUOTED} ) ) )
    """,
    re.VERBOSE | re.DOTALL,
)
"""The name of an option, with the value that follows; the sign of equality may be missing."""


def masked(source: str) -> str:
    """Return a text of the same length, in which the values of options that name a secret are stars.

    Values are also found inside of texts, such as ``options => 's3.secret-key=abc'``.
    """
    found, at = "", 0
    for option in _OPTION.finditer(source):
        group = "value" if option["value"] is not None else "next"
        start, end = option.span(group)
        if start >= at and names_a_secret(option["key"]):
            found += source[at:start] + "*" * (end - start)
            at = end
    return found + source[at:]
