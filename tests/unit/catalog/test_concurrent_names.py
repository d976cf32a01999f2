"""Drops, renames and creations of one name at the same time: each pair is played at every call to the storage."""

import contextlib
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.catalog.linked_copy import linked_copy
from paimon_core.errors import AlreadyExists, CorruptTable, InvalidRequest, NotFound, StorageError, TableNotFound
from tests.support.faulty_storage import FaultyStorage
from tests.support.outcomes import Outcome

SCHEMA = pa.schema([("k", pa.int64())])
REFUSED = (AlreadyExists, InvalidRequest, NotFound)


class AtCall(FaultyStorage):
    """Runs ``action`` before the call with the number ``number``, as another process would at this moment."""

    number = -1
    done = False
    play = staticmethod(lambda: None)

    @property
    def is_local(self):
        return self.inner.is_local

    def _call(self, verb, path, action):
        if len(self.calls) == self.number and not self.done:
            self.done = True
            self.play()
        return super()._call(verb, path, action)


def with_rival(catalog, number, play):
    storage = AtCall(catalog.storage)
    storage.number, storage.play = number, play
    return FilesystemCatalog(storage, catalog.warehouse)


def lake(path):
    catalog = paimon.open_catalog(path)
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    table.write(pa.table({"k": [1, 2]}))
    return catalog


ACTIONS = {
    "drop": lambda c: c.drop_table("db.t"),
    "rename": lambda c: c.rename_table("db.t", "db.u"),
    "rename elsewhere": lambda c: c.rename_table("db.t", "db.w"),
    "create the target": lambda c: c.create_table("db.u", SCHEMA),
    "create the same": lambda c: c.create_table("db.t", SCHEMA),
    "drop the database": lambda c: c.drop_database("db", cascade=True),
}
PAIRS = [
    ("drop", "rename"),
    ("rename", "drop"),
    ("drop", "drop"),
    ("rename", "rename elsewhere"),
    ("rename", "create the target"),
    ("create the target", "rename"),
    ("drop", "create the same"),
    ("rename", "create the same"),
    ("drop the database", "rename"),
    ("drop the database", "create the target"),
    ("drop", "drop the database"),
    ("create the target", "drop the database"),
]


def tables(catalog):
    """The rows of each table; every directory of the warehouse must be a whole table."""
    found = {}
    for database in catalog.list_databases():
        directories = [p.name for p in Path(catalog.warehouse, f"{database}.db").iterdir()]
        assert sorted(directories) == catalog.list_tables(database), "a directory is half-dropped"
        for name in directories:
            table = catalog.table(f"{database}.{name}")
            found[name] = table.scan().count()
            assert not table.maintenance.check().findings
    return found


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_of_two_at_the_same_time_each_has_a_clear_outcome(tmp_path, one, other):
    for number in range(200):
        catalog = lake(tmp_path / str(number))
        outcomes = {}

        def play(who, on, outcomes=outcomes, catalog=catalog):
            try:
                ACTIONS[who](on)
                outcomes[who, on is not catalog] = None
            except REFUSED as error:
                outcomes[who, on is not catalog] = type(error)

        rival = with_rival(catalog, number, lambda play=play, catalog=catalog: play(other, catalog))
        play(one, rival)
        if not rival.storage.done:
            break
        first, second = outcomes[one, True], outcomes[other, False]
        left = tables(catalog)
        if {one, other} == {"drop", "rename"}:
            # Exactly one of both succeeds, or the drop removes what the rename has moved.
            assert (first, second, left) in [
                (None, TableNotFound, {} if one == "drop" else {"u": 2}),
                (TableNotFound, None, {"u": 2} if one == "drop" else {}),
            ]
        if one == other == "drop":
            assert None in (first, second)
            assert not left
        if other == "rename elsewhere":
            assert sorted([first is None, second is None]) == [False, True]
            assert list(left.values()) == [2]
        if {one, other} == {"rename", "create the target"}:
            assert left == ({"u": 2} if None is outcomes.get(("rename", one == "rename")) else {"t": 2, "u": 0})
    assert number > 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("copy", "create the target"),
        ("create the target", "copy"),
        ("copy", "copy"),
        ("copy", "rename"),
        ("copy", "drop"),
        ("copy", "drop the database"),
    ],
)
def test_a_copy_by_reference_is_whole_or_nothing(tmp_path, one, other):
    """Of two processes that create one table, one succeeds, and its table stays as it is."""
    refused = (*REFUSED, CorruptTable, StorageError)
    actions = ACTIONS | {"copy": lambda c: linked_copy(c.table("db.t"), c, "db.u")}
    for number in range(200):
        catalog, outcomes = lake(tmp_path / str(number)), []

        def play(who, on, outcomes=outcomes):
            try:
                actions[who](on)
                outcomes.append((who, None))
            except refused as error:
                outcomes.append((who, type(error)))

        rival = with_rival(catalog, number, lambda play=play, catalog=catalog: play(other, catalog))
        play(one, rival)
        if not rival.storage.done:
            break
        left, done = tables(catalog), [who for who, refusal in outcomes if refusal is None]
        if "copy" in done and other != "drop the database":
            assert left.get("u") == 2
        if "create the target" in done:
            assert (left["u"], done) == (0, ["create the target"])
        if {one, other} <= {"copy", "create the target", "rename"}:
            assert len(done) == 1
    assert number > 2


def test_a_database_in_which_a_table_is_created_is_not_dropped(tmp_path):
    catalog = lake(tmp_path / "lake")
    catalog.create_database("other")
    for number in range(20):
        rival = with_rival(catalog, number, lambda n=number: catalog.create_table(f"other.t{n}", SCHEMA))
        with contextlib.suppress(InvalidRequest, NotFound):
            rival.drop_database("other")
        if catalog.database_exists("other"):
            assert catalog.list_tables("other") == [f"t{number}"]
            catalog.drop_table(f"other.t{number}")
        else:
            assert not rival.storage.done
            break
    assert number > 1


def test_a_failing_store_is_no_table_of_that_name(tmp_path):
    catalog = lake(tmp_path / "lake")
    storage = AtCall(catalog.storage)
    storage.on("move_directory", "/t", Outcome.FAIL)
    with pytest.raises(StorageError, match="injected"):
        FilesystemCatalog(storage, catalog.warehouse).rename_table("db.t", "db.u")
    assert tables(catalog) == {"t": 2}
