"""Splits that another process reads: sent as bytes, checked, and bound to their table and snapshot."""

import pickle
from dataclasses import replace

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.errors import InvalidRequest, SnapshotNotFound


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    for name, keys in (("parted", ["d"]), ("plain", []), ("other", [])):
        table = catalog.create_table(f"db.{name}", {"id": "INT", "d": "INT"}, partition_by=keys)
        table.write([{"id": n, "d": n % 2} for n in range(4)])
    return catalog


def test_a_split_is_read_from_its_bytes(catalog, warehouse):
    scan = catalog.table("db.parted").scan(["id"], col("id") > 0)
    there = paimon.open_catalog(warehouse).table("db.parted")
    sent = [split.to_bytes() for split in scan.splits()]
    found = [there.read_split(split, ["id"], col("id") > 0).read_all()["id"].to_pylist() for split in sent]
    assert found == [[2], [1, 3]]
    unpickled = pickle.loads(pickle.dumps(scan))  # noqa: S301
    assert unpickled.read(sent[1]).read_all() == scan.read(scan.splits()[1]).read_all()
    assert len(pickle.dumps(scan)) == len(pickle.dumps(replace(scan)))  # the plan is not sent


@pytest.mark.parametrize("name", ["plain", "parted"])
def test_a_constant_filter_of_a_split_decides_on_all_rows(catalog, name):
    table = catalog.table(f"db.{name}")
    for split in table.scan().splits():
        assert table.read_split(split, where="false").read_all().num_rows == 0
        assert table.read_split(split, where="true").read_all().num_rows == split.row_count


def test_splits_of_another_table_or_an_expired_snapshot_and_other_bytes_are_refused(catalog):
    parted, plain, other = (catalog.table(f"db.{name}") for name in ("parted", "plain", "other"))
    with pytest.raises(InvalidRequest, match=r"the split is not of table db\.parted"):
        parted.read_split(plain.scan().splits()[0])
    with pytest.raises(InvalidRequest, match=r"the split is not of table db\.plain"):
        plain.read_split(parted.scan().splits()[0].to_bytes())
    with pytest.raises(SnapshotNotFound, match="or the split is of another table"):
        plain.read_split(other.scan().splits()[0]).read_all()
    old = plain.scan().splits()[0]
    plain.overwrite([{"id": 9, "d": 9}])
    plain.expire_snapshots(keep_last=1, keep_max=1)
    with pytest.raises(SnapshotNotFound, match=r"snapshot 1 of db\.plain expired"):
        plain.read_split(old).read_all()
    for data in (b"", b"{}", old.to_bytes()[:-1], old.to_bytes().replace(b'"bucket"', b'"basket"')):
        with pytest.raises(InvalidRequest):
            plain.read_split(data)
    with pytest.raises(InvalidRequest, match="read takes a split of this scan"):
        plain.read_split("split")
