"""A folder of declarations that is moved with its files and its warehouse: nothing is loaded twice."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_lake.loads.load import load_table
from tests.support.lakes import SmallLake

EVENTS = """
    columns: {id: BIGINT}
    natural_key: [id]
    mode: append
    source: {type: files, path: "in/*.csv"}
"""


@pytest.mark.parametrize("new", ["new", "new {x}", "ne*", "n?w", "[a-z]ew", "a\\b", "100%25 #1 ü", "{date}"])
def test_a_folder_can_be_moved(quick: SmallLake, tmp_path: Path, new: str) -> None:
    quick.declare("log.events", EVENTS)
    quick.file("in/a.csv", "id\n1\n")
    quick.load("log.events")
    moved = replace(quick, folder=tmp_path / new)
    shutil.copytree(quick.folder, moved.folder)
    assert moved.load("log.events").skipped == ("1 files loaded before",)
    moved.file("in/b.csv", "id\n2\n")
    moved.load("log.events")
    assert moved.rows("log.events") == [(1,), (2,)]


def test_files_of_an_absolute_path_are_those_of_this_path(quick: SmallLake, tmp_path: Path) -> None:
    quick.declare("log.events", EVENTS.replace("in/*.csv", f"{quick.folder}/in/*.csv"))
    quick.file("in/a.csv", "id\n1\n")
    quick.load("log.events")
    quick.declare("log.events", EVENTS)
    assert quick.load("log.events").details["files_read"] == 1


def test_dots_in_paths_lead_out_of_the_folder(
    quick: SmallLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ``source.path``, in ``warehouse`` and in the folder that a command is given."""
    quick.file("base.yaml", "warehouse: ../tables\n")
    quick.declare("log.events", EVENTS.replace("in/*.csv", "./../in/*.csv"))
    quick.file("../in/a.csv", "id\n1\n")
    assert quick.load("log.events").details["files_read"] == 1
    assert quick.settings.warehouse == f"{tmp_path}/tables"
    moved = tmp_path / "moved"
    for name in ("lake", "in", "tables"):
        shutil.copytree(tmp_path / name, moved / name)
    monkeypatch.chdir(moved / "in")
    assert replace(quick, folder=Path("../lake")).load("log.events").skipped == ("1 files loaded before",)


@pytest.mark.parametrize("folder", ["la*e", "l?ke", "[l]ake", "{name}"])
def test_files_of_a_sibling_folder_are_not_loaded(quick: SmallLake, tmp_path: Path, folder: str) -> None:
    quick.declare("log.events", EVENTS)
    quick.declare(
        "log.days", EVENTS.replace("in/*.csv", "in/{date}.csv") + "    partitions: {by: day, start: 2024-01-01}"
    )
    moved = replace(quick, folder=tmp_path / folder)
    shutil.copytree(quick.folder, moved.folder)
    quick.file("in/2024-01-01.csv", "id\n1\n")
    moved.file("in/2024-01-01.csv", "id\n2\n")
    for partitions in ([], ["2024-01-01"]):
        moved.load("log.days" if partitions else "log.events", *partitions)
    assert moved.rows("log.events") == moved.rows("log.days") == [(2,)]
    landing = tmp_path / "landed *"
    for directory, rows in (("landed *", "3"), ("landed too", "4")):
        (tmp_path / directory / "in").mkdir(parents=True)
        (tmp_path / directory / "in/a.csv").write_text(f"id\n{rows}\n")
    (moved.folder / "fetching.py").write_text("def nothing(step):\n    pass\n")
    moved.declare("log.landed", EVENTS.replace("type: files", "type: files, fetch: 'fetching:nothing'"))
    settings = moved.settings.model_copy(update={"landing_directory": str(landing)})
    load_table(moved.spark, settings, "log.landed")
    assert moved.rows("log.landed") == [(3,)]
