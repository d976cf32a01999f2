"""Values of checks that do not fit their columns, found in the declaration or when a check runs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import yaml

from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from paimon_lake.checks.literals import accepted, bound
from paimon_lake.checks.problems import problems
from paimon_lake.declarations import TableSpec

COLUMNS = {
    "id": "BIGINT",
    "state": "VARCHAR(4)",
    "price": "DECIMAL(10, 2)",
    "share": "DOUBLE",
    "day": "DATE",
    "at": "TIMESTAMP(6)",
    "seen": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "opens": "TIME",
    "tags": "ARRAY<STRING>",
}


def field(name: str) -> DataField:
    return DataField(1, name, parse_type(COLUMNS[name]))


def declared(check: str, **more: Any) -> list[str]:
    table = {"name": "ods.orders", "columns": COLUMNS, "natural_key": "id", "checks": [yaml.safe_load(check)], **more}
    return problems(TableSpec.model_validate(table))


@pytest.mark.parametrize(
    ("column", "text", "rule"),
    [
        ("id", "5.0", "does not accept the float 5.0"),
        ("id", "'5'", "does not accept the str '5'"),
        ("id", "9223372036854775808", "is not from"),
        ("id", "[1]", "is not one value"),
        ("id", "~", "nulls are accepted anyway"),
        ("state", "no", "the bool False; YAML reads yes, no, on and off as booleans"),
        ("state", "2024", "the int 2024; write it in quotes"),
        ("state", "large", "'large' is longer than the type"),
        ("price", "1.005", "'1.005' has more digits than the type"),
        ("price", "cheap", "'cheap' is not a number"),
        ("price", ".inf", "is not a finite number"),
        ("price", "100000000", "is outside the range of the type"),
        ("share", "9007199254740993", "has no exact double"),
        ("share", "1e3", "write a number without quotes"),
        ("day", "2024-01-31 06:00:00", "has more digits than the type"),
        ("day", "yesterday", "is not a date such as"),
        ("at", "2024-01-31T06:00:00Z", "needs a time without offset"),
        ("seen", "2024-01-31 06:00:00", "needs an offset such as 'Z'"),
        ("seen", "2024-01-31", "needs an offset such as 'Z'"),
        ("opens", "12:30:00", "the int 45000; write it in quotes"),
        ("tags", "a", "only columns of single values can be compared"),
    ],
)
def test_a_value_that_no_row_can_have_is_refused(column: str, text: str, rule: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"column '{column}' is ") as error:
        accepted(yaml.safe_load(text), field(column))
    assert rule in str(error.value)
    assert declared(f"{{type: accepted_values, column: {column}, values: [{text}]}}") == [f"checks[0]: {error.value}"]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("id", "5"),
        ("state", "open"),
        ("price", "0.10"),
        ("price", "'12345678.90'"),
        ("share", "1"),
        ("share", ".nan"),
        ("day", "2024-01-31"),
        ("day", "'2024-01-31'"),
        ("at", "2024-01-31 06:00:00.5"),
        ("at", "2024-01-31"),
        ("seen", "2024-01-31T06:00:00+01:00"),
        ("opens", "'12:30:00'"),
    ],
)
def test_values_that_fit(column: str, text: str) -> None:
    accepted(yaml.safe_load(text), field(column))


def test_a_number_with_more_digits_than_a_double_keeps_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="write it in quotes"):
        accepted(yaml.safe_load("12345678.123456789"), DataField(1, "x", parse_type("DECIMAL(20, 9)")))


def test_a_bound_may_lie_between_two_values() -> None:
    assert bound(1.005, field("price")) == Decimal("1.005")
    with pytest.raises(SchemaMismatch, match="is not a bound"):
        bound(float("nan"), field("share"))


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ("{type: range, column: day, min: soon}", "column 'day' is DATE: 'soon' is not a date such as"),
        ("{type: freshness, column: state, max_hours: 2}", "freshness needs a date or timestamp column, and 'state'"),
        ("{type: unique, columns: [id, tags]}", "column 'tags' is ARRAY<STRING>, which unique cannot compare"),
        ("{type: sql, name: none, query: DROP TABLE x}", "query must begin with SELECT, WITH"),
        ("{type: row_count, name: a b}", "the name 'a b' must have only letters, digits and underscores"),
    ],
)
def test_checks_that_cannot_pass_or_run(check: str, problem: str) -> None:
    (found,) = declared(check)
    assert found.startswith(f"checks[0]: {problem}")


def test_columns_that_are_inferred_or_invalid_are_left_to_others() -> None:
    assert declared("{type: range, column: id, min: x}", columns={}, source={"type": "files", "path": "x/*.csv"}) == []
    assert declared("{type: range, column: id, min: x}", columns={"id": "HUGEINT"}) == []
    assert declared("{type: range, column: id, min: 1}") == []


def test_unique_without_any_key() -> None:
    source = {"type": "files", "path": "x/*.csv"}
    table = {"name": "ods.orders", "source": source, "checks": [{"type": "unique"}]}
    (found,) = problems(TableSpec.model_validate(table))
    assert found.startswith("checks[0]: unique needs columns")
