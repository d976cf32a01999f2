"""Loads of tables whose buckets are dynamic, or given to the rows by a compaction."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from paimon_core.errors import CommitConflict
from paimon_core.metadata.commit_message import position_of
from paimon_core.spark import message_tasks
from paimon_core.spark.writes import placement
from paimon_core.table.table import Table
from paimon_lake.declarations import SettingsError
from paimon_lake.loads import load as loading
from paimon_lake.loads.files import file_load
from paimon_lake.loads.inputs.changes import changed_rows
from paimon_lake.loads.inputs.content_version import content_version
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.upkeep.maintenance import compact
from paimon_lake.tables import is_awaited
from tests.support.lakes import SmallLake
from tests.support.tasks import in_this_process

TABLE = """
    columns: {p: STRING, id: BIGINT, v: STRING}
    primary_key: [p, id]
    partition_by: [p]
    options: {OPTIONS}
    source: {type: files, path: "in/*.csv"}
"""
MODES = {
    "dynamic": "bucket: -1, dynamic-bucket.target-row-num: 3",
    "postponed": "bucket: -2, postpone.target-row-num-per-bucket: 8",
    "waiting": "bucket: -2, postpone.batch-write-fixed-bucket: false",
}


def declared(lake: SmallLake, options: str, text: str = TABLE) -> SmallLake:
    lake.declare("shop.orders", text.replace("OPTIONS", options))
    lake.file("in/1.csv", "p,id,v\n" + "".join(f"p{n % 2},{n},a\n" for n in range(20)))
    lake.file("in/2.csv", "p,id,v\n" + "".join(f"p{n % 2},{n},b\n" for n in range(10, 30)))
    return lake


EXPECTED = sorted((f"p{n % 2}", n, "a" if n < 10 else "b") for n in range(30))


@pytest.fixture
def in_parts(quick: SmallLake, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    """A lake whose loads have a task for each file, in this process, as its compactions have."""
    monkeypatch.setattr(file_load, "TASK_BYTES", 1)
    monkeypatch.setattr(placement, "GROUP_BYTES", 1)
    monkeypatch.setattr(message_tasks, "collect_tasks", in_this_process)
    return quick


@pytest.mark.parametrize(("mode", "buckets"), [("dynamic", 14), ("postponed", 8), ("waiting", 2)])
def test_later_files_win_and_no_key_is_in_two_buckets(in_parts: SmallLake, mode: str, buckets: int) -> None:
    lake = declared(in_parts, MODES[mode])
    assert lake.load("shop.orders").details["rows_read"] == 40
    if mode == "waiting":
        assert lake.rows("shop.orders") == []
        before = content_version(lake.table("shop.orders"))
        assert is_awaited(lake.table("shop.orders"))
        planned = compact(lake.spark, lake.settings, "shop.orders", dry_run=True)
        assert planned.note == "would spread 4 waiting files and merge 0 files of 0 buckets"
        compact(lake.spark, lake.settings, "shop.orders")
        table = lake.table("shop.orders")
        assert content_version(table) != before
        with pytest.raises(PipelineError, match="bucket = -2: its rows change when a compaction spreads them"):
            changed_rows(lake.spark(), table, position_of(table.context.snapshots.read(1)), deletes=True)
    assert lake.rows("shop.orders") == EXPECTED
    lake.file("in/3.csv", "p,id,v\n" + "".join(f"p{n % 2},{n},c\n" for n in range(40)))
    lake.load("shop.orders")
    compact(lake.spark, lake.settings, "shop.orders", full=True)
    assert lake.rows("shop.orders") == sorted((f"p{n % 2}", n, "c") for n in range(40))
    table = lake.table("shop.orders")
    assert table.maintenance.check(deep=True).findings == ()
    assert len(table.inspect.buckets()) == buckets
    assert len(list(lake.folder.rglob("bucket-postpone/*.avro"))) == (6 if mode == "waiting" else 0)


def test_a_load_whose_keys_another_writer_added_meanwhile_is_written_again(
    in_parts: SmallLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, commit, added, ids = declared(in_parts, MODES["dynamic"]), loading.commit_load, [], itertools.count(100)

    def after_another(table: Table, *args: Any) -> Any:
        added.append(len(added))
        if len(added) <= others:
            lake.table("shop.orders").write([{"p": "p0", "id": next(ids), "v": "other"}])
        return commit(table, *args)

    monkeypatch.setattr(loading, "commit_load", after_another)
    others = 3
    with pytest.raises(CommitConflict, match=r"3 tries lost against other writers .* changed the hash indexes of p=p0"):
        lake.load("shop.orders")
    assert len(lake.rows("shop.orders")) == 3
    others, added = 1, []
    lake.load("shop.orders")
    assert len(added) == 2
    table = lake.table("shop.orders")
    assert len(lake.rows("shop.orders")) == 34
    assert table.maintenance.check(deep=True).findings == ()
    live = {e.file.file_name for e in table.context.manifests.entries_of(table.latest_snapshot())}
    assert {f.name for f in lake.folder.glob("warehouse/shop.db/orders/p=*/*/*")} == live


def test_a_check_cannot_block_rows_that_wait(dry_lake: SmallLake) -> None:
    checks = "    checks: [{type: not_null, columns: [v], block: true}]\n"
    dry_lake.declare("shop.orders", TABLE.replace("OPTIONS", MODES["waiting"]) + checks)
    with pytest.raises(SettingsError, match=r"checks\[0\].block: has no effect: .* visible only after a compaction"):
        _ = dry_lake.settings


QUERY = """
    columns: {p: STRING, id: BIGINT, v: STRING NOT NULL}
    primary_key: KEY
    partition_by: [p]
    options: {bucket: -1, dynamic-bucket.target-row-num: 5}
    source:
      type: sql
      inputs: [shop.orders]
      query: |
        SELECT if(r.id = 0, p, concat(p, 'x')) AS p, o.id AS id, if(o.id = 7, NULL, concat(o.v, r.id)) AS v, r.id AS at
        FROM shop.orders o CROSS JOIN range(3) r
    mode: upsert
    order_by: [at]
    rejects: {max_share: 0.5}
"""


@pytest.mark.long
def test_a_query_into_dynamic_buckets_and_one_whose_keys_change_partition(lake: SmallLake) -> None:
    declared(lake, "bucket: 2").load("shop.orders")
    for name, key in (("shop.by_part", "[p, id]"), ("shop.by_id", "[id]")):
        lake.declare(name, QUERY.replace("KEY", key))
        details = lake.load(name).details
        assert (details["rows_read"], details["rows_rejected"]) == (90, 3)
        assert lake.table(name).maintenance.check(deep=True).findings == ()
    last = {(f"{p}x", n, f"{v}2") for p, n, v in EXPECTED if n != 7}
    assert set(lake.rows("shop.by_id")) == last
    assert set(lake.rows("shop.by_part")) == last | {(p, n, f"{v}0") for p, n, v in EXPECTED if n != 7}
    assert len(lake.table("shop.by_part").inspect.buckets()) == 12
    assert not list(lake.folder.rglob("bucket-postpone/*.*"))
