"""Recorded filters: what is recorded, by processes and threads, within bounds; a scan never fails because of it."""

import multiprocessing
import os
import threading

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.plan import recorded_filters as recording
from paimon_core.plan.live_files import ScanCounts
from paimon_core.plan.recorded_filters import DIRECTORY, record_filter, recorded_filters

COUNTS = ScanCounts(files_total=10, files_selected=4)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "filters"))
    return tmp_path / "filters"


def test_nothing_is_recorded_without_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv(DIRECTORY, raising=False)
    record_filter("t", col("a") == 1, COUNTS)
    assert recorded_filters("t") is None


def test_columns_operators_and_counts_are_recorded_and_no_values(place):
    record_filter(
        "t", (col("a") == "secret-value") & ((col("b") > 7777) | col("a").is_in(["secret-value", "x"])), COUNTS
    )
    record_filter("t", col("a") == 1, COUNTS)
    record_filter("t", None, COUNTS)
    found = recorded_filters("t")
    assert found.scans == 2
    uses = {key: (use.scans, use.files, use.selected) for key, use in found.uses.items()}
    assert uses == {("a", "=="): (2, 20, 8), ("b", ">"): (1, 10, 4), ("a", "in"): (1, 10, 4)}
    assert recorded_filters("other") is None
    (file,) = place.iterdir()
    assert "secret" not in file.read_text()
    assert "7777" not in file.read_text()


def test_scans_of_a_table_are_recorded(place, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", pa.schema([("k", pa.int64()), ("v", pa.string())]))
    for n in range(4):
        table.write(pa.table({"k": [n], "v": ["a"]}))
    table.scan(where=col("k") == 2).to_arrow()
    table.scan().to_arrow()
    found = recorded_filters(table.context.paths.root)
    use = found.uses["k", "=="]
    assert (found.scans, use.files / use.scans, use.selected / use.scans) == (use.scans, 4, 1)


def _record(place, count):
    os.environ[DIRECTORY] = place
    for _ in range(count):
        record_filter("t", col("a") == 1, COUNTS)
    recorded_filters("t")


def test_processes_and_threads_are_added_up(place):
    _record(str(place), 5)
    spawned = multiprocessing.get_context("fork").Process(target=_record, args=(str(place), 7))
    spawned.start()
    spawned.join(30)
    assert spawned.exitcode == 0
    threads = [threading.Thread(target=_record, args=(str(place), 50)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded_filters("t").uses["a", "=="].scans == 5 + 7 + 200
    assert len(list(place.glob("*.json"))) == 2


def test_entries_and_files_are_bounded(place, monkeypatch):
    monkeypatch.setattr(recording, "MOST_ENTRIES", 3)
    for n in range(9):
        record_filter("t", col(f"c{n}") == 1, COUNTS)
    found = recorded_filters("t")
    assert (found.scans, len(found.uses)) == (9, 3)
    monkeypatch.setattr(recording, "MOST_FILES", 4)
    for n in range(8):
        (place / f"filters-{n}.json").write_text("{}")
        os.utime(place / f"filters-{n}.json", (n + 1, n + 1))
    recording._recorders.clear()  # as in a new process
    record_filter("t", col("a") == 1, COUNTS)
    assert len(list(place.iterdir())) == 4
    assert recorded_filters("t").scans == 10, "the oldest files were deleted"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"t": {"first": 1}}', '{"t": {"first": 1, "scans": 1, "uses": [["a"]]}}', '{"t": 3}']
)
def test_a_damaged_file_is_left_out_with_a_warning(place, caplog, text):
    record_filter("t", col("a") == 1, COUNTS)
    (place / "filters-bad.json").write_text(text)
    found = recorded_filters("t")
    assert found.scans == 1
    assert "filters-bad.json are left out: " in caplog.text


def test_a_directory_that_cannot_be_written_does_not_fail_a_scan(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "file"))
    record_filter("t", col("a") == 1, COUNTS)
    assert "filters are not recorded" in caplog.text
