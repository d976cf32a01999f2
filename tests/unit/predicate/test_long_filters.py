"""Filters of many parts work or are refused. A filter that could crash runs in a process of its own."""

import pickle
import subprocess
import sys
from functools import reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.predicate import Predicate, col, from_json
from paimon_core.predicate.bound import BoundTest, Op
from paimon_core.schema import DataField
from paimon_core.types import parse_type

FIELDS = [DataField(0, "a", parse_type("BIGINT")), DataField(1, "b", parse_type("BIGINT"))]
ROWS = pa.table({"a": pa.array([0, 1, 9999, 10000, None]), "b": pa.array([5, None, 5, 5, 5])})
A, B = col("a"), col("b")


def selected(where: Predicate) -> list[int]:
    mask = where.bind(FIELDS).to_arrow()
    return ROWS.append_column("n", pa.array(range(5))).filter(mask)["n"].to_pylist()


FILTERS = {
    "or": (lambda: reduce(or_, (i == A for i in range(10_000))), [0, 1, 2]),
    "and": (lambda: reduce(and_, (i != A for i in range(10_000))), [3]),
    "not": (lambda: ~reduce(or_, (i == A for i in range(10_000))), [3]),
    "mixed": (lambda: reduce(or_, ((i == A) & (B == 5) for i in range(8000))), [0]),
    "ranges": (lambda: reduce(and_, (i <= A for i in range(9999))), [2, 3]),
    "is_in": (lambda: A.is_in(range(100_000)), [0, 1, 2, 3]),
    "is_in twice": (lambda: A.is_in(range(100_000)) & A.is_in(range(1, 200_000)), [1, 2, 3]),
}


def test_an_equality_joined_with_an_empty_is_in():
    assert selected(A.is_in([]) | (A == 1)) == [1]
    assert selected((A == 1) | A.is_in([])) == [1]
    assert selected(~A.is_in([]) & (A != 1)) == [0, 2, 3]


@pytest.mark.parametrize("name", FILTERS)
def test_a_long_filter_selects_its_rows(name):
    build, rows = FILTERS[name]
    where = build()
    assert selected(where) == rows
    assert ~~where == where
    assert hash(~~where) == hash(where)
    assert from_json(where.to_json()) == where
    assert pickle.loads(pickle.dumps(where)) == where  # noqa: S301
    assert repr(where)
    assert str(where)


@pytest.mark.programs
def test_a_filter_of_many_tests_does_not_end_the_process():
    code = """
import pyarrow as pa
from paimon_core.predicate.bound import BoundOr, BoundTest, Op
from paimon_core.schema import DataField
from paimon_core.types import parse_type

field = DataField(0, "a", parse_type("BIGINT"))
where = BoundOr(tuple(BoundTest(Op.EQ, field, (i,)) for i in range(20_000)))
print(pa.table({"a": [1, 20_000]}).filter(where.to_arrow()).num_rows)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_equalities_of_a_column_become_one_test():
    where = ((A == 2) | (B > 1) | A.is_in([3, 1])).bind(FIELDS)
    assert where.parts[0] == BoundTest(Op.IN, FIELDS[0], (1, 2, 3))
    assert ((A != 2) & ~A.is_in([3, 1])).bind(FIELDS) == BoundTest(Op.NOT_IN, FIELDS[0], (1, 2, 3))
    assert len(((A == 2) & (A == 3)).bind(FIELDS).conjuncts()) == 2


def test_more_comparisons_than_the_limit_are_refused():
    with pytest.raises(InvalidRequest, match="16385 comparisons, the limit is 16384"):
        reduce(or_, (i == A for i in range(100_000)))
    whole = {"op": "or", "parts": [(A == 1).to_json()] * 16385}
    with pytest.raises(InvalidRequest, match="the limit is 16384"):
        from_json(whole)


def test_deeper_filters_than_the_limit_are_refused():
    def nested(levels: int) -> Predicate:
        where = A == 0
        for level in range(levels):
            where = where | (level == B) if level % 2 else where & (level < B)
        return where

    assert nested(32).depth == 32
    assert isinstance(nested(32).bind(FIELDS).to_arrow(), pc.Expression)
    with pytest.raises(InvalidRequest, match=r"33 levels .*, the limit is 32"):
        nested(33)
