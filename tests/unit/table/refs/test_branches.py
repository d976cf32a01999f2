"""Branches that start with rows or without, and what is told (resembles issue 29)."""

import datetime
import logging

import pytest

import paimon_core as paimon
from paimon_core.errors import AlreadyExists, InvalidRequest, SnapshotNotFound


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog.create_table("db.t", {"id": "BIGINT"}, primary_key="id")


def test_a_branch_starts_with_the_latest_rows(table):
    table.write([{"id": 1}])
    table.write([{"id": 2}])
    table.branches.create("b", from_latest=True)
    assert table.branch("b").scan().to_arrow()["id"].to_pylist() == [1, 2]
    assert [tag.name for tag in table.tags.list()] == []
    table.write([{"id": 3}])
    table.compact(full=True)
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    assert table.branch("b").scan().to_arrow()["id"].to_pylist() == [1, 2]


def test_a_branch_without_rows_is_told(table, caplog):
    with caplog.at_level(logging.WARNING):
        table.branches.create("before")
        assert caplog.messages == []
        table.write([{"id": 1}])
        table.branches.create("after")
    assert caplog.messages == [
        "branch after of table db.t has no rows: pass tag, or from_latest=True, to start with rows"
    ]


def test_wrong_starts_of_a_branch_leave_nothing(table):
    with pytest.raises(SnapshotNotFound, match="no snapshot to start branch 'b' from"):
        table.branches.create("b", from_latest=True)
    table.write([{"id": 1}])
    table.tags.create("x")
    with pytest.raises(InvalidRequest, match="either tag or from_latest"):
        table.branches.create("b", tag="x", from_latest=True)
    table.branches.create("b", tag="x")
    with pytest.raises(AlreadyExists):
        table.branches.create("b", from_latest=True)
    assert table.branches.list() == ["b"]
    assert [tag.name for tag in table.tags.list()] == ["x"]
