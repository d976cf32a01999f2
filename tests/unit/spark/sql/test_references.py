"""The tables of a query, and the columns and conditions that their reads can take."""

import pytest

from paimon_core.errors import SqlError
from paimon_core.spark.sql.grammar.parse import parse
from paimon_core.spark.sql.references import parse_query


def references(text):
    return {".".join(r.name.parts): r for r in parse_query(parse(text).query).references}


def conditions(text, name):
    return [c.sql("spark") for c in references(text)[name].conditions]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM a, db.b JOIN `c d` USING (x)", ["a", "c d", "db.b"]),
        ("SELECT * FROM (SELECT * FROM a WHERE x IN (SELECT y FROM b)) q", ["a", "b"]),
        ("WITH a AS (SELECT * FROM a), b AS (SELECT * FROM a) SELECT * FROM b", ["a"]),
        ("WITH a AS (SELECT 1) SELECT * FROM a UNION ALL SELECT * FROM db.a", ["db.a"]),
        ("WITH b AS (SELECT * FROM c), c AS (SELECT 1) SELECT * FROM b, c", ["c"]),
        ("WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r", []),
        ("SELECT * FROM range(3), VALUES (1) AS v(x)", []),
        ("TABLE db.t", ["db.t"]),
        ("FROM a SELECT x", ["a"]),
    ],
)
def test_names_are_tables_unless_a_cte_or_a_function_has_them(text, names):
    assert sorted(references(text)) == names


def test_versions_are_part_of_the_reference():
    text = "SELECT * FROM db.t VERSION AS OF 3 x, u FOR VERSION AS OF 'tag' AS y, v TIMESTAMP AS OF '2024-01-01' z"
    found = references(text)
    assert [found[n].version for n in ("db.t", "u", "v")] == [3, "tag", None]
    assert found["v"].time == "2024-01-01"
    assert text[found["u"].start : found["u"].end] == "u FOR VERSION AS OF 'tag'"
    assert [r.alias for r in found.values()] == [None] * 3
    with pytest.raises(SqlError, match="needs an id or a tag, at line 1, column 31"):
        references("SELECT * FROM t VERSION AS OF current_date()")
    for kind, need in (("VERSION", "an id or a tag"), ("TIMESTAMP", "a time as text")):
        with pytest.raises(SqlError, match=f"needs {need}"):  # Python does not read so many digits
            references(f"SELECT * FROM t {kind} AS OF {'9' * 5000}")


def test_a_table_without_alias_keeps_its_name():
    parsed = parse_query(parse("SELECT db.t.a, t.b, s.c FROM db.t").query)
    assert parsed.references[0].alias == "t"
    assert parsed.renames == ((7, 11, "t"),)


def test_columns_are_the_words_of_the_query_unless_a_star_or_a_natural_join_names_them():
    assert references("SELECT A, count(*) FROM t WHERE b = 1")["t"].words >= {"a", "b"}
    assert references("SELECT t.* FROM t, u")["t"].words is None
    assert references("SELECT struct(*) FROM t")["t"].words is None
    assert references("SELECT a FROM t NATURAL JOIN u")["u"].words is None
    assert [r.words for r in references("FROM t NATURAL JOIN u SELECT a").values()] == [None, None]
    assert [r.words for r in references("SELECT a FROM s JOIN t NATURAL JOIN u ON s.x = t.x").values()] == [None] * 3
    assert references('SELECT "a" FROM t')["t"].words >= {"a"}  # a name with doubleQuotedIdentifiers
    assert references("SELECT * FROM (SELECT a FROM t)")["t"].words is not None
    assert references("SELECT a FROM t PIVOT (sum(x) FOR k IN (1))")["t"].words is None


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("SELECT 1 FROM a JOIN b ON a.x = b.x WHERE a.y = 1 AND b.z = 2", 2, 2),
        ("SELECT 1 FROM a, b WHERE a.y = 1", 1, 1),
        ("SELECT 1 FROM a LEFT JOIN b ON a.x = b.x WHERE a.y = 1", 1, 0),
        ("SELECT 1 FROM a LEFT ANTI JOIN b ON a.x = b.x WHERE a.y = 1", 1, 0),
        ("SELECT 1 FROM a RIGHT JOIN b ON a.x = b.x WHERE a.y = 1", 0, 0),
        ("SELECT 1 FROM a FULL JOIN b ON a.x = b.x WHERE a.y = 1", 0, 0),
        ("SELECT 1 FROM a JOIN b ON a.x = b.x FULL JOIN c ON a.x = c.x WHERE a.y = 1", 0, 0),
        ("SELECT 1 FROM a JOIN b ON a.x = b.x GROUP BY 1 HAVING sum(a.y) = 1", 0, 0),
        ("FROM a JOIN b ON a.x = b.x |> WHERE a.y = 1 |> SELECT 1", 0, 0),
        ("FROM a RIGHT JOIN b ON a.x = b.x SELECT 1 WHERE a.y = 1", 0, 0),
        ("SELECT 1 FROM c JOIN a RIGHT JOIN b ON a.x = b.x ON c.x = a.x WHERE a.y IS NULL", 0, 0),
        ("SELECT 1 FROM a JOIN c LEFT JOIN b ON c.x = b.x ON c.x = a.x WHERE a.y = 1", 0, 0),
    ],
)
def test_conditions_pass_joins_only_where_the_result_is_the_same(text, left, right):
    assert (len(conditions(text, "a")), len(conditions(text, "b"))) == (left, right)


def test_conditions_stay_above_samples_and_pivots():
    assert conditions("SELECT x FROM a TABLESAMPLE (10 ROWS) s WHERE x = 1", "a") == []
    assert conditions("SELECT x FROM a, a WHERE a.x = 1", "a") == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SELECT 'it\\'s' FROM a WHERE x = 'b'", 1),
        (r"SELECT 1 FROM a WHERE x = 'a\\b' AND y = 1", 1),
        ('SELECT 1 FROM a WHERE x = "y"', 0),
        ("SELECT 1 FROM a WHERE x IN ('b', '')", 0),
        ("SELECT 1 FROM a WHERE x = 'b' -- note\\\n AND y = 1", 0),
        ("SELECT 1 /* note */ FROM a WHERE x = 'b -- c'", 0),
        ("SELECT 1 /* note */ FROM a WHERE x = 'b'", 1),
    ],
)
def test_conditions_with_texts_that_spark_may_read_in_another_way_are_left_to_spark(text, count):
    assert len(conditions(text, "a")) == count


@pytest.mark.parametrize(
    "text",
    [
        "SELECT c FROM a AS x(c, d, e) WHERE x.d = 1",
        "SELECT c FROM a VERSION AS OF 1 x(c, d, e) WHERE d = 1",
        "SELECT m, t FROM a JOIN b USING (id) PIVOT (sum(price) FOR day IN ('m' m, 't' t)) WHERE a.d = 1",
        "SELECT m, t FROM a, b PIVOT (sum(price) FOR day IN ('m' m, 't' t)) WHERE a.d = 1",
        "SELECT v FROM a UNPIVOT (v FOR k IN (d, e)) WHERE a.d = 1",
        "SELECT e FROM a LATERAL VIEW explode(arr) x AS e WHERE a.d = 1",
        "SELECT e FROM a, LATERAL explode(arr) x WHERE a.d = 1",
    ],
)
def test_a_table_whose_columns_get_other_names_is_read_whole(text):
    found = references(text)["a"]
    assert (found.words, found.conditions) == (None, ())


def test_functions_that_read_changes():
    text = "SELECT * FROM paimon_incremental_query('db.t', 1, '3') c"
    (found,) = parse_query(parse(text).query).references
    assert (found.function, found.arguments) == ("paimon_incremental_query", ("db.t", 1, "3"))
    assert text[found.start : found.end] == "paimon_incremental_query('db.t', 1, '3')"


def test_positions_are_those_of_the_statement():
    with pytest.raises(SqlError) as error:
        parse_query(parse("INSERT INTO t\nSELECT (a\nFROM u").query)
    assert (error.value.facts["line"], error.value.facts["column"]) == (3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM (^TABLE u)",
        "WITH c AS (^TABLE db.u) SELECT * FROM c",
        "SELECT 1 UNION ALL ^TABLE u",
        "SELECT k FROM u EXCEPT ^TABLE `u`",
        "SELECT k FROM u WHERE k IN (^TABLE u)",
    ],
)
def test_table_inside_of_a_query_is_refused_with_its_position(text):
    with pytest.raises(SqlError, match="TABLE inside of a query is not supported") as refused:
        parse_query(parse(text.replace("^", "")).query)
    assert refused.value.facts["column"] == text.index("^") + 1


def test_a_column_may_be_named_table():
    parsed = parse_query(parse("SELECT (table IS NULL), (table) FROM (SELECT k AS table FROM u)").query)
    assert [one.name.parts for one in parsed.references] == [("u",)]
