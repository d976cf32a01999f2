"""Files outside of the table: every operation finds them, and none touches a file outside of the allowed roots."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.cli.main import main
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.abort import abort
from paimon_core.spark.reference import TableReference

OPTIONS = {
    "bucket": "1",
    "data-file.external-paths.strategy": "round-robin",
    "file-index.bloom-filter.columns": "v",
    "file-index.in-manifest-threshold": "1b",
}


@pytest.fixture
def outside(tmp_path):
    return tmp_path / "roots" / "one"


@pytest.fixture
def table(warehouse, outside):
    catalog = paimon.open_catalog(warehouse, allowed_roots=[outside.parent])
    catalog.create_database("db")
    options = {**OPTIONS, "data-file.external-paths": f"file://{outside}"}
    made = catalog.create_table("db.t", {"k": "INT", "v": "STRING"}, primary_key=["k"], options=options)
    made.write([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}])
    return made


def files(outside):
    return sorted(p.name.split(".", 1)[1] for p in outside.rglob("*") if p.is_file())


def test_an_abort_deletes_them(table, outside):
    before = files(outside)
    writer = table.writer()
    writer.write(pa.table({"k": pa.array([3], pa.int32()), "v": ["c"]}))
    messages = writer.flush()
    assert len(files(outside)) == len(before) + 2
    abort(messages, table.context)
    assert files(outside) == before


def test_tasks_of_spark_know_the_roots(table):
    context = TableReference.of(table.context).open()
    assert context.paths.external == table.context.paths.external
    assert context.storage.bounds.others == table.context.paths.external.paths


def test_a_lost_file_is_found_and_its_entry_removed(table, outside):
    (lost,) = outside.rglob("*.parquet")
    lost.unlink()
    errors = table.maintenance.check().errors
    assert [e.invariant for e in errors] == ["I6"]
    plan = table.maintenance.plan_missing_removal()
    assert [f.path for f in plan.files] == [str(lost)]
    table.maintenance.apply(plan)
    assert table.scan().to_arrow().num_rows == 0


def test_without_the_root_nothing_is_read_written_or_deleted(table, warehouse, outside):
    table.write([{"k": 1, "v": "c"}])
    table.compact(full=True)
    before = files(outside)
    other = paimon.open_catalog(warehouse, allowed_roots=[f"{outside.parent}-more"]).table("db.t")
    for call in (lambda: other.scan().to_arrow(), lambda: other.write([{"k": 9, "v": "z"}])):
        with pytest.raises(InvalidRequest, match=r"allowed_roots.* \[.*roots-more\]"):
            call()
    other.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
    assert files(outside) == before
    report = other.maintenance.check()
    assert any("outside of allowed_roots" in reason for reason in report.skipped.values())
    assert f"skipped={len(report.skipped)}" in str(report)


def test_orphan_removal_does_not_search_outside_of_the_table(table, outside):
    (file,) = outside.rglob("*.parquet")
    orphan = Path(str(file).replace("-0.parquet", "-7.parquet"))
    orphan.write_bytes(b"x")
    os.utime(orphan, (1, 1))
    assert table.maintenance.plan_orphan_removal().files == ()


def test_the_command_line_takes_roots(table, warehouse, outside, capsys):
    table.write([{"k": 1, "v": "c"}])
    compact = ["compact", "db.t", "--full", "--warehouse", str(warehouse)]
    assert main(compact) != 0
    assert "allowed_roots" in capsys.readouterr().err
    assert main([*compact, "--allowed-root", str(outside)]) == 0
