"""Histories with real files and table indexes: deletion vectors, dynamic buckets (hash indexes) and file indexes.

The model is the same as in ``real``: no acknowledged commit is lost, no deleted row returns, no key occurs twice. Level
0 is merged on read, so that the content of a snapshot does not depend on its compaction; at the end the whole table is
compacted, and then also reads without level 0 must find these rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from paimon_core import col
from paimon_core.fsck.check import check
from paimon_core.schema import TableSchema, new_schema
from paimon_core.storage.paths import MAIN
from paimon_core.table.table import Table
from tests.simulator.history import Begin, Job
from tests.simulator.real import INDEXES, SCHEMA, Flavour, RealHistory, Row, Rows, rows_of
from tests.simulator.world import Actor, World, simulated

VECTORS, DYNAMIC, APPEND = "vectors", "dynamic", "append"
LAYOUTS = (VECTORS, DYNAMIC, APPEND)
MANY_KEYS = Flavour(deletes=0.1, keys=12)


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
        }
        if keyed:  # large levels stay in place, so that lookups mark rows in them
            options |= {"compaction.size-ratio": "0", "compaction.max-size-amplification-percent": "10000"}
        else:
            options |= {"compaction.min.file-num": "2"}
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
                options |= {"deletion-vectors.merge-on-read": "true", "num-levels": "4"}
        options |= INDEXES if draw() < 0.3 else {}
        return new_schema(SCHEMA, primary_key=["p", "k"] if keyed else [], partition_by=["p"], options=options)

    # -- writes

    def new_write(self, actor: Actor) -> Callable[[Table, Begin, str, int | None], None]:
        draw = self.world.draw
        drawn = draw()
        if drawn > 0.4:
            return super().new_write(actor)
        most = self.values - int(draw() * 6)
        above = max(0, most - 1 - int(draw() * 4))
        self.values += 1
        new = self.values
        if drawn > 0.2:
            return lambda t, b, user, identifier: self.update(t, b, user, most, above, new)
        return lambda t, b, user, identifier: self.delete(t, b, user, most, above)

    def update(self, table: Table, begin: Begin, user: str, most: int, above: int, new: int) -> None:
        """Set a column of the rows with ``above`` < v <= ``most``: v itself, or k in an append table."""
        column = "k" if self.layout == APPEND else "v"

        def apply(state: Rows) -> Rows:
            return frozenset(
                row
                if not above < row[2] <= most
                else (row[0], new, *row[2:])
                if column == "k"
                else (row[0], row[1], new)
                for row in state
            )

        call = begin("delete", user=user, apply=apply)
        snapshot = table.update((col("v") <= most) & (col("v") > above), {column: new}, user=user)
        if snapshot is None:
            self.oracle.done(call)
        else:
            self.finish(call, snapshot)

    def draw_rows(self, actor: Actor, partition: str) -> list[tuple[str, Row]]:
        rows = [
            row for _ in range(1 + int(self.world.draw() * 3)) for row in RealHistory.draw_rows(self, actor, partition)
        ]
        if self.layout == APPEND:
            return [("+I", row) for _, row in rows]
        return list({row[1]: (kind, row) for kind, row in rows}.values())

    def put(self, state: Rows, rows: list[tuple[str, Row]]) -> Rows:
        if self.layout == APPEND:  # after the snapshot of a commit has expired, a repeated commit adds its rows again
            counts = Counter(row[:3] for row in state)
            return state | {(*row, counts[row]) if counts[row] else row for _, row in rows}
        return super().put(state, rows)

    def kinds(self, rows: list[tuple[str, Row]]) -> object:
        return None if self.layout == APPEND else super().kinds(rows)

    def new_compaction(self) -> Job:
        if self.layout != APPEND or self.world.draw() < 0.7:
            return super().new_compaction()

        def do(table: Table, begin: Begin) -> None:
            call = begin("compact")
            self.finish(call, table.sort_compact(["k"], "order").snapshot)

        return do if self.context.options["bucket"] == -1 else super().new_compaction()

    # -- the end

    def check_more(self, table: Table) -> None:
        """Compare the rows after a full compaction without level 0, and check the whole table deeply (I16, I17)."""
        if self.is_stale or self.oracle.latest(MAIN) is None:
            return

        for full in (False, True):
            self.compact_alone(full)
            version = self.oracle.latest(MAIN)
            assert version is not None
            keyed = self.layout != APPEND and "deletion-vectors.enabled" in self.context.schema.options
            found = rows_of(table.with_options({"deletion-vectors.merge-on-read": "false"}) if keyed else table)
            if found != version.state:
                self.oracle.fail("the end", f"I11: after a compaction {sorted(found ^ version.state)} differ")
        report = check(table.context, deep=True)
        if report.errors:
            self.oracle.fail("the end", f"fsck: {report.errors[0].sentence()}")

    def compact_alone(self, full: bool) -> None:
        def compact(table: Table, begin: Begin) -> None:
            call = begin("compact")
            self.finish(call, table.compact(full).snapshot)

        self.world.spawn("last compactor", lambda actor: self.job(actor, compact, tries=1))
        self.world.run()


def play(
    seed: int, *, keep: bool = False, layout: str = "", flavour: Flavour = MANY_KEYS, calm: str | None = None
) -> IndexedHistory:
    """Run one history; a violation is in ``history.world.violation``."""
    world = World(seed, keep=keep)
    with simulated(world):
        history = IndexedHistory(world, calm=calm, flavour=flavour, layout=layout)
        history.play()
    return history
