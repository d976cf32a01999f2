"""Random histories of a part that follows a table of PostgreSQL, whose rows wait for rows of another table.

The part equals a model after each load, also when loads died before; with ``deletes: row``, a row that waits after a
TRUNCATE or a copy does not remove the older values of its key, because it would remove the values of other parts.
"""

from __future__ import annotations

import random

import pytest

from tests.pipelines.loads.postgres.histories import seeds
from tests.pipelines.loads.postgres.test_part_histories import killed
from tests.pipelines.loads.postgres.test_part_waiting import (
    LARGE,
    NAME,
    REJECTS,
    WAITING,
    declare,
    equal,
    load,
    names,
    rows,
    waiting,
    wide_lake,
)
from tests.support.waiting_model import WaitingModel, dying

KEYS = range(1, 7)


@pytest.fixture
def wide(followed):
    return wide_lake(followed)


class PartModel(WaitingModel):
    """The values are pairs of the column that is looked up and a large value."""

    def change(self, key, row):
        self.table.pop(key, None) if row is None else None
        self.waiting.pop(key, None)
        if row is not None and row[0] in self.others:
            self.table[key] = row, self.others[row[0]]
        elif row is not None:
            self.waiting[key] = row


def changed(wide, chance) -> tuple[bool, dict[int, tuple[int, str | None] | None]]:
    """Change rows in transactions, perhaps after a TRUNCATE; return whether, and the last row of each changed key."""
    count, keys = chance.randint(0, 4), set()
    truncates = count > 0 and chance.random() < 0.2
    for number in range(count):
        with wide.connection.transaction():
            if truncates and not number:
                wide.run("TRUNCATE s.p")
            for key in chance.sample(KEYS, chance.randint(1, 2)):
                column, large = chance.choice(KEYS), LARGE.format(chance.randrange(99))
                again = f"ON CONFLICT (id) DO UPDATE SET b = {column}"
                statement = chance.choice(
                    (
                        f"INSERT INTO s.p VALUES ({key}, {column}, {large}) {again}",
                        f"UPDATE s.p SET b = {column} WHERE id = {key}",
                        f"UPDATE s.p SET t = {large} WHERE id = {key}",
                        f"DELETE FROM s.p WHERE id = {key}",
                    )
                )
                if wide.connection.execute(statement).rowcount:
                    keys.add(key)
    return truncates, {key: source(wide).get(key) for key in keys}


def source(wide):
    return {id: (b, t) for id, b, t in wide.rows("SELECT id, b, t FROM s.p")}


@pytest.mark.parametrize("seed", seeds(3))
def test_the_part_equals_a_model_while_loads_die(wide, monkeypatch, seed):
    chance, model, is_row = random.Random(seed), PartModel(), seed % 3 == 2
    several = seed % 3 == 1
    declare(
        wide,
        deletes="row" if is_row else "columns",
        more="batch_rows: 3" if several else "split: id\n      parts: 2",
        options="options: {bucket: '-1'}" if seed % 4 == 3 else "",
    )
    names(wide, 0, "6,v")
    model.others[6] = "v"
    wide.lake.load(NAME)
    for number in range(1, 8):
        if chance.random() < 0.6:
            key = chance.choice(KEYS)
            model.others[key] = f"v{number}"
            names(wide, number, f"{key},v{number}")
        truncated, last = changed(wide, chance)
        copies = chance.random() < 0.2
        for _ in range(chance.randint(0, 2)):
            ends = dying(chance.randint(0, 6), monkeypatch)
            with ends if chance.random() < 0.5 else killed(chance.randrange(1, 70)):
                load(wide, reload=copies)
        load(wide, reload=copies)
        if copies:
            truncated, last = True, dict(source(wide))
        else:
            model.retry()
        older = dict(model.table)
        if truncated:
            model.table.clear()
            model.waiting.clear()
        for key, row in last.items():
            model.change(key, row)
        if is_row and truncated:
            model.table |= {key: older[key] for key in model.waiting.keys() & older.keys()}
        found = {id: ((b, t), name) for id, b, t, name in rows(wide, "t", "name")}
        if several:  # the older row of a key that waits may have come in an earlier batch of the same load
            for key in model.waiting:
                model.table.pop(key, None)
            model.table |= {key: found[key] for key in model.waiting.keys() & found.keys()}
        assert found == model.table, number
        assert {id: (b, t) for id, b, t in waiting(wide, "t")} == model.waiting, number
        if chance.random() < 0.3:
            wide.lake.create(NAME).compact(full=True)
            wide.lake.table(WAITING).compact(full=True)
        if not is_row:
            others = wide.lake.table(NAME).scan(["id", "n"]).to_arrow().to_pylist()
            assert {row["id"]: row["n"] for row in others if row["n"]} == {1: 1, 2: 2, 3: 3}
    assert wide.lake.rows(REJECTS) == []
    equal(wide)
