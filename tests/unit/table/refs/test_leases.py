"""Leases: a long read keeps its snapshot, whatever expires in between."""

from datetime import timedelta

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.maintain.tags import operations
from paimon_core.metadata import clock
from paimon_core.table.refs import leases

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
HOUR = timedelta(hours=1)


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true"}
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=options)


def put(table, value):
    return table.write(pa.table([[1], [value]], schema=SCHEMA))


def values(table):
    return table.scan().to_arrow()["v"].to_pylist()


def overwritten_and_expired(table):
    """Replace all rows and expire all older snapshots."""
    table.overwrite(pa.table([[1], [99]], schema=SCHEMA))
    plan = table.maintenance.plan_snapshot_expiry(keep_last=1, keep_max=1)
    table.maintenance.apply(plan)
    return plan


def test_a_leased_snapshot_outlives_an_expiry_and_its_files_the_lease_not(table):
    put(table, 7)
    with table.lease(HOUR, holder="nightly") as leased:
        plan = overwritten_and_expired(table)
        assert any(leased.pinned.id == 1 and "batch-read-1-" in str(p) for p in plan.protected)
        assert values(leased) == [7]
        (held,) = table.leases()
        assert (held.snapshot_id, held.holder) == (1, "nightly")
        assert held.tag.startswith("batch-read-1-")
        assert held.expires_millis - clock.now_millis() <= HOUR.total_seconds() * 1000
    assert table.leases() == []
    with pytest.raises(paimon.SnapshotNotFound):
        values(leased)


def test_the_latest_snapshot_may_expire_while_it_is_leased(table, monkeypatch):
    put(table, 7)
    check = operations.check_live_or_tagged
    calls = []

    def expired_before_the_second_check(context, snapshot, name):
        calls.append(snapshot.id)
        if len(calls) == 2:
            monkeypatch.undo()
            context.tags.delete(name)
            overwritten_and_expired(table)
        check(context, snapshot, name)

    monkeypatch.setattr(operations, "check_live_or_tagged", expired_before_the_second_check)
    with table.lease(HOUR) as leased:
        assert values(leased) == [99]
    pinned = table.at(snapshot=2)
    put(table, 1)
    overwritten_and_expired(table)
    with pytest.raises(paimon.SnapshotNotFound):
        pinned.lease(HOUR)


def test_a_lease_is_renewed_up_to_the_limit_and_ends_once(table, monkeypatch):
    put(table, 7)
    lease = table.lease(HOUR)
    before = lease.tag.expires_millis
    lease.renew(2 * HOUR)
    assert lease.tag.expires_millis > before
    with pytest.raises(paimon.InvalidRequest, match="at most 7 days"):
        lease.renew(timedelta(days=8))
    lease.release()
    lease.release()
    with pytest.raises(paimon.TagNotFound):
        lease.renew(HOUR)


def test_a_lease_is_renewed_when_its_snapshot_has_expired(table):
    put(table, 7)
    lease = table.lease(HOUR, holder="nightly")
    overwritten_and_expired(table)
    before = lease.tag
    lease.renew(2 * HOUR)
    (held,) = table.leases()
    assert (held.tag, held.holder, held.snapshot_id) == (lease.tag.name, "nightly", 1)
    assert held.expires_millis > before.expires_millis
    overwritten_and_expired(table)
    assert values(lease.table) == [7]
    lease.release()
    assert table.leases() == []
    with pytest.raises(paimon.TagNotFound):
        lease.renew(HOUR)


def test_a_lease_that_is_never_released_expires(table, monkeypatch):
    put(table, 7)
    lease = table.lease(HOUR)
    later = clock.now_millis() + 2 * 3_600_000
    monkeypatch.setattr(clock, "now_millis", lambda told=None: later if told is None else told)
    assert table.tags.expire() == (lease.tag.name,)
    assert table.leases() == []


def test_wrong_leases_are_refused(table, monkeypatch):
    with pytest.raises(paimon.SnapshotNotFound, match="no snapshot"):
        table.lease(HOUR)
    put(table, 7)
    for wrong in (timedelta(), timedelta(days=8)):
        with pytest.raises(paimon.InvalidRequest, match="at most 7 days"):
            table.lease(wrong)
    with pytest.raises(paimon.InvalidRequest, match="holder must be"):
        table.lease(HOUR, holder="a/b")
    with pytest.raises(paimon.InvalidRequest, match="holder must be"):
        table.lease(HOUR, holder=5)
    monkeypatch.setattr(leases, "MOST_LEASES", 1)
    with table.lease(HOUR), pytest.raises(paimon.InvalidRequest, match="has 1 leases"):
        table.lease(HOUR)
    assert table.tags.list() == []
