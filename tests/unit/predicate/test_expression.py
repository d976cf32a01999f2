"""Computed values of updates and merges (resembles issue 29)."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core import Insert, Update, col, target
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.predicate.expression import Expression, fitted

ROWS = pa.table({"n": pa.array([1, None, 3], pa.int32()), "x": [0.5, 1.0, 2.0]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (col("n") + 1, [2, None, 4]),
        (1 - col("n"), [0, None, -2]),
        (col("n") * col("x"), [0.5, None, 6.0]),
        (col("n") / 2, [0.5, None, 1.5]),
        (6 / col("n"), [6.0, None, 2.0]),
        (-col("n") + 10, [9, None, 7]),
        ((col("x") + 1) * 2, [3.0, 4.0, 6.0]),
    ],
)
def test_values_are_computed_on_columns(value, expected):
    assert value(ROWS).to_pylist() == expected


@given(st.lists(st.integers(-1000, 1000), min_size=1), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_integers_are_computed_as_in_python(values, a, b):
    rows = pa.table({"n": pa.array(values, pa.int64())})
    assert ((col("n") - a) * b + col("n"))(rows).to_pylist() == [(v - a) * b + v for v in values]


def test_a_source_has_its_own_columns():
    source = pa.table({"n": [10, 20, 30]})
    assert (target("n") + col("n"))(ROWS, source).to_pylist() == [11, None, 33]


def test_times_are_moved():
    rows = pa.table({"at": pa.array([datetime.datetime(2024, 1, 31)], pa.timestamp("us"))})
    assert (col("at") + datetime.timedelta(days=1))(rows).to_pylist() == [datetime.datetime(2024, 2, 1)]


@pytest.mark.parametrize("value", ["x", None, True, [1], b"1"])
def test_other_operands_are_refused(value):
    with pytest.raises(InvalidRequest, match=r"cannot be an operand of '\+'"):
        col("n") + value


def test_an_expression_is_no_filter():
    with pytest.raises(InvalidRequest, match="cannot compare"):
        _ = col("n") + 1 > 2
    assert repr(col("n") * 2 + target("n")) == "((col('n') * 2) + target('n'))"


def test_decimals_are_rounded_half_up_and_whole_numbers_keep_no_fraction():
    kind = pa.decimal128(10, 2)
    values = pa.array([Decimal("1.005"), Decimal("-1.005"), None])
    assert fitted(values, kind).to_pylist() == [Decimal("1.01"), Decimal("-1.01"), None]
    assert fitted(pa.array([3.0]), pa.int32()).to_pylist() == [3]
    for wrong in (pa.array([0.5]), pa.array([2**40])):
        with pytest.raises(pa.ArrowInvalid):
            fitted(wrong, pa.int32())


@pytest.fixture(params=["id", ()], ids=["keyed", "append"])
def table(warehouse, request):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {"id": "BIGINT NOT NULL", "n": "INT", "d": "DECIMAL(10, 2)", "s": "STRING"}
    table = catalog.create_table("db.t", columns, primary_key=request.param)
    table.write([{"id": 1, "n": 1, "d": "1.15", "s": "a"}, {"id": 2, "n": None, "d": "2", "s": "b"}])
    return table


def content(table):
    return sorted(tuple(row.values()) for row in table.scan(["id", "n", "d"]).to_arrow().to_pylist())


def test_an_update_computes_from_the_old_row(table):
    table.update(col("id") > 0, {"n": col("id") + 1, "d": col("d") * Decimal("1.1")})
    assert content(table) == [(1, 2, Decimal("1.27")), (2, 3, Decimal("2.20"))]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (col("n") / 0, "divide by zero"),
        (col("n") / 3, "truncated"),
        (col("n") * 2**31, "not in range"),
        (col("nope") + 1, "no column 'nope'; the columns are id, n, d, s"),
        (col("s") + 1, "no kernel"),
        (col("s"), "does not accept string"),
    ],
)
def test_an_update_that_does_not_fit_changes_nothing(table, value, problem):
    with pytest.raises(SchemaMismatch, match=problem):
        table.update(col("id") == 1, {"n": value})
    assert table.latest_snapshot().id == 1


def test_a_merge_computes_from_both_rows(table):
    source = [{"id": 1, "n": 10}, {"id": 9, "n": 3}]
    insert = Insert({"id": col("id"), "n": col("n") * 2})
    table.merge(source, on=["id"], when_matched=Update({"n": target("n") + col("n")}), when_not_matched=insert)
    assert content(table) == [(1, 11, Decimal("1.15")), (2, None, Decimal("2.00")), (9, 6, None)]
    table.merge(source, on=["id"], when_matched=None, when_not_matched_by_source=Update({"n": target("id") * 100}))
    assert content(table)[1] == (2, 200, Decimal("2.00"))


def test_a_merge_names_what_a_value_lacks(table):
    source = [{"id": 1, "n": 10}]
    with pytest.raises(InvalidRequest, match="an Insert has no row of the table"):
        table.merge(source, on=["id"], when_not_matched=Insert({"id": col("id"), "n": target("n")}))
    with pytest.raises(SchemaMismatch, match=r"table db.t has no column 'z'"):
        table.merge(source, on=["id"], when_matched=Update({"n": target("z") + col("n")}))
    with pytest.raises(SchemaMismatch, match="the source has no column 'd'"):
        table.merge(source, on=["id"], when_matched=Update({"n": target("n") + col("d")}))
    with pytest.raises(InvalidRequest, match="cannot set source columns"):
        table.merge(source, on=["id"], when_not_matched_by_source=Update({"n": col("n") + 1}))
    assert table.latest_snapshot().id == 1


def test_an_expression_has_its_columns():
    value = col("a") + target("b") * 2
    assert isinstance(value, Expression)
    assert [(one.name, one.is_target) for one in value.references()] == [("a", False), ("b", True)]


def test_decimals_have_room_for_the_digits_of_a_result(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"id": "INT NOT NULL", "d": "DECIMAL(38, 2)", "p": "DECIMAL(10, 2)"})
    table.write([{"id": 1, "d": Decimal("1.25"), "p": Decimal("1.15")}, {"id": 2, "d": None, "p": None}])
    values = {"d": -(col("d") * 2 + 1), "p": col("p") * 2 * 3 * 4 * 5 / 3}
    table.update(col("id") > 0, values)
    assert table.scan(columns=["d", "p"]).to_arrow().to_pylist() == [
        {"d": Decimal("-3.50"), "p": Decimal("46.00")},
        {"d": None, "p": None},
    ]
    table.update(col("id") == 1, {"d": col("d") * col("id") + 2**70})
    found = table.scan(columns=["d"], where=col("id") == 1).to_arrow()["d"].to_pylist()
    assert found == [Decimal(2**70) - Decimal("3.50")]
    with pytest.raises(SchemaMismatch, match="column 'd' cannot be set to"):
        table.update(col("id") == 1, {"d": col("d") * 10**20})


def test_a_quotient_of_decimals_has_the_digits_of_its_column():
    rows = pa.table({"d": pa.array([Decimal("1.00")], pa.decimal128(10, 2))})
    found = fitted((col("d") / 3)(rows), pa.decimal128(20, 10))
    assert found.to_pylist() == [Decimal("0.3333333333")]


def test_dates_are_moved_by_whole_days():
    rows = pa.table({"d": pa.array([datetime.date(1969, 12, 31), None], pa.date32())})
    days = fitted((col("d") + datetime.timedelta(days=1))(rows), pa.date32())
    assert days.to_pylist() == [datetime.date(1970, 1, 1), None]
    with pytest.raises(pa.ArrowInvalid, match="move it by whole days"):
        fitted((col("d") + datetime.timedelta(hours=1))(rows), pa.date32())


@pytest.mark.parametrize("value", ["NaN", "Infinity"])
def test_decimals_without_digits_are_refused(value):
    with pytest.raises(InvalidRequest, match="decimals have no such value"):
        col("n") + Decimal(value)


def test_a_merge_computes_with_columns_that_only_the_source_has(table):
    source = pa.table({"id": pa.array([1], pa.int64()), "more": pa.array([5], pa.int32())})
    update = Update({"n": target("n") + col("more")})
    table.merge(source, ["id"], when_matched=update, when_not_matched=None)
    assert table.scan(columns=["n"], where=col("id") == 1).to_arrow()["n"].to_pylist() == [6]
