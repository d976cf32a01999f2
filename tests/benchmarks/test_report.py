"""benchmarks.report: a smoke run has figures or a reason in every cell, and its page needs nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.report.__main__ import PARTS, arguments
from benchmarks.report.cells import Cell, exponent, ratios, spread
from benchmarks.report.charts import dots, lines
from benchmarks.report.engines import MEASURES, TABLES
from benchmarks.report.libraries import LIMIT, NAMES, OURS
from benchmarks.report.marks import marks
from benchmarks.report.page import page
from benchmarks.report.rounds import SHAPES

ROOT = Path(__file__).resolve().parents[2]


def run(*args):
    command = [sys.executable, "-W", "error", "-m", "benchmarks.report", "--smoke", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_a_smoke_run_leaves_no_cell_empty(tmp_path):
    done = run("--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results["parts"]) == set(PARTS)
    assert set(results["versions"]) | set(results["missing"]) == set(NAMES)
    assert all(results["missing"].values())
    assert set(results["shapes"]) == set(SHAPES)
    assert len(results["engines"]) == len(TABLES) * len(MEASURES)
    for name, row in (results["shapes"] | results["engines"]).items():
        plans = name.startswith("plan") and "java" in results["missing"]
        assert plans or row[OURS]["processor_seconds"]["min"] > 0, name
        for side, cell in row.items():
            empty = cell.get("reason") in ("", "not measured")
            assert not empty, (name, side)
            assert "reason" in cell or cell["peak_bytes"] > 0, (name, side)
        assert LIMIT in row
    text = (tmp_path / "report.html").read_text()
    assert not re.search(r"<(script|link|img|iframe)|url\(|<td></td>", text)
    for picture in ("peers", "engines", "rows", "files", "sorted-runs", "longevity"):
        drawn = (tmp_path / f"bench-{picture}.svg").read_text()
        assert "prefers-color-scheme:dark" in drawn
        assert drawn.strip() in text
    assert all(name in text for name in NAMES.values())


def test_one_shape_alone_keeps_the_other_parts_of_the_folder(tmp_path):
    sides = ["--sides", "ours", "arrow", "--output", str(tmp_path)]
    for only in ("longevity", "commit"):
        done = run("--only", only, *sides)
        assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results["parts"]) == {"shapes", "longevity"}
    assert set(results["shapes"]) == {"commit"}
    assert results["missing"]["duckdb"] == "left out by --sides"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--repeats", "0"], "--repeats must be at least 1, not 0"),
        (["--curve-rows", "5"], "--curve-rows must be at least 100, not 5"),
        (["--only", "upserts"], "invalid choice: 'upserts'"),
        (["--sides", "java"], "--sides must contain ours"),
    ],
)
def test_wrong_arguments_are_refused(args, message, capsys):
    with pytest.raises(SystemExit):
        arguments(args)
    assert message in capsys.readouterr().err


def test_numbers_of_cells():
    ours, theirs = Cell([1.0, 2.0, 4.0], [1.0] * 3, [5] * 3), Cell([2.0, 8.0, 4.0], [1.0] * 3, [5] * 3)
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == {"min": 1.0, "q1": 2.0, "median": 3.0, "q3": 4.0, "max": 5.0}
    assert ratios(theirs, ours)["median"] == 2.0
    assert ratios(Cell(reason="no"), ours) is None
    assert Cell().numbers() == {"reason": "not measured"}
    assert exponent([(10, 0.1), (100, 10.0), (1000, 1000.0)]) == pytest.approx(2)


def test_marks_compare_with_java_and_with_the_fastest():
    def cell(seconds):
        return Cell([seconds], [seconds], [1])

    rows = {
        "scan": {"ours": cell(2.0), "java": cell(9.0), "duckdb": cell(1.0), LIMIT: cell(0.1)},
        "plan warm": {"ours": cell(1.0), "java": cell(12.0), "duckdb": Cell(reason="none")},
        "partial-update: write": {"ours": cell(1.0), "java": cell(6.0)},
    }
    assert [(m.what, m.beside, m.wanted, m.reached, m.verdict) for m in marks(rows)] == [
        ("scan", "DuckDB", 1.0, 0.5, "missed"),
        ("plan warm", "Java Paimon", 10.0, 12.0, "reached"),
        ("plan warm", "Java Paimon", 1.0, 12.0, "reached"),
        ("partial-update: write", "Java Paimon", 8.0, 6.0, "missed"),
    ]


def test_pictures_escape_and_draw_nothing_without_numbers():
    assert "nothing was measured" in dots("t", "s", {}, "s")
    assert "nothing was measured" in lines("t", "s", {"a": []}, "x", "s")
    drawn = dots("a < b", "s", {"r": {"one": 0.1, "two": 3.0}}, "s")
    assert "a &lt; b" in drawn
    assert drawn.count("<title>") >= 3


def test_a_page_of_no_parts_names_the_libraries():
    results = {
        "mode": "full", "parts": {}, "marks": [], "versions": {"ours": {"pyarrow": "1"}},
        "missing": {"duckdb": "cannot be installed: no network"},
        "machine": {"processors": 2, "processor": "x", "memory_bytes": 2**30, "system": "Linux", "python": "3",
                    "load_at_start": 1.0, "revision": "abc"},
    }  # fmt: skip
    assert "not measured: cannot be installed: no network" in page(results, {})
