"""Values of parameters: which are missing, extra, or no values of Spark."""

import datetime
from decimal import Decimal

import pytest

from paimon_core.errors import InvalidRequest, SqlError
from paimon_core.spark.sql.parameters import bound_parameters


@pytest.mark.parametrize(
    ("text", "args", "column", "problem"),
    [
        ("SELECT :key", None, 8, r"the parameter :key has no value: pass args=\{'key': ...\}"),
        ("SELECT :key", {"kay": 1}, 8, "the parameter :key has no value: args has kay"),
        ("SELECT :key", {"key": 1, "b": 2}, 1, "args has a value for 'b', and the statement has no parameter :b"),
        ("SELECT 1", {"b": 2}, 1, "has no parameter :b"),
        ("SELECT :a", [1], 8, "the parameter :a has a name: args is a dict"),
        ("SELECT ?", {"a": 1}, 8, r"the parameter \? has no value: pass a list"),
        ("SELECT ?", None, 8, r"the parameter \? has no value: pass a list"),
        ("SELECT ?,\n ?", [1], 2, r"the parameter \? number 2 has no value: args has 1"),
        ("SELECT ?", [1, 2], 1, r"args has 2 values, and the statement has 1 parameters \?"),
        ("SELECT ?, :a", [1], 11, r"parameters of both kinds, :a and \?"),
    ],
)
def test_missing_and_extra_values_are_named(text, args, column, problem):
    with pytest.raises(SqlError, match=problem) as raised:
        bound_parameters(text, args)
    assert raised.value.facts["column"] == column


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"x": 1}, "is a dict, .* use create_map or struct"),
        ((1, 2), "is a tuple, .* use a list, or struct"),
        ({1}, "is a set"),
        (1 << 63, "is not within 64 bits: pass a Decimal"),
        ([1, None], "has a null, .* array_append"),
        ([[1], [2, {3}]], r"args\['a'\]\[1\]\[1\] is a set"),
        (object(), "is a object, which is no value of Spark"),
        (Decimal("NaN"), "is no decimal number of Spark: pass a float"),
    ],
)
def test_values_that_spark_has_no_literal_for_are_refused(value, problem):
    with pytest.raises(InvalidRequest, match=problem) as raised:
        bound_parameters("SELECT :a", {"a": value})
    assert str(raised.value).startswith("args['a']")


@pytest.mark.parametrize("args", ["x", 5, {1}])
def test_args_is_a_dict_or_a_list(args):
    with pytest.raises(InvalidRequest, match="args is a dict for parameters such as :name, or a list"):
        bound_parameters("SELECT 1", args)


def test_positions_have_the_values():
    day = datetime.date(2026, 1, 31)
    found = bound_parameters("SELECT :a, :b, :a", {"a": None, "b": [day]})
    assert found.values == {7: None, 11: [day], 15: None}
    assert found.within(11, 16) == [11, 15]
    assert bound_parameters("SELECT 1", []).values == bound_parameters("SELECT 1", {}).values == {}
