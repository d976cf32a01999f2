"""Random histories of tables of every kind, whose versions are recorded, to compare their changes with."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pyarrow as pa

import paimon_core as paimon
from paimon_core import col

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.int64()), ("w", pa.float64())])
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.w.aggregate-function": "max"}
PARTIAL = {"merge-engine": "partial-update"}
LOOKUP, FULL = {"changelog-producer": "lookup"}, {"changelog-producer": "full-compaction"}
INPUT = {"changelog-producer": "input"}
ONE, TWO, VECTORS = {"bucket": "1"}, {"bucket": "2"}, {"deletion-vectors.enabled": "true"}
KEYED = {
    "deduplicate": TWO,
    "input": TWO | INPUT,
    "lookup": TWO | LOOKUP,
    "full": TWO | FULL,
    "full, every second": ONE | FULL | {"full-compaction.delta-commits": "2"},
    "later lookup": ONE | LOOKUP | {"write-only": "true"},
    "row-deduplicate": ONE | LOOKUP | {"changelog-producer.row-deduplicate": "true"},
    "ordered": ONE | {"sequence.field": "v"},
    "ordered lookup": ONE | LOOKUP | {"sequence.field": "v"},
    "partial": TWO | PARTIAL,
    "partial lookup": ONE | PARTIAL | LOOKUP,
    "partial grouped": ONE | PARTIAL | LOOKUP | {"fields.v.sequence-group": "w"},
    "sum": TWO | SUM,
    "sum lookup": ONE | SUM | LOOKUP,
    "first-row": ONE | {"merge-engine": "first-row"},
    "first-row lookup": ONE | {"merge-engine": "first-row"} | LOOKUP,
    "vectors": TWO | VECTORS,
    "vectors lookup": ONE | VECTORS | LOOKUP,
    "vectors input": ONE | VECTORS | INPUT | {"write-only": "true"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "2"},
    "dynamic lookup": {"bucket": "-1", "dynamic-bucket.target-row-num": "2"} | LOOKUP,
    "postponed": {"bucket": "-2"},
}
APPEND = {
    "append": {},
    "append buckets": {"bucket": "2", "bucket-key": "k"},
    "append vectors": VECTORS,
    "tracked": {"row-tracking.enabled": "true"},
}
DELETING = ("deduplicate", "input", "lookup", "full", "vectors", "vectors lookup", "dynamic")
KINDS = tuple((kind, number % 2 == turn) for turn in (0, 1) for number, kind in enumerate((*KEYED, *APPEND)))
"""The kind of table, and whether it has partitions."""
_numbers = itertools.count()


class ChangeHistory:
    """One table and a seed; ``versions`` has the rows of each version by snapshot value."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kind, is_partitioned = KINDS[seed % len(KINDS)]
        catalog = paimon.open_catalog(f"memory://history-{next(_numbers)}")
        catalog.create_database("db")
        self.keyed = self.kind in KEYED
        by_partition = self.keyed and is_partitioned
        self.table = catalog.create_table(
            "db.t",
            SCHEMA,
            primary_key=(["p", "k"] if by_partition else ["k"]) if self.keyed else [],
            partition_by=["p"] if is_partitioned and (by_partition or not self.keyed) else [],
            options={"target-file-size": self.chance.choice(["128 mb", "2 kb"])} | {**KEYED, **APPEND}[self.kind],
        )
        self.versions: dict[tuple[int, str], Counter] = {}
        self.tags = itertools.count()

    def rows(self, count: int | None = None) -> pa.Table:
        chance = self.chance
        parts = ["a", "b"] if self.table.schema.partition_keys else ["a"]
        count = chance.randint(1, 6) if count is None else count
        data = [
            (
                chance.choice(parts),
                chance.randint(0, 9),
                chance.randint(0, 3),
                chance.choice([None, 0.5, -1.0, float("nan")]),
            )
            for _ in range(count)
        ]
        return pa.table([list(c) for c in zip(*data, strict=True)], schema=SCHEMA)

    def step(self) -> None:
        act = self.chance.choice(
            ["write"] * 6
            + ["compact", "full", "full", "overwrite", "empty", "rollback", "expire", "tag"]
            + ["delete"] * 2
        )
        table = self.table
        if table.latest_snapshot() is None or act == "write":
            table.write(self.rows())
        elif act in ("compact", "full"):
            table.compact(full=act == "full")
        elif act == "overwrite":
            table.overwrite(self.rows())
        elif act == "empty":
            table.overwrite(self.rows(1).slice(0, 0), where=None)
        elif act == "tag":
            table.tags.create(f"t{next(self.tags)}", snapshot=self.chance.choice(table.context.snapshots.ids()))
        elif act == "rollback":
            table.rollback(snapshot=self.chance.choice(table.context.snapshots.ids()[-4:]))
        elif act == "expire":
            keep = self.chance.randint(1, 6)
            table.expire_snapshots(keep_last=keep, keep_max=keep)
        elif self._deletes:
            table.delete(col("k") <= self.chance.randint(0, 4))
        self.record()

    @property
    def _deletes(self) -> bool:
        return not self.keyed or self.kind in (
            "deduplicate",
            "input",
            "lookup",
            "full",
            "vectors",
            "vectors lookup",
            "dynamic",
        )

    def record(self) -> None:
        for i in self.table.context.snapshots.ids()[-6:]:
            snapshot = self.table.context.snapshots.read(i)
            key = (i, snapshot.delta_manifest_list)
            if key not in self.versions:
                self.versions[key] = self.state(snapshot)

    def state(self, snapshot) -> Counter:
        return Counter(map(plain, self.table.at(snapshot=snapshot.id).scan().to_arrow().to_pylist()))

    def key(self, row: tuple) -> tuple:
        """Return what identifies a row: the primary key and the partition."""
        return tuple(row[0:2]) if self.table.schema.partition_keys else tuple(row[1:2])

    def applied(self, start: Counter, told: list[tuple[str, tuple]]) -> Counter:
        """Return the rows after some changes."""
        if not self.keyed:
            found = Counter(start)
            for kind, row in told:
                found[row] += 1 if kind in ("+I", "+U") else -1
            assert min(found.values(), default=0) >= 0, "a row was removed that is not there"
            return +found
        by_key = {self.key(row): row for row in start}
        for kind, row in told:
            if kind in ("+I", "+U"):
                by_key[self.key(row)] = row
            else:
                by_key.pop(self.key(row), None)
        return Counter(by_key.values())


def plain(row: dict) -> tuple:
    """Return a row as a tuple, with NaN as a text, which equals itself."""
    return tuple("nan" if value != value else value for name, value in row.items() if name in SCHEMA.names)


def told(changes) -> list[tuple[str, tuple]]:
    """Return the changes as kinds and rows."""
    return [(row["rowkind"], plain(row)) for row in changes.to_arrow().to_pylist()]
