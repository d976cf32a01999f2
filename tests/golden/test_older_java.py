"""Tables of older versions of Apache Paimon (java-0.8.2/README.md): read, checked, expired, written and compacted."""

import datetime
import os
import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon

GOLDEN = Path(__file__).parent
SEEN = datetime.datetime(2023, 11, 14, 22, 13, 20, 123000)
NOW = datetime.timedelta(0)


def keyed(day, key, amount, tags, seen):
    return {"day": day, "id": key, "amount": amount and Decimal(amount), "tags": tags, "seen": seen}


FIRST = [
    keyed("2024-01-01", 1, "1.50", [("x", 1)], SEEN),
    keyed("2024-01-01", 2, "2.50", None, SEEN),
    keyed("2024-01-02", 3, None, [("y", 2)], None),
]
LATEST = [keyed("2024-01-01", 1, "1.75", [("x", 9)], SEEN), keyed("2024-01-02", 3, None, [("y", 2)], None)]
APPENDED = [
    {"id": 1, "name": "one", "scores": [(1, 1.5)]},
    {"id": 2, "name": None, "scores": None},
    {"id": 3, "name": "three", "scores": [(3, -0.5)]},
]
TABLES = {
    ("0.8.2", "keyed_avro"): LATEST,
    ("0.8.2", "keyed_parquet"): LATEST,
    ("0.8.2", "manifests_orc"): [{"id": 1, "name": "one"}, {"id": 2, "name": "zwei"}],
    ("1.0.1", "keyed_avro"): LATEST,
    ("1.0.1", "appended_parquet"): APPENDED,
}
ALL = pytest.mark.parametrize(("version", "name"), TABLES, ids=lambda text: text)
WRITABLE = pytest.mark.parametrize(
    ("version", "name"), [key for key in TABLES if key[1] != "manifests_orc"], ids=lambda text: text
)


def opened(tmp_path, version, name):
    """A copy of the table, and its warehouse."""
    shutil.copytree(GOLDEN / f"java-{version}", tmp_path / "lake")
    return paimon.open_catalog(str(tmp_path / "lake")).table(f"d.{name}")


def rows_of(view):
    return sorted(view.scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def more(table, version, name):
    """A row of our own for the table, with the others."""
    row = LATEST[0] | {"id": 9} if name.startswith("keyed") else {"id": 9, "name": "nine", "scores": [(9, 9.0)]}
    return pa.Table.from_pylist([row], schema=table.schema.arrow), [*TABLES[version, name], row]


@ALL
def test_the_rows(tmp_path, version, name):
    assert rows_of(opened(tmp_path, version, name)) == TABLES[version, name]


@pytest.mark.parametrize(("version", "name"), [key for key in TABLES if key[1].startswith("keyed")])
def test_a_tag_and_the_changes(tmp_path, version, name):
    table = opened(tmp_path, version, name)
    assert rows_of(table.at(tag="first")) == FIRST
    changes = table.changes(1, columns=["id"], way="delta").to_arrow().to_pylist()
    assert sorted((c["id"], c["rowkind"]) for c in changes) == [(1, "+U"), (2, "-D")]


@ALL
def test_a_sound_table_and_its_only_orphan(tmp_path, version, name):
    table = opened(tmp_path, version, name)
    assert table.maintenance.check(deep=True).findings == ()
    orphan = tmp_path / "lake" / "d.db" / name / "manifest" / "manifest-00000000-0000-4000-8000-000000000000-0"
    orphan.write_bytes(b"")
    for file in orphan.parents[1].rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    plan = table.maintenance.plan_orphan_removal()
    assert [Path(f.path).name for f in plan.files] == [orphan.name]


@ALL
def test_expiry(tmp_path, version, name):
    table = opened(tmp_path, version, name)
    plan = table.maintenance.plan_snapshot_expiry(keep_last=1, older_than=NOW)
    assert plan.subjects == ("snapshot 1",)
    table.maintenance.apply(plan)
    assert table.inspect.snapshots()["snapshot_id"].to_pylist() == [2]
    assert rows_of(table) == TABLES[version, name]


@WRITABLE
def test_our_write_and_compaction_and_what_java_reads_then(tmp_path, oracle, version, name):
    table = opened(tmp_path, version, name)
    rows, expected = more(table, version, name)
    table.write(rows)
    table.compact(full=True)
    assert rows_of(table) == expected
    assert oracle.dump(str(tmp_path / "lake"), f"d.{name}", projection=["id"]) == [
        ["+I", row["id"]] for row in expected
    ]


def test_manifests_in_orc_are_read_and_written(tmp_path):
    table = opened(tmp_path, "0.8.2", "manifests_orc")
    before = table.scan().count()
    table.write(pa.table({"id": pa.array([3], pa.int32()), "name": ["three"]}, schema=table.schema.arrow))
    assert table.scan().count() == before + 1


def test_an_older_name_of_an_option_counts(tmp_path):
    table = opened(tmp_path, "0.8.2", "keyed_avro")
    assert table.options["write-only"] is True
