"""Tables of Java whose options tune other engines, or are none of Paimon's: read, written, compacted and expired."""

from __future__ import annotations

import datetime
import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.alter import RemoveOption, SetOption
from paimon_core.options import OPTIONS, Use
from paimon_core.options.option import Kind, Support

FOREIGN = {
    "owner": "somebody",
    "connector": "paimon",
    "my.custom.key": "1",
    "totalSize": "123",
    "transient_lastDdlTime": "1700000000",
    "log.system": "none",
}
OTHER = {
    Kind.BOOLEAN: {"true": "false", "false": "true"},
    Kind.SIZE: "4 mb",
    Kind.DURATION: "7 min",
    Kind.INTEGER: "3",
    Kind.LONG: "3",
    Kind.DOUBLE: "0.5",
}
TEXTS = {
    "sort-engine": "min-heap",
    "lookup.cache": "full",
    "lookup.cache-spill-compression": "lz4",
    "scan.split-enumerator.mode": "preemptive",
    "scan.watermark.emit.strategy": "on-periodic",
    "compaction.bucket-distribution-strategy": "pseudo-random",
    "consumer-id": "somebody",
    "consumer.mode": "at-least-once",
    "sort-compaction.range-strategy": "quantity",
    "orc.column.encoding.direct": "v",
    "clustering.columns": "v",
    "clustering.strategy": "order",
    "metastore.client.class": "x",
    "source.operator-uid.suffix": "x",
    "sink.operator-uid.suffix": "x",
    "lookup.refresh.time-periods-blacklist": "",
}
LEFT_OUT = frozenset(
    {
        "primary-key",
        "partition",
        "path",
        "auto-create",
        "streaming-read-overwrite",
        "table-read.sequence-number.enabled",
    }
)
"""What Java takes as something else, or refuses in a schema file."""


def tuning() -> dict[str, str]:
    """Every option that is carried, at another value than its default."""
    options = {}
    for key, option in OPTIONS.items():
        words = option.kind in (Kind.TEXT, Kind.ENUM)
        if option.support is not Support.CARRIED or key in LEFT_OUT or "#" in key or (words and key not in TEXTS):
            continue
        other = TEXTS[key] if words else OTHER[option.kind]
        options[key] = other[option.default or "false"] if isinstance(other, dict) else other
    return options


@pytest.mark.parametrize("keys", [["k"], []], ids=["keyed", "append"])
@pytest.mark.parametrize("odd", ["tuning", "foreign"])
def test_odd_options(oracle, warehouse, keys, odd):
    given = tuning() if odd == "tuning" else FOREIGN
    create = {
        "op": "create",
        "table": "db.t",
        "fields": [{"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"}],
        "primaryKeys": keys,
        "partitionKeys": [],
        "options": given | ({"bucket": "1"} if keys else {}) | {"snapshot.num-retained.min": "1"},
    }
    oracle.run(
        warehouse,
        [
            create,
            {"op": "write", "table": "db.t", "rows": [["+I", 1, "one"], ["+I", 2, "two"]]},
            {"op": "write", "table": "db.t", "rows": [["+I", 3, "three"]]},
        ],
    )
    table = paimon.open_catalog(warehouse).table("db.t")
    used = {row["key"]: row["use"] for row in table.inspect.options().to_pylist() if row["key"] in given}
    assert used == dict.fromkeys(given, Use.IGNORED if odd == "tuning" else Use.FOREIGN)
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == ["one", "three", "two"]
    table.write(pa.table({"k": pa.array([4], pa.int32()), "v": ["four"]}, schema=table.schema.arrow))
    table.compact(full=True)
    time.sleep(0.002)  # a snapshot expires when the next one is older than the millisecond of the expiry
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
    assert len(table.inspect.snapshots()) == 1
    expected = [["+I", 1, "one"], ["+I", 2, "two"], ["+I", 3, "three"], ["+I", 4, "four"]]
    assert oracle.dump(warehouse, "db.t") == expected
    compact = [{"op": "compact", "table": "db.t"}] if keys else []
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 5, "five"]]}, *compact])
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 2, 3, 4, 5]
    assert table.maintenance.check(deep=True).errors == ()


def test_java_reads_what_is_stored_and_obeys_the_same_scan_options(oracle, warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": 1, "write-only": True, "owner": "me", "snapshot.time-retained": "2 h", "lookup.cache-rows": 9}
    table = catalog.create_table("db.t", {"k": "INT NOT NULL", "v": "STRING"}, primary_key=["k"], options=options)
    for k in (1, 2):
        table.write([{"k": k, "v": "x"}], watermark=10 * k)
    table.tags.create("two")
    table = table.alter("ADD COLUMN w INT")
    table.write([{"k": 3, "v": "x", "w": 3}], watermark=30)
    second = table.at(snapshot=2).pinned.time_millis
    local = datetime.datetime.fromtimestamp(second / 1000).isoformat(sep=" ", timespec="milliseconds")
    for change, count in [
        ({"scan.snapshot-id": 1}, 1),
        ({"scan.tag-name": "two"}, 2),
        ({"scan.version": 2, "scan.mode": "from-snapshot"}, 2),
        ({"scan.watermark": 11}, 2),
        ({"scan.timestamp-millis": second}, 2),
        ({"scan.timestamp": local}, 2),
        ({"scan.mode": "latest"}, 3),
    ]:
        stored = table.alter(*(SetOption(key, value) for key, value in change.items()))
        rows = [["+I", *row.values()] for row in stored.scan().to_arrow().to_pylist()]
        assert (len(rows), len(rows[0])) == (count, 4 if count == 3 else 3), change
        assert oracle.dump(warehouse, "db.t") == rows, change
        table = stored.alter(*(RemoveOption(key) for key in change))


ENDED = {
    "ordered": {"sequence.field": "ts,"},
    "hashed": {"bucket-key": "k,", "bucket": "2"},
    "grouped": {
        "merge-engine": "partial-update",
        "fields.ts.sequence-group": "a,b,",
        "partial-update.remove-record-on-sequence-group": "ts,",
    },
    "group_of_two": {"merge-engine": "partial-update", "fields.ts,.sequence-group": "a,b,"},
    "indexed": {"file-index.bloom-filter.columns": "a,b,"},
    "compared": {"changelog-producer": "lookup", "changelog-producer.row-deduplicate-ignore-fields": "b,"},
}


def test_a_comma_at_the_end_of_a_list_adds_no_part(oracle, warehouse):
    """Java's split leaves out empty parts at the end; both sides write the table, and read what the other wrote."""
    columns = [("k", "INT NOT NULL"), ("ts", "BIGINT"), ("a", "INT"), ("b", "STRING")]
    fields = [{"name": name, "type": kind} for name, kind in columns]
    steps = [{"op": "createDatabase", "name": "db"}]
    for name, options in ENDED.items():
        table = f"db.{name}"
        made = {"op": "create", "table": table, "fields": fields, "primaryKeys": ["k"], "partitionKeys": []}
        rows = [["+I", 1, 5, 1, "new"], ["+I", 2, 5, 2, "x"]]
        steps += [made | {"options": {"bucket": "1"} | options}, {"op": "write", "table": table, "rows": rows}]
    oracle.run(warehouse, steps)
    for name in ENDED:
        table = paimon.open_catalog(warehouse).table(f"db.{name}")
        table.write([{"k": 1, "ts": 3, "a": 9, "b": "old"}, {"k": 3, "ts": 1, "a": 3, "b": "y"}])
        kept = (1, 3, 9, "old") if name in ("hashed", "indexed", "compared") else (1, 5, 1, "new")
        rows = sorted(map(tuple, (row.values() for row in table.scan().to_arrow().to_pylist())))
        assert rows == [kept, (2, 5, 2, "x"), (3, 1, 3, "y")], name
        assert sorted(tuple(row[1:]) for row in oracle.dump(warehouse, table.name)) == rows, name
        assert table.scan(where=paimon.col("b") == "x").count() == 1
