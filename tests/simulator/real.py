"""Histories with real files: Avro manifests and Parquet data, written, compacted and read by the product.

Every snapshot is read as soon as it is made, and must hold what the model says. A key belongs to one writer, as the
writers of one bucket have no order among themselves but that of their commits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from paimon_core import col
from paimon_core.errors import NotFound
from paimon_core.schema import TableSchema, new_schema
from paimon_core.table.table import Table
from tests.simulator.history import Begin, History, Job
from tests.simulator.oracle import Call, Oracle, Version
from tests.simulator.world import Actor, Chances, World, simulated

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
KEYS_OF_A_WRITER = 4
Row = tuple[str, int, int]
Rows = frozenset[Row]


def put(state: Rows, rows: list[tuple[str, Row]]) -> Rows:
    """The state after upserts and deletes by key."""
    now = {(p, k): v for p, k, v in state}
    for kind, (p, k, v) in rows:
        if kind == "-D":
            now.pop((p, k), None)
        else:
            now[p, k] = v
    return frozenset((p, k, v) for (p, k), v in now.items())


def replace_partition(state: Rows, rows: list[tuple[str, Row]], partition: str) -> Rows:
    return put(frozenset(r for r in state if r[0] != partition), rows)


class RowOracle(Oracle):
    """Reads every snapshot when it is made."""

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
    rows = (table if snapshot is None else table.at(snapshot=snapshot)).scan().to_arrow().to_pylist()
    out = frozenset((r["p"], r["k"], r["v"]) for r in rows)
    return out if len(out) == len(rows) else out | {("twice", len(rows), len(out))}


@dataclass
class RealHistory(History):
    """Rows are (p, k, v); all jobs are counted, so that a writer's own order is known."""

    values: int = 0

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
            },
        )

    def new_oracle(self) -> Oracle:
        oracle = RowOracle(self.world, self.disk, self.context, frozenset())
        oracle.history = self
        return oracle

    # -- writes

    def draw_rows(self, actor: Actor, partition: str) -> list[tuple[str, Row]]:
        draw = self.world.draw
        first = 100 * sum(map(ord, actor.name.rstrip("'")))
        rows = {}
        for _ in range(1 + int(draw() * 3)):
            self.values += 1
            key = first + int(draw() * KEYS_OF_A_WRITER)
            rows[key] = ("-D" if draw() < 0.15 else "+I", (partition, key, self.values))
        return list(rows.values())

    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        partition = "ab"[int(self.world.draw() * 2)]
        rows = self.draw_rows(actor, partition)
        if self.world.draw() < 0.2:
            rows = [("+I", row) for _, row in rows]
            return lambda t, b, user, identifier: self.overwrite(t, b, user, identifier, rows, partition)
        return lambda t, b, user, identifier: self.write(t, b, user, identifier, rows)

    def survivor_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        rows = self.draw_rows(actor, "a")
        return lambda t, b, user, identifier: self.write(t, b, user, identifier, rows)

    def write(self, table: Table, begin: Begin, user: str, identifier: int | None, rows: list[tuple[str, Row]]) -> None:
        call = begin("append", user=user, identifier=identifier, apply=lambda state: put(state, rows))
        kinds = pa.array([kind for kind, _ in rows], pa.string())
        self.finish(call, table.write(_arrow(rows), kinds, user=user, identifier=identifier))

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
            apply=lambda state: replace_partition(state, rows, partition),
        )
        where = col("p") == partition
        self.finish(call, table.overwrite(_arrow(rows), where, user=user, identifier=identifier))

    def finish(self, call: Call, snapshot: Any) -> None:
        self.oracle.acknowledged(call, [] if snapshot is None else [snapshot])

    def new_compaction(self) -> Job:
        full = self.world.draw() < 0.5

        def do(table: Table, begin: Begin) -> None:
            call = begin("compact")
            try:
                self.finish(call, table.compact(full))
            except NotFound:  # the snapshot expired while the compaction was planned
                self.oracle.done(call)

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


def play(seed: int, *, keep: bool = False) -> RealHistory:
    """One history with real files; a Violation is in ``history.world.violation``."""
    world = World(seed, keep=keep)
    with simulated(world):
        history = RealHistory(world)
        history.play()
    return history
