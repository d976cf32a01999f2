"""A table against a dictionary: random histories of writes, deletes, compactions, expiry, tags, rollbacks, reopenings.

The model contains, for every live snapshot id and every tag, the rows that a reader must see there.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import paimon_core as paimon
from paimon_core import col

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64()), ("s", pa.string())])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["+I", "+U", "-U", "-D"]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 12),
        st.one_of(st.none(), st.integers(0, 99)),
        st.one_of(st.none(), st.sampled_from(["", "x", "longer than eight"])),
    ),
    max_size=12,
)
SMALL_LIMITS = {
    "paimon_core.processors.usable": lambda: 2,
    "paimon_core.lsm.key_groups._BLOCK_ROWS": 2,
    "paimon_core.lsm.key_words._BLOCK_ROWS": 2,
    "paimon_core.lsm.key_words._FEW_ROWS": 2,
    "paimon_core.lsm.versions.MOST_STEPS": 1,
    "paimon_core.lsm.write_buffer._MANY_ROWS": 1,
    "paimon_core.plan.kept_live.LEAST_FILES": 1,
    "paimon_core.read.bucket_reader.WINDOW_ROWS": 3,
    "paimon_core.read.bucket_reader._MANY_ROWS": 1,
    "paimon_core.read.small_splits._GROUP": 2,
    "paimon_core.read.small_splits._OPEN_SPLITS": 2,
    "paimon_core.read.small_splits._SECTION_BYTES": 200,
}
"""With these limits, a few rows take the ways that large tables take: several windows, threads and kept plans."""
_numbers = itertools.count()

State = dict[tuple[str, int], tuple[int | None, str | None]]


def as_state(table: pa.Table) -> State:
    out: State = {}
    for row in table.to_pylist():
        key = (row["p"], row["k"])
        assert key not in out, f"key {key} appears twice"
        out[key] = (row["v"], row["s"])
    return out


class TableMachine(RuleBasedStateMachine):
    tags = Bundle("tags")

    def __init__(self):
        super().__init__()
        self.limits = contextlib.ExitStack()

    def teardown(self):
        self.limits.close()

    @initialize(
        partitioned=st.booleans(),
        buckets=st.integers(1, 3),
        sequence=st.booleans(),
        file_size=st.sampled_from(["128 mb", "1 kb"]),
        vectors=st.booleans(),
        small_limits=st.booleans(),
    )
    def create(self, partitioned, buckets, sequence, file_size, vectors, small_limits):
        for name, value in SMALL_LIMITS.items() if small_limits else ():
            self.limits.enter_context(mock.patch(name, value))
        catalog = paimon.open_catalog(f"memory://model-{next(_numbers)}")
        catalog.create_database("db")
        self.sequence = sequence
        options = {"bucket": str(buckets), "write-only": "true", "target-file-size": file_size}
        if sequence:
            options["sequence.field"] = "v"
        if vectors:
            options |= {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}
        self.table = catalog.create_table(
            "db.t",
            SCHEMA,
            primary_key=["p", "k"],
            partition_by=["p"] if partitioned else [],
            options=options,
        )
        self.catalog = catalog
        self.partitioned = partitioned
        self.order: dict[tuple[str, int], int | None] = {}
        self.now: dict[tuple[str, int], tuple[int | None, str | None, bool]] = {}
        self.snapshots: dict[int, dict] = {}
        self.tagged: dict[str, dict] = {}

    def visible(self, full=None) -> State:
        return {k: (v, s) for k, (v, s, alive) in (self.now if full is None else full).items() if alive}

    def committed(self, snapshot):
        if snapshot is not None:
            earlier = [i for i in self.snapshots if i < snapshot.id]
            for gap in range(max(earlier, default=0) + 1, snapshot.id):
                self.snapshots[gap] = dict(self.now)
            self.snapshots[snapshot.id] = dict(self.now)

    def apply(self, kind, key, v, s):
        """The last row of a key wins; with a sequence field the largest value, then the later; null is smallest."""
        if self.sequence and key in self.now:
            old = self.now[key][0]
            if (old is not None) and (v is None or v < old):
                return
        self.now[key] = (v, s, kind in ("+I", "+U"))

    @rule(rows=ROWS)
    def write(self, rows):
        if self.sequence:
            # Compaction may drop a deleted row together with its sequence: only rows that stay have a fixed order.
            rows = [("+U", *r[1:]) for r in rows]
        data = pa.table([[r[i] for r in rows] for i in range(1, 5)], schema=SCHEMA)
        snapshot = self.table.write(data, kinds=pa.array([r[0] for r in rows], pa.string()))
        assert (snapshot is None) == (not rows)
        for kind, p, k, v, s in rows:
            self.apply(kind, (p, k), v, s)
        self.committed(snapshot)

    @rule(k=st.integers(0, 12))
    @precondition(lambda self: not self.sequence)
    def delete(self, k):
        doomed = [key for key in self.visible() if key[1] == k]
        snapshot = self.table.delete(col("k") == k)
        assert (snapshot is None) == (not doomed)
        for key in doomed:
            v, s, _ = self.now[key]
            self.now[key] = (v, s, False)
        self.committed(snapshot)

    @rule(p=st.sampled_from(["a", "b"]), rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=4))
    @precondition(lambda self: self.partitioned)
    def overwrite_partition(self, p, rows):
        data = pa.table([[p] * len(rows), [r[0] for r in rows], [r[1] for r in rows], ["o"] * len(rows)], schema=SCHEMA)
        snapshot = self.table.overwrite(data, where=col("p") == p)
        self.now = {key: value for key, value in self.now.items() if key[0] != p}
        for k, v in rows:
            self.apply("+I", (p, k), v, "o")
        self.committed(snapshot)

    @rule(full=st.booleans())
    def compact(self, full):
        self.committed(self.table.compact(full=full).snapshot)

    @rule(keep=st.integers(1, 4))
    def expire(self, keep):
        self.table.expire_snapshots(keep_last=1, keep_max=keep, older_than=datetime.timedelta(days=1))
        live = set(self.table.context.snapshots.ids())
        assert len(live) <= max(keep, 0) or not self.snapshots
        self.snapshots = {i: rows for i, rows in self.snapshots.items() if i in live}

    @rule(target=tags, snapshot=st.integers(0, 100))
    def tag(self, snapshot):
        if not self.snapshots:
            return "none"
        chosen = sorted(self.snapshots)[snapshot % len(self.snapshots)]
        name = f"t{next(_numbers)}"
        self.table.tags.create(name, chosen)
        self.tagged[name] = (chosen, dict(self.snapshots[chosen]))
        return name

    @rule(tag=tags)
    def delete_tag(self, tag):
        if tag in self.tagged:
            self.table.tags.delete(tag)
            del self.tagged[tag]

    @rule(snapshot=st.integers(0, 100))
    def rollback(self, snapshot):
        if not self.snapshots:
            return
        chosen = sorted(self.snapshots)[snapshot % len(self.snapshots)]
        self.table.rollback(snapshot=chosen)
        self.now = dict(self.snapshots[chosen])
        self.snapshots = {i: rows for i, rows in self.snapshots.items() if i <= chosen}
        self.tagged = {name: at for name, at in self.tagged.items() if at[0] <= chosen}

    @rule()
    def reopen(self):
        self.table = self.catalog.table("db.t")

    @invariant()
    def latest_is_right(self):
        if hasattr(self, "table"):
            assert as_state(self.table.scan().to_arrow()) == self.visible()

    @rule(snapshot=st.integers(0, 100))
    def read_any_snapshot(self, snapshot):
        assert set(self.table.context.snapshots.ids()) == set(self.snapshots)
        if self.snapshots:
            chosen = sorted(self.snapshots)[snapshot % len(self.snapshots)]
            found = as_state(self.table.at(snapshot=chosen).scan().to_arrow())
            assert found == self.visible(self.snapshots[chosen])

    @rule(tag=tags)
    def read_tag(self, tag):
        if tag in self.tagged:
            assert as_state(self.table.at(tag=tag).scan().to_arrow()) == self.visible(self.tagged[tag][1])

    @rule(k=st.integers(0, 12))
    def read_filtered(self, k):
        found = as_state(self.table.scan(where=(col("k") == k) | (col("v") > 50)).to_arrow())
        assert found == {
            key: row for key, row in self.visible().items() if key[1] == k or (row[0] is not None and row[0] > 50)
        }


@pytest.mark.parametrize("histories", [8, pytest.param(60, marks=pytest.mark.long)])
def test_a_table_behaves_as_the_model(histories):
    run_state_machine_as_test(
        TableMachine,
        settings=settings(
            max_examples=histories, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
