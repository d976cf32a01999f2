"""Random histories of messages that look up rows which come late or change, with loads that die."""

from __future__ import annotations

import random

import pytest

from paimon_lake.steps.audits.audit import audit_loads
from tests.support.waiting_model import WaitingModel, dying

KEYS = range(1, 6)


@pytest.mark.parametrize("seed", range(3))
def test_the_table_equals_a_model(fed, monkeypatch, seed):
    chance, model = random.Random(seed), WaitingModel()
    lookup = "lookup: [{table: dim.c, on: {c: id}, columns: {v: v}, missing: wait, max_wait: 2 d}]"
    fed.declare(
        f"format: json, key: id, batch_rows: {chance.randint(2, 9)}, {lookup}",
        columns="{id: BIGINT, c: BIGINT, v: STRING}",
    )
    fed.lake.declare(
        "dim.c",
        """
        columns: {id: BIGINT, v: STRING}
        primary_key: id
        source: {type: files, path: "c/*.csv"}
        """,
    )
    for number in range(5):
        if chance.random() < 0.7:
            key = chance.choice(KEYS)
            model.others[key] = f"v{number}"
            fed.lake.file(f"c/{number}.csv", f"id,v\n{key},v{number}\n")
            fed.lake.load("dim.c")
        sent = [(chance.choice(KEYS), chance.choice([None, *KEYS])) for _ in range(chance.randint(0, 9))]
        fed.send(*((key, None if column is None else {"id": key, "c": column}) for key, column in sent))
        for _ in range(chance.randint(0, 2)):
            with dying(chance.randint(0, 9), monkeypatch):
                fed.load()
        fed.load()
        model.retry()
        for key, column in sent:
            model.change(key, column)
        assert fed.rows() == model.rows()
        assert fed.load().details["rows_waiting"] == len(model.waiting)
    assert not audit_loads(fed.lake.settings, "shop.o").wrong
