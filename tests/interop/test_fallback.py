"""Scans of two branches beside Java, with stored options and filters."""

from __future__ import annotations

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import UnsupportedFeature
from tests.support.java_rows import json_rows

pytestmark = pytest.mark.java
T = "db.t"
COLUMNS = [("p", "STRING NOT NULL"), ("k", "INT NOT NULL"), ("v", "STRING")]
WHERES = {
    None: None,
    ("p", "=", "b"): col("p") == "b",
    ("v", "=", "other"): col("v") == "other",
    ("k", ">=", 2): col("k") >= 2,
}


def write(rows, **fields):
    return {"op": "write", "table": T, "rows": [["+I", *row] for row in rows], **fields}


def rows(scan, table):
    return sorted(map(repr, (row[1:] for row in json_rows(scan.to_arrow(), table.schema.fields))))


# Java 1.4 knows no scan.primary-branch.
@pytest.mark.parametrize("keys", [["p", "k"], []], ids=["keyed", "append"])
def test_partitions_of_two_branches(oracle, warehouse, keys):
    change = {"change": "set", "key": "scan.fallback-branch", "value": "b"}
    create = {
        "op": "create",
        "table": T,
        "fields": [{"name": name, "type": kind} for name, kind in COLUMNS],
        "primaryKeys": keys,
        "partitionKeys": ["p"],
        "options": {"bucket": "1" if keys else "-1"},
    }
    steps = [
        create,
        {"op": "branch", "table": T, "name": "b"},
        write([("b", 1, "other"), ("c", 1, "other"), ("c", 2, "other")], branch="b"),
        write([("c", 2, "newer")], branch="b"),
        write([("a", 1, "main"), ("b", 2, "main"), ("b", 3, "main")]),
        {"op": "alter", "table": T, "changes": [change]},
    ]
    dumps = [{"op": "dump", "table": T, **({"filter": [list(where)]} if where else {})} for where in WHERES]
    java = oracle.run(warehouse, steps + dumps)[-len(dumps) :]
    table = paimon.open_catalog(str(warehouse)).table(T)
    for where, answer in zip(WHERES.values(), java, strict=True):
        kept = [row for row in answer["rows"] if where is None or fits(where, row)]  # Java's filter may keep more rows
        assert rows(table.scan(where=where), table) == sorted(repr(row[1:]) for row in kept), where
    assert table.scan().count() == len(java[0]["rows"]) == (5 if keys else 6)
    with pytest.raises(UnsupportedFeature, match=r"scan\.fallback-branch"):
        table.write([{"p": "a", "k": 9, "v": "x"}])


def fits(where, row):
    p, k, v = row[1:]
    return {"p": p == "b", "v": v == "other", "k": k >= 2}[next(iter(where.columns))]
