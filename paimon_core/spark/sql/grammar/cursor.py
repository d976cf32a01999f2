"""Cursor: the tokens of one SQL statement, as sqlglot's tokenizer of Spark finds them, read from left to right.

sqlglot parses queries and expressions. It leaves SHOW, CALL and half of ALTER TABLE as unparsed text, and skips some
words of other commands. So commands are read from the tokens: each word is expected by name, and anything else raises
SqlError with its position.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from paimon_core.errors import SqlError
from paimon_core.limits import check_limit
from paimon_core.predicate.tokens import place
from paimon_core.spark.sql.grammar.markers import NOTHING, Bound, joined
from paimon_core.spark.sql.grammar.masked import masked

SQL_LENGTH = 1 << 20
"""The maximum number of characters of a statement."""
_MOST_DIGITS = 19
"""The digits of a whole number of 64 bits."""
T = TypeVar("T")


class _Tokenizer(Spark.Tokenizer):
    """Spark's tokenizer, which also splits SHOW and CALL; sqlglot's own leaves the text after these words whole."""

    COMMANDS: ClassVar[set[TokenType]] = set()


@dataclass(frozen=True, slots=True)
class SqlToken:
    """One token; ``kind`` is word, name (in backticks), text, number, parameter, sign or end."""

    kind: str
    text: str
    """The word, the unquoted name or text, the marker (``:name`` or ``?``), or the sign."""
    start: int
    end: int
    """The position after the last character."""

    @property
    def word(self) -> str:
        """The word in upper case; empty for other tokens."""
        return self.text.upper() if self.kind == "word" else ""


def fail(source: str, at: int, problem: str, **facts: object) -> NoReturn:
    """Raise SqlError with the problem and its position; the facts have ``line`` and ``column``, from 1."""
    raise SqlError(f"{problem}, {place(masked(source), at)}", **position(source, at), **facts)


def position(source: str, at: int) -> dict[str, int]:
    """Return the facts ``line`` and ``column``, from 1, of a position in a text."""
    return {"line": source.count("\n", 0, at) + 1, "column": at - (source.rfind("\n", 0, at) + 1) + 1}


def tokens_of(source: str) -> list[SqlToken]:
    """Return the tokens of a statement, and at the end a token of the kind end.

    A semicolon at the end is left out. Raises SqlError for text that Spark's tokenizer refuses, and for several
    statements.
    """
    check_limit("the statement", len(source), SQL_LENGTH, "characters")
    found: list[SqlToken] = []
    try:
        raw = _Tokenizer(dialect=Spark()).tokenize(source)
    except SqlglotError:
        fail(source, len(source), "the statement has a text, a name or a comment that does not end")
    for token in raw:
        written = source[token.start : token.end + 1]
        if token.token_type is TokenType.IDENTIFIER:
            found.append(SqlToken("name", token.text, token.start, token.end + 1))
        elif token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            if found and found[-1].kind == "text" and found[-1].end == token.start:  # 'it''s'
                last = found.pop()
                found.append(SqlToken("text", f"{last.text}{written[0]}{token.text}", last.start, token.end + 1))
                continue
            found.append(SqlToken("text", token.text, token.start, token.end + 1))
        elif token.token_type is TokenType.NUMBER:
            found.append(SqlToken("number", written, token.start, token.end + 1))
        elif not (found and token.start < found[-1].end):  # the type of a literal such as 10L has no text of its own
            for word in re.finditer(r"\S+", written):
                kind = "word" if re.fullmatch(r"\w+", word.group()) else "sign"
                found.append(SqlToken(kind, word.group(), token.start + word.start(), token.start + word.end()))
    while found and found[-1].text == ";" and found[-1].kind == "sign":
        found.pop()
    for part in found:
        if part.kind == "sign" and part.text == ";":
            fail(source, part.start, "the text has several statements: pass one at a time")
    end = found[-1].end if found else len(source)
    return [*joined(found), SqlToken("end", "", end, end)]


class Cursor:
    """The tokens of a statement, and the position of the next token."""

    def __init__(
        self, source: str, tokens: Sequence[SqlToken] | None = None, at: int = 0, bound: Bound = NOTHING
    ) -> None:
        self.source = source
        self.bound = bound
        self.tokens = tokens_of(source) if tokens is None else list(tokens)
        self.at = at

    @property
    def next(self) -> SqlToken:
        """The next token."""
        return self.tokens[self.at]

    def peek(self, *words: str, ahead: int = 0) -> bool:
        """Whether these words or signs come next, ``ahead`` tokens after the next token."""
        start = self.at + ahead
        following = self.tokens[start : start + len(words)]
        return [t.word or (t.text if t.kind == "sign" else "") for t in following] == list(words)

    def skip(self, *words: str) -> bool:
        """Skip these words or signs if they are the next tokens; return whether they were skipped."""
        found = self.peek(*words)
        self.at += len(words) if found else 0
        return found

    def choose(self, *words: str) -> str:
        """Skip and return the next word if it is one of ``words``; otherwise return an empty text."""
        for word in words:
            if self.skip(word):
                return word
        return ""

    def need(self, *words: str) -> None:
        """Skip these words or signs; raises SqlError when another token follows."""
        for word in words:
            if not self.skip(word):
                self.refuse(word)

    def refuse(self, expected: str) -> NoReturn:
        """Raise SqlError: the statement needs ``expected`` here."""
        token = self.next
        found = "the end" if token.kind == "end" else repr(masked(self.source)[token.start : token.end][:40])
        fail(self.source, token.start, f"the statement needs {expected} here, not {found}", expected=expected)

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        """Raise SqlError with the problem, at the next token or at a position."""
        fail(self.source, self.next.start if at is None else at, problem)

    def end(self) -> None:
        """Raise SqlError unless all tokens were read."""
        if self.next.kind != "end":
            self.refuse("its end")

    # -- values

    def name(self, what: str) -> str:
        """Return the next word or name in backticks."""
        if self.next.kind not in ("word", "name"):
            self.refuse(what)
        self.at += 1
        return self.tokens[self.at - 1].text

    def path(self, what: str) -> tuple[str, ...]:
        """Return names that are separated by dots."""
        names = [self.name(what)]
        while self.skip("."):
            names.append(self.name(what))
        return tuple(names)

    def text(self, what: str) -> str:
        """Return the next text in quotes, or the text of a parameter."""
        if self.next.kind == "parameter":
            return str(self._parameter(what, str))
        if self.next.kind != "text":
            self.refuse(f"{what} in single quotes")
        self.at += 1
        return self.tokens[self.at - 1].text

    def literal(self, what: str) -> str | int | bool | None:
        """Return a text, a whole number, true, false or null; also of a parameter, with a date or time as text."""
        if self.next.kind == "parameter":
            found = self._parameter(what, str, int, datetime.date, type(None))
            return str(found) if isinstance(found, datetime.date) else found
        for word, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if self.skip(word):
                return value
        if self.next.kind == "text":
            return self.text(what)
        sign = -1 if self.skip("-") else 1
        token = self.next
        if token.kind != "number" or not token.text.isascii() or not token.text.isdigit():
            self.refuse(f"{what}: a text in single quotes, a whole number, true, false or null")
        if len(token.text) > _MOST_DIGITS:
            self.refuse(f"{what}: a whole number of at most {_MOST_DIGITS} digits")
        self.at += 1
        return sign * int(token.text)

    def argument(self, what: str) -> str | int | bool | None:
        """Return a literal as an argument of a procedure or function; a datetime without zone is local time."""
        value = self.bound.values.get(self.next.start)
        found = self.literal(what)
        return str(value.astimezone(datetime.UTC)) if isinstance(value, datetime.datetime) else found

    def _parameter(self, what: str, *kinds: type) -> Any:
        """Return the value of the next parameter; raises SqlError unless it is of one of the types."""
        token, value = self.next, self.bound.values.get(self.next.start)
        if not isinstance(value, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            self.fail(f"{what}: the parameter {token.text} is {wanted}, not {type(value).__name__}")
        self.at += 1
        return value

    def listed(self, item: Callable[[], T]) -> list[T]:
        """Return one or more items in parentheses, separated by commas."""
        self.need("(")
        found = [item()]
        while self.skip(","):
            found.append(item())
        self.need(")")
        return found

    def until(self, *ends: str, what: str) -> tuple[int, int]:
        """Skip an expression up to one of the words or signs ``ends`` outside of brackets and CASE, or to the end.

        Returns the position of the first character of the expression and the position after its last character; raises
        SqlError for an empty expression.
        """
        first, depth = self.at, 0
        while self.next.kind != "end":
            token = self.next
            written = token.word or (token.text if token.kind == "sign" else "")
            is_distinct = written == "FROM" and self.tokens[self.at - 1].word == "DISTINCT"  # IS DISTINCT FROM
            if depth == 0 and (written in (")", "]") or (written in ends and not is_distinct)):
                break
            depth = max(0, depth + (written in ("(", "[", "CASE")) - (written in (")", "]", "END")))
            self.at += 1
        if self.at == first:
            self.refuse(what)
        return self.tokens[first].start, self.tokens[self.at - 1].end
