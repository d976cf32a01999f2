"""Tokens of the text of a filter, with their positions; errors show the line, the column and the text around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest

_PATTERN = re.compile(
    r"""(?P<space>\s+)
      | (?P<bytes>[xX]'[^']*')
      | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<word>[^\W\d]\w*)
      | (?P<text>'[^']*(?:''[^']*)*')
      | (?P<name>`(?!`(?!`))[^`]*(?:``[^`]*)*`|"(?!"(?!"))[^"]*(?:""[^"]*)*")
      | (?P<symbol><=|>=|<>|!=|==|[=<>(),.\[\]+-])""",
    re.VERBOSE,
)
_SHOWN = 30
"""Characters of the text that an error shows on each side of a position."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a quoted name, a literal or a symbol; the kind is empty at the end of the text."""

    kind: str
    text: str
    at: int
    """The position in the text."""

    @property
    def word(self) -> str:
        """The word in lower case; empty for a token that is not a word."""
        return self.text.lower() if self.kind == "word" else ""

    def __str__(self) -> str:
        return f"{self.text:.60}" if self.kind else "the end of the text"


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of the text, and at the end a token whose kind is empty.

    Raises InvalidRequest, which names the position, for text that is not a token.
    """
    at = 0
    while at < len(source):
        found = _PATTERN.match(source, at)
        if found is None:
            raise InvalidRequest(f"{_problem(source, at)}, {place(source, at)}")
        kind = found.lastgroup or ""
        if kind != "space":
            yield Token(kind, found.group(), at)
        at = found.end()
    yield Token("", "", at)


def _problem(source: str, at: int) -> str:
    start = source[at]
    if start in "'`\"":
        return f"the filter has a {start} that does not end"
    if start.isdigit() or start == ".":
        return "the filter has a number that ends in other characters"
    return f"the filter cannot contain {start!r}"


def place(source: str, at: int) -> str:
    """Return line and column of position ``at``, and the text around it: "at line 1, column 9: price > ^and note"."""
    line = source.count("\n", 0, at) + 1
    column = at - (source.rfind("\n", 0, at) + 1) + 1
    before, after = source[max(0, at - _SHOWN) : at], source[at : at + _SHOWN]
    left = "..." * (at > _SHOWN)
    right = "..." * (at + _SHOWN < len(source))
    return f"at line {line}, column {column}: {left}{before}^{after}{right}"
