"""Scans on a remote store, whose requests are sent together: what other processes do between them is not hidden."""

import threading

import pyarrow as pa
import pytest

from paimon_core.errors import SnapshotNotFound, TableNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.table.table import Table
from tests.support.faulty_storage import FaultyStorage

SCHEMA = pa.schema([("v", pa.string())])


class Remote(FaultyStorage):
    @property
    def is_remote(self):
        return True


@pytest.fixture
def table(catalog):
    made = catalog.create_table("db.t", SCHEMA)
    for value in "abc":
        made.write([{"v": value}])
    return made


def remote(table, branch="main"):
    """The same table on a store that answers over a network."""
    context = table.context
    storage = Remote(context.storage)
    return storage, Table(TableContext.of(context.name, storage, context.paths.root, context.schema, branch=branch))


def values(view):
    return "".join(sorted(view.scan().to_arrow()["v"].to_pylist()))


def meanwhile(storage, first, action, later):
    """Let ``action`` happen after the request ``first`` is answered and before the requests ``later`` are."""
    answered, done = threading.Event(), threading.Event()
    read = storage.inner.read

    def watched(path):
        data = read(path)
        if path.endswith(first):
            answered.set()
        return data

    def act():
        assert answered.wait(20)
        action()
        done.set()

    storage.inner.read = watched
    (acting, *others) = later
    storage.before(*acting, act)
    for request in others:
        storage.before(*request, lambda: done.wait(20))


class Plain:
    """A storage whose methods a test may replace, because the storage of a table has slots."""

    def __init__(self, inner):
        self.inner, self.read = inner, inner.read

    def __getattr__(self, name):
        return getattr(self.inner, name)


def watched(table, branch="main"):
    storage, view = remote(table, branch)
    storage.inner = Plain(storage.inner)
    return storage, view


@pytest.mark.parametrize(("expected", "rows"), [(2, "ad"), (3, "abd")])
def test_a_snapshot_that_is_rolled_back_while_it_is_read_is_not_shown(table, expected, rows):
    storage, view = watched(table)
    view.context.snapshots.expect(expected)

    def replace():
        table.rollback(snapshot=expected - 1)
        table.write([{"v": "d"}])

    later = [("exists", f"snapshot-{expected + 1}"), ("read", "LATEST")]
    meanwhile(storage, f"snapshot-{expected}", replace, later)
    assert values(view) == rows
    assert not storage.hooks


def test_a_branch_that_is_replaced_while_it_is_read_is_shown_as_it_is_afterwards(table):
    """The new branch has the same schema, and a snapshot of the same id, as the old one."""
    table.tags.create("old", snapshot=2)
    table.branches.create("b", tag="old")
    storage, view = watched(table.branch("b"), branch="b")
    view.context.snapshots.expect(2)

    def replace():
        table.tags.delete("old")
        table.rollback(snapshot=1)
        table.write([{"v": "z"}])
        table.tags.create("new", snapshot=2)
        table.branches.delete("b")
        table.branches.create("b", tag="new")

    meanwhile(storage, "snapshot-2", replace, [("exists", "snapshot-3"), ("read", "LATEST")])
    assert values(view) == "az"
    assert not storage.hooks


def test_a_snapshot_below_newer_ones_is_not_shown_because_its_successor_expires_and_the_hint_is_old(table):
    storage, view = watched(table)
    table.context.snapshots.write_latest_hint(1)  # its writer was paused before this
    view.context.snapshots.expect(1)

    def expire():
        table.context.snapshots.delete([1, 2])

    meanwhile(storage, "snapshot-1", expire, [("exists", "snapshot-2")])
    assert values(view) == "abc"
    assert not storage.hooks


def test_a_snapshot_that_stays_is_asked_for_once_more_and_a_pinned_one_is_not(table):
    storage, view = remote(table)
    assert values(view) == "abc"
    assert storage.count("read", "snapshot-3") == 2
    pinned = view.at(snapshot=2)
    storage.calls.clear()
    assert values(pinned) == "ab"
    assert storage.count("read", "snapshot/") == 0


def test_a_latest_snapshot_that_is_replaced_each_time_is_an_error(table, monkeypatch):
    _, view = remote(table)
    monkeypatch.setattr(SnapshotStore, "is_live", lambda self, snapshot: False)
    with pytest.raises(SnapshotNotFound, match=r"latest snapshot of table db\.t was replaced at each of 5 attempts"):
        view.scan()


def test_a_table_that_is_created_again_while_it_is_read_is_not_shown(catalog, table):
    storage, view = remote(table)

    def again():
        catalog.drop_table("db.t")
        catalog.create_table("db.t", SCHEMA).write([{"v": "new"}])

    storage.before("read", "schema-0", again)
    with pytest.raises(TableNotFound, match="dropped or re-created"):
        view.scan()


def test_a_table_that_is_emptied_while_it_is_read_has_no_rows(table):
    storage, view = remote(table)

    def lose():
        table.context.snapshots.delete([3, 2, 1])
        for hint in ("LATEST", "EARLIEST"):
            table.context.storage.delete([table.context.paths.hint(hint)])

    read, calls = storage.inner.read, []
    storage.inner = Plain(storage.inner)

    def counted(path):
        calls.append(path)
        if len([one for one in calls if one.endswith("snapshot-3")]) == 2:
            lose()
        return read(path)

    storage.inner.read = counted
    assert view.scan().plan.snapshot is None


def test_what_was_read_ahead_is_freed_when_the_plan_is_made(table):
    _, view = remote(table)
    scan = view.scan()
    assert scan.context.manifests._ahead
    scan.context.manifests._ahead["unused"] = b"x"
    assert len(scan.plan.files) == 3
    assert not scan.context.manifests._ahead
