"""A slow model of predicates: trees, the predicates that they stand for, and their truth for one row."""

import datetime as dt
import math
from decimal import Decimal

from paimon_core.predicate import col, parse_where
from paimon_core.schema import DataField
from paimon_core.types import parse_type

# Column: type, values of rows, literals (some of them between two values of the type).
COLUMNS = {
    "i": ("INT", [-1, 0, 1, 2], [-2, -1, 0, 1, 3]),
    "f": ("DOUBLE", [-1.0, -0.0, 0.0, 1.5, math.inf, math.nan], [-0.0, 0.0, 1.5, math.nan, 2.0]),
    "s": ("STRING", ["", "a", "ab", "b", "\U0001f600", "\uffff"], ["", "a", "aa", "abc", "\U0001f600"]),
    "b": ("BYTES", [b"", b"\x00", b"\x7f", b"\xff\xff"], [b"", b"\x7f", b"\x80", b"\xff"]),
    "d": ("DECIMAL(5, 2)", [Decimal("-1"), Decimal("0.01"), Decimal("1")], [Decimal("0.005"), Decimal("1"), 0]),
    "ts": (
        "TIMESTAMP(3)",
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999_000), dt.datetime(1970, 1, 1)],
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999_500), dt.datetime(1970, 1, 1)],
    ),
    "o": ("BOOLEAN", [False, True], [False, True]),
    "i8": ("TINYINT", [-1, 1, 127], [1, 127]),
    "f4": ("FLOAT", [-0.0, 1.5, math.inf, math.nan], [0.0, math.nan]),
    "d8": ("DECIMAL(20, 4)", [Decimal("0.0100"), Decimal("1"), Decimal("9e15")], [Decimal("0.01")]),
    "s9": ("VARCHAR(9)", ["a", "ab%", "a\nb", "_b"], ["a"]),
}
PATTERNS = ["", "%", "a", "a%", "%b", "%b%", "a_", "_", "__%", "a%b", "a!%", "!%", "!_b", "%!%", "\\%", "a.", "[ab]%"]
"""Patterns of LIKE with the escape character "!"."""
PAIRS = [
    ("i", "i8"),
    ("i", "d"),
    ("i", "f"),
    ("i8", "f4"),
    ("f", "f4"),
    ("d", "d8"),
    ("s", "s9"),
    ("s", "s"),
    ("o", "o"),
]
FIELDS = [DataField(at, name, parse_type(text)) for at, (name, (text, _, _)) in enumerate(COLUMNS.items())]
PARTS = ["startswith", "endswith", "contains"]


def order(value):
    """Sort key for the total order of floats: NaN last and equal to itself, zeros equal."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def compare(op, value, literal):
    if isinstance(value, float) or isinstance(literal, float):
        value, literal = float(value), float(literal)
    a, b = order(value), order(literal)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


BUILD = {
    "==": lambda c, v: c == v,
    "!=": lambda c, v: c != v,
    "<": lambda c, v: c < v,
    "<=": lambda c, v: c <= v,
    ">": lambda c, v: c > v,
    ">=": lambda c, v: c >= v,
}


def build(tree):
    match tree:
        case ("not", inner):
            return ~build(inner)
        case ("and", left, right):
            return build(left) & build(right)
        case ("or", left, right):
            return build(left) | build(right)
        case ("null", name, _):
            return col(name).is_null()
        case ("in", name, values):
            return col(name).is_in(values)
        case ("startswith" | "endswith" | "contains" as word, name, part):
            return getattr(col(name), word)(part)
        case ("like", name, pattern):
            return col(name).like(pattern, escape="!")
        case ("pair", op, left, right):
            return BUILD[op](col(left), col(right))
        case ("constant", value):
            return parse_where(str(value))
    op, name, value = tree
    return BUILD[op](col(name), value)


def evaluate(tree, row):
    """Return True, False or None (unknown)."""
    match tree:
        case ("not", inner):
            value = evaluate(inner, row)
            return None if value is None else not value
        case ("and", left, right):
            values = {evaluate(left, row), evaluate(right, row)}
            return False if False in values else None if None in values else True
        case ("or", left, right):
            values = {evaluate(left, row), evaluate(right, row)}
            return True if True in values else None if None in values else False
        case ("null", name, _):
            return row[name] is None
        case ("constant", value):
            return value
        case ("pair", op, left, right):
            values = row[left], row[right]
            return None if None in values else compare(op, *values)
    op, name, literal = tree
    value = row[name]
    if value is None:
        return None
    if op == "in":
        return any(compare("==", value, x) for x in literal)
    if op in PARTS:
        return literal in value if op == "contains" else getattr(value, op)(literal)
    if op == "like":
        return is_like(value, literal)
    return compare(op, value, literal)


def is_like(value, pattern):
    """Match the pattern recursively, character by character."""
    if not pattern:
        return not value
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(is_like(value[at:], rest) for at in range(len(value) + 1))
    if first == "!":
        first, rest = rest[0], rest[1:]
    elif first == "_":
        return value != "" and is_like(value[1:], rest)
    return value[:1] == first and is_like(value[1:], rest)
