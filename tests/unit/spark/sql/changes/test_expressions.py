"""Expressions of UPDATE and MERGE: each column is found in the target or in the source."""

import pytest

from paimon_core.errors import SqlError
from paimon_core.spark.sql.changes.expressions import Scope
from paimon_core.spark.sql.grammar.statements import Query

BOTH = Scope(["id", "Price", "s"], [("t",)], {"id": "id", "op": "op", "p q": "renamed"}, [("db", "x"), ("x",)])


def expression(text, scope=BOTH):
    return scope.expression(Query(f"ON {text}", 3, 3 + len(text)))


@pytest.mark.parametrize(
    ("text", "written", "target", "source"),
    [
        ("t.id = x.id", "target.`id` = source.`id`", {"id"}, {"id"}),
        ("concat(OP, 'op') || price", "concat(source.`op`, 'op') || target.`Price`", {"Price"}, {"op"}),
        ("t.s.f.g + db.x.`p q`", "target.`s`.f.g + source.`renamed`", {"s"}, {"renamed"}),
        ("transform(s, y -> y + y.z)", "transform(target.`s`, y -> y + y.z)", {"s"}, set()),
        ("DATE '2024-01-01'", "DATE '2024-01-01'", set(), set()),
    ],
)
def test_columns_are_written_with_their_side(text, written, target, source):
    found = expression(text)
    assert (found.text, found.target, found.source) == (written, target, source)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("1 + id", 8, "write the alias before it"),
        ("t.prise", 4, "there is no column t.prise; did you mean Price?"),
        ("nope", 4, "there is no column nope"),
        ("(SELECT 1)", 4, "a subquery is not possible here"),
        ("op IN (SELECT 1)", 4, "a subquery is not possible here"),
        ("max(op)", 4, "in the source of a MERGE INTO"),
        ("op AS o", 4, "without an alias"),
        ("op +", 7, "not understood"),
    ],
)
def test_what_is_no_value_of_known_columns_is_refused(text, column, problem):
    with pytest.raises(SqlError) as error:
        expression(text)
    assert problem in str(error.value)
    assert error.value.facts["column"] == column


def test_a_name_without_position_is_refused():
    named = Scope(["true"], [("t",)])
    assert expression("t.`true` + 1", named).text == "target.`true` + 1"
    with pytest.raises(SqlError, match="not understood: write the names of columns in backticks") as error:
        expression("1 + t.true", named)
    assert error.value.facts["column"] == 8


def test_a_row_that_is_not_matched_has_only_the_source():
    inserted = Scope(BOTH.target, BOTH.target_names, BOTH.source, BOTH.source_names, "no columns of the target")
    assert expression("id", inserted).text == "source.`id`"
    with pytest.raises(SqlError, match="no columns of the target"):
        expression("t.id", inserted)
