"""Histories with real files: Avro manifests and Parquet data, written, compacted and read by the product.

Every snapshot is read as soon as it is created, and must have the content of the model. All writers write the same few
keys: the later commit wins, also when its rows were written earlier, and a compaction changes nothing. A delete by a
value deletes exactly the rows that match right before its snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from paimon_core import col
from paimon_core.errors import InvalidRequest
from paimon_core.schema import TableSchema, new_schema
from paimon_core.storage.paths import MAIN
from paimon_core.table.table import Table
from tests.simulator.history import Begin, History, Job
from tests.simulator.oracle import Call, Oracle, Version
from tests.simulator.world import Actor, Chances, World, simulated

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
Row = tuple[Any, ...]
Rows = frozenset[Row]


@dataclass(frozen=True)
class Flavour:
    """What the writers do; each planted bug is searched with writers that show no other violation."""

    shares_keys: bool = True
    """Whether all writers write the same keys; otherwise each writer has its own."""
    deletes: float = 0.2
    """The fraction of jobs that delete by a value."""
    keys: int = 4
    """The number of keys, of all writers together or of each one."""


MIXED = Flavour()
UPSERTS = Flavour(deletes=0.0)
DELETES = Flavour(shares_keys=False, deletes=0.5, keys=2)
OWN_KEYS = Flavour(shares_keys=False, deletes=0.0)


def put(state: Rows, rows: list[tuple[str, Row]]) -> Rows:
    """Return the state after upserts and deletes by key."""
    now = {(p, k): v for p, k, v in state}
    for kind, (p, k, v) in rows:
        if kind == "-D":
            now.pop((p, k), None)
        else:
            now[p, k] = v
    return frozenset((p, k, v) for (p, k), v in now.items())


class RowOracle(Oracle):
    """An oracle that reads every snapshot when it is created."""

    history: RealHistory

    def made(self, version: Version) -> None:
        found = rows_of(self.history.table(None).branch(version.branch), version.snapshot.id)
        if found != version.state:
            kind = version.snapshot.commit_kind
            self.fail(
                version.call,
                f"I10/I11: snapshot {version.snapshot.id} ({kind}) has {sorted(found - version.state)} too much and "
                f"lacks {sorted(version.state - found)}",
            )


def rows_of(table: Table, snapshot: int | None = None) -> Rows:
    """Return the rows; the second of equal rows has the number 1 at its end, the third 2, and so on."""
    rows = (table if snapshot is None else table.at(snapshot=snapshot)).scan().to_arrow().to_pylist()
    counts = Counter((r["p"], r["k"], r["v"]) for r in rows)
    return frozenset((*row, n) if n else row for row, count in counts.items() for n in range(count))


INDEXES = {"file-index.bitmap.columns": "v", "file-index.in-manifest-threshold": "0 b"}
"""Each data file has an index file beside it."""


@dataclass
class RealHistory(History):
    """Rows are (p, k, v); v grows from job to job, so that a row written again does not match an older predicate."""

    values: int = 0
    flavour: Flavour = MIXED

    WRITERS: ClassVar[int] = 2
    COMPACTORS: ClassVar[int] = 1
    READERS: ClassVar[int] = 1
    COUNTED: ClassVar[float] = 1.0

    def draw_chances(self) -> Chances:
        chances = super().draw_chances()
        return Chances(chances.fail, chances.lose, chances.die, chances.freeze / 4, chances.step, chances.stick)

    def draw_schema(self) -> TableSchema:
        draw = self.world.draw
        return new_schema(
            SCHEMA,
            primary_key=["p", "k"],
            partition_by=["p"],
            options={
                "bucket": str(1 + int(draw() * 2)),
                "write-only": "true" if draw() < 0.6 else "false",
                "manifest.merge-min-count": "3",
                "num-sorted-run.compaction-trigger": "2",
                "changelog-producer": "input" if draw() < 0.2 else "none",
                "snapshot.num-retained.min": "1",
                "snapshot.num-retained.max": "1000",
            }
            | (INDEXES if self.world.seed % 4 == 3 else {}),
        )

    def new_oracle(self) -> Oracle:
        oracle = RowOracle(self.world, self.disk, self.context, frozenset())
        oracle.history = self
        return oracle

    # -- writes

    def put(self, state: Rows, rows: list[tuple[str, Row]]) -> Rows:
        """Return the state after upserts and deletes by key."""
        return put(state, rows)

    def kinds(self, rows: list[tuple[str, Row]]) -> Any:
        """Return the kinds of the rows."""
        return pa.array([kind for kind, _ in rows], pa.string())

    def draw_rows(self, actor: Actor, partition: str) -> list[tuple[str, Row]]:
        draw = self.world.draw
        first = 0 if self.flavour.shares_keys else 100 * sum(map(ord, actor.name.rstrip("'")))
        rows = {}
        for _ in range(1 + int(draw() * 3)):
            self.values += 1
            key = first + int(draw() * self.flavour.keys)
            rows[key] = ("-D" if draw() < 0.15 else "+I", (partition, key, self.values))
        return list(rows.values())

    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        draw = self.world.draw
        partition = "ab"[int(draw() * 2)]
        if draw() < self.flavour.deletes:
            most = self.values - int(draw() * 4)
            return lambda t, b, user, identifier: self.delete(t, b, user, most)
        rows = self.draw_rows(actor, partition)
        drawn = draw()
        if drawn < 0.2:
            rows = [("+I", row) for _, row in rows]
            return lambda t, b, user, identifier: self.overwrite(t, b, user, identifier, rows, partition)
        do = self.prepared if drawn < 0.3 else self.messages if drawn < 0.4 else self.write
        return lambda t, b, user, identifier: do(t, b, user, identifier, rows)

    def survivor_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        rows = self.draw_rows(actor, "a")
        return lambda t, b, user, identifier: self.write(t, b, user, identifier, rows)

    def write(self, table: Table, begin: Begin, user: str, identifier: int | None, rows: list[tuple[str, Row]]) -> None:
        call = begin("append", user=user, identifier=identifier, apply=lambda state: self.put(state, rows))
        self.finish(call, table.write(_arrow(rows), self.kinds(rows), user=user, identifier=identifier))

    def prepared(self, table: Table, begin: Begin, user: str, identifier: int, rows: list[tuple[str, Row]]) -> None:
        """Prepare rows, wait, and publish them on the latest snapshot."""
        call = begin("append", user=user, identifier=identifier, apply=lambda state: self.put(state, rows))
        landed = table.committed(user, identifier)
        if landed is None:
            try:
                made = table.prepare(_arrow(rows), self.kinds(rows), user=user, identifier=identifier)
            except InvalidRequest as error:
                if "already" not in str(error):
                    raise
                landed = table.committed(user, identifier)  # by the earlier process of the job
            else:
                assert made is not None
                self.rest()
                landed = made.publish(rebase=True)
        self.finish(call, landed)

    def messages(self, table: Table, begin: Begin, user: str, identifier: int, rows: list[tuple[str, Row]]) -> None:
        """Write rows, and commit their messages some time later."""
        call = begin("append", user=user, identifier=identifier, apply=lambda state: self.put(state, rows))
        with table.writer() as writer:
            writer.write(_arrow(rows), self.kinds(rows))
            messages = writer.flush()
        self.rest()
        self.finish(call, table.commit(messages, user=user, identifier=identifier))

    def overwrite(
        self,
        table: Table,
        begin: Begin,
        user: str,
        identifier: int | None,
        rows: list[tuple[str, Row]],
        partition: str,
    ) -> None:
        call = begin(
            "overwrite",
            user=user,
            identifier=identifier,
            apply=lambda state: self.put(frozenset(r for r in state if r[0] != partition), rows),
        )
        where = col("p") == partition
        self.finish(call, table.overwrite(_arrow(rows), where, user=user, identifier=identifier))

    def delete(self, table: Table, begin: Begin, user: str, most: int, above: int = 0) -> None:
        """Delete the rows whose v is at most ``most`` and more than ``above``."""
        apply = lambda state: frozenset(row for row in state if not above < row[2] <= most)  # noqa: E731
        call = begin("delete", user=user, apply=apply)
        first = self.oracle.latest()
        where = (col("v") <= most) & (col("v") > above) if above else col("v") <= most
        snapshot = table.delete(where, user=user)
        if snapshot is not None:
            self.finish(call, snapshot)
            return
        self.oracle.done(call)
        seen = [v for v in self.oracle.chains.get(MAIN, ()) if first is None or v.snapshot.id >= first.snapshot.id]
        alone = call.rollbacks == self.oracle.rollbacks and not self.oracle.rollback_runs
        if alone and first is not None and all(apply(v.state) != v.state for v in seen):
            self.oracle.fail(call, f"I10: deleted nothing, but rows with {above} < v <= {most} were there all the time")

    def finish(self, call: Call, snapshot: Any) -> None:
        self.oracle.acknowledged(call, [] if snapshot is None else [snapshot])

    def new_compaction(self) -> Job:
        full = self.world.draw() < 0.5

        def do(table: Table, begin: Begin) -> None:
            call = begin("compact")
            self.finish(call, table.compact(full).snapshot)

        return do

    # -- reads

    def read(self, table: Table, begin: Begin) -> None:
        snapshot = self.pick_snapshot(table)
        if snapshot is None:
            return
        call = begin("read")
        view = table.at(snapshot=snapshot.id)
        assert view.pinned is not None
        version = self.oracle.by_uuid.get(view.pinned.uuid or "")
        self.rest()
        found = rows_of(view)
        if version is not None and found != version.state:
            self.oracle.fail(call, f"I10: a reader of snapshot {snapshot.id} finds {sorted(found ^ version.state)}")
        self.oracle.done(call)


def _arrow(rows: list[tuple[str, Row]]) -> pa.Table:
    return pa.table([[row[i] for _, row in rows] for i in range(3)], schema=SCHEMA)


def play(seed: int, *, keep: bool = False, flavour: Flavour = MIXED, calm: str | None = None) -> RealHistory:
    """Run one history with real files; a violation is in ``history.world.violation``."""
    world = World(seed, keep=keep)
    with simulated(world):
        history = RealHistory(world, calm=calm, flavour=flavour)
        history.play()
    return history
