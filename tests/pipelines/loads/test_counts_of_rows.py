"""Counts of rows: read, written, rejected, merged and visible, alone and while another load commits."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_lake.loads import load as loading
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.protocol import StepResult
from tests.support.lakes import SmallLake

NAME = "shop.orders"
KEYED = """
    columns: {id: BIGINT, text: STRING}
    primary_key: [id]
    source: {type: files, path: "in/*.csv"}
    rejects: {max_share: 0.5}
"""
APPENDED = KEYED.replace("primary_key", "mode: append\n    natural_key")


@pytest.fixture(params=[KEYED, APPENDED])
def orders(quick: SmallLake, request: pytest.FixtureRequest) -> SmallLake:
    quick.declare(NAME, request.param)
    quick.file("in/a.csv", "id,text\n1,one\n1,uno\n2,two\nx,none\n")
    return quick


def during(monkeypatch: pytest.MonkeyPatch, other: Any, result: Any) -> StepResult:
    """Return the result of a load that another one overtakes right before its commit."""
    real, done = loading.commit_load, []

    def after_another(*given: Any) -> Any:
        if not done:
            done.append(True)
            done.append(other())
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(loading, "commit_load", after_another)
        found: StepResult = result()
    assert len(done) == 2
    return found


def test_each_word_means_one_thing(orders: SmallLake) -> None:
    result = orders.load(NAME)
    merged = 1 if orders.table(NAME).schema.primary_keys else 0
    counts = {"rows_read": 4, "rows_rejected": 1, "rows_merged": merged}
    assert {name: result.details[name] for name in counts} == counts
    assert (result.rows_written, result.row_count) == (3, 3 - merged)
    (load,) = loads_of(orders.table(NAME))
    told = {name: load.properties[f"pipeline.rows-{name}"] for name in ("read", "written", "rejected", "merged")}
    assert told == {"read": "4", "written": "3", "rejected": "1", "merged": str(merged)}
    (snapshot,) = orders.table(NAME).inspect.snapshots().to_pylist()
    assert snapshot["delta_record_count"] == 3 - merged, "the rows in the new files"


def test_of_two_reloads_at_the_same_time_the_second_has_nothing_left(
    orders: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = orders.load(NAME).row_count
    result = during(monkeypatch, lambda: orders.load(NAME, reload=True), lambda: orders.load(NAME, reload=True))
    assert (result.rows_written, result.commits) == (0, ())
    assert result.skipped == ("1 files loaded by another load since this one began",)
    assert (result.row_count, result.snapshot_id) == (first, 2)
    assert len(loads_of(orders.table(NAME))) == 2


def test_a_reload_of_more_than_another_load_has_read_reads_everything(
    orders: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.load(NAME)
    orders.file("in/b.csv", "id,text\n3,three\n")
    result = during(monkeypatch, lambda: orders.load(NAME), lambda: orders.load(NAME, reload=True))
    assert (result.rows_written, result.details["files_read"]) == (4, 2)
    assert sorted({row[0] for row in orders.rows(NAME)}) == [1, 2, 3]
    assert result.row_count == len(orders.rows(NAME)) == (3 if orders.table(NAME).schema.primary_keys else 4)


def test_files_of_other_writers_are_not_counted(orders: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = orders.create(NAME)
    rows = table.arrow_schema.empty_table().from_pylist([{"id": 7, "text": "x"}], schema=table.arrow_schema)
    result = during(monkeypatch, lambda: table.write(rows), lambda: orders.load(NAME))
    assert result.rows_written == 3
