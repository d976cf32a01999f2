"""Grammar: the text of a filter, such as ``price > 5 and note like 'n%'``, as a predicate.

::

    filter     = and { "or" and }         and = not { "and" not }         not = { "not" } ( test | "(" filter ")" )
    test       = operand [ comparison operand | "is" ["not"] "null" | ["not"] "between" operand "and" operand
                 | ["not"] "in" "(" [ literal { "," literal } ] ")" | ["not"] "like" text [ "escape" text ] ]
                 | ( "contains" | "startswith" | "endswith" ) "(" column "," literal ")" | "true" | "false"
    comparison = "=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">="
    operand    = column | literal
    column     = name { "." name | "[" ( text | integer ) "]" }       name = word | `quoted` | "quoted"
    literal    = [ "-" | "+" ] number | text | X'hex' | "true" | "false" | type text
    type       = "date" | "time" | "timestamp" | "double" | "decimal"

Keywords are not case-sensitive, names of columns are. A quote inside of quotes is written twice. The parser stores open
parentheses in a list and not on the call stack, so that the stack does not limit their number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn

from paimon_core.errors import InvalidRequest, PaimonError, SchemaMismatch
from paimon_core.limits import FILTER_COMPARISONS, FILTER_TEXT_LENGTH, check_limit
from paimon_core.predicate.column import Column
from paimon_core.predicate.literal import Literal
from paimon_core.predicate.op import Op
from paimon_core.predicate.reference import RESERVED, Step
from paimon_core.predicate.sql_literal import TYPED, number, typed_literal
from paimon_core.predicate.tokens import Token, place, tokens
from paimon_core.predicate.tree import And, Constant, Fields, Or, Predicate, join

_COMPARISONS = {
    "=": Op.EQ, "==": Op.EQ, "<>": Op.NE, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE,
}  # fmt: skip
_FUNCTIONS = {
    "contains": Op.CONTAINS,
    "startswith": Op.STARTS,
    "starts_with": Op.STARTS,
    "endswith": Op.ENDS,
    "ends_with": Op.ENDS,
}

_Signed = tuple[Predicate, bool]
"""A predicate, and whether it must still be negated: "not" is applied when the predicate is joined or returned."""


def parse(source: str, fields: Fields | None = None) -> Predicate:
    """Return the predicate that the text states.

    With ``fields``, the columns of a table, each comparison is checked when it is parsed, so that an error names the
    position of the comparison in the text. Raises InvalidRequest for text that is not a filter and for a filter that
    exceeds the limits, SchemaMismatch for a comparison that does not fit the columns.
    """
    check_limit("the filter", len(source), FILTER_TEXT_LENGTH, "characters")
    return _Parser(source, list(tokens(source)), fields).filter()


@dataclass(slots=True)
class _Open:
    """The predicates inside of one open parenthesis (or outside of all parentheses) that are not joined yet."""

    negated: bool = False
    """Whether an odd number of "not" is before the parenthesis."""
    ors: list[_Signed] = field(default_factory=list)
    ands: list[_Signed] = field(default_factory=list)

    def close_and(self) -> None:
        """Join the parts since the last "or"."""
        self.ors.append(_joined(And, self.ands))
        self.ands = []


def _joined(kind: type[And] | type[Or], parts: list[_Signed]) -> _Signed:
    if len(parts) == 1:
        return parts[0]
    return join(kind, [_applied(part) for part in parts]), False


def _applied(part: _Signed) -> Predicate:
    predicate, negated = part
    return ~predicate if negated else predicate


@dataclass(slots=True)
class _Parser:
    source: str
    tokens: list[Token]
    fields: Fields | None
    at: int = 0
    tests: int = 0

    # -- tokens

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += token.kind != ""
        return token

    def skip(self, *texts: str) -> bool:
        """Take the next token if it is one of the words or symbols ``texts``; return whether it was."""
        token = self.next
        found = token.word in texts if token.kind == "word" else token.kind == "symbol" and token.text in texts
        self.at += found
        return found

    def expect(self, text: str, after: str) -> None:
        if not self.skip(text):
            self.fail(f"the filter needs {text!r} {after}, not {str(self.next)!r}", self.next)

    def fail(self, problem: str, token: Token) -> NoReturn:
        raise InvalidRequest(f"{problem}, {place(self.source, token.at)}")

    # -- and, or, not, parentheses

    def filter(self) -> Predicate:
        """Return the whole text as a predicate."""
        levels = [_Open()]
        while True:
            negated = False
            while self.skip("not"):
                negated = not negated
            if self.skip("("):
                levels.append(_Open(negated))
                continue
            levels[-1].ands.append((self.test(), negated))
            while self.skip(")"):
                if len(levels) == 1:
                    self.fail("the filter has a ) without its (", self.tokens[self.at - 1])
                inner = levels.pop()
                inner.close_and()
                predicate, negated = _joined(Or, inner.ors)
                levels[-1].ands.append((predicate, negated != inner.negated))
            if self.skip("or"):
                levels[-1].close_and()
            elif not self.skip("and"):
                break
        if self.next.kind:
            self.fail(f"the filter needs and, or, or its end here, not {str(self.next)!r}", self.next)
        if len(levels) > 1:
            self.fail(f"the filter has {len(levels) - 1} ( without a )", self.next)
        levels[0].close_and()
        return _applied(_joined(Or, levels[0].ors))

    # -- tests

    def test(self) -> Predicate:
        start = self.next
        self.tests += 1
        check_limit("the filter", self.tests, FILTER_COMPARISONS, "comparisons")
        try:
            found = self.unchecked_test()
            if self.fields is not None:
                found = found.resolve(self.fields)
                found._bind(self.fields)
        except (InvalidRequest, SchemaMismatch) as error:
            if ", at line " in str(error):
                raise
            raise self.positioned(error, start) from None
        return found

    def positioned(self, error: PaimonError, token: Token) -> PaimonError:
        hint = " (text is in single quotes)" if '"' in self.source[token.at : self.next.at] else ""
        return type(error)(f"{error}{hint}, {place(self.source, token.at)}", **error.facts)

    def unchecked_test(self) -> Predicate:
        token = self.next
        if token.word in ("true", "false") and self.tokens[self.at + 1].text not in _COMPARISONS:
            return Constant(self.take().word == "true")
        if token.word in _FUNCTIONS and self.tokens[self.at + 1].text == "(":
            return self.function()
        left = self.operand()
        if self.next.kind == "symbol" and self.next.text in _COMPARISONS:
            return self.compared(_COMPARISONS[self.take().text], left, self.operand(), token)
        if self.next.text == "(":
            self.fail(f"the filter has no function {token}, only {', '.join(_FUNCTIONS)}", token)
        if not isinstance(left, Column):
            self.fail(f"the filter needs a comparison after {token}, not {str(self.next)!r}", self.next)
        if self.skip("is"):
            negated = self.skip("not")
            self.expect("null", "after is")
            return left.is_not_null() if negated else left.is_null()
        negated = self.skip("not")
        if self.skip("in"):
            found = self.listed(left)
        elif self.skip("between"):
            low = self.operand()
            self.expect("and", "after the first value of between")
            bounds = ((Op.GE, low), (Op.LE, self.operand()))
            found = join(And, [self.compared(op, left, bound, token) for op, bound in bounds])
        elif self.skip("like"):
            found = self.pattern(left)
        elif negated:
            self.fail(f"the filter needs in, between or like after not, not {str(self.next)!r}", self.next)
        elif self.next.kind in ("", "symbol") or self.next.word in ("and", "or"):
            found = left == True  # noqa: E712
        else:
            self.fail(f"the filter needs a comparison after {left.reference}, not {str(self.next)!r}", self.next)
        return ~found if negated else found

    def compared(self, op: Op, left: Column | Literal, right: Column | Literal, token: Token) -> Predicate:
        if isinstance(left, Column):
            return left.test(op, right)
        if not isinstance(right, Column):
            self.fail("the filter compares two values: one side must be a column", token)
        return right.test(op.mirrored, left)

    def function(self) -> Predicate:
        token = self.take()
        self.expect("(", "after a function")
        column = self.column(self.next)
        self.expect(",", f"after the column of {token}")
        part = self.literal()
        self.expect(")", f"at the end of {token}")
        return column.test(_FUNCTIONS[token.word], part)

    def listed(self, column: Column) -> Predicate:
        self.expect("(", "after in")
        values: list[Literal] = []
        if not self.skip(")"):
            values.append(self.literal())
            while self.skip(","):
                values.append(self.literal())
            self.expect(")", "at the end of the list")
        return column.is_in(values)

    def pattern(self, column: Column) -> Predicate:
        pattern = self.text("like needs a text in single quotes")
        if self.skip("escape"):
            return column.like(pattern, self.text("escape needs a text in single quotes"))
        return column.like(pattern)

    # -- columns and values

    def operand(self) -> Column | Literal:
        token = self.next
        if token.kind == "name":
            return self.column(token)
        if token.kind != "word" or token.word in ("true", "false", "null"):
            return self.literal()
        if token.word in TYPED and self.tokens[self.at + 1].kind == "text":
            return self.literal()
        return self.column(token)

    def column(self, token: Token) -> Column:
        name = self.name("a column or a value")
        path: list[Step] = []
        while True:
            if self.skip("."):
                path.append(self.name("the name of a field"))
            elif self.skip("["):
                key = self.literal()
                if not isinstance(key, str | int) or isinstance(key, bool):
                    self.fail("the key of a map is a text or an integer", token)
                path.append(key)
                self.expect("]", "after the key of a map")
            else:
                return Column(name, tuple(path))

    def name(self, wanted: str) -> str:
        token = self.next
        if token.kind == "name":
            quote = token.text[0]
            return self.take().text[1:-1].replace(quote * 2, quote)
        if token.kind != "word" or token.word in RESERVED:
            quoted = f": put the name {token} in backquotes" if token.word in RESERVED else ""
            self.fail(f"the filter needs {wanted}, not {str(token)!r}{quoted}", token)
        return self.take().text

    def text(self, wanted: str) -> str:
        if self.next.kind != "text":
            self.fail(f"{wanted}, not {str(self.next)!r}", self.next)
        return self.take().text[1:-1].replace("''", "'")

    def literal(self) -> Literal:
        token = self.next
        if token.kind == "text":
            return self.text("")
        try:
            if self.skip("-", "+"):
                if self.next.kind != "number":
                    self.fail(f"the filter needs a number after {token}, not {str(self.next)!r}", self.next)
                value = number(self.take().text)
                return _negated(value) if token.text == "-" else value
            if token.kind == "number":
                return number(self.take().text)
            if token.kind == "bytes":
                return bytes.fromhex(self.take().text[2:-1])
            if token.word in TYPED:
                return typed_literal(self.take().word, self.text(f"{token} needs a text in single quotes"))
        except PaimonError:
            raise
        except ValueError as error:
            self.fail(f"the filter has an invalid value: {error}", token)
        if token.word in ("true", "false"):
            return self.take().word == "true"
        if token.word == "null":
            self.fail("the filter compares with null, which is never true: use is null or is not null", token)
        quoted = " (text is in single quotes)" if token.kind == "name" else ""
        return self.fail(f"the filter needs a value, not {str(token)!r}{quoted}", token)


def _negated(value: int | float | Decimal) -> int | float | Decimal:
    return value.copy_negate() if isinstance(value, Decimal) else -value  # -value rounds to 28 digits
