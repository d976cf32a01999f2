import pytest

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.limits import TYPE_DEPTH
from paimon_core.types import parse_columns, parse_type


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("MAP<STRING NOT NULL, ROW<a: STRING>>", "MAP<STRING NOT NULL, ROW<a STRING>>"),
        (
            "row < a int not null , `b``c` string 'it''s' > not null",
            "ROW<a INT NOT NULL, `b``c` STRING COMMENT 'it''s'> NOT NULL",
        ),
        ("ROW(a INT, b DECIMAL(5,2) DEFAULT 1.5 COMMENT 'x')", "ROW<a INT, b DECIMAL(5, 2) COMMENT 'x' DEFAULT '1.5'>"),
        ("STRUCT<a: INT, b: ARRAY<TIMESTAMP_LTZ(3)>>", "ROW<a INT, b ARRAY<TIMESTAMP(3) WITH LOCAL TIME ZONE>>"),
        ("INT NOT NULL ARRAY MULTISET NOT NULL", "MULTISET<ARRAY<INT NOT NULL>> NOT NULL"),
        ("variant not null", "VARIANT NOT NULL"),
        ("TIME WITHOUT TIME ZONE", "TIME(0)"),
        ("ROW<array INT, `not` INT NOT NULL, null STRING NULL>", "ROW<array INT, not INT NOT NULL, null STRING>"),
        ("ROW<名 INT>", "ROW<名 INT>"),
    ],
)
def test_texts_of_nested_types(text, canonical):
    assert parse_type(text).sql == canonical
    assert parse_type(canonical).sql == canonical


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "expected a data type at position 0, where it ends"),
        ("FOO", 0, "expected a data type at position 0, not 'FOO'"),
        ("ARRAY<INT", 9, "expected '>' at position 9, where it ends"),
        ("ARRAY INT", 6, "expected '<' at position 6, not 'INT'"),
        ("MAP<INT>", 7, "expected ',' at position 7, not '>'"),
        ("ROW<a INT,>", 10, "expected the name of a field at position 10, not '>'"),
        ("ROW<a>", 5, "expected a data type at position 5, not '>'"),
        ("ROW<a INT COMMENT x>", 18, "expected a comment in single quotes at position 18, not 'x>'"),
        ("ROW<a INT)", 9, "expected '>' at position 9"),
        ("INT NOT", 7, "expected 'NULL' at position 7, where it ends"),
        ("INT INT", 4, "expected the end at position 4, not 'INT'"),
        ("INT(3)", 3, "expected no parameter, as INT takes none, at position 3"),
        ("STRING(3)", 6, "expected no parameter"),
        ("CHAR(x)", 5, "expected a whole number at position 5, not 'x)'"),
        ("CHAR(99999999999)", 5, "expected a number up to 2147483647"),
        ("CHAR(3, 4)", 6, "expected ')' at position 6"),
        ("TIMESTAMP WITH TIME ZONE", 15, "expected 'LOCAL' at position 15"),
        ("DATE WITH LOCAL TIME ZONE", 5, "expected the end"),
        ("`INT`", 0, "expected a data type"),
        ("INT  'x", 5, "expected a name, a text in quotes or a mark at position 5"),
    ],
)
def test_an_error_names_text_position_and_what_was_expected(text, position, expected):
    with pytest.raises(InvalidRequest) as caught:
        parse_type(text)
    assert repr(text) in str(caught.value)
    assert expected in str(caught.value)
    assert caught.value.facts["position"] == position


@pytest.mark.parametrize("levels", [TYPE_DEPTH, 1000, 100_000])
def test_too_many_levels_are_refused_before_they_are_parsed(levels):
    assert parse_type("ARRAY<" * (TYPE_DEPTH - 1) + "INT" + ">" * (TYPE_DEPTH - 1)).depth == TYPE_DEPTH
    for text in ("ARRAY<" * levels + "INT" + ">" * levels, "INT" + " ARRAY" * levels):
        with pytest.raises(UnsupportedFeature, match=f"{TYPE_DEPTH + 1} levels"):
            parse_type(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {"type": "MAP<STRING NOT NULL, INT>", "key": "STRING NOT NULL", "value": "INT", "nullable": True},
            "MAP<STRING NOT NULL, INT>",
        ),
        (
            {"type": "MAP<STRING NOT NULL, INT>", "key": "STRING NOT NULL", "value": "INT", "nullable": False},
            "MAP<STRING NOT NULL, INT> NOT NULL",
        ),
        ({"type": "MULTISET<INT NOT NULL> NOT NULL", "element": "INT NOT NULL"}, "MULTISET<INT NOT NULL> NOT NULL"),
        (
            {
                "type": "ARRAY<ROW<a: INT NOT NULL COMMENT x y>>",
                "element": {"type": "ROW", "fields": [{"name": "a", "type": "INT"}]},
            },
            "ARRAY<ROW<a INT>>",
        ),
    ],
)
def test_objects_of_pypaimon_repeat_the_members_in_the_text(value, text):
    assert parse_type(value).sql == text


def test_columns_as_in_a_create_table():
    found = parse_columns("id BIGINT NOT NULL, `a name` STRING COMMENT 'of it', n INT DEFAULT 5")
    assert [(c.name, c.type.sql, c.description, c.default) for c in found] == [
        ("id", "BIGINT NOT NULL", None, None),
        ("a name", "STRING", "of it", None),
        ("n", "INT", None, "5"),
    ]
    with pytest.raises(InvalidRequest, match="expected the name of a field"):
        parse_columns("")
