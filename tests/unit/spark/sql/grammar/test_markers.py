"""Markers of parameters among the tokens of a statement."""

import pytest

from paimon_core.spark.sql.grammar.cursor import tokens_of


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("SELECT :a, ?, f(?) FROM t WHERE k=:k AND x >= : y", [":a", "?", "?", ":k", ":y"]),
        ("SELECT * FROM t VERSION AS OF :v LIMIT :n", [":v", ":n"]),
        ("CALL sys.f(table => :t, ?)", [":t", "?"]),
        ("VALUES (:a, :`b c`)", [":a", ":b c"]),
        ("SELECT ':a ?', \"?\", `a:b?` -- :c ?\n, /* ? */ 1", []),
        ("SELECT v:field, `v`:field, f(x):field, a[0]:field, x::int FROM t", []),
        ("CREATE TABLE t (s STRUCT<a: INT, date: DATE>, m MAP<STRING, STRUCT<of:INT>>)", []),
    ],
)
def test_markers_are_parameters_and_not_fields_or_texts(text, markers):
    assert [token.text for token in tokens_of(text) if token.kind == "parameter"] == markers
