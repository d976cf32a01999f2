"""Text of schema changes, close to SQL's ALTER TABLE, for the command line and ``Table.alter``.

====================================================================  ==================================================
``ADD COLUMN note STRING DEFAULT 'x' COMMENT 'why' AFTER id``         or FIRST, LAST, BEFORE; all parts are optional
``DROP COLUMN note``
``RENAME COLUMN note TO remark``
``ALTER COLUMN price TYPE DECIMAL(12, 2)``                            LOSSY: also if stored values are lost
``ALTER COLUMN price SET NOT NULL``                                   or DROP NOT NULL
``ALTER COLUMN price SET DEFAULT 0``                                  or DROP DEFAULT
``ALTER COLUMN price COMMENT 'in euros'``                             or DROP COMMENT
``ALTER COLUMN price AFTER id``                                       or FIRST, LAST, BEFORE
``COMMENT 'all orders'``                                              of the table; or DROP COMMENT
``SET ('snapshot.num-retained.min' = '5')``                           several options with commas
``RESET ('snapshot.num-retained.min')``
====================================================================  ==================================================

Several changes are separated by commas. A nested field is ``address.city``, ``lines.element.price`` or
``prices.value``. A name with other characters than letters, digits and ``_`` is quoted: ```unit price```.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from paimon_core.alter.changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
    type_of,
)
from paimon_core.errors import InvalidRequest
from paimon_core.types import DataType

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)"
_TOKEN = re.compile(rf"(?:(`(?:[^`]|``)+`)|('(?:[^']|'')*')|({_NUMBER})|(\w+)|([.,()<>=:]))\s*")
_PLACES = ("FIRST", "LAST", "AFTER", "BEFORE")
_BOOLEANS = ("true", "false")
_AFTER_TYPE = ("DEFAULT", "COMMENT", "LOSSY", *_PLACES)
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """``name`` (quoted), ``text``, ``number``, ``word``, ``sign`` or ``end``."""
    value: str
    start: int
    end: int


def parse_changes(text: str) -> list[SchemaChange]:
    """Return the changes that the text states.

    Raises InvalidRequest, which names the position, the expected text and the text that was found.
    """
    if len(text) > _LONGEST:
        raise InvalidRequest(f"a change of {len(text)} characters is too long, the limit is {_LONGEST}")
    parser = _Parser(text, _tokens(text))
    changes = parser.change()
    while parser.skip_sign(","):
        changes += parser.change()
    parser.expect_end()
    return changes


def _tokens(text: str) -> list[_Token]:
    found, at = [], len(text) - len(text.lstrip())
    kinds = ("name", "text", "number", "word", "sign")
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _error(text, at, "a word, a name in backticks or a text in single quotes", repr(text[at]))
        group = match.lastindex or 0
        found.append(_Token(kinds[group - 1], match.group(group), match.start(group), match.end(group)))
        at = match.end()
    return [*found, _Token("end", "", len(text), len(text))]


def _error(text: str, at: int, expected: str, found: str) -> InvalidRequest:
    return InvalidRequest(
        f"{text!r:.120}: at character {at + 1}: expected {expected}, found {found}", position=at + 1, expected=expected
    )


class _Parser:
    """The tokens of one text, and the position of the next token."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def refuse(self, expected: str) -> InvalidRequest:
        token = self.next
        found = "the end" if token.kind == "end" else repr(token.value[:40])
        return _error(self.text, token.start, expected, found)

    def skip(self, *words: str) -> bool:
        """Skip ``words`` and return True when all of them follow; otherwise return False."""
        following = self.tokens[self.at : self.at + len(words)]
        if [t.value.upper() for t in following] != list(words) or any(t.kind != "word" for t in following):
            return False
        self.at += len(words)
        return True

    def skip_sign(self, sign: str) -> bool:
        if self.next.kind != "sign" or self.next.value != sign:
            return False
        self.at += 1
        return True

    def need(self, *words: str) -> None:
        if not self.skip(*words):
            raise self.refuse(" ".join(words))

    def need_sign(self, sign: str) -> None:
        if not self.skip_sign(sign):
            raise self.refuse(repr(sign))

    def expect_end(self) -> None:
        if self.next.kind != "end":
            raise self.refuse("',' and another change, or the end")

    # -- values

    def name(self) -> str:
        token = self.next
        if token.kind not in ("name", "word", "number"):
            raise self.refuse("a column name")
        self.at += 1
        return token.value[1:-1].replace("``", "`") if token.kind == "name" else token.value

    def path(self) -> str | list[str]:
        names = [self.name()]
        while self.skip_sign("."):
            names.append(self.name())
        return names if len(names) > 1 else names[0]

    def quoted(self, what: str) -> str:
        if self.next.kind != "text":
            raise self.refuse(f"{what} in single quotes")
        token = self.next
        self.at += 1
        return token.value[1:-1].replace("''", "'")

    def literal(self) -> str:
        token = self.next
        if token.kind == "number" or (token.kind == "word" and token.value.lower() in _BOOLEANS):
            self.at += 1
            return token.value
        return self.quoted("a number, true, false, or a text")

    def default(self) -> str | None:
        return None if self.skip("NULL") else self.literal()

    def type(self) -> DataType:
        start, depth = self.at, 0
        while self.next.kind != "end":
            token = self.next
            if depth == 0 and (token.value == "," or (token.kind == "word" and token.value.upper() in _AFTER_TYPE)):
                break
            depth += (token.value in ("(", "<")) - (token.value in (")", ">"))
            if depth < 0:
                break
            self.at += 1
        if self.at == start:
            raise self.refuse("a type such as STRING or DECIMAL(10, 2)")
        first, last = self.tokens[start], self.tokens[self.at - 1]
        text = self.text[first.start : last.end]
        try:
            return type_of(text, text)
        except InvalidRequest as error:
            raise InvalidRequest(f"{_error(self.text, first.start, 'a type', repr(text[:60]))}: {error}") from None

    def place(self) -> dict[str, Any]:
        for word in ("FIRST", "LAST"):
            if self.skip(word):
                return {word.lower(): True}
        for word in ("AFTER", "BEFORE"):
            if self.skip(word):
                return {word.lower(): self.name()}
        return {}

    # -- changes

    def change(self) -> list[SchemaChange]:
        if self.skip("ADD", "COLUMN"):
            return [self.added()]
        if self.skip("DROP", "COLUMN"):
            return [DropColumn(self.path())]
        if self.skip("RENAME", "COLUMN"):
            column = self.path()
            self.need("TO")
            return [RenameColumn(column, self.name())]
        if self.skip("ALTER", "COLUMN"):
            return [self.altered(self.path())]
        if self.skip("DROP", "COMMENT"):
            return [UpdateComment(None)]
        if self.skip("COMMENT"):
            return [UpdateComment(self.quoted("a comment"))]
        if self.skip("SET"):
            return self.options(assigned=True)
        if self.skip("RESET"):
            return self.options(assigned=False)
        raise self.refuse("ADD COLUMN, DROP COLUMN, RENAME COLUMN, ALTER COLUMN, COMMENT, DROP COMMENT, SET or RESET")

    def added(self) -> AddColumn:
        column, kind = self.path(), self.type()
        default = self.default() if self.skip("DEFAULT") else None
        comment = self.quoted("a comment") if self.skip("COMMENT") else None
        return AddColumn(column, kind, comment, default, **self.place())

    def altered(self, column: str | list[str]) -> SchemaChange:
        if self.skip("TYPE"):
            return UpdateType(column, self.type(), lossy=self.skip("LOSSY"))
        if self.skip("SET", "NOT", "NULL"):
            return UpdateNullability(column, nullable=False)
        if self.skip("DROP", "NOT", "NULL"):
            return UpdateNullability(column, nullable=True)
        if self.skip("SET", "DEFAULT"):
            return UpdateDefault(column, self.default())
        if self.skip("DROP", "DEFAULT"):
            return UpdateDefault(column, None)
        if self.skip("DROP", "COMMENT"):
            return UpdateColumnComment(column, None)
        if self.skip("COMMENT"):
            return UpdateColumnComment(column, self.quoted("a comment"))
        place = self.place()
        if not place or not isinstance(column, str):
            raise self.refuse(
                "TYPE, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT, COMMENT, DROP COMMENT, "
                "or FIRST, LAST, AFTER, BEFORE for a column of the table"
            )
        return UpdatePosition(column, **place)

    def options(self, *, assigned: bool) -> list[SchemaChange]:
        self.need_sign("(")
        found: list[SchemaChange] = []
        while True:
            key = self.quoted("an option")
            if assigned:
                self.need_sign("=")
                plain = self.next.kind == "number" or self.next.value.lower() in _BOOLEANS
                found.append(SetOption(key, self.literal() if plain else self.quoted("a value")))
            else:
                found.append(RemoveOption(key))
            if not self.skip_sign(","):
                break
        self.need_sign(")")
        return found
