"""Data files outside of the table's directory: both sides write, read, compact and expire them."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest
from tests.interop.test_java_both_ways import agree

FIELDS = [
    {"name": "p", "type": "INT NOT NULL"},
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "v", "type": "STRING"},
]
KEYED = {"bucket": "1", "changelog-producer": "input"}
APPEND = {"bucket": "-1", "compaction.min.file-num": "2"}


@pytest.mark.parametrize(
    ("keys", "options", "strategy"),
    [
        (["p", "k"], KEYED, {"strategy": "round-robin"}),
        (["p", "k"], KEYED | {"data-file.path-directory": "files"}, {"strategy": "entropy-inject"}),
        ([], APPEND, {"strategy": "weight-robin", "weights": "1,2"}),
        ([], APPEND, {"strategy": "specific-fs", "specific-fs": "file"}),
    ],
    ids=lambda value: value.get("strategy") if isinstance(value, dict) else None,
)
def test_both_sides_write_compact_and_expire(oracle, warehouse, tmp_path, keys, options, strategy):
    roots = [tmp_path / "roots" / name for name in ("a", "b")]
    external = {f"data-file.external-paths.{key}": value for key, value in strategy.items()}
    options |= {**external, "data-file.external-paths": ", ".join(f"file://{root}/" for root in roots)}
    options |= {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1b"}
    create = {"op": "create", "table": "db.t", "fields": FIELDS, "primaryKeys": keys, "partitionKeys": ["p"]}
    rows = [["+I", n % 2, n, f"java {n}"] for n in range(20)]
    oracle.run(warehouse, [{**create, "options": options}, {"op": "write", "table": "db.t", "rows": rows}])
    with pytest.raises(InvalidRequest, match=r"data-.* is at the external path file:.*allowed_roots, which is \[\]"):
        paimon.open_catalog(warehouse).table("db.t").scan().to_arrow()
    table = paimon.open_catalog(warehouse, allowed_roots=[tmp_path / "roots"]).table("db.t")
    expected = [{"p": n % 2, "k": n, "v": f"java {n}"} for n in range(20)]

    def matches():
        agree(oracle, warehouse, table, pa.Table.from_pylist(expected, table.schema.arrow))

    matches()
    for start in (20, 30):
        ours = [{"p": n % 2, "k": n, "v": f"ours {n}"} for n in range(start, start + 10)]
        table.write(ours)
        expected += ours
        matches()
    assert table.scan(where=paimon.col("v") == "ours 23").to_arrow()["k"].to_pylist() == [23]
    table.compact(full=True)
    matches()
    oracle.run(warehouse, [{"op": "write", "table": "db.t", "rows": [["+I", 1, 99, "last"]]}])
    expected.append({"p": 1, "k": 99, "v": "last"})
    oracle.run(warehouse, [{"op": "compact", "table": "db.t"} if keys else {"op": "pack", "table": "db.t"}])
    matches()
    assert table.maintenance.check(deep=True).errors == ()
    before = files_below(tmp_path / "roots")
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
    matches()
    used = set(table.inspect.files()["file_name"].to_pylist())
    after = files_below(tmp_path / "roots")
    assert {name.removesuffix(".index") for name in after} == used
    assert len(after) < len(before)
    assert table.maintenance.plan_orphan_removal().files == ()
    assert not files_below(tmp_path / "db.db" / "t", "*/bucket-*/*")
    expire = {"op": "expire", "table": "db.t", "retainMin": 1, "retainMax": 1, "olderThanMillis": 2**62}
    table.write([{"p": 0, "k": 100, "v": "more"}])
    expected.append({"p": 0, "k": 100, "v": "more"})
    table.compact(full=True)
    oracle.run(warehouse, [expire])
    matches()
    assert table.maintenance.check(deep=True).errors == ()


def files_below(directory, pattern="**/*"):
    return {path.name for path in directory.glob(pattern) if path.is_file() and not path.name.endswith(".crc")}
