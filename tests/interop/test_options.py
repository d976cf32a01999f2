"""Tables of Java whose options tune other engines, or are none of Paimon's: read, written, compacted and expired."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.options import Use
from paimon_core.options.ignored_options import IGNORED

FOREIGN = {
    "owner": "somebody",
    "connector": "paimon",
    "my.custom.key": "1",
    "totalSize": "123",
    "transient_lastDdlTime": "1700000000",
    "log.system": "none",
}
OTHER = {"bool": {"true": "false", "false": "true"}, "size": "4 mb", "duration": "7 min", "int": "3", "number": "0.5"}
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
        "visibility-callback.enabled",
    }
)
"""What Java takes as something else, or refuses in a schema file, or waits for."""


def tuning() -> dict[str, str]:
    """Every option that is carried, at another value than its default."""
    options = {}
    for key, (kind, default) in IGNORED.items():
        if key in LEFT_OUT or (kind == "text" and key not in TEXTS):
            continue
        other = TEXTS[key] if kind == "text" else OTHER[kind]
        options[key] = other[default or "false"] if isinstance(other, dict) else other
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
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
    assert len(table.inspect.snapshots()) == 1
    expected = [["+I", 1, "one"], ["+I", 2, "two"], ["+I", 3, "three"], ["+I", 4, "four"]]
    assert oracle.dump(warehouse, "db.t") == expected
    compact = [{"op": "compact", "table": "db.t"}] if keys else []
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 5, "five"]]}, *compact])
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 2, 3, 4, 5]
    assert table.maintenance.check(deep=True).errors == ()
