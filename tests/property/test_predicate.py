"""Predicates against a slow evaluator of three-valued logic, and statistics that must never prune a matching row."""

import datetime as dt
import itertools
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.codec.binary_row import storage_values
from paimon_core.predicate import col
from paimon_core.schema import DataField
from paimon_core.types import parse_type

patient = settings(deadline=None, max_examples=60)
"""The first filter of a process loads Arrow's engine; single comparisons are tried exhaustively below."""

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
}
FIELDS = [DataField(at, name, parse_type(text)) for at, (name, (text, _, _)) in enumerate(COLUMNS.items())]


def order(value):
    """Sort key for the total order of floats: NaN last and equal to itself, zeros equal."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def compare(op, value, literal):
    a, b = order(value), order(float(literal) if isinstance(value, float) else literal)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


BUILD = {
    "==": lambda c, v: c == v,
    "!=": lambda c, v: c != v,
    "<": lambda c, v: c < v,
    "<=": lambda c, v: c <= v,
    ">": lambda c, v: c > v,
    ">=": lambda c, v: c >= v,
}


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(sorted(COLUMNS)))
    literals = st.sampled_from(COLUMNS[name][2])
    kinds = [*BUILD, "in", "null"] + ["starts"] * (name in "sb")
    kind = draw(st.sampled_from(kinds))
    if kind == "null":
        return (kind, name, None)
    return (kind, name, draw(st.lists(literals, max_size=3) if kind == "in" else literals))


def joined(inner):
    return st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
    )


FILTERS = st.recursive(comparisons(), joined, max_leaves=6)
ROWS = st.lists(
    st.fixed_dictionaries({n: st.none() | st.sampled_from(values) for n, (_, values, _) in COLUMNS.items()}), max_size=6
)


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
        case ("starts", name, prefix):
            return col(name).startswith(prefix)
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
    op, name, literal = tree
    value = row[name]
    if value is None:
        return None
    if op == "in":
        return any(compare("==", value, x) for x in literal)
    if op == "starts":
        return value.startswith(literal)
    return compare(op, value, literal)


def table_of(rows):
    return pa.table({f.name: pa.array([row[f.name] for row in rows], f.type.to_arrow()) for f in FIELDS})


def matching(bound, rows):
    numbered = table_of(rows).append_column("row", pa.array(range(len(rows)), pa.int64()))
    return numbered.filter(bound.to_arrow())["row"].to_pylist()


@patient
@given(FILTERS, ROWS)
def test_arrow_selects_what_three_valued_logic_selects(tree, rows):
    bound = build(tree).bind(FIELDS)
    assert matching(bound, rows) == [at for at, row in enumerate(rows) if evaluate(tree, row) is True]


@patient
@given(FILTERS, ROWS)
def test_a_filter_and_its_negation_share_no_row(tree, rows):
    where = build(tree)
    assert not set(matching(where.bind(FIELDS), rows)) & set(matching((~where).bind(FIELDS), rows))


def wider(value, up):
    """Return a bound as in truncated statistics: shorter, and for a maximum incremented."""
    if not isinstance(value, str | bytes) or len(value) < 2:
        return value
    if not up:
        return value[:1]
    last = value[0] if isinstance(value, bytes) else ord(value[0])
    if isinstance(value, bytes):
        return bytes([last + 1]) if last < 255 else None
    return chr(last + 1)


@patient
@given(FILTERS, ROWS, st.data())
def test_statistics_never_prune_a_matching_row(tree, rows, data):
    bound = build(tree).bind(FIELDS)
    stats = {}
    table = table_of(rows)
    for f in FIELDS:
        values = storage_values(table[f.name], f.type)
        known = [v for v in values if v is not None and v == v]  # as Parquet does, NaN does not count
        nulls = data.draw(st.sampled_from([values.count(None), None]))
        exact = data.draw(st.booleans())
        low, high = (min(known), max(known)) if known else (None, None)
        if not exact and known:
            low, high = wider(low, False), wider(high, True)
        if data.draw(st.integers(0, 4)):
            stats[f.name] = (low, high, nulls)
    if matching(bound, rows):
        assert bound.may_match(stats, len(rows))


@patient
@given(FILTERS, ROWS, st.sampled_from(sorted(COLUMNS)))
def test_equality_values_hold_every_value_of_a_matching_row(tree, rows, name):
    bound = build(tree).bind(FIELDS)
    allowed = bound.equality_values(name)
    field = next(f for f in FIELDS if f.name == name)
    values = storage_values(table_of(rows)[name], field.type)
    if allowed is not None:
        assert {values[at] for at in matching(bound, rows)} <= set(allowed)


@patient
@given(FILTERS, ROWS, st.sets(st.sampled_from(sorted(COLUMNS))))
def test_a_part_selects_all_that_the_whole_selects(tree, rows, columns):
    bound = build(tree).bind(FIELDS)
    part = bound.only(columns)
    if part is not None:
        assert part.columns <= columns
        assert set(matching(bound, rows)) <= set(matching(part, rows))


def every_comparison(name):
    """Yield each comparison of the column with each of its literals, and its negation."""
    _, _, literals = COLUMNS[name]
    trees = [(op, name, value) for op in BUILD for value in literals]
    trees += [("in", name, list(pair)) for pair in itertools.product(literals, repeat=2)]
    trees += [("in", name, []), ("null", name, None)]
    if name in "sb":
        trees += [("starts", name, value) for value in literals]
    return [*trees, *(("not", tree) for tree in trees)]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_comparison_on_every_value(name):
    rows = [{**dict.fromkeys(COLUMNS), name: value} for value in (None, *COLUMNS[name][1])]
    for tree in every_comparison(name):
        bound = build(tree).bind(FIELDS)
        assert matching(bound, rows) == [at for at, row in enumerate(rows) if evaluate(tree, row) is True], tree


@pytest.mark.parametrize("name", COLUMNS)
def test_every_comparison_on_the_statistics_of_every_two_values(name):
    field = next(f for f in FIELDS if f.name == name)
    stored = dict(zip(map(repr, COLUMNS[name][1]), stored_values(name, field), strict=True))
    for tree in every_comparison(name):
        bound = build(tree).bind(FIELDS)
        for values in itertools.product((None, *COLUMNS[name][1]), repeat=2):
            known = [stored[repr(v)] for v in values if v is not None and v == v]
            exact = (min(known, default=None), max(known, default=None), values.count(None))
            matches = any(evaluate(tree, {name: v}) is True for v in values)
            assert bound.may_match({name: exact}, 2) or not matches, (tree, values)


def stored_values(name, field):
    return storage_values(pa.array(COLUMNS[name][1], field.type.to_arrow()), field.type)
