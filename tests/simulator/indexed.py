"""Histories with real files and table indexes: deletion vectors, dynamic buckets (hash indexes) and file indexes.

The model is that of ``real``: no acknowledged commit is lost, no deleted row returns, no key occurs twice. Level 0 is
merged on read, so that the content of a snapshot does not depend on its compaction; at the end the whole table is
compacted, and then also reads without level 0 must find these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from paimon_core import col
from paimon_core.fsck.check import check
from paimon_core.schema import TableSchema, new_schema
from paimon_core.storage.paths import MAIN
from paimon_core.table.table import Table
from tests.simulator.history import Begin, Job
from tests.simulator.real import INDEXES, MIXED, SCHEMA, Flavour, RealHistory, Row, Rows, rows_of
from tests.simulator.world import Actor, World, simulated

VECTORS, DYNAMIC, APPEND = "vectors", "dynamic", "append"
LAYOUTS = (VECTORS, DYNAMIC, APPEND)


@dataclass
class IndexedHistory(RealHistory):
    """A table whose layout is drawn by the seed; a dynamic bucket may have vectors too."""

    layout: str = ""

    SURVIVOR_TRIES: ClassVar[int] = 6
    """With dynamic buckets, of writers that add keys at the same time all but one are refused."""

    def draw_schema(self) -> TableSchema:
        draw = self.world.draw
        self.layout = self.layout or LAYOUTS[self.world.seed % 3]
        keyed = self.layout != APPEND
        options = {
            "write-only": "true" if draw() < 0.3 else "false",
            "manifest.merge-min-count": "3",
            "snapshot.num-retained.min": "1",
            "snapshot.num-retained.max": "1000",
            "num-sorted-run.compaction-trigger" if keyed else "compaction.min.file-num": "2",
        }
        if self.layout == DYNAMIC:
            options |= {"dynamic-bucket.target-row-num": "2"}
        else:
            options |= {"bucket": "2"} | ({} if keyed else {"bucket-key": "k"})
            if not keyed and draw() < 0.5:
                options["bucket"] = "-1"
                del options["bucket-key"]
        if self.layout == VECTORS or draw() < 0.5:
            options |= {"deletion-vectors.enabled": "true"}
            options |= {"deletion-vectors.bitmap64": "true"} if draw() < 0.5 else {}
            if keyed:
                # A large last level is not rewritten, but marked.
                options |= {"deletion-vectors.merge-on-read": "true", "num-levels": "3", "target-file-size": "1 b"}
        options |= INDEXES if draw() < 0.3 else {}
        return new_schema(SCHEMA, primary_key=["p", "k"] if keyed else [], partition_by=["p"], options=options)

    # -- writes

    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        draw = self.world.draw
        if draw() < 0.15:
            most = self.values - int(draw() * 4)
            self.values += 1
            new = self.values
            return lambda t, b, user, identifier: self.update(t, b, user, most, new)
        return super().new_write(actor)

    def update(self, table: Table, begin: Begin, user: str, most: int, new: int) -> None:
        """Set a column of the rows whose v is at most ``most``: v itself, or k in an append table."""
        column = "k" if self.layout == APPEND else "v"

        def apply(state: Rows) -> Rows:
            return frozenset(
                row if row[2] > most else (row[0], new, row[2]) if column == "k" else (row[0], row[1], new)
                for row in state
            )

        call = begin("delete", user=user, apply=apply)
        snapshot = table.update(col("v") <= most, {column: new}, user=user)
        if snapshot is None:
            self.oracle.done(call)
        else:
            self.finish(call, snapshot)

    def draw_rows(self, actor: Actor, partition: str) -> list[tuple[str, Row]]:
        rows = super().draw_rows(actor, partition)
        return [("+I", row) for _, row in rows] if self.layout == APPEND else rows

    def put(self, state: Rows, rows: list[tuple[str, Row]]) -> Rows:
        if self.layout == APPEND:
            return state | {row for _, row in rows}
        return super().put(state, rows)

    def kinds(self, rows: list[tuple[str, Row]]) -> object:
        return None if self.layout == APPEND else super().kinds(rows)

    def new_compaction(self) -> Job:
        if self.layout != APPEND or self.world.draw() < 0.7:
            return super().new_compaction()

        def do(table: Table, begin: Begin) -> None:
            call = begin("compact")
            self.finish(call, table.sort_compact(["k"], "order"))

        return do if self.context.options["bucket"] == -1 else super().new_compaction()

    # -- the end

    def check_more(self, table: Table) -> None:
        """Compare the rows after a full compaction without level 0, and check the whole table deeply (I16, I17)."""
        if self.is_stale or self.oracle.latest(MAIN) is None:
            return

        def compact(table: Table, begin: Begin) -> None:
            call = begin("compact")
            self.finish(call, table.compact(full=True))

        self.world.spawn("last compactor", lambda actor: self.job(actor, compact, tries=1))
        self.world.run()
        version = self.oracle.latest(MAIN)
        assert version is not None
        options = {"deletion-vectors.merge-on-read": "false"} if "deletion-vectors.enabled" in self.given else {}
        found = rows_of(table.with_options(options) if self.layout != APPEND else table)
        if found != version.state:
            self.oracle.fail("the end", f"I11: after a compaction {sorted(found ^ version.state)} differ")
        report = check(table.context, deep=True)
        if report.errors:
            self.oracle.fail("the end", f"fsck: {report.errors[0].sentence()}")

    @property
    def given(self) -> Mapping[str, str]:
        """The options that the table has."""
        return self.context.schema.options


def play(
    seed: int, *, keep: bool = False, layout: str = "", flavour: Flavour = MIXED, calm: str | None = None
) -> IndexedHistory:
    """Run one history; a violation is in ``history.world.violation``."""
    world = World(seed, keep=keep)
    with simulated(world):
        history = IndexedHistory(world, calm=calm, flavour=flavour, layout=layout)
        history.play()
    return history
