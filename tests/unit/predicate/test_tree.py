import datetime as dt
import json
import pickle
from decimal import Decimal

import numpy as np
import pytest

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.predicate import col, from_json, parse_where
from paimon_core.schema import DataField
from paimon_core.types import parse_type

FIELDS = [DataField(0, "a", parse_type("INT")), DataField(1, "b", parse_type("STRING"))]
A, B = col("a") == 1, col("b") == "x"


def test_the_text_of_a_predicate():
    where = (col("a") >= 1) & (col("a").is_in([1, 2]) | col("b").startswith("x")) & col("b").is_not_null()
    assert str(where) == "a >= 1 and (a in (1, 2) or startswith(b, 'x')) and b is not null"


def test_the_summary_shows_a_long_list_in_part():
    assert (col("a").is_in(range(100))).summary == "a in (0, 1, 2, 3, 4, 5, 6, 7, ... 100 values)"


def test_between_includes_both_ends():
    assert col("a").between(1, 3) == (col("a") >= 1) & (col("a") <= 3)


def test_not_moves_down_to_the_comparisons():
    negated = ~(A & ~B)
    assert negated == (col("a") != 1) | (col("b") == "x")
    assert ~~(A | B) == A | B
    assert ~col("a").is_in([1]) != col("a").is_in([1])


def test_joins_of_one_kind_are_one_level():
    assert (A & (B & A)).conjuncts() == (A, B, A)
    assert (A | B).conjuncts() == (A | B,)


def test_equal_trees_are_equal_and_hash_alike():
    assert len({A & B, (col("a") == 1) & (col("b") == "x"), B & A}) == 2


def test_columns_and_the_part_on_some_columns():
    where = A & B & ((col("c") == 1) | (col("a") == 2))
    assert where.columns == {"a", "b", "c"}
    assert where.only({"a", "b"}) == A & B
    assert where.only(["b"]) == B
    assert where.only(["c"]) is None


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: 1 < col("a") < 5,
        lambda: A and B,
        lambda: not A,
        lambda: 3 in [col("a")],
        lambda: col("a") == 1 & col("b") == 2,
        lambda: col("a") and A,
    ],
    ids=["chained", "and", "not", "in", "precedence", "bare column"],
)
def test_common_mistakes_are_refused(mistake):
    with pytest.raises(InvalidRequest, match=r"parentheses"):
        mistake()


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda: col("a") == None, "is_null"),  # noqa: E711
        (lambda: col("a").is_in([1, None]), "is_null"),
        (lambda: col("a").is_in("xyz"), "list"),
        (lambda: col("a").is_in([col("b")]), "column"),
        (lambda: col("a") == [1], "list"),
        (lambda: A & True, "bool"),
        (lambda: col(1), "str"),
        (lambda: parse_where(True), "predicate such as"),
        (lambda: parse_where(b"a = 1"), "predicate such as"),
    ],
)
def test_values_that_are_not_predicates_are_refused(mistake, says):
    with pytest.raises(InvalidRequest, match=says):
        mistake()


def test_where_is_none_or_a_predicate():
    assert parse_where(None) is None
    assert parse_where(A) is A


def test_an_unknown_column_is_named_with_the_known_ones():
    with pytest.raises(SchemaMismatch, match="'z'; the columns are a, b"):
        (A & (col("z") == 1)).bind(FIELDS)


EVERY_KIND = (
    (col("a") == True)  # noqa: E712
    & (col("a") != -(2**70))
    & (col("a") < 1.5)
    & (col("a") <= float("-inf"))
    & (col("a") > "ü")
    & (col("a") >= b"\x00\xff")
    & col("a").is_in([Decimal("1.50"), dt.date(2026, 5, 1), dt.time(1, 2, 3, 4)])
    & ~col("a").is_in([])
    & (col("a") == dt.datetime(2026, 5, 1, 1, 2, 3, 4, tzinfo=dt.UTC))
    & (~col("b").startswith("x") | col("b").is_null())
)


def test_json_and_back():
    assert from_json(json.loads(json.dumps(EVERY_KIND.to_json()))) == EVERY_KIND
    assert A.to_json() == {"op": "==", "column": "a", "values": [1]}


def test_json_keeps_nan():
    assert from_json(json.loads(json.dumps((col("a") > float("nan")).to_json()))).to_json() == {
        "op": ">",
        "column": "a",
        "values": [{"float": "nan"}],
    }


def test_it_pickles():
    assert pickle.loads(pickle.dumps(EVERY_KIND)) == EVERY_KIND  # noqa: S301


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"op": "=="},
        {"op": "and", "parts": []},
        {"op": "and", "parts": [1]},
        {"op": "xor", "parts": [A.to_json(), B.to_json()]},
        {"op": "==", "column": "a", "values": []},
        {"op": "==", "column": "a", "values": [1, 2]},
        {"op": "==", "column": "a", "values": [None]},
        {"op": "==", "column": "a", "values": [{"date": "soon"}]},
        {"op": "==", "column": "a", "values": [{"decimal": "x"}]},
        {"op": "==", "column": "a", "values": [{"bytes": "***"}]},
        {"op": "==", "column": 1, "values": [1]},
        {"op": "==", "column": "a", "values": [1], "more": 1},
        {"op": "is null", "column": "a", "values": [1]},
    ],
)
def test_other_json_is_refused(value):
    with pytest.raises(InvalidRequest):
        from_json(value)


def test_json_that_is_nested_too_deeply_is_refused():
    value = A.to_json()
    for _ in range(100_000):
        value = {"op": "and", "parts": [value]}
    with pytest.raises(InvalidRequest, match="deep"):
        from_json(value)


def test_numpy_scalars_are_literals():
    assert (col("a") == np.int64(3)) == (col("a") == 3)
    assert (col("a") == np.datetime64("2026-05-01", "D")) == (col("a") == "2026-05-01")
