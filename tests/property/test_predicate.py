"""Predicates against a slow evaluator of three-valued logic, and statistics that must never prune a matching row."""

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.codec.binary_row.rows import storage_values
from paimon_core.predicate import from_json, parse_where
from tests.support.examples import examples
from tests.support.predicate_model import BUILD, COLUMNS, FIELDS, PAIRS, PARTS, PATTERNS, build, evaluate

patient = settings(deadline=None, max_examples=examples(60))
"""The first filter of a process loads Arrow's engine; single comparisons are tried exhaustively below."""


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(sorted(COLUMNS)))
    literals = st.sampled_from(COLUMNS[name][2])
    kinds = [*BUILD, "in", "null", "pair", "constant"] + PARTS * (name in "sb") + ["like"] * (name in ("s", "s9"))
    kind = draw(st.sampled_from(kinds))
    if kind == "null":
        return (kind, name, None)
    if kind == "constant":
        return (kind, draw(st.booleans()))
    if kind == "pair":
        return (kind, draw(st.sampled_from(sorted(BUILD))), *draw(st.permutations(draw(st.sampled_from(PAIRS)))))
    if kind == "like":
        return (kind, name, draw(st.sampled_from(PATTERNS)))
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


def table_of(rows):
    return pa.table({f.name: pa.array([row[f.name] for row in rows], f.type.to_arrow()) for f in FIELDS})


def matching(bound, rows):
    table = table_of(rows)
    numbered = table.append_column("row", pa.array(range(len(rows)), pa.int64()))
    found = numbered.filter(bound.to_arrow())["row"].to_pylist()
    assert numbered.filter(bound.mask(table))["row"].to_pylist() == found
    return found


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
@given(FILTERS)
def test_text_and_json_are_read_back_as_the_same_predicate(tree):
    where = build(tree)
    assert repr(parse_where(str(where))) == repr(where)
    assert repr(parse_where(str(where), FIELDS)) == repr(where)
    assert repr(from_json(where.to_json())) == repr(where)


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
        trees += [(word, name, value) for value in literals for word in PARTS]
    if name in ("s", "s9"):
        trees += [("like", name, pattern) for pattern in PATTERNS]
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


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_pair_of_values_of_two_columns(pair):
    left, right = pair
    values = [[None, *COLUMNS[name][1]] for name in pair]
    rows = [{**dict.fromkeys(COLUMNS), left: a, right: b} for a, b in itertools.product(*values)]
    rows = [row for row in rows if left != right or row[left] == row[right]]
    for op in BUILD:
        for tree in (("pair", op, left, right), ("not", ("pair", op, left, right))):
            bound = build(tree).bind(FIELDS)
            wanted = [at for at, row in enumerate(rows) if evaluate(tree, row) is True]
            assert matching(bound, rows) == wanted, tree
            for at, row in enumerate(rows):
                fields = [f for f in FIELDS if f.name in pair]
                stored = {f.name: storage_values(table_of([row])[f.name], f.type)[0] for f in fields}
                stats = {name: (v, v, int(v is None)) for name, v in stored.items() if v == v}
                assert bound.may_match(stats, 1) or at not in wanted, (tree, row)


def stored_values(name, field):
    return storage_values(pa.array(COLUMNS[name][1], field.type.to_arrow()), field.type)
