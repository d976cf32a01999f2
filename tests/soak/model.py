"""Model: the effect of operations on the rows of a table, as a dictionary; and random operations.

A *spec* is an operation as JSON, which a journal stores and the checker replays. Rows are [p, k, v, w]: the partition,
the key in it, a value that no other row has, and a small number for predicates.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core import col

Spec = dict[str, Any]
Key = tuple[Any, ...]
State = dict[Key, tuple[int, int]]
"""(v, w) by key."""

PARTITIONS = "abcd"
KEYS = 40
SMALL = 10
"""The number of values of w."""
SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64()), ("w", pa.int64())])
READS_BACK = ("write", "delete", "overwrite")


@dataclass(frozen=True)
class Engine:
    """A kind of table, with its rule for two rows of one key."""

    name: str
    is_keyed: bool = True
    takes_deletes: bool = False
    options: tuple[tuple[str, str], ...] = ()

    def key(self, p: str, k: int, v: int) -> Key:
        return (p, k) if self.is_keyed else (p, k, v)

    def put(self, state: State, row: list[Any]) -> None:
        kind, p, k, v, w = row
        key = self.key(p, k, v)
        if kind == "-D":
            state.pop(key, None)
        elif self.name == "aggregation" and key in state:
            state[key] = state[key][0] + v, w
        else:
            state[key] = v, w


ENGINES = {
    e.name: e
    for e in (
        Engine("deduplicate", takes_deletes=True, options=(("bucket", "2"),)),
        Engine(
            "aggregation",
            options=(("bucket", "2"), ("merge-engine", "aggregation"), ("fields.v.aggregate-function", "sum")),
        ),
        Engine("append", is_keyed=False, options=(("bucket", "-1"),)),
    )
}


def matches(where: Spec, p: str, k: int, w: int) -> bool:
    """Whether a row matches the condition of a delete."""
    if "p" in where and p != where["p"]:
        return False
    if "w" in where and w != where["w"]:
        return False
    return "k" not in where or where["k"][0] <= k < where["k"][1]


def predicate(where: Spec) -> Any:
    """Return the same condition as a predicate of the product."""
    parts = []
    if "p" in where:
        parts.append(col("p") == where["p"])
    if "w" in where:
        parts.append(col("w") == where["w"])
    if "k" in where:
        parts.append((col("k") >= where["k"][0]) & (col("k") < where["k"][1]))
    out = parts[0]
    for part in parts[1:]:
        out = out & part
    return out


def asked(state: State, where: Spec) -> list[Key]:
    """Return the keys of the rows that match."""
    return [key for key, (_, w) in state.items() if matches(where, key[0], key[1], w)]


def apply(engine: Engine, state: State, spec: Spec) -> State:
    """Return the state after the operation."""
    after = dict(state)
    if spec["do"] == "delete":
        for key in asked(state, spec["where"]):
            del after[key]
    elif spec["do"] in ("write", "overwrite"):
        if spec["do"] == "overwrite":
            gone = {r[1] for r in spec["rows"]} if spec["partition"] is None else {spec["partition"]}
            after = {key: value for key, value in after.items() if key[0] not in gone}
        for row in spec["rows"]:
            engine.put(after, row)
    return after


def content(state: State) -> list[list[Any]]:
    """Return the rows in a fixed order."""
    return sorted([key[0], key[1], v, w] for key, (v, w) in state.items())


def content_hash(rows: list[list[Any]]) -> str:
    return hashlib.blake2b(repr(rows).encode(), digest_size=12).hexdigest()


def arrow(rows: Iterable[list[Any]]) -> pa.Table:
    found = list(rows)
    return pa.table([[row[i] for row in found] for i in range(1, 5)], schema=SCHEMA)


def draw_spec(chance: random.Random, engine: Engine, first_value: int) -> Spec:
    """Draw an operation that commits; its values start at ``first_value``."""
    drawn = chance.random()
    if drawn < 0.52:
        return {"do": "write", "rows": _rows(chance, engine, first_value, PARTITIONS, engine.takes_deletes)}
    if drawn < 0.70:
        return {"do": "delete", "where": _where(chance, engine)}
    if drawn < 0.82:
        partition = chance.choice(PARTITIONS)
        static = chance.random() < 0.5
        among = partition if static or chance.random() < 0.7 else "".join(chance.sample(PARTITIONS, 2))
        rows = _rows(chance, engine, first_value, among, False)
        return {"do": "overwrite", "partition": partition if static else None, "rows": rows}
    return {"do": "compact", "full": chance.random() < 0.4}


def _rows(chance: random.Random, engine: Engine, first: int, among: str, deletes: bool) -> list[list[Any]]:
    rows = {}
    for number in range(chance.randint(1, 10)):
        p, k = chance.choice(among), chance.randrange(KEYS)
        kind = "-D" if deletes and chance.random() < 0.1 else "+I"
        rows[p, k] = [kind, p, k, first + number, chance.randrange(SMALL)]
    return list(rows.values())


def _where(chance: random.Random, engine: Engine) -> Spec:
    drawn = chance.random()
    if not engine.takes_deletes or drawn < 0.05:
        return {"p": chance.choice(PARTITIONS)}
    if drawn < 0.55:
        return {"w": chance.randrange(SMALL)}
    first = chance.randrange(KEYS)
    keys = {"k": [first, first + chance.randint(1, 8)]}
    if drawn < 0.75:
        return keys
    return {"p": chance.choice(PARTITIONS), "w": chance.randrange(SMALL)} | (keys if drawn > 0.9 else {})
