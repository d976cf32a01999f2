"""Handles of a dropped table raise TableNotFound, also when another table has the name (tests/simulator)."""

import pytest

from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import TableNotFound
from tests.simulator.dropping import NAME, OPERATIONS, OTHER_SCHEMA, SCHEMA, make, play, with_references
from tests.simulator.store import Disk, SimStorage
from tests.simulator.world import World, simulated

LONG = pytest.mark.long


@pytest.mark.parametrize("then", [pytest.param("nothing", marks=LONG), pytest.param("the same", marks=LONG), "another"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_old_handle_says_that_the_table_is_gone(name, then):
    world = World(0)
    with simulated(world):
        catalog = FilesystemCatalog(SimStorage(Disk(world)), "/w")
        catalog.create_database("db")
        table = with_references(make(catalog, 0))
        pinned = table.at(snapshot=2)
        OPERATIONS["scan"](table, pinned)
        catalog.drop_table(NAME)
        world.now += 1_000_000_000
        if then != "nothing":
            new = make(catalog, 1000, SCHEMA if then == "the same" else OTHER_SCHEMA)
        with pytest.raises(TableNotFound):
            OPERATIONS[name](table, pinned)
        if then != "nothing":
            assert new.scan().to_arrow()["k"].to_pylist() == [1000, 1001, 1002]
            assert (len(new.inspect.snapshots()), new.tags.list(), new.branches.list()) == (3, [], [])


def test_every_operation_works_while_the_table_is_there():
    for operation in OPERATIONS.values():
        world = World(0)
        with simulated(world):
            catalog = FilesystemCatalog(SimStorage(Disk(world)), "/w")
            catalog.create_database("db")
            table = with_references(make(catalog, 0))
            operation(table, table.at(snapshot=2))


@pytest.mark.parametrize("histories", [10, pytest.param(100, marks=LONG)])
def test_histories_of_a_drop(histories):
    failures = [f"{seed}: {v}" for seed in range(histories) if (v := play(seed).world.violation) is not None]
    assert not failures, f"{len(failures)} of {histories}: {failures[:3]}"
