"""The pictures of a table as documents of their own: well-formed, with colours and legends, small."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import paimon_core as paimon
from paimon_core.health.facts import facts_of
from paimon_core.health.page import picture
from paimon_core.health.page.picture import NAMES, files_picture, pictures
from paimon_core.health.thresholds import Thresholds
from tests.support.health_pages import history, keyed, rows

SVG = "{http://www.w3.org/2000/svg}"


def facts(table):
    return facts_of(table.context, table.latest_snapshot(), Thresholds())


@pytest.fixture
def catalog(warehouse):
    made = paimon.open_catalog(warehouse)
    made.create_database("db")
    return made


def test_each_picture_is_a_document_with_a_caption_and_a_legend(catalog):
    found = facts(history(catalog))
    made = pictures(found)
    assert tuple(made) == NAMES
    assert made["files"] == files_picture(found)
    for svg in made.values():
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        caption = root.find(f"{SVG}text")
        assert caption is not None
        assert caption.text == root.findtext(f"{SVG}title")
        classes = {name for mark in root.iter() for name in mark.get("class", "").split()}
        styled = root.findtext(f"{SVG}style") or ""
        assert {name for name in classes if f".{name}" not in styled} == set(), "each class has a colour"
        assert len(svg) < 40_000
        assert "<script" not in svg
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        for text in root.iter(f"{SVG}text"):
            assert float(text.get("x", 0)) < width
        assert height < 1200
    legend = [text.text for text in ElementTree.fromstring(made["buckets"]).findall(f"{SVG}g")[1]]
    assert legend[1] == "no files"
    assert len(legend) == 12, "a colour and a text for each of six meanings"


def test_a_table_without_files_has_no_pictures(catalog):
    table = keyed(catalog)
    assert pictures(facts(table)) == {}
    assert files_picture(facts(table)) == ""


def test_the_heat_map_is_bounded(catalog, monkeypatch):
    table = keyed(catalog)
    table.write(rows(range(60), [f"2024-01-0{n}" for n in range(1, 7)]))
    monkeypatch.setattr(picture, "MOST_PARTITIONS", 2)
    monkeypatch.setattr(picture, "MOST_BUCKETS", 3)
    drawn = ElementTree.fromstring(pictures(facts(table))["buckets"]).findall(f"{SVG}g")[0]
    cells = [mark for mark in drawn.iter(f"{SVG}rect") if mark.get("class", "").startswith("heat")]
    assert 0 < len(cells) <= 6
