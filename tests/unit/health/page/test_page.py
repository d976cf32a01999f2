"""The page of a table and of a lake: its numbers are those of the table, and no text of it becomes markup."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.health.page import heat_map, history_chart, lsm_tree, page, time_line
from paimon_core.health.page.page import LakePage
from paimon_core.health.page.style import DARK, LIGHT
from tests.support.health_pages import EVIL, EVIL_TAG, Page, history, keyed, rows, runs


@pytest.fixture
def catalog(warehouse):
    made = paimon.open_catalog(warehouse)
    made.create_database("db")
    return made


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A table with a history, and its page."""
    made = paimon.open_catalog(str(tmp_path_factory.mktemp("warehouse")))
    made.create_database("db")
    table = history(made)
    return table, Page(table.report())


def test_the_page_requests_nothing_and_runs_nothing(shown):
    _, page = shown
    assert page.source.isascii()
    assert "http" not in page.source.replace("http-equiv", "")
    assert not {"script", "iframe", "object", "embed", "img", "base", "form"} & set(page.tags)
    assert not [name for _, found in page.attributes for name in found if name.startswith("on")]
    links = [found["href"] for tag, found in page.attributes if tag == "link"]
    assert links == ["data:,"]
    assert re.findall(r"url\(|@import|src=", page.source) == []
    (policy,) = (found["content"] for tag, found in page.attributes if "http-equiv" in found)
    assert policy.startswith("default-src 'none'")


def test_texts_of_the_warehouse_are_escaped(shown):
    _, page = shown
    assert EVIL_TAG in [row[1] for row in page.table("what")]
    assert "<script" not in page.source
    assert any("day=<script>alert(1)<" in row[0] for row in page.table("partition"))
    assert EVIL.partition("/")[0] in page.text


def test_each_picture_has_words_and_a_table(shown):
    _, page = shown
    pictures = page.pictures()
    assert len(pictures) == 5
    assert next(iter(pictures)).startswith("LSM tree of bucket ")
    for label, picture in pictures.items():
        assert picture.get("role") == "img"
        assert [child.tag for child in picture][:2] == ["title", "desc"]
        assert (picture[0].text, bool(picture[1].text)) == (label, True)
    assert page.tags.count("details") == page.tags.count("figure") == 5
    assert len(page.tables) == 5


def marks(picture, tag, css):
    return [mark for mark in picture.iter(tag) if css in mark.get("class", "").split()]


def test_the_lsm_tree_shows_the_bucket_with_the_most_runs(shown):
    table, page = shown
    label, picture = next(iter(page.pictures().items()))
    files = [f for f in table.inspect.files().to_pylist() if "2024-01-01" in str(f["partition"])]
    drawn = page.table("level", "file")
    bucket = int(re.search(r"bucket (\d+)", label)[1])
    expected = {f["file_path"].rpartition("/")[2]: f for f in files if f["bucket"] == bucket}
    assert {row[1] for row in drawn} == set(expected)
    for level, name, size, count, low, high in drawn:
        one = expected[name]
        assert (level, size, count) == (one["level"], one["file_size_in_bytes"], one["record_count"])
        assert 1 <= low <= high
    rectangles = marks(picture, "rect", "level0") + marks(picture, "rect", "level")
    assert [r[0].text.partition(":")[0] for r in rectangles] == [row[1] for row in drawn]
    levels = [row[0] for row in drawn]
    assert levels == sorted(levels)
    assert len({r.get("y") for r in rectangles}) == runs(table) == 12
    assert len({level for level in levels if level}) >= 2, "there are several levels"
    assert "12 sorted runs with" in page.text


def test_ranks_of_keys_are_in_the_order_of_the_keys(catalog):
    table = keyed(catalog, bucket="1")
    for first, last in ((-5, 40), (100, 120), (30, 110), (200, 200)):
        table.write(rows(range(first, last + 1)))
    page = Page(table.report())
    drawn = page.table("level", "file")
    assert [row[4:] for row in drawn] == [[7, 7], [2, 5], [4, 6], [1, 3]], "the newest file is first"
    places = [
        [float(r.get(name)) for name in ("x", "width", "y")] for r in next(iter(page.pictures().values())).iter("rect")
    ]
    unit = (lsm_tree.WIDTH - 8 - lsm_tree.LEFT) / 7
    for (low, high), (x, width, _) in zip((row[4:] for row in drawn), places, strict=True):
        assert x == pytest.approx(lsm_tree.LEFT + (low - 1) * unit, abs=0.01)
        assert width == pytest.approx((high - low + 1) * unit - 1, abs=0.01), "a file of one key has a width too"
    assert [y for *_, y in places] == sorted({y for *_, y in places}), "files of level 0 have rows of their own"


def test_more_files_than_are_drawn_are_told(catalog, monkeypatch):
    monkeypatch.setattr(lsm_tree, "MOST_FILES", 4)
    table = keyed(catalog, bucket="1")
    for n in range(6):
        table.write(rows(range(n, n + 5)))
    page = Page(table.report())
    assert len(page.table("level", "file")) == 4
    assert "the newest 4 files of level 0 and the largest 0 of the other levels; 2 files are left out." in page.text


def test_an_append_table_shows_its_files_by_size(catalog, monkeypatch):
    table = catalog.create_table("db.a", {"id": "BIGINT", "text": "STRING"}, options={"write-only": "true"})
    for n in (5, 900, 80):
        table.write([{"id": m, "text": f"{m * 7919}"} for m in range(n)])
    page = Page(table.report())
    sizes = [row[1] for row in page.table("file")]
    assert sizes == sorted(table.inspect.files()["file_size_in_bytes"].to_pylist(), reverse=True)
    assert [row[2] for row in page.table("file")] == [900, 80, 5]
    monkeypatch.setattr(lsm_tree, "MOST_FILES", 2)
    page = Page(table.report())
    assert [row[1] for row in page.table("file")] == sizes[:2]
    assert "Drawn are the 2 largest; 1 files are left out." in page.text


def test_the_heat_map_has_the_bytes_of_each_bucket(shown, monkeypatch):
    table, page = shown
    sums = {}
    for f in table.inspect.files().to_pylist():
        place = (table.context.name, str(f["partition"]), f["bucket"])
        sums[place] = sums.get(place, 0) + f["file_size_in_bytes"]
    cells = page.table("partition", "bucket")
    assert sorted(row[2] for row in cells) == sorted(sums.values())
    assert len(cells) == 12
    picture = page.pictures()["Bytes by bucket and partition"]
    colours = {r[0].text: r.get("class") for r in picture.iter("rect") if len(r)}
    most = max(sums.values())
    for partition, bucket, size, _, _ in cells:
        (found,) = (css for text, css in colours.items() if text.startswith(f"bucket {bucket} of {partition}:"))
        assert found == f"heat{max(1, -(-size * 5 // most))}"
    labels = {mark.get("y"): mark[0].text for mark in picture.iter("text") if len(mark)}
    assert len(labels) == 3
    for cell in (r for r in picture.iter("rect") if len(r)):
        beside = min(labels, key=lambda y: abs(float(y) - float(cell.get("y")) - 15))
        assert f" of {labels[beside]}: " in cell[0].text
    monkeypatch.setattr(heat_map, "MOST_PARTITIONS", 2)
    monkeypatch.setattr(heat_map, "MOST_BUCKETS", 3)
    page = Page(table.report())
    assert len(page.table("partition", "bucket")) == 6
    assert "Drawn are the 2 largest partitions; 1 are left out." in page.text
    assert "Drawn are the 3 largest buckets; 1 are left out." in page.text


def test_partitions_are_in_the_order_of_their_bytes(catalog):
    table = keyed(catalog, bucket="2")
    for day, count in (("c", 300), ("a", 4000), ("d", 20), ("b", 1500)):
        table.write(rows(range(count), [day]))
    cells = Page(table.report()).table("partition", "bucket")
    assert [row[0] for row in cells[::2]] == ["day=a", "day=b", "day=c", "day=d"]
    expected = {}
    for f in table.inspect.files().to_pylist():
        expected[f["file_path"].split("/")[-3], f["bucket"]] = f["file_size_in_bytes"], 1, f["record_count"]
    assert {(row[0], row[1]): tuple(row[2:]) for row in cells} == expected


def test_the_history_adds_up(shown, monkeypatch):
    table, page = shown
    measures = table.health().measures
    snapshots = table.inspect.snapshots().to_pylist()
    counts = page.table("snapshot", "time", "kind", "rows in files")
    amounts = page.table("snapshot", "time", "kind", "bytes written")
    assert [(row[0], row[3]) for row in counts] == [(s["snapshot_id"], s["total_record_count"]) for s in snapshots]
    written, rewritten = amounts[-1][3:]
    assert round((written + rewritten) / written, 3) == measures["write_amplification"]
    assert [row[3] for row in amounts] == sorted(row[3] for row in amounts)
    first = page.pictures()["Rows in files over time"]
    assert len(list(first.iter("circle"))) == len(snapshots)
    monkeypatch.setattr(history_chart, "MOST_POINTS", 5)
    page = Page(table.report())
    counts = page.table("snapshot", "time", "kind", "rows in files")
    assert [counts[0][0], counts[-1][0], len(counts)] == [1, snapshots[-1]["snapshot_id"], 5]
    assert f"Drawn are 5 of {len(snapshots)} snapshots, evenly spaced." in page.text
    assert page.table("snapshot", "time", "kind", "bytes written")[-1] == amounts[-1]


def test_the_time_line_tells_what_is_held(shown, monkeypatch):
    table, page = shown
    measures = table.health().measures
    held = page.table("what")
    by_kind = {kind: sum(row[4] for row in some) for kind, some in itertools.groupby(held, lambda row: row[0])}
    assert by_kind == {
        "snapshots": measures["snapshot_bytes"], "tag": measures["tag_bytes"], "branch": measures["branch_bytes"],
    }  # fmt: skip
    assert measures["branch_bytes"] > 0
    picture = page.pictures()["Snapshots, tags and branches"]
    assert [len(marks(picture, "circle", kind)) for kind in ("tag", "branch")] == [2, 1]
    assert len(marks(picture, "rect", "tick")) == measures["snapshots"]
    monkeypatch.setattr(time_line, "MOST_ROWS", 1)
    page = Page(table.report())
    assert "Drawn are the 1 tags and branches that hold the most bytes; 2 are in the table only." in page.text
    assert len(page.table("what")) == 4
    picture = page.pictures()["Snapshots, tags and branches"]
    assert [len(marks(picture, "circle", kind)) for kind in ("tag", "branch")] == [0, 1]


def test_what_earlier_snapshots_wrote_is_not_guessed_and_tags_hold_bytes(catalog):
    table = keyed(catalog, bucket="1", write_only="false")
    table.write(rows([0]))
    table.tags.create("kept")
    size = table.health().measures["live_bytes"]
    table.write(rows([0]))
    table.compact(full=True)
    table.branches.create("empty")
    table.expire_snapshots(keep_last=1, keep_max=1, limit=100)
    page = Page(table.refresh().report())
    assert "on; what earlier snapshots wrote is not known." in page.text
    assert page.table("what")[1:] == [
        ["tag", "kept", 1, page.table("what")[1][3], size],
        ["branch", "empty", "", page.table("what")[2][3], 0],
    ]
    assert len(marks(page.pictures()["Snapshots, tags and branches"], "circle", "branch")) == 1


def test_a_branch_that_cannot_be_read_is_a_finding(catalog):
    table = keyed(catalog, bucket="1")
    table.write(rows([0]))
    table.branches.create("b<r>oken")
    for path in Path(table.location, "branch", "branch-b<r>oken", "schema").iterdir():
        path.write_text("junk")
    assert "the schema of branch b<r>oken cannot be read: " in Page(table.report()).text


def test_a_table_without_snapshots(catalog):
    page = Page(keyed(catalog).report())
    assert page.pictures() == {}
    for said in ("The table has no snapshot", "not known", "No findings.", "There is no history to draw."):
        assert said in page.text


def test_findings_have_their_mends_and_options(catalog):
    table = keyed(catalog, "db.it's a table", bucket="1")
    for n in range(9):
        table.write(rows([n]))
    page = Page(table.report())
    for finding in table.health().findings:
        assert finding.text in page.text
        assert finding.command in page.text
        assert finding.yaml in page.text
    assert 'paimon-core compact "db.it\'s a table"' in page.text


def test_a_branch_is_named(shown):
    table, _ = shown
    page = Page(table.branch("trial").report())
    assert page.text.count("db.t (branch trial)") == 2


def test_a_lake_lists_the_worst_first_and_limits_the_sections(catalog, monkeypatch):
    monkeypatch.setattr(page, "MOST_SECTIONS", 2)
    lake = LakePage("Health of all tables")
    for name, commits in (("fine", 1), ("bad", 9), ("worse", 30), ("none", 0)):
        table = keyed(catalog, f"db.{name}", bucket="1")
        for n in range(commits):
            table.write(rows([n]))
        lake.add(table.context, table.latest_snapshot())
    lake.fail("db.<b>", "corrupt-table: <i>")
    shown = Page(lake.text())
    overview = shown.table("table", "score")
    assert [row[0] for row in overview] == ["db.worse", "db.bad", "db.fine", "db.none", "db.<b>"]
    assert overview[-1] == ["db.<b>", "corrupt-table: <i>"]
    assert overview[0][1] < overview[1][1] < overview[2][1]
    assert overview[0][3:5] == [30, 30]
    assert shown.links == [f"#{anchor}" for anchor in shown.ids] == ["#table-1", "#table-2"]
    assert "Only the 2 tables with the lowest scores have sections below." in shown.text
    assert "1 table could not be examined." in shown.text


def test_a_lake_without_tables():
    assert "0 tables, 0 with findings" in Page(LakePage("Health of all tables").text()).text


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_have_contrast(theme):
    for name, back in itertools.product(("text", "muted", "link", "error", "warning"), ("back", "panel")):
        assert contrast(theme[name], theme[back]) >= 4.5, (name, back)
    for name in ("flushed", "merged", "tagged", "branched"):
        assert contrast(theme[name], theme["back"]) >= 3, name
    steps = [contrast(theme[f"heat{n}"], theme["back"]) for n in range(1, 6)]
    assert steps == sorted(steps)
    assert set(LIGHT) == set(DARK)


def contrast(one, other):
    """The contrast ratio of two colours, as WCAG 2 defines it."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)
