"""Random histories of loads with rows that wait: the tables equal a model, also when loads die at any moment.

The model applies what a load reads in order: first the rows that wait, then the rows of the files. A load that died is
repeated. A rollback of the table makes its files new again, and brings the rows back that waited at that time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_lake.loads import write_tasks
from paimon_lake.steps.audits.audit import audit_loads
from tests.support.examples import examples
from tests.support.lakes import small_lake
from tests.support.tasks import in_this_process

PLANES = """\
columns: {id: STRING, model: STRING}
primary_key: id
kinds: {column: op}
source: {type: files, path: "planes/*.csv"}
"""
FLIGHTS = """\
columns: {flight: BIGINT, tail: STRING, number: INT, model: STRING}
%s
source:
  type: files
  path: "flights/*.csv"
  lookup:
    - {table: dim.planes, on: {tail: id}, columns: {model: model}, missing: wait, max_wait: 2 d}
"""
TAILS = st.sampled_from(["a", "b", "c", "d", ""])
FLIGHT = st.tuples(st.integers(1, 6), TAILS, st.sampled_from("UUUD"))
PLANE = st.tuples(st.sampled_from("abcd"), st.sampled_from(["M1", "M2"]), st.sampled_from("UUUD"))
STEPS = st.one_of(
    st.tuples(st.just("planes"), st.lists(PLANE, min_size=1, max_size=3)),
    st.tuples(st.just("flights"), st.lists(st.lists(FLIGHT, min_size=1, max_size=6), max_size=2)),
    st.tuples(st.just("dies"), st.tuples(st.lists(FLIGHT, min_size=1, max_size=5), st.integers(1, 120))),
    st.tuples(st.sampled_from(["compact", "rollback"]), st.none()),
)
CALLS = ("open", "fsync", "link", "unlink", "replace", "mkdir")


class Died(BaseException):
    """The process died; nothing handles it."""


class History:
    """A lake, and what its tables must contain."""

    def __init__(self, folder, *, keyed):
        self.keyed = keyed
        self.lake = small_lake(folder / "lake", SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))
        self.lake.declare("dim.planes", PLANES)
        self.lake.declare("ods.flights", FLIGHTS % ("primary_key: flight\nkinds: {column: op}" if keyed else ""))
        self.lake.create("dim.planes")
        self.files = 0
        self.planes, self.rows, self.waiting = {}, [], []
        self.new = []
        self.states = {}
        self.number = 0

    def load_planes(self, planes):
        self.files += 1
        lines = [f"{plane},{model},{op}\n" for plane, model, op in planes]
        self.lake.file(f"planes/{self.files:03}.csv", "id,model,op\n" + "".join(lines))
        self.lake.load("dim.planes")
        for plane, model, op in planes:
            self.planes.pop(plane, None)
            if op != "D":
                self.planes[plane] = model

    def add_file(self, flights):
        self.files += 1
        lines = []
        for flight, tail, op in flights:
            self.number += 1
            self.new.append((self.files, flight, tail or None, self.number, op))
            lines.append(f"{flight},{tail},{self.number}{f',{op}' if self.keyed else ''}\n")
        head = "flight,tail,number" + (",op" if self.keyed else "")
        self.lake.file(f"flights/{self.files:03}.csv", f"{head}\n" + "".join(lines))

    def load_flights(self):
        self.lake.load("ods.flights")
        self.expect_load()
        self.check()

    def expect_load(self):
        waiting, self.waiting = self.waiting, []
        for row in waiting:
            self.read(*row)
        for _, flight, tail, number, op in self.new:
            self.read(flight, tail, number, op)
        self.loaded = [*getattr(self, "loaded", []), *self.new]
        self.new = []
        self.states[self.lake.table("ods.flights").latest_snapshot().id] = (
            list(self.rows),
            list(self.waiting),
            list(self.loaded),
        )

    def read(self, flight, tail, number, op):
        if self.keyed:
            self.waiting = [row for row in self.waiting if row[0] != flight]
            if op == "D":
                self.rows = [row for row in self.rows if row[0] != flight]
                return
        if tail is not None and tail not in self.planes:
            self.waiting.append((flight, tail, number, op))
            return
        if self.keyed:
            self.rows = [row for row in self.rows if row[0] != flight]
        self.rows.append((flight, tail, number, self.planes.get(tail)))

    def roll_back(self):
        table = self.lake.table("ods.flights")
        ids = set(self.states) & set(table.inspect.snapshots()["snapshot_id"].to_pylist())
        if not ids:
            return
        target = sorted(ids)[len(ids) // 2]
        table.rollback(snapshot=target)
        all_rows = sorted([*self.loaded, *self.new], key=lambda row: row[3])
        self.rows, self.waiting, self.loaded = (list(part) for part in self.states[target])
        self.new = [row for row in all_rows if row not in self.loaded]
        self.states = {number: state for number, state in self.states.items() if number <= target}

    def check(self):
        found = self.lake.table("ods.flights").scan().to_arrow().to_pylist()
        assert sorted(map(key, (row.values() for row in found))) == sorted(map(key, self.rows))
        found = self.lake.table("ods.flights__waiting").scan(["flight", "tail", "number"]).to_arrow().to_pylist()
        assert sorted(tuple(row.values()) for row in found) == sorted(row[:3] for row in self.waiting)
        audit = audit_loads(self.lake.settings, "ods.flights")
        assert not audit.wrong, audit.sentence


def key(row):
    return tuple(str(value) for value in row)


def dies(history, patch, number):
    """Load, and stop the process at a call of the operating system."""
    made = [0]

    def dying(original):
        def call(*args, **kwargs):
            made[0] += 1
            if made[0] == number:
                raise Died
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        patch.setattr(os, name, dying(getattr(os, name)))
    history.lake.load("ods.flights")


@pytest.mark.parametrize("keyed", [True, False])
@given(steps=st.lists(STEPS, min_size=2, max_size=10))
@settings(
    max_examples=examples(25),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_histories(keyed, steps):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_tasks, "collect_tasks", in_this_process)
        history = History(Path(folder), keyed=keyed)
        for step, what in steps:
            match step:
                case "planes":
                    history.load_planes(what)
                case "flights":
                    for flights in what:
                        history.add_file(flights)
                    if history.new or history.files:
                        history.add_file([(6, "a", "U")])
                        history.load_flights()
                case "dies":
                    history.add_file(what[0])
                    with pytest.MonkeyPatch.context() as killing, contextlib.suppress(Died):
                        dies(history, killing, what[1])
                    history.load_flights()
                case "compact" if history.states:
                    history.lake.table("ods.flights").compact(full=True)
                    history.lake.table("ods.flights__waiting").compact(full=True)
                    history.check()
                case "rollback" if history.states:
                    history.roll_back()
                    history.add_file([(6, "b", "U")])
                    history.load_flights()
