"""Partitions of derived tables whose inputs changed after they were loaded: told, and loaded again."""

from __future__ import annotations

import datetime
import json
import time
from pathlib import Path
from typing import Any

import pytest

from paimon_core import col
from paimon_core.metadata.commit_message import position_of
from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from paimon_lake.loads import load as loads
from paimon_lake.loads.inputs import comparisons, input_changes
from paimon_lake.loads.inputs.input_loads import LOADED, STALE
from paimon_lake.loads.inputs.stale import stale_now
from paimon_lake.loads.ledger import ledger as ledgers
from paimon_lake.loads.ledger.ledger import carry_on
from paimon_lake.loads.ledger.load_properties import PARTITIONS, load_user
from paimon_lake.loads.ledger.load_snapshot import INPUTS
from paimon_lake.overview import lake_text, overviews
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from tests.support.lakes import SmallLake

pytestmark = pytest.mark.usefixtures("tasks_here")
DAYS = ("2024-01-01", "2024-01-02")
ORDERS = """
    columns: {id: BIGINT, day: DATE, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, column: day}
"""
PARTED = ORDERS.replace("[id]", "[day, id]\n    partition_by: [day]")
BY_DAY = """
    columns: {day: DATE, amount: BIGINT}
    natural_key: [day]
    partition_by: [day]
    partitions: {by: day, start: 2024-01-01, column: day}
    source:
      type: sql
      inputs: [shop.orders]
      query: SELECT day, sum(amount) AS amount FROM shop.orders GROUP BY day
"""
CHANGED = "shop.orders changed after snapshot {}"


@pytest.fixture
def shop(lake: SmallLake, request: pytest.FixtureRequest) -> SmallLake:
    lake.declare("shop.orders", getattr(request, "param", PARTED))
    for number, day in enumerate(DAYS):
        lake.file(f"data/{day}.csv", f"id,day,amount\n{number},{day},{10 + number}\n")
    lake.load("shop.orders")
    lake.declare("shop.days", BY_DAY)
    lake.load("shop.days", *DAYS)
    return lake


def correct(lake: SmallLake, amount: int = 99) -> None:
    """Let the file of a third day correct an order of the first."""
    lake.file("data/2024-01-03.csv", f"id,day,amount\n0,2024-01-01,{amount}\n5,2024-01-03,5\n")
    lake.load("shop.orders", "2024-01-03", reload=True)


@pytest.mark.parametrize("shop", [ORDERS, PARTED], ids=["by rows", "by partitions"], indirect=True)
def test_a_corrected_day_is_stale_until_it_is_loaded(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert stale_now(shop.settings, "shop.days") == {}
    correct(shop)
    expected = {"2024-01-01": CHANGED.format(1)}
    loaded = shop.load("shop.days", "2024-01-03")
    assert loaded.stale == stale_now(shop.settings, "shop.days") == expected
    assert f"stale: partition 2024-01-01 ({CHANGED.format(1)})" in loaded.sentence()
    assert '"2024-01-01": "shop.orders changed' in loaded.to_json()
    again = shop.load("shop.days", "2024-01-03")
    assert (again.commits, again.stale) == ((), expected)
    asked = ["--configs", str(shop.folder), "--env", "local"]
    assert main(["check", *asked]) == 1
    assert f"shop.days is stale: partition 2024-01-01 ({CHANGED.format(1)}); load them again" in capsys.readouterr().out
    assert "2024-01-01" in lake_text([one for one in overviews(shop.settings) if one.name == "shop.days"])
    (found,) = audit(shop.settings, "shop.days", ["stale"])
    assert (found.wrong, found.passed) == (1, False)
    assert shop.load("shop.days", "2024-01-01").stale == stale_now(shop.settings, "shop.days") == {}
    assert shop.rows("shop.days")[0][1] == 99
    assert main(["check", *asked]) == 0


def test_a_load_of_all_partitions_loads_the_stale_ones(shop: SmallLake) -> None:
    correct(shop)
    shop.load("shop.days", "2024-01-03")
    assert shop.load("shop.days").stale == {}
    assert [amount for _, amount in shop.rows("shop.days")] == [99, 11, 5]
    correct(shop, 100)
    assert stale_now(shop.settings, "shop.days").keys() == {"2024-01-01", "2024-01-03"}


def test_a_command_tells_stale_partitions_with_its_exit_code(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_main, "start_session", lambda settings: shop.session)
    correct(shop)
    asked = ["load", "--configs", str(shop.folder), "--env", "local", "--table", "shop.days"]
    assert main([*asked, "--partition", "2024-01-03"]) == 3
    assert "stale: partition 2024-01-01" in capsys.readouterr().out
    assert main(asked) == 0


@pytest.mark.parametrize("shop", [ORDERS, PARTED], ids=["by rows", "by partitions"], indirect=True)
def test_compactions_and_empty_commits_are_no_changes(shop: SmallLake) -> None:
    shop.table("shop.orders").compact(full=True)
    shop.table("shop.orders").commit([], user="nobody", identifier=1)
    assert stale_now(shop.settings, "shop.days") == {}


def test_an_expiry_of_the_input_keeps_what_is_stale_and_makes_nothing_else_stale(shop: SmallLake) -> None:
    retention = "    retention: {keep_snapshots: 1, keep_hours: 0}\n"
    shop.declare("shop.orders", PARTED + retention)
    shop.table("shop.orders").compact(full=True)
    expire(lambda: shop.session, shop.settings, "shop.orders")
    assert min(shop.table("shop.orders").context.snapshots.ids()) == 2
    assert stale_now(shop.settings, "shop.days") == {}
    correct(shop)
    expire(lambda: shop.session, shop.settings, "shop.orders")
    assert stale_now(shop.settings, "shop.days") == {"2024-01-01": CHANGED.format(3)}
    loaded = shop.load("shop.days", "2024-01-01")
    assert (loaded.stale, stale_now(shop.settings, "shop.days"), shop.rows("shop.days")[0][1]) == ({}, {}, 99)


@pytest.mark.long
def test_a_load_that_takes_the_number_compares_itself(shop: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    correct(shop)
    tried: list[int] = []

    def first_lost(table: Any, ledger: Any, *loaded: str) -> Any:
        tried.append(ledger.number)
        if len(tried) == 1:
            shop.load("shop.days", "2024-01-02")
            shop.load("shop.days", "2024-01-01")
        return ledgers.commit_entries(table, ledger, *loaded)

    monkeypatch.setattr(comparisons, "commit_entries", first_lost)
    assert comparisons.keep_comparisons(shop.settings, "shop.orders", range(1, 2)) == {}
    assert (len(tried), stale_now(shop.settings, "shop.days")) == (1, {})


def test_a_row_that_moves_makes_both_days_stale(lake: SmallLake) -> None:
    lake.declare("shop.orders", ORDERS)
    lake.file("data/2024-01-01.csv", "id,day,amount\n1,2024-01-01,1\n2,2024-01-02,2\n3,2024-01-03,3\n")
    lake.load("shop.orders")
    lake.declare("shop.days", BY_DAY)
    lake.load("shop.days", *DAYS, "2024-01-03")
    lake.table("shop.orders").write([{"id": 1, "day": datetime.date(2024, 1, 2), "amount": 1}])
    assert stale_now(lake.settings, "shop.days").keys() == set(DAYS)


@pytest.mark.parametrize("key", ["primary_key: [day, id]", "natural_key: [id]"])
def test_removed_rows_and_replaced_partitions_are_changes(dry_lake: SmallLake, key: str) -> None:
    """Without a primary key, a deletion vector removes the row."""
    vectors = "options: {deletion-vectors.enabled: true}" if "natural" in key else ""
    dry_lake.declare("shop.orders", PARTED.replace("primary_key: [day, id]", f"{key}\n    {vectors}"))
    dry_lake.declare("shop.days", BY_DAY)
    orders = dry_lake.create("shop.orders")
    orders.write([{"id": n, "day": datetime.date(2024, 1, 1 + n % 2), "amount": n} for n in range(4)])
    recorded(dry_lake, *DAYS, "2024-01-03")
    orders.delete(col("id") == 1)
    assert stale_now(dry_lake.settings, "shop.days").keys() == {"2024-01-02"}
    orders.overwrite([{"id": 7, "day": datetime.date(2024, 1, 3), "amount": 1}])
    assert stale_now(dry_lake.settings, "shop.days").keys() == {"2024-01-02", "2024-01-03"}


def test_an_expiry_of_partitions_is_no_change(dry_lake: SmallLake) -> None:
    """What was computed from a partition stays right when its rows are no longer kept."""
    dry_lake.declare("shop.orders", PARTED)
    dry_lake.declare("shop.days", BY_DAY)
    orders = dry_lake.create("shop.orders")
    orders.write([{"id": 1, "day": datetime.date(2024, 1, 1), "amount": 1}])
    recorded(dry_lake, *DAYS)
    plan = orders.maintenance.plan_partition_expiry(strategy="update-time", older_than=datetime.timedelta(0))
    assert orders.maintenance.apply(plan).snapshots
    assert stale_now(dry_lake.settings, "shop.days") == {}


def recorded(lake: SmallLake, *keys: str) -> None:
    """Record a load of partitions of shop.days without rows, as a load does."""
    at = position_of(lake.table("shop.orders").latest_snapshot())
    said = {PARTITIONS: json.dumps(keys), INPUTS: json.dumps({"shop.orders": at}), STALE: "{}"}
    lake.create("shop.days").commit([], user=load_user("shop.days"), identifier=1, properties=said)


@pytest.mark.long
@pytest.mark.parametrize("what", ["rolled back", "expired"])
def test_partitions_are_stale_when_what_they_read_is_gone(shop: SmallLake, what: str) -> None:
    if what == "rolled back":
        correct(shop)
        shop.load("shop.days", "2024-01-01")
        shop.table("shop.orders").rollback(snapshot=1)
        expected = {"2024-01-01": "it was made from snapshot 2 of shop.orders, which was rolled back"}
    else:
        for amount in (1, 2):
            correct(shop, amount)
        shop.table("shop.orders").expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
        expected = dict.fromkeys(DAYS, "it was made from snapshot 1 of shop.orders, which has expired")
    found = stale_now(shop.settings, "shop.days")
    assert found.keys() == expected.keys()
    assert all(found[key].startswith(why) for key, why in expected.items())
    shop.load("shop.days", *expected)
    assert stale_now(shop.settings, "shop.days") == {}


@pytest.mark.long
def test_an_input_without_partitions_makes_every_partition_stale(shop: SmallLake) -> None:
    shop.declare(
        "shop.rates", "columns: {id: INT, rate: INT}\nprimary_key: id\nsource: {type: files, path: rates.csv}\n"
    )
    shop.file("rates.csv", "id,rate\n1,2\n")
    shop.load("shop.rates")
    query = "SELECT day, sum(amount * rate) AS amount FROM shop.orders, shop.rates GROUP BY day"
    declared = BY_DAY.replace("[shop.orders]", "[shop.orders, shop.rates]")
    shop.declare("shop.days", declared.replace(declared.partition("query: ")[2], query + "\n"))
    assert set(stale_now(shop.settings, "shop.days").values()) == {"shop.rates was no input of the load"}
    shop.load("shop.days", *DAYS)
    shop.table("shop.rates").write([{"id": 1, "rate": 3}])
    why = "shop.rates, which is read as a whole, changed after snapshot 1"
    assert shop.load("shop.days", "2024-01-01").stale == {"2024-01-02": why}


@pytest.mark.long
def test_a_chain_is_stale_link_by_link(shop: SmallLake) -> None:
    month = BY_DAY.replace("DATE", "STRING").replace("shop.orders", "shop.days").replace("by: day", "by: month")
    shop.declare(
        "shop.months",
        month.replace("SELECT day,", "SELECT date_format(day, 'yyyy-MM') AS day,").replace(
            "GROUP BY day", "GROUP BY 1"
        ),
    )
    shop.load("shop.months", "2024-01")
    correct(shop)
    assert (stale_now(shop.settings, "shop.days").keys(), stale_now(shop.settings, "shop.months")) == ({DAYS[0]}, {})
    shop.load("shop.days", DAYS[0])
    assert stale_now(shop.settings, "shop.months").keys() == {"2024-01"}


@pytest.mark.long
def test_what_expiry_carries_on_keeps_stale_partitions(shop: SmallLake) -> None:
    correct(shop)
    before = shop.load("shop.days", "2024-01-03").stale
    table = shop.table("shop.days")
    carry_on(table, range(1, 100))
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    assert stale_now(shop.settings, "shop.days") == before
    correct(shop, 7)
    assert stale_now(shop.settings, "shop.days").keys() >= {"2024-01-01"}


def test_a_table_without_partitions_is_stale_as_a_whole(shop: SmallLake) -> None:
    shop.declare(
        "shop.total",
        """
        columns: {amount: BIGINT}
        natural_key: [amount]
        source: {type: sql, inputs: [shop.orders], query: "SELECT sum(amount) AS amount FROM shop.orders"}
        """,
    )
    assert stale_now(shop.settings, "shop.total") == {}
    shop.load("shop.total")
    correct(shop)
    assert stale_now(shop.settings, "shop.total") == {
        "*": "shop.orders, which is read as a whole, changed after snapshot 1"
    }
    shop.load("shop.total")
    assert stale_now(shop.settings, "shop.total") == {}


@pytest.mark.long
def test_a_change_between_the_plan_and_the_commit_of_a_load_is_told_later(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load promises the inputs of the moment in which it was planned."""
    correct(shop)
    commit = loads.commit_load

    def late(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(loads, "commit_load", commit)
        correct(shop, 100)
        return commit(*given, **more)

    monkeypatch.setattr(loads, "commit_load", late)
    assert shop.load("shop.days", "2024-01-01").stale == {}
    assert stale_now(shop.settings, "shop.days")["2024-01-01"] == CHANGED.format(2)


@pytest.mark.long
def test_thousands_of_partitions_and_many_snapshots_are_compared_quickly(dry_lake: SmallLake) -> None:
    dry_lake.declare("shop.orders", PARTED)
    dry_lake.declare("shop.days", BY_DAY)
    orders, first = dry_lake.create("shop.orders"), datetime.date(2024, 1, 1)
    orders.write([{"id": 1, "day": first, "amount": 1}])
    recorded(dry_lake, *(str(first + datetime.timedelta(n)) for n in range(5000)))
    for number in range(20):
        orders.commit([], user="nobody", identifier=number)
    orders.write([{"id": 9, "day": first, "amount": 1}])
    days = dry_lake.table("shop.days")
    for number in range(2, 200):  # loads of snapshots that are gone
        gone = {PARTITIONS: "[]", INPUTS: f'{{"shop.orders": [{1000 + number}, "gone"]}}', STALE: "{}"}
        days.commit([], user=load_user("shop.days"), identifier=number, properties=gone)
    began = time.process_time()
    assert stale_now(dry_lake.settings, "shop.days") == {"2024-01-01": CHANGED.format(1)}
    assert time.process_time() - began < 1


@pytest.mark.long
def test_more_snapshots_than_are_compared_count_as_a_change_of_all(
    dry_lake: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_changes, "MOST_STEPS", 1)
    dry_lake.declare("shop.orders", PARTED)
    dry_lake.declare("shop.days", BY_DAY)
    orders = dry_lake.create("shop.orders")
    for number in range(2):
        orders.commit([], user="nobody", identifier=number)
    recorded(dry_lake, *DAYS)
    for number in range(2):
        orders.commit([], user="nobody", identifier=2 + number)
    assert stale_now(dry_lake.settings, "shop.days").keys() == set(DAYS)


def test_a_damaged_history_of_an_input_counts_as_a_change(dry_lake: SmallLake) -> None:
    """The input itself can still be read."""
    dry_lake.declare("shop.orders", PARTED)
    dry_lake.declare("shop.days", BY_DAY)
    orders = dry_lake.create("shop.orders")
    for day in (1, 2):
        orders.write([{"id": 1, "day": datetime.date(2024, 1, day), "amount": 1}])
        if day == 1:
            recorded(dry_lake, *DAYS)
    second = orders.latest_snapshot()
    assert second is not None
    orders.write([{"id": 1, "day": datetime.date(2024, 1, 3), "amount": 1}])
    (Path(orders.location) / "manifest" / second.delta_manifest_list).write_bytes(b"damaged")
    found = stale_now(dry_lake.settings, "shop.days")
    assert found.keys() == set(DAYS)
    assert found[DAYS[0]].startswith("the changes of shop.orders after snapshot 1 are not known: ")


@pytest.mark.parametrize("name", [STALE, LOADED])
def test_a_damaged_property_is_told_with_its_snapshot(dry_lake: SmallLake, name: str) -> None:
    dry_lake.declare("shop.orders", PARTED)
    dry_lake.declare("shop.days", BY_DAY)
    said = {INPUTS: '{"shop.orders": [1, "list"]}', name: '{"why": 5}'}
    dry_lake.create("shop.days").commit([], user=load_user("shop.days"), identifier=1, properties=said)
    with pytest.raises(PipelineError, match=f"the property {name} of snapshot 1 is damaged"):
        stale_now(dry_lake.settings, "shop.days")
