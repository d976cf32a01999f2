"""Files that are written again with the same content: neither changed nor loaded again; tasks run in-process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimon_lake.loads.files import file_load, split_reports
from paimon_lake.loads.ledger.ledger import carry_on, read_ledger
from paimon_lake.loads.ledger.load_snapshot import CONTENTS, loads_of
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import splits
from tests.support.lakes import SmallLake

NAME = "log.events"
EVENTS = """
    columns: {id: BIGINT}
    primary_key: [id]
    source: {type: files, path: "in/*.csv", changed: load}
"""


@pytest.fixture
def lake(quick: SmallLake) -> SmallLake:
    quick.declare(NAME, EVENTS)
    for name in "abc":
        quick.file(f"in/{name}.csv", f"id\n{ord(name)}\n")
    quick.load(NAME)
    return quick


def touched(lake: SmallLake, *names: str, at: int = 5) -> None:
    for name in names:
        os.utime(lake.folder / f"in/{name}.csv", (at, at))


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read for their checksums from now on."""
    found: list[str] = []
    checksum = split_reports.checksum_of

    def counted(split, options):  # type: ignore[no-untyped-def]
        found.append(Path(split.file.path).name)
        return checksum(split, options)

    monkeypatch.setattr(split_reports, "checksum_of", counted)
    return found


@pytest.mark.parametrize("changed", ["tell", "load", "fail"])
def test_a_file_that_was_touched_or_copied_is_not_changed(
    lake: SmallLake, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    lake.declare(NAME, EVENTS.replace("changed: load", f"changed: {changed}"))
    touched(lake, "a", "b")
    result = lake.load(NAME)
    assert result.skipped == ("3 files loaded before, 2 of them written again with the same content",)
    assert (result.commits, result.snapshot_id, result.rows_written) == ((2,), 2, 0)
    assert result.sentence().startswith(f"load {NAME}: no row written, new versions of 2 files recorded, 3 files")
    assert "snapshot 2" in result.sentence()
    found = reads(monkeypatch)
    again = lake.load(NAME)
    assert (again.skipped, again.commits, again.snapshot_id) == (("3 files loaded before",), (), 2)
    assert found == [], "the new versions were recorded"
    assert lake.rows(NAME) == [(97,), (98,), (99,)]


def test_touched_files_are_told_beside_new_and_changed_ones(lake: SmallLake) -> None:
    touched(lake, "a")
    lake.file("in/b.csv", "id\n5\n")
    lake.file("in/d.csv", "id\n100\n")
    told = lake.load(NAME).details
    assert (told["files_read"], told["files_loaded_before"], told["files_with_the_same_content"]) == (2, 2, 1)
    assert told["changed_files"] == f"1: {lake.folder}/in/b.csv"
    assert lake.load(NAME).skipped == ("4 files loaded before",)


def test_changed_files_are_in_the_details_when_nothing_is_loaded(lake: SmallLake) -> None:
    lake.declare(NAME, EVENTS.replace("changed: load", "changed: tell"))
    lake.file("in/b.csv", "id\n5\n")
    result = lake.load(NAME)
    assert result.details == {
        "files_read": 0,
        "files_loaded_before": 2,
        "changed_files": f"1: {lake.folder}/in/b.csv",
    }
    assert result.commits == ()


def test_a_file_that_has_an_older_content_again_is_changed(lake: SmallLake) -> None:
    lake.file("in/a.csv", "id\n11\n")
    lake.load(NAME)
    lake.file("in/a.csv", "id\n97\n")
    assert lake.load(NAME).details["files_read"] == 1
    assert lake.rows(NAME) == [(11,), (97,), (98,), (99,)]


def test_a_content_belongs_to_the_version_that_was_recorded_with_it(lake: SmallLake) -> None:
    """An older program loads another version, and records no content; then the first content is there again."""
    found = read_ledger(lake.table(NAME)).files.with_files([("in/a.csv", "another")])
    properties = {"pipeline.files": found.to_text(), "pipeline.files-total": "3"}
    lake.table(NAME).commit([], user=f"load {NAME}", identifier=2, properties=properties)
    touched(lake, "a")
    assert lake.load(NAME).details["files_read"] == 1


def test_contents_are_carried_on(lake: SmallLake) -> None:
    table = lake.table(NAME)
    assert carry_on(table, [1]) is not None
    assert loads_of(table)[-1].properties[CONTENTS] == loads_of(table)[0].properties[CONTENTS]


def test_ledgers_without_contents_are_read(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_ledger(lake.table(NAME)).files.content("in/none.csv") is None
    lake.declare("log.old", EVENTS)
    monkeypatch.setattr(file_load, "contents_of", lambda *_: {})
    lake.load("log.old")
    touched(lake, "a")
    assert lake.load("log.old").details["files_read"] == 1


def test_a_file_of_several_splits(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits.plan_splits, "__defaults__", (1000,))
    lake.file("in/d.csv", "id\n" + "".join(f"{at}\n" for at in range(2_000)))
    lake.load(NAME)
    touched(lake, "d")
    found = reads(monkeypatch)
    assert "1 of them" in lake.load(NAME).skipped[0]
    assert len(found) == 9
    data = (lake.folder / "in/d.csv").read_bytes()
    lake.file("in/d.csv", data.replace(b"1999", b"1998"))
    assert lake.load(NAME).details["files_read"] == 1


def test_a_damaged_entry_is_told(lake: SmallLake) -> None:
    lake.table(NAME).commit([], user=f"load {NAME}", identifier=2, properties={CONTENTS: "AAAA"})
    with pytest.raises(PipelineError, match=r"the property pipeline\.files-contents of snapshot 2 is damaged"):
        lake.load(NAME)
