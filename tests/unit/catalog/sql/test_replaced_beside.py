"""A commit or an alteration of a SQL catalog beside a drop and a new table: nothing lands in the new table."""

import itertools
from dataclasses import replace

import pytest

import paimon_core as paimon
from paimon_core.errors import StorageError, TableNotFound
from tests.support.fake_tables import FAST
from tests.support.faulty_storage import FaultyStorage

COLUMNS = {"k": "INT NOT NULL", "v": "STRING"}
OPERATIONS = {
    "write": lambda t: t.write([{"k": 9, "v": "old"}]),
    "alter": lambda t: t.alter("ADD COLUMN x INT"),
}
STRIDE = {"write": 4, "alter": 1}


class Playing(FaultyStorage):
    """Runs ``action`` before the call number ``at``."""

    at, action, counted = -1, None, 0

    def _call(self, verb, path, action):
        number, self.counted = self.counted, self.counted + 1
        if number == self.at and self.action is not None:
            self.action()
        return super()._call(verb, path, action)


def make(catalog):
    table = catalog.create_table(
        "db.t", COLUMNS, primary_key="k", options={"bucket": "1", "write-only": "true", **FAST}
    )
    table.write([{"k": 1, "v": "a"}])
    return table


@pytest.mark.parametrize("locks_commits", [True, False])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_table_that_takes_the_name_is_not_changed(tmp_path, name, locks_commits):
    opened = paimon.open_catalog(tmp_path / "lake", type="sql", uri=f"sqlite:///{tmp_path}/names.db")
    opened.create_database("db")
    lock = replace(opened.lock, timeout_millis=60_000, sleep=lambda seconds: None)
    beside = replace(opened, lock=lock, commits_locked=locks_commits)
    replaced = excluded = 0
    for at in itertools.count(0, STRIDE[name]):
        beside.drop_table("db.t", ignore_if_missing=True)
        make(beside)
        storage = Playing(opened.storage)
        table = replace(beside, storage=storage).table("db.t")
        new = []

        def anew(new=new):
            try:
                beside.drop_table("db.t")
            except StorageError:  # the lock is held: the catalog excludes a drop here
                return
            new.append(make(beside))

        storage.counted, storage.at, storage.action = 0, at, anew
        try:
            OPERATIONS[name](table)
        except TableNotFound:
            assert new
        else:
            # After a commit, only the hint is left to write.
            assert not new or storage.calls[at][1].endswith("LATEST") or at >= storage.counted - 1
        if storage.counted <= at:
            break
        replaced += bool(new)
        excluded += not new
        for one in new:
            found = beside.table("db.t")
            assert found.scan().to_arrow().to_pylist() == [{"k": 1, "v": "a"}]
            assert (found.schema.id, len(found.inspect.snapshots())) == (0, 1)
            assert one.maintenance.check(deep=True).errors == ()
    assert replaced > 1
    assert bool(excluded) is (locks_commits or name == "alter")
