"""Wide tables of topics against a full outer join: random messages, with kills, reloads, compactions and expiries.

The part ``a`` has JSON with kinds, ``b`` events of Debezium, ``c`` files. The messages of a key are in one partition.
"""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any

import pytest

from paimon_core.table.table import Table
from paimon_lake.loads.lag import lag
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from tests.pipelines.loads.kafka.conftest import Fed
from tests.support.loader_process import LoaderProcess

NAME = "shop.o"
TOPICS = ("a", "b")
PARTS = (*TOPICS, "c")
WIDE = """
columns: {id: BIGINT, a: INT, a_at: INT, b: INT, b_at: INT, c: INT, c_at: INT}
primary_key: id
options: {num-sorted-run.compaction-trigger: '2'}
retention: {keep_snapshots: 1, keep_hours: 0}
parts:
  a:
    source: {type: kafka, servers: "SERVERS", topic: TOPIC-a, format: json, batch_rows: 20}
    columns: a
    order_by: a_at
    kinds: {column: op}
  b:
    source: {type: kafka, servers: "SERVERS", topic: TOPIC-b, format: debezium-json, batch_rows: 15}
    columns: b
    order_by: b_at
  c: {source: {type: files, path: 'c/*.csv'}, columns: c, order_by: c_at, kinds: {column: op}}
checks: [{type: lag, max_messages: 0}]
"""
CALLS = ("open", "fsync", "link", "unlink", "replace", "mkdir")
Row = tuple[int, int | None, int, str]
"""The key, the value, the order and the kind of a row of a part."""


class Died(BaseException):
    """The process died; nothing handles it."""


class Wide:
    """The declared table, and the rows that were sent to its parts: a list for each partition, or file."""

    def __init__(self, fed: Fed) -> None:
        self.fed, self.lake = fed, fed.lake
        self.sent: dict[str, list[list[Row]]] = {"a": [[], []], "b": [[], []], "c": []}
        for part in TOPICS:
            fed.server.create(f"{fed.topic}-{part}", 2)
        fed.lake.declare(NAME, WIDE.replace("SERVERS", fed.server.servers).replace("TOPIC", fed.topic))

    @property
    def table(self) -> Table:
        return self.lake.table(NAME)

    def send(self, part: str, rows: list[Row]) -> None:
        if part == "c":
            lines = [f"{key},{'' if value is None else value},{order},{kind}\n" for key, value, order, kind in rows]
            self.lake.file(f"c/{len(self.sent['c']):03}.csv", "id,c,c_at,op\n" + "".join(lines))
            self.sent["c"].append(rows)
            return
        for partition in (0, 1):
            mine = [row for row in rows if row[0] % 2 == partition]
            self.fed.send(*(message(part, row) for row in mine), partition=partition, topic=f"{self.fed.topic}-{part}")
            self.sent[part][partition] += mine

    def loaded(self, table: Table, part: str) -> list[list[Row]]:
        """Return the rows before the position of a part, as its ledger has it."""
        ledger = read_ledger(table, f"{NAME} part {part}")
        if part == "c":
            return self.sent["c"][: len(ledger.files.versions)]
        offsets = [0, 0] if ledger.position is None else ledger.position["topics"][f"{self.fed.topic}-{part}"][1]  # type: ignore[index]
        return [rows[:offset] for rows, offset in zip(self.sent[part], offsets, strict=True)]

    def joined(self, table: Table) -> list[tuple[Any, ...]]:
        """Return the full outer join: of each part, the row with the greatest order, of equal ones the later one."""
        added: set[int] = set()
        newest: dict[str, dict[int, tuple[int | None, int]]] = {part: {} for part in PARTS}
        for part, found in newest.items():
            for key, value, order, kind in (row for rows in self.loaded(table, part) for row in rows):
                added |= {key} if kind != "-D" else set()
                if order >= found.get(key, (None, -1))[1]:
                    found[key] = (None if kind == "-D" else value, order)
        none = (None, None)
        return [(key, *(one for part in PARTS for one in newest[part].get(key, none))) for key in sorted(added)]

    def check(self) -> None:
        table = self.table
        assert self.lake.rows(NAME) == self.joined(table)


def message(part: str, row: Row) -> tuple[int, Any]:
    key, value, order, kind = row
    values = {"id": key, part: value, f"{part}_at": order}
    if part == "a":
        return key, {**values, "op": kind}
    return key, {"op": "d", "before": values} if kind == "-D" else {"op": "u", "before": None, "after": values}


def random_rows(chance: random.Random, deletes: float) -> list[Row]:
    return [
        (
            chance.randrange(12),
            chance.choice((None, *range(9))),
            chance.randrange(8),
            "-D" if chance.random() < deletes else chance.choice(("+I", "+U")),
        )
        for _ in range(chance.randrange(1, 30))
    ]


def killed(number: int) -> pytest.MonkeyPatch:
    """Let this call that changes the disk be the last one of a load."""
    patched, made = pytest.MonkeyPatch(), [0]

    def dying(original):
        def call(*args, **kwargs):
            made[0] += 1
            if made[0] >= number:
                raise Died
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        patched.setattr(os, name, dying(getattr(os, name)))
    return patched


@pytest.mark.parametrize("seed", range(3))
def test_any_history_of_topics_is_a_join(fed, seed):
    wide, chance = Wide(fed), random.Random(seed)
    steps = ("send",) * 8 + ("load",) * 3 + ("killed",) * 3 + ("reload", "compact", "expire")
    for part in PARTS:  # every key is added, so that a full compaction forgets none
        wide.send(part, [(key, 0, 0, "+I") for key in range(12)])
    for what in ["load", *chance.choices(steps, k=22), "load"]:
        part = chance.choice(("", *PARTS))
        if what == "send":
            wide.send(part or "a", random_rows(chance, 0.2))
            continue
        if what == "killed":
            patched = killed(chance.randrange(1, 80))
            try:
                wide.lake.load(NAME, part=part)
            except Died:
                pass
            finally:
                patched.undo()
        elif what == "compact":
            wide.lake.create(NAME).compact(full=chance.random() < 0.5)
        elif what == "expire":
            expire(wide.lake.spark, wide.lake.settings, NAME)
        else:
            wide.lake.load(NAME, part=part if what == "load" else "", reload=what == "reload")
        wide.check()
    wide.lake.load(NAME)
    assert wide.joined(wide.table) == wide.lake.rows(NAME)
    assert all(wide.loaded(wide.table, part) == wide.sent[part] for part in PARTS)
    assert lag(wide.lake.settings, NAME).details == {"a_lag_messages": 0, "b_lag_messages": 0}  # type: ignore[union-attr]
    assert [one for one in audit(wide.lake.settings, NAME) if not one.passed and one.audit != "health"] == []


def test_a_loader_that_is_killed_loads_each_message_of_each_part_once(fed):
    wide, chance = Wide(fed), random.Random(7)
    for part in PARTS:
        wide.send(part, [(key, 0, 0, "+I") for key in range(12)])
    wide.lake.create(NAME)
    for _ in range(2):
        loader = LoaderProcess(fed.lake.folder, NAME, with_spark=False)
        before, deadline = wide.table.latest_snapshot(), time.monotonic() + 60
        try:
            ends = None
            while ends is None or time.monotonic() < ends:
                wide.send(chance.choice(TOPICS), random_rows(chance, 0.2))
                time.sleep(chance.uniform(0, 0.2))
                assert time.monotonic() < deadline, "the loader commits nothing"
                if ends is None and wide.table.latest_snapshot() != before:
                    ends = time.monotonic() + chance.uniform(0.2, 2)
        finally:
            loader.kill()
        wide.check()
    wide.lake.load(NAME)
    wide.check()
    read = dict.fromkeys(PARTS, 0)
    for one in wide.table.inspect.snapshots().to_pylist():
        properties, user = dict(one["properties"] or ()), one["commit_user"]
        if user.startswith(f"load {NAME} part "):
            read[user[-1]] += int(properties["pipeline.rows-read"])
    assert read == {part: sum(map(len, wide.sent[part])) for part in PARTS}, json.dumps(read)
