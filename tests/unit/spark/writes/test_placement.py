"""Placement of staged rows without Spark: what fails leaves no file, and what succeeds leaves no staged file."""

from __future__ import annotations

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.spark.writes import placement
from paimon_core.spark.writes.placement import in_this_process, place
from paimon_core.write.staging import Staged, StagingWriter

SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.int64(), False), ("v", pa.string())])
MODES = {
    "dynamic": ({"bucket": "-1", "dynamic-bucket.target-row-num": "4"}, ["p", "k"]),
    "cross": ({"bucket": "-1"}, ["k"]),
    "postponed": ({"bucket": "-2", "postpone.default-bucket-num": "3"}, ["p", "k"]),
}


def staged(context, value, **kinds):
    with StagingWriter(context) as writer:
        writer.write(pa.table({"p": [n % 2 for n in range(20)], "k": range(20), "v": [value] * 20}), **kinds)
        return Staged.from_bytes(writer.finish().to_bytes())


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_later_tasks_win_and_only_placed_files_stay(tmp_path, monkeypatch, mode):
    monkeypatch.setattr(placement, "GROUP_BYTES", 1)
    options, key = MODES[mode]
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=key, partition_by=["p"], options=options)

    def files():
        return {path.name for path in tmp_path.rglob("*") if path.is_file()}

    def dying(payloads, work):
        for payload in payloads:
            work(payload)
        raise KeyboardInterrupt

    before = files()
    with pytest.raises(KeyboardInterrupt):
        place(table.context, [staged(table.context, "a")], dying, overwrites=False)
    assert not [name for name in files() - before if name.startswith("index-")]
    assert not list(tmp_path.rglob("bucket-postpone/*.*"))
    parts = [
        staged(table.context, "a"),
        staged(table.context, "b"),
        staged(table.context, "c", kinds=["-D", "+I"] * 10),
    ]
    table.commit(place(table.context, parts, in_this_process, overwrites=False))
    assert not list(tmp_path.rglob("bucket-postpone/*.*"))
    assert {r["k"]: r["v"] for r in table.scan().to_arrow().to_pylist()} == dict.fromkeys(range(1, 20, 2), "c")
    assert not table.maintenance.check(deep=True).errors
