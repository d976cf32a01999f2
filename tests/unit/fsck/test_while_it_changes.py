"""A valid table that changes during the check has no findings; damage is found nevertheless."""

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.fsck.check import check
from tests.support.fake_tables import reopened
from tests.support.faulty_storage import FaultyStorage

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])


def rows(*keys):
    return pa.table({"k": list(keys), "v": list(keys)}, SCHEMA)


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    made = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for key in (1, 2, 3):
        made.write(rows(key))
    made.compact(full=True)
    made.tags.create("third", 3)
    made.write(rows(4))
    return made


def expire(table):
    table.write(rows(5))
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))


def roll_back(table):
    table.rollback(snapshot=2)
    table.write(rows(7))
    table.write(rows(8))


def delete_tag(table):
    expire(table)
    table.tags.delete("third")


MOMENTS = [
    ("list", "/tag"),
    ("list", "/bucket-0"),
    ("read", "snapshot-2"),
    ("read", "snapshot-5"),
    ("read", "manifest-list"),
    ("read", "/manifest-"),
    ("open_input", "data-"),
]


@pytest.mark.parametrize("happening", [expire, roll_back, delete_tag])
@pytest.mark.parametrize("moment", MOMENTS, ids=" ".join)
def test_a_concurrent_change_is_no_finding(table, moment, happening):
    storage = FaultyStorage(table.context.storage)
    storage.before(*moment, lambda: happening(table))
    report = check(reopened(table.context, storage), deep=True)
    assert [f.sentence() for f in report.findings if f.level != "info"] == []
    assert storage.hooks == []


def test_a_table_that_changes_in_every_run(table):
    """An expiry happens in every run of the check; findings of every run are reported nevertheless."""
    storage = FaultyStorage(table.context.storage)

    def expire_again():
        storage.before("read", "manifest-list", expire_again)
        expire(table)

    storage.before("read", "manifest-list", expire_again)
    assert check(reopened(table.context, storage)).is_clean
    storage.hooks.clear()
    unknown = f"{table.context.paths.snapshot_directory}/unknown"
    table.context.storage.overwrite(unknown, b"")
    storage.before("read", "manifest-list", expire_again)
    report = check(reopened(table.context, storage))
    assert [f.path for f in report.findings if f.level != "info"] == [unknown]
