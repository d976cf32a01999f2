"""Queries with Spark Connect: the text that Spark gets, and the positions of its errors."""

import pytest
from pyspark.errors import AnalysisException, PySparkAttributeError

from paimon_core.errors import SqlError
from paimon_core.spark.sql.grammar.statements import Query
from paimon_core.spark.sql.queries import _Edit, _run
from paimon_core.spark.sql.references import parse_query

VIEW = "_pyspark_connect_temp_view_" + "a" * 32


class Connect:
    """A session that formats texts as the client of Spark Connect does, and refuses the word ``nope``."""

    @property
    def sparkContext(self):
        raise PySparkAttributeError(errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "x"})

    def sql(self, text, **arguments):
        text = text.format(**dict.fromkeys(arguments, VIEW)) if arguments else text
        if "nope" in text:
            raise AnalysisException(f"no nope; SQLSTATE: 42703; line 1 pos {text.index('nope')}")
        return text


def run(text):
    query = Query(text, 0, len(text))
    parsed = parse_query(query)
    edits = [_Edit(r.start, r.end, f" AS `{r.alias}`" if r.alias else "", object()) for r in parsed.references]
    return _run(Connect(), query, parsed, edits, "")


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("VALUES ('{x}')", "VALUES ('{x}')"),
        ("SELECT '{x}' FROM t WHERE v = '{y}'", f"SELECT '{{x}}' FROM {VIEW} AS `t` WHERE v = '{{y}}'"),
        ("SELECT 1 FROM `a{b}`", f"SELECT 1 FROM {VIEW} AS `a{{b}}`"),
    ],
)
def test_braces_stay_as_they_are(text, sent):
    assert run(text) == sent


@pytest.mark.parametrize(
    "text", ["SELECT nope FROM t", "SELECT '{x}' FROM t JOIN db.u AS u ON t.a = u.a WHERE nope = 1"]
)
def test_errors_have_the_position_in_the_statement(text):
    with pytest.raises(SqlError) as error:
        run(text)
    assert error.value.facts["column"] == text.index("nope") + 1
