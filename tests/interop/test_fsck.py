"""Tables that Java wrote are clean, deep into their rows; so are those that both sides wrote."""

from __future__ import annotations

import pytest

from paimon_core.fsck.check import check_root
from paimon_core.storage.fsspec_storage import FsspecStorage

T = "db.t"
FIELDS = [
    {"name": "d", "type": "DATE NOT NULL"},
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "v", "type": "STRING"},
    {"name": "x", "type": "DOUBLE"},
]
KEYED = {"primaryKeys": ["d", "k"], "partitionKeys": ["d"]}
KINDS = {
    "keyed": (KEYED, {"bucket": "2"}),
    "lookup": (KEYED, {"bucket": "2", "changelog-producer": "lookup"}),
    "full-compaction": (
        KEYED,
        {"bucket": "1", "changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    ),
    "append": ({"partitionKeys": ["d"]}, {"bucket": "-1"}),
}


def rows(number):
    long = "a text that statistics cut short " * (number % 2)
    return [
        ["+I", day, k, f"{long}{number}", None if k % 3 == 0 else k / number]
        for day in ("2024-01-01", "2024-01-02")
        for k in range(number, number + 20)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_java_is_clean(oracle, warehouse, kind):
    keys, options = KINDS[kind]
    create = {"op": "create", "table": T, "fields": FIELDS, **keys, "options": options}
    writes = [{"op": "write", "table": T, "rows": rows(number)} for number in range(1, 7)]
    # Java compacts tables without buckets in jobs of their own.
    oracle.run(warehouse, [create, *writes, *([{"op": "compact", "table": T}] if kind != "append" else [])])
    report = check_root(T, FsspecStorage("file"), f"{warehouse}/db.db/t", deep=True)
    assert report.is_clean, report.text()
    assert report.checked["I7"] >= 5
    assert report.checked["I19"] >= 6
    assert report.checked.get("I20", 0) == (kind in ("lookup", "full-compaction")), report.text()
