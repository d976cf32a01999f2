"""Names of tables in queries: which are found, and which only look like tables."""

from __future__ import annotations

import pytest

from paimon_lake.sources.table_names import is_query, named_tables


def tables(query: str) -> list[str]:
    for one in named_tables(query):
        text = query[one.start : one.end].replace("``", "'").replace("`", "").replace(" ", "")
        assert text == one.name.replace("`", "'")
    return [one.name for one in named_tables(query) if one.is_table]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT * FROM ods.orders", ["ods.orders"]),
        ("select o.id from ods.orders o join ods.customers as c on o.c = c.id", ["ods.orders", "ods.customers"]),
        ("SELECT * FROM ods.a, ods.b x, ods.c WHERE x.y IN (1, 2)", ["ods.a", "ods.b", "ods.c"]),
        ("SELECT * FROM (SELECT * FROM ods.a) s, ods.b", ["ods.a", "ods.b"]),
        ("SELECT * FROM (ods.a JOIN ods.b ON a.id = b.id)", ["ods.a", "ods.b"]),
        ("WITH x AS (SELECT * FROM ods.a) SELECT * FROM x LEFT ANTI JOIN ods.b ON x.id = b.id", ["ods.a", "ods.b"]),
        ("FROM ods.a SELECT id", ["ods.a"]),
        ("TABLE ods.a", ["ods.a"]),
        ("SELECT 1 FROM ods.a UNION ALL SELECT 2 FROM ods.b ORDER BY s.x, s.y", ["ods.a", "ods.b"]),
        ("SELECT * FROM ods.a WHERE id IN (SELECT a.id, b.x FROM ods.b, ods.c)", ["ods.a", "ods.b", "ods.c"]),
        ("SELECT * FROM `ods`.`or``ders`", ["ods.or`ders"]),
        ("SELECT * FROM ods . orders", ["ods.orders"]),
        ("SELECT * FROM spark_catalog.ods.orders", ["spark_catalog.ods.orders"]),
        ("SELECT * FROM `ods.orders`", []),
        ("SELECT * FROM orders", []),
        ("SELECT extract(day FROM o.at), trim('x' FROM o.name) FROM orders o", []),
        ("SELECT * FROM orders o WHERE o.a IS DISTINCT FROM o.b", []),
        ("SELECT * FROM range(1, 5), VALUES (1, 1.5), (2, .5) AS v(a, b)", []),
        ("SELECT * FROM lake.read(1)", []),
        ("SELECT o.a, o.b FROM orders o GROUP BY o.a, o.b HAVING o.a > 1.5", []),
        ("SELECT 'FROM ods.a', \"FROM ods.b\", r'\\', 'it''s \\' FROM ods.c' -- FROM ods.d", []),
        ("SELECT 1 /* FROM ods.a /* nested */ FROM ods.b */ FROM ods.c", ["ods.c"]),
        ("SELECT 1 -- it's\nFROM ods.c", ["ods.c"]),
        ("SELECT 1 /* never closed FROM ods.a", []),
        ("SELECT 'never closed FROM ods.a", ["ods.a"]),
        (")))", []),
        ("", []),
    ],
)
def test_tables_of_a_query(query: str, names: list[str]) -> None:
    assert tables(query) == names


@pytest.mark.parametrize(
    ("query", "is_free"),
    [
        ("SELECT * FROM ods.a", True),
        ("SELECT * FROM ods.a;", True),
        ("SELECT * FROM (SELECT * FROM ods.a)", True),
        ("SELECT * FROM ods.a WHERE 1 = 1", True),
        ("SELECT * FROM ods.a CROSS JOIN b", True),
        ("SELECT * FROM ods.a x", False),
        ("SELECT * FROM ods.a AS x", False),
        ("SELECT * FROM ods.a `x`", False),
        ("SELECT * FROM ods.a TABLESAMPLE (10 PERCENT)", False),
        ("TABLE ods.a", False),
    ],
)
def test_whether_a_table_takes_an_alias(query: str, is_free: bool) -> None:
    assert [one.takes_alias for one in named_tables(query)] == [is_free]


def test_columns_may_be_named_with_their_table() -> None:
    found = named_tables("SELECT ods.a.id, ods.b.*, x.y FROM ods.a")
    assert [(one.name, one.is_table) for one in found] == [("ods.a", False), ("ods.b", False), ("ods.a", True)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("-- a note\n SELECT 1", True),
        ("(SELECT 1)", True),
        ("WITH x AS (SELECT 1) SELECT insert(a, 1, 2, 'b') FROM x", True),
        ("INSERT INTO ods.a SELECT 1", False),
        ("FROM ods.a INSERT OVERWRITE DIRECTORY '/x' SELECT 1", False),
        ("DROP TABLE x", False),
        ("/* SELECT */", False),
    ],
)
def test_only_queries_are_queries(query: str, expected: bool) -> None:
    assert is_query(query) is expected
