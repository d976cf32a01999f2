"""Rejects of files that are read again: they are replaced, once, whatever process dies; tasks run in-process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from paimon_core.table.table import Table
from paimon_lake.loads import load as loading
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.rejected.rejects import MESSAGES, publish_rejects
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.listing import list_files
from paimon_lake.sources.files.rejects import REJECTS
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake

NAME, BAD = "shop.orders", "shop.orders__rejects"
ORDERS = """
    columns: {id: BIGINT, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-31}
    rejects: {max_share: 0.5}
"""


class Died(BaseException):
    """The process died; nothing handles it."""


@pytest.fixture
def orders(quick: SmallLake) -> SmallLake:
    quick.declare(NAME, ORDERS)
    quick.file("data/2024-01-01.csv", "id,amount\n1,10\n2,x\n")
    quick.file("data/2024-01-02.csv", "id,amount\n3,30\n4,y\n5,50\n")
    return quick


def rejected(lake: SmallLake) -> list[tuple[Any, ...]]:
    """The day, text and load of each reject."""
    return [(row[0][-6:-4], row[4], row[5]) for row in lake.rows(BAD)]


def test_a_reject_has_the_load_the_time_and_the_version_of_its_file(orders: SmallLake) -> None:
    before = datetime.now(UTC)
    orders.load(NAME)
    (file,) = list_files(f"{orders.folder}/data/2024-01-01.csv", {})
    load, at, version = orders.rows(BAD)[0][5:]
    assert (load, version) == (1, file.version)
    assert abs((at - before).total_seconds()) < 60


def test_a_reload_replaces_the_rejects_of_what_it_reads(orders: SmallLake) -> None:
    orders.load(NAME)
    assert rejected(orders) == [("01", "2,x", 1), ("02", "4,y", 1)]
    orders.load(NAME, reload=True)
    assert rejected(orders) == [("01", "2,x", 2), ("02", "4,y", 2)]
    orders.load(NAME, "2024-01-02", reload=True)
    assert rejected(orders) == [("01", "2,x", 2), ("02", "4,y", 3)]
    orders.file("data/2024-01-01.csv", "id,amount\n1,10\n2,20\n")
    orders.load(NAME, "2024-01-01", reload=True)
    assert rejected(orders) == [("02", "4,y", 3)]
    assert (2, 20) in orders.rows(NAME)


def test_a_changed_file_replaces_its_rejects_only(orders: SmallLake) -> None:
    orders.declare(NAME, ORDERS.replace('.csv"}', '.csv", changed: load}'))
    orders.load(NAME)
    orders.file("data/2024-01-02.csv", "id,amount\n3,30\n4,40\n5,zz\n")
    orders.load(NAME)
    assert rejected(orders) == [("01", "2,x", 1), ("02", "5,zz", 2)]


def test_a_file_that_is_new_again_after_a_rollback_replaces_its_rejects(orders: SmallLake) -> None:
    orders.load(NAME, "2024-01-01")
    orders.load(NAME, "2024-01-02")
    orders.table(NAME).rollback(snapshot=1)
    orders.load(NAME)
    assert rejected(orders) == [("01", "2,x", 1), ("02", "4,y", 3)]


def test_a_table_that_is_replaced_as_a_whole_has_only_the_rejects_of_its_newest_load(orders: SmallLake) -> None:
    orders.declare(
        "log.all",
        """
        columns: {id: BIGINT, amount: INT}
        natural_key: [id]
        mode: overwrite
        source: {type: files, path: "data/*.csv"}
        rejects: {max_share: 0.5}
        """,
    )
    orders.load("log.all")
    (orders.folder / "data/2024-01-01.csv").unlink()
    orders.load("log.all", reload=True)
    assert [row[4:6] for row in orders.rows("log.all__rejects")] == [("4,y", 2)]


@pytest.mark.parametrize("dies", ["before both", "between"])
@pytest.mark.parametrize("repaired", [False, True])
def test_a_process_that_dies_while_it_replaces_rejects(
    orders: SmallLake, monkeypatch: pytest.MonkeyPatch, dies: str, repaired: bool
) -> None:
    orders.load(NAME)
    if repaired:
        orders.file("data/2024-01-02.csv", "id,amount\n3,30\n4,40\n5,50\n")

    def die(*_: Any, **__: Any) -> Any:
        raise Died

    with monkeypatch.context() as patched:
        if dies == "between":
            delete = Table.delete
            patched.setattr(Table, "delete", lambda *a, **more: die(delete(*a, **more)))
        else:
            patched.setattr(loading, "publish_rejects", lambda table, *_: die() if len(loads_of(table)) == 2 else None)
        with pytest.raises(Died):
            orders.load(NAME, "2024-01-02", reload=True)
    assert rejected(orders)[:1] == [("01", "2,x", 1)]
    assert orders.load(NAME).skipped == ("2 files loaded before",)
    expected = [("01", "2,x", 1), *([] if repaired else [("02", "4,y", 2)])]
    assert rejected(orders) == expected
    publish_rejects(orders.table(NAME), orders.table(BAD))
    assert rejected(orders) == expected


def test_two_reloads_at_the_same_time_leave_the_rejects_of_the_later_one(
    orders: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.load(NAME)
    publish = publish_rejects

    def publish_after_another(table: Table, rejects: Table, *_: str) -> None:
        if len(loads_of(table)) == 2:  # this reload has committed, and not published yet
            monkeypatch.setattr(loading, "publish_rejects", publish)
            orders.load(NAME, reload=True)
        publish(table, rejects)

    monkeypatch.setattr(loading, "publish_rejects", publish_after_another)
    orders.load(NAME, reload=True)
    assert rejected(orders) == [("01", "2,x", 3), ("02", "4,y", 3)]


def test_tables_of_rejects_of_earlier_versions_get_the_new_columns(orders: SmallLake) -> None:
    catalog = open_lake(orders.settings)
    catalog.create_database("shop", ignore_if_exists=True)
    old = catalog.create_table(BAD, REJECTS)
    path = f"{orders.folder}/data/2024-01-01.csv"
    rows = [{"file": path, "line": 3, "column": "amount", "reason": "old", "raw": "2,x"}]
    rows.append({**rows[0], "file": "elsewhere.csv"})
    with old.writer() as writer:
        writer.write(rows)
        waiting = writer.flush()
    old.write(rows)
    orders.load(NAME, "2024-01-02")
    catalog.table(BAD).commit(waiting)  # rejects of an interrupted load, written before the columns were added
    assert [row[0].rsplit("/", 1)[-1] for row in orders.rows(BAD) if row[5] is None] == ["2024-01-01.csv"] * 2 + [
        "elsewhere.csv"
    ] * 2
    orders.load(NAME, "2024-01-01")
    assert rejected(orders) == [("01", "2,x", 2), ("02", "4,y", 1), *[("re", "2,x", None)] * 2]


def test_a_damaged_property_is_told(orders: SmallLake) -> None:
    properties = {"pipeline.rejects-replaced": "?", MESSAGES: "[]"}
    orders.load(NAME)
    orders.table(NAME).commit([], user=f"load {NAME}", identifier=2, properties=properties)
    with pytest.raises(PipelineError, match=r"the property pipeline\.rejects-replaced of load 2 is damaged"):
        orders.load(NAME)
