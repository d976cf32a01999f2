"""A folder of declarations that is moved with its files and its warehouse: nothing is loaded twice."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.lakes import SmallLake

EVENTS = """
    columns: {id: BIGINT}
    natural_key: [id]
    mode: append
    source: {type: files, path: "in/*.csv"}
"""


@pytest.mark.parametrize("new", ["new", "new {x}"])
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
