import datetime as dt
import math
from decimal import Decimal
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.predicate import col, from_arrow, parse_where
from paimon_core.schema import DataField
from paimon_core.types import parse_type

A, S = pc.field("a"), pc.field("s")
ROWS = pa.table(
    {
        "a": pa.array([1, 2, 3, None, 5], pa.int32()),
        "b": pa.array([1, 1, None, 4, 6], pa.int64()),
        "s": ["abc", "b%", None, "a\nb", ""],
        "r": [{"x": 1}, {"x": None}, None, {"x": 2}, {"x": 3}],
        "o": [True, False, None, True, False],
        "f": [1.0, None, 0.0, 2.0, 3.0],
    }
)
TYPES = {"a": "INT", "b": "BIGINT", "s": "STRING", "r": "ROW<x BIGINT>", "o": "BOOLEAN", "f": "DOUBLE"}
FIELDS = [DataField(at, name, parse_type(text)) for at, (name, text) in enumerate(TYPES.items())]

EXPRESSIONS = [
    A > 2,
    pc.scalar(2) < A,
    (A > 1) & (S != "abc") | (A == 5),
    ~((A > 1) & ~(S == "abc")),
    pc.field("b") > A,
    A.isin([1, 5]),
    ~A.isin([1, 5]),
    A.isin([1, None]),
    ~A.isin([1, None]),
    ~(A.isin([1, None]) | (A == 2)),
    ~pc.is_in(A, value_set=pa.array([1, None]), skip_nulls=True),
    A.isin([]),
    A.is_null(),
    ~A.is_null(),
    A.is_valid(),
    pc.field("f").is_null(nan_is_null=True),
    pc.field("f").is_nan() | (pc.field("f") > 1),
    pc.starts_with(S, "a"),
    ~pc.ends_with(S, "c"),
    pc.match_substring(S, "b"),
    pc.match_like(S, "_b%"),
    pc.match_like(S, r"b\%"),
    pc.field("r", "x") >= 2,
    pc.field("o"),
    ~pc.field("o"),
    pc.scalar(True) & (A > 1),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_the_predicate_selects_the_rows_of_the_expression(expression):
    bound = parse_where(expression, FIELDS).bind(FIELDS)
    assert ROWS.filter(bound.mask(ROWS)) == ROWS.filter(expression)
    assert ROWS.filter(bound.to_arrow()) == ROWS.filter(expression)


@pytest.mark.parametrize(
    ("scalar", "literal"),
    [
        (pa.scalar(1.5), 1.5),
        (pa.scalar(b"\x00'"), b"\x00'"),
        (pa.scalar("it's"), "it's"),
        (pa.scalar(Decimal("1.50"), pa.decimal128(9, 2)), Decimal("1.50")),
        (pa.scalar(dt.date(2026, 5, 1)), dt.date(2026, 5, 1)),
        (pa.scalar(dt.time(1, 2, 3)), dt.time(1, 2, 3)),
        (pa.scalar(dt.datetime(2026, 5, 1, 1)), dt.datetime(2026, 5, 1, 1)),
        (pa.scalar(1, pa.timestamp("us", "UTC")), dt.datetime(1970, 1, 1, microsecond=1, tzinfo=dt.UTC)),
        (pa.scalar(1, pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
    ],
    ids=str,
)
def test_literals(scalar, literal):
    assert repr(from_arrow(scalar == A)) == repr(col("a") == literal)


def test_names_are_taken_literally():
    assert from_arrow(pc.field("a' or 1=1; `.b") == 1) == (col("a' or 1=1; `.b") == 1)
    assert from_arrow(pc.field("a", "b.c") == 1) == (col("a", "b.c") == 1)
    with pytest.raises(SchemaMismatch, match="'z'"):
        from_arrow(pc.field("z") == 1, ROWS.schema)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (A.cast("int64") > 1, "cast"),
        (A + 1 > 1, "add"),
        (pc.utf8_lower(S) == "x", "utf8_lower"),
        (pc.match_substring_regex(S, "x"), "match_substring_regex"),
        (pc.starts_with(S, "a", ignore_case=True), "starts_with"),
        (pc.struct_field(pc.field("r"), "x") == 1, "struct_field"),
        (pc.field(0) == 1, "non-name"),
        (pc.scalar(5), "literal 5"),
        (pc.scalar(1) == pc.scalar(1), "equal of a literal"),
        (pc.xor(pc.field("o"), pc.field("o")), "xor"),
        (pc.coalesce(A, A, A) == 1, "coalesce"),
        (pc.Expression._call("or", [A == 1, pc.field("o")]), "or"),  # null where one side is null: not Kleene's or
        (pc.Expression._call("and", [A == 1, pc.field("o")]), "and"),
    ],
    ids=str,
)
def test_what_a_predicate_cannot_state_is_refused_by_name(expression, says):
    with pytest.raises(UnsupportedFeature, match=says):
        from_arrow(expression)


def test_a_comparison_with_null_is_refused():
    with pytest.raises(InvalidRequest, match="is_null"):
        from_arrow(pa.scalar(None) == A)


def test_nan_has_the_order_of_predicates():
    assert str(from_arrow(pc.field("f") > math.nan)) == "f > double 'nan'"


def test_long_and_deep_expressions():
    assert from_arrow(reduce(or_, [i == A for i in range(2000)])).comparisons == 2000
    with pytest.raises(InvalidRequest, match="levels"):
        from_arrow(reduce(lambda made, i: ~(made & (i == A)), range(2000), A == 0))


@pytest.mark.long
def test_100_000_nested_calls_do_not_end_the_process():
    with pytest.raises(InvalidRequest, match="calls"):
        from_arrow(reduce(or_, [i == A for i in range(100_000)]))
