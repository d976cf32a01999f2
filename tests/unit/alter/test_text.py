import pytest

from paimon_core.alter import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateComment,
    UpdateDefault,
    UpdateNullability,
    UpdatePosition,
    UpdateType,
)
from paimon_core.alter.text import parse_changes
from paimon_core.errors import InvalidRequest
from paimon_core.types import STRING, parse_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADD COLUMN note STRING", [AddColumn("note", STRING)]),
        (
            "add column note string default 'it''s' comment 'why, so' after id",
            [AddColumn("note", STRING, "why, so", "it's", after="id")],
        ),
        (
            "ADD COLUMN a.b DECIMAL(10, 2) FIRST, DROP COLUMN `unit price`",
            [AddColumn(["a", "b"], parse_type("DECIMAL(10, 2)"), first=True), DropColumn("unit price")],
        ),
        (
            "ADD COLUMN t TIMESTAMP(3) WITH LOCAL TIME ZONE DEFAULT -5 LAST",
            [AddColumn("t", parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE"), default="-5", last=True)],
        ),
        ("RENAME COLUMN a.b TO `c``d`", [RenameColumn(["a", "b"], "c`d")]),
        ("ALTER COLUMN v TYPE DECIMAL(5, 1) LOSSY", [UpdateType("v", parse_type("DECIMAL(5, 1)"), lossy=True)]),
        ("ALTER COLUMN lines.element.n TYPE BIGINT", [UpdateType(["lines", "element", "n"], parse_type("BIGINT"))]),
        ("ALTER COLUMN n SET NOT NULL", [UpdateNullability("n", False)]),
        ("ALTER COLUMN n DROP NOT NULL", [UpdateNullability("n", True)]),
        ("ALTER COLUMN n SET DEFAULT true", [UpdateDefault("n", "true")]),
        ("ALTER COLUMN n SET DEFAULT -1.5e-3", [UpdateDefault("n", "-1.5e-3")]),
        ("ALTER COLUMN n SET DEFAULT null", [UpdateDefault("n", None)]),
        ("ADD COLUMN n STRING DEFAULT NULL", [AddColumn("n", STRING)]),
        ("ALTER COLUMN n DROP DEFAULT", [UpdateDefault("n", None)]),
        ("ALTER COLUMN n COMMENT ''", [UpdateColumnComment("n", "")]),
        ("ALTER COLUMN n DROP COMMENT", [UpdateColumnComment("n", None)]),
        ("ALTER COLUMN n BEFORE `first`", [UpdatePosition("n", before="first")]),
        ("COMMENT 'all'", [UpdateComment("all")]),
        ("DROP COMMENT", [UpdateComment(None)]),
        ("SET ('a.b' = 'c', 'd' = '')", [SetOption("a.b", "c"), SetOption("d", "")]),
        ("SET ('a' = 4, 'b' = True)", [SetOption("a", "4"), SetOption("b", "True")]),
        ("RESET ('a', 'b')", [RemoveOption("a"), RemoveOption("b")]),
        ("DROP COLUMN größe", [DropColumn("größe")]),
        ("  DROP COLUMN 2nd.1 \n", [DropColumn(["2nd", "1"])]),
        ("DROP COLUMN a2.2", [DropColumn(["a2", "2"])]),
    ],
)
def test_texts(text, expected):
    assert parse_changes(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at character 1: expected ADD COLUMN, .*, found the end"),
        ("ADD note STRING", "at character 1: expected ADD COLUMN, .*, found 'ADD'"),
        ("ADD COLUMN", "at character 11: expected a column name, found the end"),
        ("ADD COLUMN note", "at character 16: expected a type such as .*, found the end"),
        ("ADD COLUMN note NUMBR", "at character 17: expected a type, found 'NUMBR'"),
        ("ADD COLUMN note INT AFTER", "at character 26: expected a column name, found the end"),
        (
            "ADD COLUMN note INT FIRST LAST",
            "at character 27: expected ',' and another change, or the end, found 'LAST'",
        ),
        ("DROP COLUMN a.", "at character 15: expected a column name"),
        ("DROP COLUMN a;", "at character 14: expected a word, .*, found ';'"),
        ("DROP COLUMN a, ", "expected ADD COLUMN"),
        ("RENAME COLUMN a b", "at character 17: expected TO, found 'b'"),
        ("ALTER COLUMN a", "at character 15: expected TYPE, SET NOT NULL"),
        ("ALTER COLUMN a.b FIRST", "expected TYPE, SET NOT NULL"),
        ("ALTER COLUMN a COMMENT why", "at character 24: expected a comment in single quotes, found 'why'"),
        ("ALTER COLUMN a SET DEFAULT now", "at character 28: expected a number, .* or a text in .*, found 'now'"),
        ("COMMENT 'open", 'expected a word, .*, found "\'"'),
        ("SET 'a' = 'b'", r"at character 5: expected '\(', found \"'a'\""),
        ("SET ('a' 'b')", "at character 10: expected '=', found"),
        ("SET ('a' = b)", "at character 12: expected a value in single quotes, found 'b'"),
        ("RESET ('a'", "expected '\\)', found the end"),
        ("DROP COLUMN " + "a" * 70_000, "too long"),
        ("DROP COLUMN __import__('os')", "at character 23: expected ','"),
    ],
)
def test_what_is_wrong_is_named_with_its_position(text, message):
    with pytest.raises(InvalidRequest, match=message):
        parse_changes(text)
