"""Recorded filters in health: columns that are filtered without an index, and indexes that no filter uses."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.health.thresholds import Thresholds
from paimon_core.metadata import clock
from paimon_core.plan.recorded_filters import DIRECTORY

DAY_MILLIS = 86_400_000
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string()), ("other", pa.string())])
LIMITS = Thresholds(filter_scans=5)


@pytest.fixture
def at(monkeypatch, tmp_path):
    """Turn the recording on, and return a function that moves the clock forward by days."""
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "filters"))

    def moved(days):
        monkeypatch.setattr(clock, "now_millis", lambda now=None: now or time.time_ns() // 10**6 + days * DAY_MILLIS)

    return moved


@pytest.fixture
def made(warehouse):
    """Return a function that creates a table of four files, each with the same range of texts."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")

    def table(**options):
        options = {"write-only": "true"} | options
        found = catalog.create_table("db.t", SCHEMA, options=options)
        for n in range(4):
            texts = [f"{m:03}" for m in range(n, 100, 4)]
            found.write(pa.table([range(100 * n, 100 * n + 25), texts, texts], schema=SCHEMA))
        return found

    return table


def scanned(table, column, value, times=6):
    for _ in range(times):
        table.refresh().scan(where=col(column) == value).to_arrow()


def findings(table):
    return table.refresh().health(LIMITS).findings


def test_a_filtered_column_without_index(at, made):
    table = made()
    scanned(table, "text", "050", 4)
    scanned(table, "id", 105)
    assert findings(table) == (), "few scans, and a column whose statistics leave out files"
    scanned(table, "text", "050")
    (finding,) = findings(table)
    assert (finding.name, finding.measure, finding.safe) == ("unindexed-filter", 1.0, False)
    alter = "paimon-core alter db.t \"SET ('file-index.bloom-filter.columns' = 'text')\""
    assert finding.command == f"{alter} && paimon-core rewrite-file-index db.t"
    table.mend(finding)
    assert findings(table) == ()
    assert table.refresh().scan(where=col("text") == "050").to_arrow().num_rows == 1


def test_an_index_that_no_filter_uses(at, made):
    options = {"file-index.bloom-filter.columns": "text,other"}
    table = made(**options)
    scanned(table, "text", "050")
    at(29)
    scanned(table, "text", "050")
    assert findings(table) == (), "not observed for long enough"
    at(31)
    scanned(table, "text", "050")
    (finding,) = findings(table)
    assert (finding.name, finding.measure, finding.threshold) == ("unused-index", 1, 30)
    assert "columns other have a file index" in finding.text
    assert finding.command == "paimon-core alter db.t \"SET ('file-index.bloom-filter.columns' = 'text')\""
    table.mend(finding)
    assert findings(table) == ()


def test_an_index_that_filters_use_is_no_finding(at, made):
    table = made(**{"file-index.bloom-filter.columns": "text,other"})
    for days in (0, 20, 40):
        at(days)
        scanned(table, "text", "050")
        scanned(table, "other", "050", 1)
    assert findings(table) == ()


def test_nothing_is_concluded_when_the_recording_stopped(at, made):
    table = made(**{"file-index.bloom-filter.columns": "text,other"})
    scanned(table, "text", "050")
    at(31)
    assert findings(table) == ()


def test_without_a_recording_there_is_no_finding(made, monkeypatch):
    monkeypatch.delenv(DIRECTORY, raising=False)
    table = made()
    scanned(table, "text", "050")
    assert findings(table) == ()
