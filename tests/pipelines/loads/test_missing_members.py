"""Members that no object of a JSON file has are refused, as columns that a CSV file does not have."""

from __future__ import annotations

import json
import re

import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import splits
from tests.support.lakes import SmallLake

EVENTS = """
    columns: {{id: BIGINT, amount: INT, place: 'ROW<city STRING, zip STRING>', tags: '{tags}'}}
    primary_key: [id]
    source: {{type: files, path: "in/*", format: {form}{options}}}
    rejects: {{max_share: 1.0}}
"""
LIST, MAP = "ARRAY<ROW<name STRING>>", "MAP<STRING, ROW<name STRING>>"
WHOLE = {"id": 1, "amount": None, "place": {"city": None, "zip": "1"}, "tags": None}
BARE = {"id": 2}


def loaded(lake: SmallLake, rows: list[object], form: str, tags: str = LIST, options: str = "") -> list[object]:
    lake.declare("log.events", EVENTS.format(form=form, tags=tags, options=options and f", options: {{{options}}}"))
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    lake.file("in/a", f"[{', '.join(texts)}]" if form == "json" else "\n".join(texts))
    lake.load("log.events", reload=True)
    return [row[0] for row in lake.rows("log.events")]


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("tags", [LIST, MAP])
@pytest.mark.parametrize(
    ("rows", "members"),
    [
        ([BARE], "'amount', 'place', 'tags'"),
        ([BARE, {**BARE, "id": 3, "tags": None, "place": None}], "'amount'"),
        ([{**WHOLE, "place": {}}], "'place.city', 'place.zip'"),
        ([{**WHOLE, "place": {"city": "x"}}, {**WHOLE, "place": None}], "'place.zip'"),
        ([{k: v for k, v in WHOLE.items() if k != "amount"}], "'amount'"),
        ([{**WHOLE, "place": {"zip": 'amount": '}}, {"id": 2, "place": {"city": None}, "tags": None}], None),
        ([{**WHOLE, "amount": "bad"}, {"id": 2, "place": {"city": None, "zip": None}, "tags": None}], None),
        ([WHOLE], None),
        ([BARE, BARE, WHOLE], None),
        ([WHOLE, *[{**BARE, "id": at} for at in range(10)]], None),
        ([{**WHOLE, "place": None}], None),
        (['{"id": 1, "am\\u006funt": null, "place": null, "tags": null}'], None),
    ],
)
def test_members_that_no_object_has(
    quick: SmallLake, form: str, tags: str, rows: list[object], members: str | None
) -> None:
    if members is None:
        loaded(quick, rows, form, tags)
        return
    told = rf"log\.events: file .*in/a: no object has the member {re.escape(members)}; set the option allow_missing_col"
    with pytest.raises(PipelineError, match=told):
        loaded(quick, rows, form, tags)
    assert quick.rows("log.events") == quick.rows("log.events__rejects") == []


@pytest.mark.parametrize(
    ("tags", "empty", "full"),
    [(LIST, [{}], [{"name": None}]), (MAP, {"k": {}}, {"k": {"name": None}})],
)
def test_members_of_elements(quick: SmallLake, tags: str, empty: object, full: object) -> None:
    with pytest.raises(PipelineError, match=r"no object has the member 'tags\.name'"):
        loaded(quick, [{**WHOLE, "tags": empty}], "jsonl", tags)
    assert loaded(quick, [{**WHOLE, "tags": empty}, {**WHOLE, "tags": full}], "jsonl", tags) == [1]


def test_missing_members_are_null_where_that_is_allowed_but_not_in_a_key(quick: SmallLake) -> None:
    allowed = "allow_missing_columns: true"
    assert loaded(quick, [BARE], "jsonl", options=allowed) == [2]
    with pytest.raises(PipelineError, match=r"no object has the member 'id', which must not be null$"):
        loaded(quick, [{"amount": 1}], "jsonl", options=allowed)


def test_a_split_need_not_have_all_members(quick: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits.plan_splits, "__defaults__", (40,))
    many = [{**BARE, "id": at} for at in range(3, 40)]
    with pytest.raises(PipelineError, match="no object has the member 'amount', 'place', 'tags'"):
        loaded(quick, many, "jsonl")
    assert len(loaded(quick, [*many, WHOLE], "jsonl")) == 38


def test_values_of_two_types_hide_no_member(quick: SmallLake) -> None:
    odd = {"id": 2, "amount": "x", "place": None, "tags": None, "more": 1}
    rows = [{**WHOLE, "more": "text"}, odd]
    assert loaded(quick, rows, "jsonl", options="ignore_extra_columns: true") == [1]


@pytest.mark.parametrize("tags", [LIST, MAP])
def test_an_object_that_comes_late_lacks_a_member(quick: SmallLake, tags: str) -> None:
    rows: list[object] = [{**WHOLE, "id": at, "place": None} for at in range(5)]
    with pytest.raises(PipelineError, match=r"no object has the member 'place\.zip'"):
        loaded(quick, [*rows, {**WHOLE, "place": {"city": "x"}}], "jsonl", tags)
