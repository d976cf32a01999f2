"""System tables: for the same table ours have the rows that Java's have, in Java's columns."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.table.system.columns import fields_of
from paimon_core.table.system.metadata_tables import METADATA_TABLES
from paimon_core.table.system.system_table import SystemScan
from paimon_core.table.system.tables import SYSTEM_TABLES
from tests.support.java_rows import encode

KEYED, PLAIN, TOTALS, MARKED, FIRST = "db.keyed", "db.plain", "db.totals", "db.marked", "db.first"
TWO = "two"
TABLES = (KEYED, PLAIN, TOTALS, MARKED, FIRST)
LATER = {"partitions": 9, "snapshots": 14, "table_indexes": 7}
"""The tables to which Java 2.1 has added columns, and how many Java 1.4 has."""
OF_A_BRANCH = ("snapshots", "schemas", "options", "files", "tags", "branches", "consumers", "ro")
ONLY_LATER = ("file_indexes", "row_tracking")
AS_JSON = {"schemas": ("options",)}
"""Texts of JSON whose members Java writes in the order of a hash table."""


def create(
    table: str, columns: dict[str, str], keys: list[str], partitions: list[str], options: dict[str, str]
) -> dict[str, Any]:
    fields = [{"name": name, "type": kind} for name, kind in columns.items()]
    what = {"fields": fields, "primaryKeys": keys, "partitionKeys": partitions, "options": options}
    return {"op": "create", "table": table, **what}


def write(table: str, *rows: list[Any]) -> dict:
    return {"op": "write", "table": table, "rows": list(rows)}


KINDS = {
    "p": "STRING NOT NULL",
    "q": "DATE NOT NULL",
    "k": "INT NOT NULL",
    "v": "DOUBLE",
    "t": "TIMESTAMP(3)",
    "d": "DECIMAL(10, 2)",
    "n": "BOOLEAN",
    "s": "STRING",
}
PAIR = {"k": "INT NOT NULL", "v": "STRING"}
LEVELS = {"bucket": "2", "changelog-producer": "input", "num-levels": "4"}
STEPS = [
    create(KEYED, KINDS, ["p", "q", "k"], ["p", "q"], LEVELS),
    write(
        KEYED,
        ["+I", "a", "2024-01-31", 1, 1.5, "2024-01-01T00:00", "1.50", True, "x"],
        ["+I", "a", "2024-01-31", 2, 1e10, "2024-01-01T00:00:00.123", "-0.01", None, "y"],
        ["+I", "null", "1960-05-05", 1, None, None, None, None, None],
    ),
    {"op": "compact", "table": KEYED},
    {"op": "tag", "table": KEYED, "name": "one", "snapshot": 1},
    {"op": "branch", "table": KEYED, "name": "b", "tag": "one"},
    write(
        KEYED,
        ["-D", "a", "2024-01-31", 1, 1.5, None, None, None, "x"],
        ["+U", "a", "2024-01-31", 2, 2.5, None, "3.00", False, "z"],
        ["+I", "a", "2024-01-31", 3, 2.5, None, None, None, "z"],
    ),
    {
        "op": "alter",
        "table": KEYED,
        "changes": [
            {"change": "add", "name": "more", "type": "INT"},
            {"change": "rename", "name": "s", "to": "text"},
            {"change": "set", "key": "write-only", "value": "true"},
        ],
    },
    write(KEYED, ["+I", "b", "2024-02-01", 1, 1.5, None, None, None, "x", 7]),
    {"op": "resetConsumer", "table": KEYED, "name": "reader", "next": 2},
    create(
        PLAIN,
        {"p": "STRING", "x": "INT", "y": "STRING"},
        [],
        ["p"],
        {"bucket": "-1", "deletion-vectors.enabled": "true", "file-index.bloom-filter.columns": "x"},
    ),
    write(PLAIN, ["+I", None, 1, "a"], ["+I", "a", 2, "b"], ["+I", "a", 3, "c"]),
    create(
        TOTALS,
        {"k": "INT NOT NULL", "a": "BIGINT", "b": "STRING"},
        ["k"],
        [],
        {
            "bucket": "-1",
            "merge-engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "fields.b.aggregate-function": "listagg",
            "table-read.sequence-number.enabled": "true",
        },
    ),
    write(TOTALS, ["+I", 1, 5, "x"], ["+I", 2, 5, "y"]) | {"assigners": 1},
    write(TOTALS, ["+I", 1, 7, "z"]) | {"assigners": 1},
    create(MARKED, PAIR, ["k"], [], {"bucket": "1", "deletion-vectors.enabled": "true", "num-levels": "3"}),
    write(MARKED, ["+I", 1, "a"], ["+I", 2, "b"], ["+I", 3, "c"]),
    {"op": "compact", "table": MARKED},
    write(MARKED, ["+U", 1, "d"], ["-D", 2, "b"]),
    {"op": "compact", "table": MARKED, "full": False},
    create(FIRST, PAIR, ["k"], [], {"bucket": "1", "merge-engine": "first-row"}),
    write(FIRST, ["+I", 1, "a"], ["+I", 2, "b"]),
    write(FIRST, ["+I", 1, "c"], ["+I", 3, "d"]),
]


def ours_too(warehouse: str) -> None:
    """Commits, tags, branches, consumers, statistics and deletes of this library in the same tables."""
    catalog = paimon.open_catalog(warehouse)
    keyed = catalog.table(KEYED)
    day = datetime.date(2024, 2, 1)
    keyed.write([{"p": "b", "q": day, "k": 1, "v": -0.5, "more": 8}, {"p": "b", "q": day, "k": 2, "text": "ü"}])
    keyed.compact(full=True, where=col("p") == "b")
    keyed.tags.create(TWO, 4, keep_for=datetime.timedelta(hours=25, seconds=1.5))
    keyed.branches.create("c", tag="one")
    keyed.analyze()
    keyed.write([{"p": "a", "q": day, "k": 9, "v": float("nan")}])
    plain = catalog.table(PLAIN)
    plain.write([{"p": "a", "x": 9, "y": "d"}])
    plain.delete((col("x") == 2) | (col("x") == 1))
    catalog.table(MARKED).write([{"k": 4, "v": "e"}, {"k": 3, "v": "f"}])
    catalog.table(TOTALS).write([{"k": 3, "a": 1, "b": "w"}, {"k": 1, "a": 1, "b": "w"}])


def dump(table: str, **fields: Any) -> dict:
    return {"op": "dump", "table": table, **fields}


def javas(rows: list[list[Any]], kind: str) -> list[str]:
    return sorted(json.dumps([_parsed(value, kind) for value in row[1:]], sort_keys=True) for row in rows)


def _parsed(value: Any, kind: str) -> Any:
    if kind in AS_JSON and isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value


def encoded(scan: SystemScan, kind: str, *, whole: bool = True) -> list[str]:
    """The rows in the form of the oracle; of a ``whole`` table in the columns that Java 1.4 has."""
    fields = scan.fields
    if whole and kind in METADATA_TABLES:
        fields = fields[: LATER.get(kind, len(fields_of(METADATA_TABLES[kind].java)))]
    found = scan.to_arrow()
    rows = ([_parsed(encode(found[f.name][at], f.type), kind) for f in fields] for at in range(len(found)))
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.fixture(scope="module")
def lake(oracle, tmp_path_factory):
    warehouse = str(tmp_path_factory.mktemp("system") / "warehouse")
    oracle.run(warehouse, STEPS)
    ours_too(warehouse)
    return warehouse


def test_every_system_table_has_javas_rows(oracle, lake):
    catalog = paimon.open_catalog(lake)
    asked = [(table, kind) for table in TABLES for kind in SYSTEM_TABLES if kind not in ONLY_LATER]
    found = oracle.run(lake, [dump(f"{table}${kind}") for table, kind in asked])
    wrong = {}
    for (table, kind), java in zip(asked, found, strict=True):
        mine = encoded(catalog.system_table(f"{table}${kind}").scan(), kind)
        if mine != javas(java["rows"], kind):
            wrong[f"{table}${kind}"] = (mine, javas(java["rows"], kind))
    assert wrong == {}


def test_filters_columns_and_time_travel(oracle, lake):
    catalog = paimon.open_catalog(lake)
    keyed = catalog.table(KEYED)
    columns = ["bucket", "partition", "file_path", "max_key"]
    cases = [
        (dump(f"{KEYED}$files", filter=[["bucket", "=", 0]]), keyed.system("files", where=col("bucket") == 0)),
        (
            dump(f"{KEYED}$files", filter=[["partition", "=", "{a, 2024-01-31}"], ["level", ">", 0]]),
            keyed.system("files", where=(col("partition") == "{a, 2024-01-31}") & (col("level") > 0)),
        ),
        (dump(f"{KEYED}$files", projection=columns), keyed.system("files", columns)),
        (
            dump(f"{KEYED}$tags", filter=[["tag_name", "=", TWO]]),
            keyed.system("tags", where=col("tag_name") == "two"),
        ),
        *(
            (
                dump(f"{KEYED}${kind}", options={"scan.snapshot-id": "3"}),
                keyed.with_options({"scan.snapshot-id": 3}).system(kind),
            )
            for kind in ("files", "partitions", "manifests", "audit_log", "ro")
        ),
        *(
            (dump(f"{KEYED}$branch_b${kind}"), catalog.system_table(f"{KEYED}$branch_b${kind}").scan())
            for kind in OF_A_BRANCH
        ),
    ]
    for (step, scan), java in zip(cases, oracle.run(lake, [step for step, _ in cases]), strict=True):
        kind = step["table"].rpartition("$")[2]
        assert encoded(scan, kind, whole="projection" not in step) == javas(java["rows"], kind), step
    assert keyed.system("snapshots").to_arrow() == keyed.at(snapshot=3).inspect.snapshots()


def test_the_tables_of_a_catalog(oracle, lake):
    catalog = paimon.open_catalog(lake, options={})
    names = ("tables", "partitions", "all_table_options")
    found = oracle.run(lake, [dump(f"sys.{name}") for name in (*names, "catalog_options")])
    for name, java in zip(names, found, strict=False):
        assert encoded(catalog.system_table(f"sys.{name}").scan(), name) == javas(java["rows"], name)
        assert catalog.system_table(f"sys.{name}").scan(limit=1).count() == 1
    mine = catalog.system_table("sys.catalog_options").to_arrow().to_pylist()
    assert {tuple(row[1:]) for row in found[-1]["rows"]} <= {tuple(row.values()) for row in mine}
    assert catalog.system_table("SYS.all_tables").to_arrow() == catalog.system_table("sys.tables").to_arrow()
