"""Parts with ``key_from`` against a plain join: late and moved keys, deletes, kills, rollbacks, expired changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_lake.loads import write_tasks
from paimon_lake.protocol import PartsFailed, PipelineError
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from tests.pipelines.loads.test_part_histories import Died, killed
from tests.support.examples import examples
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process

CUSTOMERS, ORDERS, WIDE = "d.customers", "d.orders", "d.wide"
DECLARED = {
    CUSTOMERS: "columns: {id: BIGINT, name: STRING, note: INT}\nprimary_key: id\n",
    ORDERS: "columns: {id: BIGINT, customer: BIGINT, note: INT}\nprimary_key: id\n",
}
FILES = "kinds: {column: op}\nretention: {keep_snapshots: 1, keep_hours: 0}\n"
WIDE_TEXT = """\
columns: {order: BIGINT, amount: INT, amount_at: INT, customer_name: STRING, customer_load: BIGINT}
primary_key: order
options: {num-sorted-run.compaction-trigger: '2'}
parts:
  amounts:
    source: {type: files, path: amounts/*.csv}
    columns: amount
    order_by: amount_at
  customers:
    source:
      type: table
      table: d.customers
      rename: {name: customer_name}
      key_from: {table: d.orders, on: {id: customer}, columns: {order: id}}
    columns: customer_name
    order_by: customer_load
"""
kinds = st.sampled_from(("+I", "+U", "-D"))
keys = st.integers(0, 5)
customers = st.tuples(
    st.just(CUSTOMERS), st.lists(st.tuples(keys, st.none() | st.sampled_from("abc"), kinds), max_size=5)
)
orders = st.tuples(st.just(ORDERS), st.lists(st.tuples(keys, st.none() | keys, kinds), min_size=1, max_size=5))
loads = st.tuples(st.just("load"), st.sampled_from(("customers", "customers", "")))
steps = st.lists(
    st.one_of(
        *(customers, customers, orders, orders, loads, loads, loads),
        st.tuples(st.just("amounts"), st.lists(st.tuples(keys, st.integers(0, 9)), min_size=1, max_size=3)),
        st.tuples(st.just("killed"), st.integers(1, 60)),
        st.tuples(st.just("reload"), st.just("customers")),
        st.tuples(st.just("compact"), st.sampled_from((CUSTOMERS, ORDERS, WIDE))),
        st.tuples(st.just("expire"), st.sampled_from((CUSTOMERS, ORDERS))),
        st.tuples(st.just("rollback"), st.sampled_from((CUSTOMERS, ORDERS, WIDE))),
    ),
    min_size=5,
    max_size=18,
)


@dataclass
class State:
    """What the wide table must contain."""

    amounts: dict[int, int] = field(default_factory=dict)
    loaded: int = 0
    """The number of files of amounts that are loaded."""
    visible: frozenset[int] = frozenset()
    """The keys of which some part brought a row."""
    had: frozenset[int] = frozenset()
    """The keys that ever had a customer."""
    names: dict[int, str | None] = field(default_factory=dict)

    def rows(self) -> list[tuple[Any, ...]]:
        """The key, the amount, the name, and whether the order column of the part is set."""
        return [(k, self.amounts.get(k), self.names.get(k), k in self.had) for k in sorted(self.visible)]


class Played:
    """A lake, and the same history on dicts."""

    def __init__(self, lake: SmallLake) -> None:
        self.lake, self.count = lake, 0
        self.versions: dict[str, dict[int, dict[int, Any]]] = {CUSTOMERS: {0: {}}, ORDERS: {0: {}}}
        """The rows of the two tables after each snapshot of a load."""
        self.amounts: list[list[tuple[int, int]]] = []
        self.state = State()
        self.states: dict[int, State] = {}
        self.may_break = False
        """Whether the changes since the newest load may be unknown."""
        self.rolled: set[str] = set()
        """The tables that a rollback changed."""

    def run(self, what: str, more: Any) -> None:
        self.count += 1
        if what in (CUSTOMERS, ORDERS):
            self.changed(what, more)
        elif what == "amounts":
            lines = "".join(f"{key},{value},{self.count}\n" for key, value in more)
            self.lake.file(f"amounts/{self.count:03}.csv", "order,amount,amount_at\n" + lines)
            self.amounts.append(more)
        elif what == "compact":
            self.lake.create(more).compact(full=True)
        elif what == "expire":
            self.lake.create(more)
            expire(self.lake.spark, self.lake.settings, more)
            self.may_break = True
        elif what == "rollback":
            self.rolled_back(more)
        else:
            self.wide(what, more)

    def changed(self, name: str, rows: list[tuple[int, Any, str]]) -> None:
        now = dict(self.versions[name][max(self.versions[name])])
        column = "name" if name == CUSTOMERS else "customer"
        text = f"id,{column},note,op\n"
        for key, value, kind in rows:
            now = {k: v for k, v in now.items() if k != key} | ({} if kind == "-D" else {key: value})
            text += f"{key},{'' if value is None else value},{self.count},{kind}\n"
        self.lake.file(f"{name}/{self.count:03}.csv", text)
        try:
            done = self.lake.load(name)
        except PipelineError as error:  # a rollback removed the snapshot in which an expiry kept the ledger
            if name not in self.rolled or "or a rollback removed the snapshot" not in str(error):
                raise
            done = self.lake.load(name, reload=True)
        snapshot = max(done.commits)
        self.versions[name] = {n: v for n, v in self.versions[name].items() if n < snapshot} | {snapshot: now}

    def rolled_back(self, name: str) -> None:
        table = self.lake.create(name)
        latest = table.latest_snapshot()
        known = self.states if name == WIDE else self.versions[name]
        live = table.context.snapshots.earliest_id() or 1
        target = max((number for number in known if latest is not None and live <= number < latest.id), default=None)
        if target is None:
            return
        table.rollback(snapshot=target)
        if name == WIDE:
            self.states = {number: state for number, state in self.states.items() if number <= target}
            self.state = self.states[target]
            return
        self.rolled.add(name)
        self.versions[name] = {n: v for n, v in self.versions[name].items() if n <= target}
        for path in (self.lake.folder / name).glob("*.csv"):
            path.unlink()  # else they would be loaded again
        self.may_break = True

    def wide(self, what: str, more: Any) -> None:
        if not all(self.lake.create(name).latest_snapshot() for name in (CUSTOMERS, ORDERS)):
            return
        part = more if isinstance(more, str) else ""
        if what == "killed":
            patched = killed(more)
            try:
                self.load(part)
            except Died:
                pass
            finally:
                patched.undo()
        self.load(part, reload=what == "reload")
        self.joined(part)
        found = self.lake.table(WIDE).scan().to_arrow().to_pylist()
        rows = [(row["order"], row["amount"], row["customer_name"], row["customer_load"] is not None) for row in found]
        assert sorted(rows) == self.state.rows()

    def load(self, part: str, *, reload: bool = False) -> None:
        try:
            self.lake.load(WIDE, part=part, reload=reload)
        except (PartsFailed, PipelineError) as error:
            if not (self.may_break and "--reload" in str(error)):
                raise
            self.lake.load(WIDE, part="customers", reload=True)
        self.may_break = False

    def joined(self, part: str) -> None:
        old, loaded, amounts = self.state, self.state.loaded, dict(self.state.amounts)
        if not part:
            for file in self.amounts[loaded:]:
                amounts |= dict(file)
            loaded = len(self.amounts)
        customers, orders = (self.versions[name][max(self.versions[name])] for name in (CUSTOMERS, ORDERS))
        names = {order: customers[one] for order, one in orders.items() if one in customers}
        visible = old.visible | amounts.keys() | names.keys()
        self.state = State(amounts, loaded, visible, old.had | names.keys(), names)
        latest = self.lake.table(WIDE).latest_snapshot()
        assert latest is not None
        self.states[latest.id] = self.state


def lake_in(folder: Path, producer: str) -> SmallLake:
    lake = small_lake(folder, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2)))
    for name, text in DECLARED.items():
        source = f"source: {{type: files, path: '{name}/*.csv'}}\noptions: {{changelog-producer: {producer}}}\n"
        lake.declare(name, text + FILES + source)
    lake.declare(WIDE, WIDE_TEXT)
    return lake


@settings(max_examples=examples(40), deadline=None)
@given(first=st.tuples(customers, orders), history=steps, producer=st.sampled_from(("none", "none", "input", "lookup")))
def test_any_history_is_a_join(first, history, producer, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write_tasks, "collect_tasks", in_this_process)
        played = Played(lake_in(tmp_path_factory.mktemp("keyed") / "lake", producer))
        for what, more in [*first, *history, ("load", "")]:
            played.run(what, more)
        assert [one for one in audit(played.lake.settings, WIDE) if not one.passed and one.audit != "health"] == []
