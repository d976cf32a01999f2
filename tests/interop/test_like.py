"""LIKE in Java and here, except where Java differs from SQL and from Spark.

Java's ``_`` matches no line break, and Java 1.4 takes an escape for a character in patterns without ``_``.
"""

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.predicate import col
from paimon_core.predicate.like import matches, normalized

VALUES = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "a.c",
    "a%c",
    "a_c",
    "a\\c",
    "%",
    "ba",
    "aXbXc",
    "é",
    "a\U0001f600c",
    "A",
    "a b",
    "^a$",
]
PATTERNS = [
    "", "%", "a", "a%", "%c", "%b%", "a_c", "_", "__", "%_", "a%b%c", "a\\%c", "a\\_c", "%\\%%", "a.c", "[ab]",
    "^a$", "%%", "(a", "a|b", "_%_%_", "_\\\\c", "_\\", "_\\b", "é%", "a__c",
]  # fmt: skip


def test_both_sides_match_the_same_values(oracle, warehouse):
    (out,) = oracle.run(warehouse, [{"op": "like", "patterns": PATTERNS, "values": VALUES}])
    for pattern, found in zip(PATTERNS, out["found"], strict=True):
        if found is None:
            with pytest.raises(InvalidRequest, match="escape"):
                col("s").like(pattern)
        else:
            assert [v for v in VALUES if matches(normalized(pattern, "\\"), v)] == found, pattern
