"""Random histories of related tables: concurrent transactions, loaders that die between two steps.

After each complete load the version of the group equals the source at its LSN, by rows and hash, and no row of the lake
lacks the row that it references. Versions from between are compared by their references only.
"""

from __future__ import annotations

import contextlib

import pytest

from paimon_core.group import group
from paimon_core.group.store import GroupStore
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.protocol import PipelineError, TablesFailed
from tests.pipelines.loads.postgres.histories import (
    PLACES,
    GroupColumnHistory,
    GroupHistory,
    complete,
    digest,
    dying,
    lines_of,
    seeds,
)
from tests.pipelines.loads.postgres.shared import shared_lake
from tests.support.postgres import PASSWORD

GROUP_PLACES = (*PLACES, (GroupStore, "create_intent"), (GroupStore, "create_version"), (group, "commit_part"))


@pytest.fixture
def shared(quick, server, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    with shared_lake(quick, server) as found:
        found.connection.prepare_threshold = None  # a prepared query keeps the columns of its first time
        yield found


def tables_of(shared, number=None):
    opened = shared.group()
    return {name: opened.table(name, number).scan().to_arrow().to_pylist() for name in shared.names}


def check_references(found):
    customers, orders = {row["id"] for row in found["shop.c"]}, {row["id"] for row in found["shop.o"]}
    assert {row["c"] for row in found["shop.o"]} <= customers
    assert {row["o"] for row in found["shop.i"]} <= orders


def check(shared, history):
    """Compare the newest version with what a new session sees: no transaction is committed meanwhile."""
    found = tables_of(shared)
    for name, rows in found.items():
        assert digest(lines_of(rows)) == digest(lines_of(history.rows_of(f"s.{name[-1]}"))), name
    check_references(found)
    assert len({shared.position(name) for name in shared.names}) == 1


def die_in_a_load(shared, monkeypatch, history, places):
    pick = history.random
    with contextlib.suppress(PipelineError, TablesFailed), dying(monkeypatch, pick.choice(places), pick.randrange(3)):
        shared.load("shop.c")
    history.changes(10)


def check_versions(shared):
    for version in shared.group().versions():
        if len(version.tables) == len(shared.names):
            check_references(tables_of(shared, version.number))


@pytest.mark.parametrize("seed", seeds(2))
def test_each_version_is_a_state_of_the_source_whose_columns_change(shared, monkeypatch, seed):
    shared.settings(f"consistent: true, keep_versions: 50{', batch_rows: 5' if seed % 2 else ''}")
    shared.declare(", schema_changes: apply")
    with contextlib.closing(GroupColumnHistory(shared, seed)) as history:
        pick = history.random
        for round_number in range(8):
            history.changes(40)
            if round_number == 0 or pick.random() < 0.4:
                history.commit()  # the first copy waits for transactions that run
            if pick.random() < 0.6:
                die_in_a_load(shared, monkeypatch, history, (*GROUP_PLACES, (loading, "hold_columns")))
            history.commit()
            complete(shared.lake, pick.choice(shared.names))
            check(shared, history)
            history.alters = True  # columns from before the first copy are not added
    check_versions(shared)


@pytest.mark.parametrize("seed", seeds(3))
def test_each_version_is_a_state_of_the_source(shared, monkeypatch, seed):
    shared.settings(f"consistent: true, keep_versions: 50{', batch_rows: 5' if seed % 2 else ''}")
    if seed % 3 == 0:
        shared.run(*(f"ALTER TABLE s.{one} REPLICA IDENTITY FULL" for one in "coi"))
    later = shared.lake.folder / "later.yaml"
    declared = shared.lake.folder / "tables" / "shop.o.yaml"
    with contextlib.closing(GroupHistory(shared, seed)) as history:
        pick = history.random
        for round_number in range(8):
            history.changes(40)
            if round_number == 0 or pick.random() < 0.4:
                history.commit()
            if round_number == 3 and seed % 4 == 1:  # the table is not declared for a while, and then copied again
                declared.rename(later)
                history.commit()
                shared.load("shop.c")
                history.changes(20)
                history.commit()
                later.rename(declared)
                shared.load("shop.o", reload=True)
            if pick.random() < 0.6:
                die_in_a_load(shared, monkeypatch, history, GROUP_PLACES)
            history.commit()
            shared.load(pick.choice(shared.names), reload=pick.random() < 0.07)
            check(shared, history)
    check_versions(shared)
