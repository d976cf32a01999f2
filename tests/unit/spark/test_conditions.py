"""Conditions of Spark SQL: a part becomes a predicate only where this library and Spark agree."""

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.schema import new_schema
from paimon_core.spark.row_changes import conditions

SCHEMA = pa.schema(
    [("i", pa.int32()), ("s", pa.string()), ("f", pa.float64()), ("d", pa.decimal128(5, 2)), ("day", pa.date32())]
)
FIELDS = new_schema(SCHEMA).fields
CASES = {
    "i = 5": "i = 5",
    "target.i >= 5 AND s IN ('a', 'b')": "i >= 5 and s in ('a', 'b')",
    "i = 1 OR s = 'x'": "i = 1 or s = 'x'",
    "f IS NULL": "f is null",
    "i = 5 AND f > 1": "i = 5",
    "f > 1": None,
    "d = 1.005": None,
    "i = 1.5": None,
    "s = 'it''s' AND i = 1": None,
    r"s = 'a\n'": None,
    's = "a"': None,
    "day > '2026-01-01'": None,
    "I = 5": None,
    "s LIKE 'a%'": None,
    "source.i = 5": None,
    "i = 5 OR f > 1": None,
}
WHOLE = ("i = 5", "target.i >= 5 AND s IN ('a', 'b')", "i = 1 OR s = 'x'", "f IS NULL")
"""Texts that are predicates as a whole."""


@pytest.mark.parametrize("text", CASES)
def test_parts(monkeypatch, text):
    monkeypatch.setattr(conditions.F, "expr", lambda left: left)
    found = conditions.Condition.of(text, FIELDS)
    predicate = CASES[text]
    assert found.predicate == (predicate and conditions.parse_where(predicate, FIELDS))
    assert found.column == (None if text in WHOLE else text), "Spark evaluates the text as it was written"


def test_text_that_is_not_sql():
    with pytest.raises(InvalidRequest, match="is not Spark SQL"):
        conditions.Condition.of("i = = 5", FIELDS)
