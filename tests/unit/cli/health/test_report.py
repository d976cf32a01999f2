"""``report``: where the page goes, which files it replaces, and what a damaged table does."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.cli.main import main

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def lake(warehouse):
    catalog = paimon.open_catalog(warehouse)
    for name in ("a.fine", "a.other", "b.third"):
        if name.partition(".")[0] not in catalog.list_databases():
            catalog.create_database(name.partition(".")[0])
        catalog.create_table(name, ROWS.schema, primary_key=["id"], options={"bucket": "1"}).write(ROWS)
    return warehouse


def run(capsys, *arguments):
    code = main(["report", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_page_of_one_table_is_printed(lake, capsys):
    code, out, err = run(capsys, "a.fine", "--warehouse", lake)
    assert (code, err, out.count("</html>"), out.startswith("<!DOCTYPE html>")) == (0, "", 1, True)
    assert "<h1>a.fine</h1>" in out


@pytest.mark.parametrize(("target", "tables"), [([], 3), (["a"], 2), (["b.third"], 1)])
def test_the_page_is_written_and_replaced(lake, capsys, tmp_path, target, tables):
    file = tmp_path / "page.html"
    file.write_text("old")
    code, out, _ = run(capsys, *target, "--output", str(file), "--json", "--warehouse", lake)
    assert (code, json.loads(out)) == (0, {"output": str(file), "tables": tables, "failures": []})
    assert file.read_text().endswith("</html>\n")
    assert [path.name for path in tmp_path.iterdir() if "page" in path.name] == ["page.html"]


def test_a_damaged_table_is_listed(lake, capsys, tmp_path):
    root = Path(paimon.open_catalog(lake).table("a.other").location)
    for path in root.glob("manifest/manifest-list-*"):
        path.write_bytes(b"junk")
    file = tmp_path / "page.html"
    code, out, _ = run(capsys, "--output", str(file), "--warehouse", lake)
    assert (code, out.splitlines()[0]) == (1, f"{file}: 2 tables")
    assert out.splitlines()[1].startswith("a.other could not be examined: corrupt-table: ")
    text = file.read_text()
    assert "1 table could not be examined." in text
    assert '<td class="name">a.other</td>' in text
    code, out, err = run(capsys, "a.other", "--warehouse", lake)
    assert (code, out, err.startswith("paimon-core report: corrupt-table: ")) == (1, "", True)


def test_a_branch(lake, capsys):
    table = paimon.open_catalog(lake).table("a.fine")
    table.tags.create("x")
    table.branches.create("b", tag="x")
    code, out, _ = run(capsys, "a.fine", "--branch", "b", "--warehouse", lake)
    assert (code, "<h1>a.fine (branch b)</h1>" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--output", "notes.txt"], "--output must end with .html, so that no other file is replaced: 'notes.txt'"),
        (["--output", "html"], "--output must end with .html"),
        (["--json"], "--json needs --output FILE.html"),
        (["--output", "none/page.html"], "cannot write none/page.html: No such file or directory"),
        (["--output", "file/page.html"], "cannot write file/page.html: Not a directory"),
        (["a", "--branch", "b"], "--branch needs the name of a table"),
        (["nowhere"], "no database nowhere"),
        (["a.none"], "a.none"),
    ],
)
def test_wrong_arguments(lake, capsys, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    code, out, err = run(capsys, *arguments, "--warehouse", lake)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err
    assert not list(tmp_path.glob("*.html"))


def test_a_folder_is_not_replaced(lake, capsys, tmp_path):
    (tmp_path / "page.html").mkdir()
    code, _, err = run(capsys, "--output", str(tmp_path / "page.html"), "--warehouse", lake)
    assert (code, "cannot write" in err) == (2, True)
    assert (tmp_path / "page.html").is_dir()
