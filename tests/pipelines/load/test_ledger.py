"""The ledger of loads: read from snapshots, carried on before an expiry, and refused when entries are missing."""

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.table.table import Table
from pipelines.load.ledger import FILES, KEY, TOTAL, WATERMARK, LoadedFiles, carry_on, read_ledger, user_of
from pipelines.protocol import PipelineError


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    options = {"bucket": "1", "commit.force-create-snapshot": "true", "write-only": "true"}
    schema = pa.schema([("k", pa.int64())])
    return catalog.create_table("db.t", schema, primary_key=["k"], options=options)


def load(table: Table, number: int, *files: tuple[str, str], total: int | None = None, **more: str) -> None:
    known = read_ledger(table).files.with_files(files) if total is None else LoadedFiles()
    properties = {FILES: LoadedFiles().with_files(files).to_text(), **more}
    properties[TOTAL] = str(len(known.versions) if total is None else total)
    table.write(pa.table({"k": [number]}), user=user_of("db.t"), identifier=number, properties=properties)


def test_a_table_without_loads_has_an_empty_ledger(table: Table) -> None:
    table.write(pa.table({"k": [1]}), user="someone else", identifier=5)
    ledger = read_ledger(table)
    assert (ledger.number, dict(ledger.files.versions), dict(ledger.keys)) == (0, {}, {})


def test_a_file_is_new_then_loaded_then_changed(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    files = read_ledger(table).files
    assert [files.state(p, "v1") for p in ("/a.csv", "/b.csv", "/c.csv")] == ["loaded", "loaded", "new"]
    assert files.state("/a.csv", "v2") == "changed"
    load(table, 3, ("/a.csv", "v2"))
    assert read_ledger(table).files.state("/a.csv", "v2") == "loaded"


def test_a_rollback_removes_entries_with_their_rows(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    table.rollback(snapshot=1)
    assert read_ledger(table.refresh()).files.state("/b.csv", "v1") == "new"


def test_keys_and_the_watermark_are_those_of_the_newest_load(table: Table) -> None:
    load(table, 1, **{KEY: "one", WATERMARK: "5"})
    load(table, 2, **{KEY: "two", WATERMARK: "9"})
    load(table, 3)
    ledger = read_ledger(table)
    assert (ledger.number, dict(ledger.keys), ledger.watermark) == (3, {"one": 1, "two": 2}, 9)


def test_entries_of_snapshots_that_expire_are_carried_on(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"), **{WATERMARK: '"2024-01-31"'})
    load(table, 2, ("/b.csv", "v1"))
    for number in range(3):
        table.write(pa.table({"k": [number]}))
    assert carry_on(table, {1}) is not None
    assert carry_on(table, {1, 2}) is None
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    ledger = read_ledger(table)
    assert [ledger.files.state(p, "v1") for p in ("/a.csv", "/b.csv")] == ["loaded", "loaded"]
    assert (ledger.number, ledger.watermark) == (3, "2024-01-31")
    load(table, 4, ("/c.csv", "v1"))
    assert len(read_ledger(table).files.versions) == 3


def test_nothing_is_carried_on_when_the_snapshots_that_stay_have_all_entries(table: Table) -> None:
    table.write(pa.table({"k": [7]}))
    load(table, 1, ("/a.csv", "v1"))
    assert carry_on(table, {1}) is None


def test_entries_that_another_program_let_expire_are_noticed(table: Table) -> None:
    load(table, 1, ("/a.csv", "v1"))
    load(table, 2, ("/b.csv", "v1"))
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    with pytest.raises(PipelineError, match=r"db\.t: its snapshots name 1 of 2 loaded files: another program expired"):
        read_ledger(table)


@pytest.mark.parametrize("text", ["!", "YQ==", "ä"])
def test_a_damaged_entry_is_told_with_its_snapshot(table: Table, text: str) -> None:
    load(table, 1, total=0, **{FILES: text})
    with pytest.raises(PipelineError, match=r"db\.t: the property pipeline.files of snapshot 1 is damaged"):
        read_ledger(table)
