import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.types import parse_type
from paimon_lake.column_types import type_object


@pytest.mark.parametrize(
    "text",
    [
        "DECIMAL(9, 2) NOT NULL",
        "ARRAY<VARCHAR(3)>",
        "ARRAY<DECIMAL(9, 2) NOT NULL> NOT NULL",
        "MAP<STRING NOT NULL, ARRAY<MAP<INT NOT NULL, TIMESTAMP(3) WITH LOCAL TIME ZONE>>>",
        "ROW<m MULTISET<STRING NOT NULL>, v VARIANT NOT NULL>",
        "ROW<x INT NOT NULL, y ROW<z DECIMAL(5, 1), t STRING> NOT NULL, a ARRAY<BIGINT>>",
    ],
)
def test_a_type_is_what_its_text_says(text: str) -> None:
    assert str(parse_type(type_object(text))) == text


def test_names_in_backticks_and_small_letters() -> None:
    found = parse_type(type_object("row<`odd name` INT, n map<STRING, INT>>"))
    assert [child.name for child in found.children] == ["odd name", "n"]


@pytest.mark.parametrize("text", ["ARRAY<INT, INT>", "MAP<INT>", "ROW<INT>", "ROW<>", "ARRAY<ROW<x>>"])
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a valid type"):
        type_object(text)
