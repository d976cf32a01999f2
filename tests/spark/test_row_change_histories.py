"""Random updates, deletes and merges in Spark give the rows of a model in plain Python, on every kind of table.

``ROW_CHANGES=1000 SEED=7`` plays 1,000 operations. Each operation is a write, a change in Spark or a compaction; after
each, the rows of the table are those of the model.
"""

import os
import random

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import paimon_core as paimon
from paimon_core import Delete, Insert, Update, col
from paimon_core.errors import InvalidRequest
from paimon_core.spark import delete_spark, merge_spark, update_spark

OPERATIONS = int(os.environ.get("ROW_CHANGES", "30"))
SEED = int(os.environ.get("SEED", "1"))
EACH = 6
"""The operations on one table."""
FIELDS = "k long, p string, v long, s string"
KINDS = {
    "keyed": {"key": ["k"], "bucket": "2"},
    "partitioned": {"key": ["p", "k"], "parts": ["p"], "bucket": "2", "sequence.field": "k"},
    "dynamic": {"key": ["p", "k"], "parts": ["p"], "bucket": "-1"},
    "cross-partition": {"key": ["k"], "parts": ["p"], "bucket": "-1"},
    "postponed": {"key": ["k"], "bucket": "-2"},
    "lookup": {"key": ["k"], "bucket": "1", "changelog-producer": "lookup"},
    "input": {"key": ["k"], "bucket": "1", "changelog-producer": "input"},
    "append": {},
    "parts": {"parts": ["p"]},
    "vectors": {"deletion-vectors.enabled": "true"},
    "buckets": {"bucket": "2", "bucket-key": "k", "deletion-vectors.enabled": "true"},
    "tracked": {"row-tracking.enabled": "true"},
}


def number(test):
    return lambda t, s: t["v"] is not None and test(t["v"])


TARGET = [
    ("v > 30", number(lambda v: v > 30)),
    (col("v") > 30, number(lambda v: v > 30)),
    (F.col, number(lambda v: v % 2 == 0)),
    ("target.k % 3 = 1", lambda t, s: t["k"] is not None and t["k"] % 3 == 1),
    ("p = 'a' AND s IS NULL", lambda t, s: t["p"] == "a" and t["s"] is None),
    ("p = 'b'", lambda t, s: t["p"] == "b"),
    (col("s") == "new", lambda t, s: t["s"] == "new"),
    ("k IN (1, 2, 3) AND length(s) < 3", lambda t, s: t["k"] in (1, 2, 3) and t["s"] is not None and len(t["s"]) < 3),
]
BOTH = [("target.v < source.v", lambda t, s: t["v"] is not None and s["v"] is not None and t["v"] < s["v"])]
SOURCE = [
    ("source.v % 2 = 0", lambda t, s: s["v"] is not None and s["v"] % 2 == 0),
    (col("v") <= 20, lambda t, s: s["v"] is not None and s["v"] <= 20),
    ("s = 'new'", lambda t, s: s["s"] == "new"),
]
VALUES = {
    "v": [
        (7, lambda t, s: 7),
        (None, lambda t, s: None),
        ("v + 1", lambda t, s: None if t["v"] is None else t["v"] + 1),
        ("target.k * 2", lambda t, s: None if t["k"] is None else t["k"] * 2),
    ],
    "s": [
        ("literal", lambda t, s: "literal"),
        ("upper(s)", lambda t, s: t["s"] and t["s"].upper()),
    ],
}
OF_BOTH = {
    "v": [
        (col("v"), lambda t, s: s["v"]),
        ("coalesce(v, 0) + source.v", lambda t, s: None if s["v"] is None else (t["v"] or 0) + s["v"]),
    ],
    "s": [(col("s"), lambda t, s: s["s"])],
}
OF_SOURCE = {
    "v": [(col("v"), lambda t, s: s["v"]), ("source.v * 10", lambda t, s: s["v"] and s["v"] * 10), (1, lambda t, s: 1)],
    "s": [("upper(source.s)", lambda t, s: s["s"] and s["s"].upper())],
}


class History:
    """One table and its model."""

    def __init__(self, spark, warehouse, name, seed):
        self.spark, self.random, self.name = spark, random.Random(seed), name
        options = dict(KINDS[name])
        self.key, parts = options.pop("key", []), options.pop("parts", [])
        catalog = paimon.open_catalog(str(warehouse))
        catalog.create_database("db", ignore_if_exists=True)
        schema = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int64()), ("s", pa.string())])
        self.table = catalog.create_table(
            f"db.t{seed}_{name.replace('-', '_')}", schema, primary_key=self.key, partition_by=parts, options=options
        )
        self.model = []

    def row(self):
        pick = self.random
        k = None if not self.key and pick.random() < 0.1 else pick.randrange(12)
        v = None if pick.random() < 0.15 else pick.randrange(60)
        return {"k": k, "p": pick.choice("ab"), "v": v, "s": pick.choice([None, "new", "old", "z"])}

    def distinct(self, rows):
        return list({tuple(r[n] for n in self.key): r for r in rows}.values()) if self.key else rows

    def write(self):
        rows = self.distinct([self.row() for _ in range(8)])
        self.table.write(rows)
        if self.key:
            written = {tuple(r[n] for n in self.key) for r in rows}
            self.model = [t for t in self.model if tuple(t[n] for n in self.key) not in written]
        self.model += rows

    def condition(self, choices):
        given, test = self.random.choice(choices)
        return (F.expr("v % 2 = 0") if given is F.col else given), test

    def values(self, *tables):
        """Return some columns with a value for Spark, and the functions of the model."""
        given, model = {}, {}
        for name in self.random.sample(["v", "s"], self.random.choice([1, 2])):
            value, model[name] = self.random.choice([c for table in tables for c in table[name]])
            is_text = isinstance(value, str) and value != "literal"
            given[name] = F.expr(value) if is_text else value
        return given, model

    def delete(self):
        where, test = self.condition(TARGET)
        delete_spark(self.spark, self.table, where)
        self.model = [t for t in self.model if not test(t, None)]

    def update(self):
        where, test = self.condition(TARGET)
        given, model = self.values(VALUES)
        update_spark(self.spark, self.table, given, where)
        self.model = [changed(t, None, model) if test(t, None) else t for t in self.model]

    def changing(self, conditions, tables, *, source):
        """Return a clause for Spark, and (test, values or None for a delete) for the model."""
        parts, tests = {}, []
        if self.random.random() < 0.6:
            parts["where"], test = self.condition(conditions)
            tests.append(test)
        if source and self.random.random() < 0.4:
            parts["source_where"], test = self.condition(SOURCE)
            tests.append(test)
        if self.random.random() < 0.35:
            return Delete(**parts), (tests, None)
        if source and self.random.random() < 0.4:
            names = [n for n in ("k", "p", "v", "s") if n not in self.on and n not in self.key]
            return Update(**parts), (tests, {n: lambda t, s, n=n: s[n] for n in names})
        given, model = self.values(*tables)
        return Update(given, **parts), (tests, model)

    def merge(self):
        pick = self.random
        self.on = self.key or ["k"]
        rows = [self.row() for _ in range(pick.choice([0, 3, 6]))]
        rows = self.distinct(rows) if pick.random() < 0.7 else rows
        inserts = [self.inserting() for _ in range(pick.choice([0, 1, 1, 2]))]
        matched = [self.changing(TARGET + BOTH, [VALUES, OF_BOTH], source=True) for _ in range(pick.choice([0, 1, 2]))]
        unmatched = [self.changing(TARGET, [VALUES], source=False) for _ in range(pick.choice([0, 0, 1]))]
        if not inserts + matched + unmatched:
            inserts = [self.inserting()]
        source = self.spark.createDataFrame([tuple(r.values()) for r in rows], FIELDS)
        expected = self.merged(rows, [m for _, m in matched], [m for _, m in unmatched], [m for _, m in inserts])
        call = {
            "when_matched": [c for c, _ in matched] or None,
            "when_not_matched": [c for c, _ in inserts] or None,
            "when_not_matched_by_source": [c for c, _ in unmatched] or None,
        }
        if expected is None:
            with pytest.raises(InvalidRequest, match="several rows of the source"):
                merge_spark(self.spark, self.table, source, self.on, **call)
            return
        merge_spark(self.spark, self.table, source, self.on, **call)
        self.model = expected

    def inserting(self):
        parts, tests = {}, []
        if self.random.random() < 0.5:
            parts["source_where"], test = self.condition(SOURCE)
            tests.append(test)
        if self.random.random() < 0.6:
            return Insert(**parts), (tests, {n: lambda t, s, n=n: s[n] for n in ("k", "p", "v", "s")})
        given, model = self.values(OF_SOURCE)
        keys = {n: (col(n), lambda t, s, n=n: s[n]) for n in ("k", "p")}
        given |= {n: g for n, (g, _) in keys.items()}
        return Insert(given, **parts), (tests, model | {n: m for n, (_, m) in keys.items()})

    def merged(self, source, matched, unmatched, inserts):
        """Return the rows after a merge; None when several rows of the source change or insert one row."""
        found, out = set(), []
        for t in self.model:
            pairs = [(n, s) for n, s in enumerate(source) if all(t[c] is not None and t[c] == s[c] for c in self.on)]
            found |= {n for n, _ in pairs}
            applied = [(c, s) for _, s in pairs if (c := first(matched, t, s)) is not None]
            if not pairs and (c := first(unmatched, t, None)) is not None:
                applied = [(c, None)]
            if len(applied) > 1 and any(values is not None for (_, values), _ in applied):
                return None
            if not applied:
                out.append(t)
            elif applied[0][0][1] is not None:
                out.append(changed(t, applied[0][1], applied[0][0][1]))
        new = [
            changed(dict.fromkeys("kpvs"), s, c[1])
            for n, s in enumerate(source)
            if n not in found and (c := first(inserts, None, s)) is not None
        ]
        if len(self.distinct(new)) < len(new):
            return None
        return out + new

    def check(self):
        assert listed(self.table.scan().to_arrow().to_pylist()) == listed(self.model)


def first(clauses, t, s):
    return next((c for c in clauses if all(test(t, s) for test in c[0])), None)


def changed(t, s, values):
    return t | {name: value(t, s) for name, value in values.items()}


def listed(rows):
    return sorted(str([r[n] for n in "kpvs"]) for r in rows)


def play(spark, warehouse, seed, operations):
    """Play operations on tables of all kinds, and return how often each was played."""
    played = {}
    pick = random.Random(seed)
    for at in range(-(-operations // EACH)):
        name = list(KINDS)[(seed + at) % len(KINDS)]
        history = History(spark, warehouse, name, seed * 100_000 + at)
        history.write()
        for step in range(EACH):
            operation = pick.choice(["write", "delete", "update", "merge", "merge", "merge"]) if step else "merge"
            getattr(history, operation)()
            try:
                history.check()
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, table {at} ({name}), step {step}: {operation}") from error
            played[operation] = played.get(operation, 0) + 1
        assert not history.table.maintenance.check(deep=True).errors
    return played


@pytest.mark.long
def test_changes_in_spark_give_the_rows_of_the_model(spark, warehouse):
    assert sum(play(spark, warehouse, SEED, OPERATIONS).values()) >= OPERATIONS


@pytest.mark.long
@pytest.mark.parametrize("name", ["partitioned", "vectors", "tracked"])
def test_java_reads_what_changes_in_spark_have_written(spark, oracle, warehouse, name):
    history = History(spark, warehouse, name, SEED)
    history.write()
    for operation in ("merge", "update", "merge", "delete", "write"):
        getattr(history, operation)()
    found = oracle.dump(warehouse, history.table.name)
    assert sorted(str(row) for _, *row in found) == listed(history.model)
