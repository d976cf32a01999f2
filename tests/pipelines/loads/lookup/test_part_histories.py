"""Random histories of a part of a wide table whose rows wait: the table equals a model, also when loads die.

A row with a lower order than the newest row of its key changes nothing, also when it waits, or when another row waits.
Another part has its own rows all the time.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_lake.loads import write_tasks
from paimon_lake.steps.audits.audit import audit_loads
from tests.pipelines.loads.lookup.test_histories import STEPS, Died, History, dies
from tests.support.examples import examples
from tests.support.tasks import in_this_process

WIDE = """\
columns: {flight: BIGINT, tail: STRING, number: INT, model: STRING, at: INT, gate: STRING, gate_at: INT}
primary_key: flight
parts:
  tails:
    source:
      type: files
      path: "flights/*.csv"
      lookup:
        - {table: dim.planes, on: {tail: id}, columns: {model: model}, missing: wait, max_wait: 2 d}
    columns: [tail, number, model]
    order_by: at
    kinds: {column: op}
  gates: {source: {type: files, path: "gates/*.csv"}, columns: gate, order_by: gate_at}
"""
WAITING = "ods.flights__waiting_tails"


class PartHistory(History):
    """A lake with a wide table; ``rows`` has the newest row of each key, also of deleted ones, and ``waiting`` those
    that wait."""

    def __init__(self, folder):
        super().__init__(folder, keyed=True)
        self.lake.declare("ods.flights", WIDE)
        self.lake.file("gates/1.csv", "flight,gate,gate_at\n1,A,1\n9,B,1\n")
        self.add_file([(key, "", "U") for key in range(1, 7)])  # a full compaction forgets a key that is only deleted

    def add_file(self, flights):
        super().add_file(flights)
        path = self.lake.folder / f"flights/{self.files:03}.csv"
        head, *lines = path.read_text().splitlines()
        ordered = [f"{line},{order_of(int(line.split(',')[2]))}\n" for line in lines]
        path.write_text(f"{head},at\n{''.join(ordered)}")

    def read(self, flight, tail, number, op):
        order = order_of(number)
        if op != "D" and tail is not None and tail not in self.planes:
            if all(order >= order_of(row[2]) for row in self.waiting if row[0] == flight):
                self.waiting = [row for row in self.waiting if row[0] != flight] + [(flight, tail, number, op)]
            return
        self.waiting = [row for row in self.waiting if row[0] != flight or order_of(row[2]) > order]
        if all(order >= row[4] for row in self.rows if row[0] == flight):
            values = (None, None, None) if op == "D" else (tail, number, self.planes.get(tail))
            self.rows = [row for row in self.rows if row[0] != flight] + [(flight, *values, order)]

    def check(self):
        found = self.lake.rows("ods.flights")
        kept = {row[:5] for row in found if row[2] is not None}
        assert kept == {row for row in self.rows if row[2] is not None}
        assert {row[0]: row[5] for row in found if row[5]} == {1: "A", 9: "B"}
        rows = self.lake.table(WAITING).scan(["flight", "tail", "number"]).to_arrow().to_pylist()
        waits, wanted = {tuple(row.values()) for row in rows}, {row[:3] for row in self.waiting}
        newest = {row[0]: row[4] for row in self.rows}
        late = {row for row in wanted if order_of(row[2]) < newest.get(row[0], -1)}  # it may be gone, or be no more use
        assert wanted - late <= waits <= wanted, (waits, wanted)
        audit = audit_loads(self.lake.settings, "ods.flights")
        assert not audit.wrong, audit.sentence


def order_of(number):
    """Return the order of a row: neither ascending nor distinct."""
    return number * 7 % 11


@given(steps=st.lists(STEPS, min_size=3, max_size=10))
@settings(
    max_examples=examples(20),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_histories(steps):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_tasks, "collect_tasks", in_this_process)
        history = PartHistory(Path(folder))
        for step, what in steps:
            match step:
                case "planes":
                    history.load_planes(what)
                case "flights":
                    for flights in what:
                        history.add_file(flights)
                    history.add_file([(6, "a", "U")])
                    history.load_flights()
                case "dies":
                    history.add_file(what[0])
                    with pytest.MonkeyPatch.context() as killing, contextlib.suppress(Died):
                        dies(history, killing, what[1])
                    history.load_flights()
                case "compact" if history.states:
                    history.lake.table("ods.flights").compact(full=True)
                    history.lake.table(WAITING).compact(full=True)
                    history.check()
                case "rollback" if history.states:
                    history.roll_back()
                    history.add_file([(6, "b", "U")])
                    history.load_flights()
