"""Type text: parses the texts of data types in schema files, SQL and other tools (format 2.2).

Nested types may be written as ``MAP<STRING NOT NULL, ROW<a: STRING>>``, ``ROW<`a b` INT COMMENT 'text'>``, ``ROW(a
INT)``, ``STRUCT<a: INT>`` or ``INT ARRAY``. An error names the text, the position and the expected token.
"""

from __future__ import annotations

import re
from typing import NoReturn

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.limits import TYPE_DEPTH
from paimon_core.types.data_type import (
    BYTES,
    MAX_LENGTH,
    STRING,
    VARIANT,
    Child,
    DataType,
    TypeRoot,
    array_of,
    decimal,
    map_of,
    multiset_of,
    row_of,
    sized,
    timed,
    too_deep,
)

_UNSUPPORTED = ("VECTOR", "BLOB", "GEOMETRY", "GEOGRAPHY")
_PLAIN = {
    name: DataType(root)
    for root, names in {
        TypeRoot.BOOLEAN: ("BOOLEAN",),
        TypeRoot.TINYINT: ("TINYINT",),
        TypeRoot.SMALLINT: ("SMALLINT",),
        TypeRoot.INT: ("INT", "INTEGER"),
        TypeRoot.BIGINT: ("BIGINT",),
        TypeRoot.FLOAT: ("FLOAT",),
        TypeRoot.DOUBLE: ("DOUBLE",),
        TypeRoot.DATE: ("DATE",),
    }.items()
    for name in names
} | {"STRING": STRING, "BYTES": BYTES, "VARIANT": VARIANT}
_SIZED = {
    "CHAR": TypeRoot.CHAR,
    "VARCHAR": TypeRoot.VARCHAR,
    "BINARY": TypeRoot.BINARY,
    "VARBINARY": TypeRoot.VARBINARY,
}
_DECIMALS = ("DECIMAL", "NUMERIC", "DEC")
_NESTED = ("ARRAY", "MAP", "MULTISET", "ROW", "STRUCT")
_CLOSING = {"<": ">", "(": ")"}
_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<text>'(?:[^']|'')*')|(?P<word>[^\s<>(),:`']+)|(?P<mark>[<>(),:]))"
)
_SHOWN = 120


def parse_text(text: str) -> DataType:
    """Parse the text of one type.

    Raises InvalidRequest for a text that is not a type, UnsupportedFeature for types that are not supported.
    """
    parser = _Parser(text)
    kind = parser.type(TYPE_DEPTH)
    parser.end()
    return kind


def parse_nested_head(text: str) -> tuple[str, bool] | None:
    """Return the name and nullability in the text ``type`` of a nested type's JSON object; None for other texts.

    pypaimon writes ``MAP<STRING NOT NULL, INT>``, Java ``MAP NOT NULL``; the members are in other keys of the object.
    """
    found = re.fullmatch(r"\s*+([A-Za-z]++)\s*+(?:<.*>)?\s*+(NOT\s++NULL|NULL)?\s*+", text, re.IGNORECASE | re.DOTALL)
    if found is None:
        return None
    name, suffix = found.groups()
    return name.upper(), not (suffix or "").upper().startswith("NOT")


def parse_columns(text: str) -> tuple[Child, ...]:
    """Parse a list of columns as in a CREATE TABLE: ``id BIGINT NOT NULL, name STRING COMMENT 'text'``."""
    parser = _Parser(text)
    children = parser.fields(TYPE_DEPTH, "")
    parser.end()
    return children


class _Parser:
    """A position in the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        at = 0
        try:
            text.encode()
        except UnicodeEncodeError as error:
            self._fail_at(error.start, "valid Unicode text")
        end = len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                self._fail_at(at, "a name, a text in quotes or a mark")
            kind = found.lastgroup or ""
            self._tokens.append((kind, found.group(kind), found.start(kind)))
            at = found.end()
        self._at = 0

    # -- tokens

    def _fail_at(self, position: int, expected: str) -> NoReturn:
        shown = self._text if len(self._text) <= _SHOWN else f"{self._text[:_SHOWN]}..."
        found = self._text[position : position + 20]
        raise InvalidRequest(
            f"{shown!r} is not a data type: expected {expected} at position {position}"
            + (f", not {found!r}" if found else ", where it ends"),
            type=shown,
            position=position,
        )

    def _fail(self, expected: str) -> NoReturn:
        self._fail_at(self._tokens[self._at][2] if self._at < len(self._tokens) else len(self._text), expected)

    def _peek(self, ahead: int = 0) -> str:
        """Return the next word in upper case or the next mark; '' at the end and for a quoted name or text."""
        at = self._at + ahead
        if at >= len(self._tokens) or self._tokens[at][0] in ("quoted", "text"):
            return ""
        return self._tokens[at][1].upper()

    def _take(self, *words: str) -> bool:
        """Skip ``words``, which are words or marks, if they are the next tokens; return whether they were skipped."""
        if any(self._peek(ahead) != word for ahead, word in enumerate(words)):
            return False
        self._at += len(words)
        return True

    def _need(self, *words: str) -> None:
        for word in words:
            if not self._take(word):
                self._fail(f"{word!r}")

    def end(self) -> None:
        """Raise InvalidRequest unless the whole text was parsed."""
        if self._at < len(self._tokens):
            self._fail("the end")

    def _number(self) -> int:
        word = self._peek()
        if not (word.isascii() and word.isdigit()):
            self._fail("a whole number")
        if len(word) > len(str(MAX_LENGTH)):
            self._fail(f"a number up to {MAX_LENGTH}")
        self._at += 1
        return int(word)

    def _literal(self, what: str, *kinds: str) -> str:
        """Return the next token, which must be a text in single quotes or of one of ``kinds``, and skip it."""
        kind, token = self._tokens[self._at][:2] if self._at < len(self._tokens) else ("", "")
        if kind != "text" and kind not in kinds:
            self._fail(f"{what} in single quotes")
        self._at += 1
        return token[1:-1].replace("''", "'") if kind == "text" else token

    def _name(self) -> str:
        kind, token = self._tokens[self._at][:2] if self._at < len(self._tokens) else ("", "")
        if kind not in ("word", "quoted"):
            self._fail("the name of a field")
        self._at += 1
        return token[1:-1].replace("``", "`") if kind == "quoted" else token

    # -- types

    def type(self, levels: int) -> DataType:
        """Parse a type with its nullability; the forms ``INT ARRAY`` and ``INT MULTISET`` are accepted as well."""
        if not levels:
            raise too_deep("type", TYPE_DEPTH + 1)
        kind = self._nullability(self._kind(levels))
        while True:
            if self._take("ARRAY"):
                kind = self._nullability(array_of(kind))
            elif self._take("MULTISET"):
                kind = self._nullability(multiset_of(kind))
            else:
                return kind

    def _nullability(self, kind: DataType) -> DataType:
        if self._take("NOT"):
            self._need("NULL")
            return kind.with_nullable(False)
        self._take("NULL")
        return kind

    def _kind(self, levels: int) -> DataType:
        word = self._peek()
        if word in _UNSUPPORTED:
            raise UnsupportedFeature(f"type {self._text:.120} is not supported: {word}", type=self._text[:_SHOWN])
        if word not in (*_PLAIN, *_SIZED, *_DECIMALS, *_NESTED, "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
            self._fail("a data type")
        if word in _NESTED:
            return self._nested(word, levels - 1)
        self._at += 1
        if word in _PLAIN:
            if word == "DOUBLE":
                self._take("PRECISION")
            if self._peek() == "(":
                self._fail(f"no parameter, as {word} takes none,")
            return _PLAIN[word]
        if word in _DECIMALS:
            return self._decimal()
        if word in _SIZED:
            return sized(_SIZED[word], self._parameter(1))
        return self._time(word)

    def _parameter(self, default: int) -> int:
        if not self._take("("):
            return default
        number = self._number()
        self._need(")")
        return number

    def _decimal(self) -> DataType:
        precision, scale = 10, 0
        if self._take("("):
            precision = self._number()
            scale = self._number() if self._take(",") else 0
            self._need(")")
        return decimal(precision, scale)

    def _time(self, word: str) -> DataType:
        precision = self._parameter(0 if word == "TIME" else 6)
        if word != "TIMESTAMP_LTZ" and self._take("WITHOUT"):
            self._need("TIME", "ZONE")
        elif word == "TIMESTAMP" and self._take("WITH"):
            self._need("LOCAL", "TIME", "ZONE")
            word = "TIMESTAMP_LTZ"
        return timed(TypeRoot(word), precision)

    def _nested(self, word: str, levels: int) -> DataType:
        self._at += 1
        mark = self._peek()
        if mark not in (_CLOSING if word == "ROW" else ("<",)):
            self._fail("'<'")
        self._at += 1
        match word:
            case "ARRAY":
                made = array_of(self.type(levels))
            case "MULTISET":
                made = multiset_of(self.type(levels))
            case "MAP":
                key = self.type(levels)
                self._need(",")
                made = map_of(key, self.type(levels))
            case _:
                made = row_of(self.fields(levels, _CLOSING[mark]))
        self._need(_CLOSING[mark])
        return made

    def fields(self, levels: int, closing: str) -> tuple[Child, ...]:
        """Parse fields separated by commas: name, an optional colon, type, and optional comment and default."""
        out: list[Child] = []
        while not out or self._take(","):
            if not out and closing and self._peek() == closing:
                break
            name = self._name()
            self._take(":")
            kind = self.type(levels)
            comment = default = None
            while True:
                if comment is None and (self._take("COMMENT") or self._is_text()):
                    comment = self._literal("a comment")
                elif default is None and self._take("DEFAULT"):
                    default = self._literal("a default", "word")
                else:
                    break
            out.append(Child(name, kind, description=comment, default=default))
        return tuple(out)

    def _is_text(self) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][0] == "text"
