"""Random histories of tables of one slot that look up rows which come late or change, with loads that die."""

from __future__ import annotations

import random

import pytest

from paimon_lake.steps.audits.audit import audit_loads
from tests.pipelines.loads.postgres.shared import SharedLake, shared_lake
from tests.pipelines.loads.postgres.test_shared_lookups import customers, declare
from tests.support.postgres import PASSWORD
from tests.support.waiting_model import WaitingModel, dying

KEYS = range(1, 6)


@pytest.fixture
def shared(quick, server, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with shared_lake(quick, server) as found:
        yield found


def changed(shared: SharedLake, chance: random.Random) -> dict[int, int | None]:
    """Change orders in transactions; return the last change of each."""
    last: dict[int, int | None] = {}
    for _ in range(chance.randint(0, 5)):
        with shared.connection.transaction():
            for key in chance.sample(KEYS, chance.randint(1, 2)):
                last[key] = chance.choice([None, *KEYS])
                shared.run(f"DELETE FROM s.o WHERE id = {key}")
                if last[key] is not None:
                    shared.run(f"INSERT INTO s.o VALUES ({key}, {last[key]})")
    return last


@pytest.mark.parametrize("seed", range(4))
def test_the_table_equals_a_model(shared, monkeypatch, seed):
    chance, model = random.Random(seed), WaitingModel()
    is_consistent = bool(seed % 2)
    shared.settings("consistent: true" if is_consistent else "")
    declare(shared, table="dim.c")
    shared.run(*(f"INSERT INTO s.c VALUES ({key}, 'x')" for key in KEYS))
    shared.load("shop.o")
    for number in range(4):
        if chance.random() < 0.7:
            key = chance.choice(KEYS)
            model.others[key] = f"v{number}"
            customers(shared, number, f"{key},v{number}")
        last = changed(shared, chance)
        for name in chance.choices(["shop.o", "shop.i"], k=chance.randint(0, 2)):
            with dying(chance.randint(0, 8), monkeypatch):
                shared.load(name)
        shared.load(chance.choice(["shop.o", "shop.z"]))
        model.retry()
        for key, column in last.items():
            model.change(key, column)
        assert shared.lake.rows("shop.o") == model.rows()
        found = shared.load("shop.o")
        assert found.details["rows_waiting"] == len(model.waiting)
        if is_consistent:
            assert shared.group().table("shop.o").scan().count() == len(model.table)
    assert not audit_loads(shared.lake.settings, "shop.o").wrong
