"""WITH before INSERT, UPDATE, DELETE and MERGE INTO."""

import pytest

from paimon_core.spark.sql.grammar.parse import parse
from paimon_core.spark.sql.grammar.statements import Delete, Insert, Merge, Select, Update

WITH = "WITH c AS (SELECT ')' AS a), `D d`(x) AS (SELECT (1))"


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT * FROM c", "SELECT * FROM c"),
        ("(SELECT * FROM c)", "(SELECT * FROM c)"),
        ("WITH e AS (SELECT 1) SELECT * FROM e", "(WITH e AS (SELECT 1) SELECT * FROM e)"),
        ("VALUES (DEFAULT, 1)", "SELECT * FROM VALUES (NULL   , 1)"),
        ("TABLE c", "SELECT * FROM       c"),
    ],
)
def test_the_query_of_an_insert_gets_the_clause_and_keeps_its_positions(query, read):
    text = f"{WITH} INSERT INTO t {query}"
    found = parse(text)
    assert isinstance(found, Insert)
    assert found.query.text == text
    written = found.query.written
    assert written.startswith(WITH)
    assert written[len(WITH) :].strip() == read
    assert written.rindex(query[-1]) == text.rindex(query[-1])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("UPDATE t SET a = (SELECT max(a) FROM c)", Update),
        ("DELETE FROM t WHERE a IN (SELECT a FROM c)", Delete),
        ("MERGE INTO t USING c ON t.a = c.a WHEN MATCHED THEN DELETE", Merge),
    ],
)
def test_other_changes_get_a_query_for_each_name(text, kind):
    found = parse(f"{WITH} {text}")
    assert isinstance(found, kind)
    assert {name: query.written for name, query in found.ctes.items()} == {
        "c": f"{WITH} SELECT * FROM `c`",
        "d d": f"{WITH} SELECT * FROM `D d`",
    }


@pytest.mark.parametrize("text", [f"{WITH} SELECT * FROM c", "WITH RECURSIVE r(n) AS (SELECT 1) SELECT n FROM r"])
def test_with_before_a_query_stays_a_query(text):
    found = parse(text)
    assert isinstance(found, Select)
    assert found.query.written == text


def test_recursive_queries_may_have_a_limit():
    text = "WITH RECURSIVE r(n) MAX RECURSION LEVEL 5 AS (SELECT 1) INSERT INTO t SELECT n FROM r"
    found = parse(text)
    assert isinstance(found, Insert)
    assert found.query.written.startswith("WITH RECURSIVE r(n) MAX RECURSION LEVEL 5 AS (SELECT 1)")
