"""Deletion vectors are switched on and off in tables with rows, also when other writers commit meanwhile."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter import alter_table
from paimon_core.commit import assembly

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
ENABLED = "deletion-vectors.enabled"
ON, OFF = f"SET ('{ENABLED}' = 'true')", f"SET ('{ENABLED}' = 'false')"
MODIFIABLE = {"deletion-vectors.modifiable": "true", "num-levels": "4", "bucket": "1"}


def make(warehouse, **options):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=MODIFIABLE | options)


def rows(keys, value):
    keys = list(keys)
    return pa.table({"k": keys, "v": [value] * len(keys)}, schema=SCHEMA)


def content(table, snapshot=None):
    found = (table if snapshot is None else table.at(snapshot=snapshot)).scan().to_arrow().to_pylist()
    assert len(found) == len({r["k"] for r in found})
    return {r["k"]: r["v"] for r in found}


def has_vectors(table):
    return any(split.vectors for split in table.scan().plan.splits)


def test_on_and_off_again(warehouse):
    table = make(warehouse, **{"write-only": "true", "changelog-producer": "lookup"})
    table.write(rows(range(3000), 1))
    table.compact()
    table.write(rows([7], 2))
    before = table.latest_snapshot().id
    with pytest.raises(paimon.InvalidOption, match=r"level 0, which reads would leave out.*compact the table fully"):
        table.alter(ON)
    table.compact()
    with pytest.raises(paimon.InvalidOption, match="files of several levels"):
        table.alter(ON)
    table.compact(full=True)
    table = table.alter(ON)
    table.write(rows([8], 3))
    table.compact()
    assert has_vectors(table)
    expected = dict.fromkeys(range(3000), 1) | {7: 2, 8: 3}
    assert content(table) == expected
    assert content(table, before) == dict.fromkeys(range(3000), 1) | {7: 2}
    assert not table.maintenance.check(deep=True).findings
    with pytest.raises(paimon.InvalidRequest, match=f"rolled back to snapshot {before}.*level 0"):
        table.rollback(snapshot=before)

    with pytest.raises(paimon.InvalidOption, match=r"index-\S+ deletes rows, which Java would show again"):
        table.alter(OFF)
    table.compact(full=True)
    table = table.alter(OFF)
    table.delete(col("k") < 5)
    table.compact()
    assert content(table) == {k: v for k, v in expected.items() if k >= 5}
    assert content(table, table.latest_snapshot().id - 3) == expected
    assert not table.maintenance.check(deep=True).findings


def test_another_writer_compacts_before_the_switch_is_complete(warehouse, monkeypatch):
    table = make(warehouse, **{"compaction.force-up-level-0": "true"})
    table.write(rows(range(3000), 1))
    table.compact(full=True)
    checked = alter_table.vector_switch

    def then_compacts(*arguments):
        switch = checked(*arguments)
        table.write(rows([7], 2))
        return switch

    monkeypatch.setattr(alter_table, "vector_switch", then_compacts)
    with pytest.raises(paimon.CommitConflict, match=r"deletion-vectors\.enabled was not changed.*several levels"):
        table.alter(ON)
    table = table.refresh()
    assert (table.schema.options.get(ENABLED), len(table.schema.options)) == (None, 4)
    assert content(table) == dict.fromkeys(range(3000), 1) | {7: 2}


@pytest.mark.parametrize("fails", ["the second step", "taking it back"])
def test_a_switch_that_is_not_confirmed_is_told(warehouse, monkeypatch, fails):
    table = make(warehouse, **{"commit.max-retries": "1"})
    table.write(rows(range(10), 1))
    table.compact(full=True)

    def confirm(*arguments):
        if fails == "the second step":
            raise paimon.StorageError("no connection")
        monkeypatch.setattr(type(table.context.schemas), "publish", lambda *_: False)
        raise paimon.CommitConflict("not changed")

    monkeypatch.setattr(alter_table, "confirm_switch", confirm)
    with pytest.raises(paimon.CommitStateUnknown, match=r"new value, but whether .* change the option back \(no"):
        table.alter(ON)
    assert table.refresh().schema.options[ENABLED] == "true"


def test_a_compaction_that_was_planned_before_the_switch_is_refused_after_it(warehouse):
    table = make(warehouse, **{"compaction.force-up-level-0": "true"})
    table.write(rows(range(3000), 1))
    table.compact(full=True)
    waiting = table.with_options({"write-only": True})
    newer = table.alter(ON)
    waiting.write(rows([7], 2))
    messages = [table.run_compaction(task) for task in table.plan_compaction()]
    with pytest.raises(paimon.CommitConflict, match=r"deletion-vectors\.enabled has changed since"):
        table.commit(messages)
    assert content(newer)[7] == 1  # level 0 waits for a compaction
    table.compact()  # also by the older handle, with the new schema
    assert content(newer) == dict.fromkeys(range(3000), 1) | {7: 2}
    assert has_vectors(newer)
    table.write(rows([8, 9], 3))
    assert content(newer) == dict.fromkeys(range(3000), 1) | {7: 2, 8: 3, 9: 3}
    assert not newer.maintenance.check(deep=True).findings


def test_a_compaction_that_read_the_schema_before_the_switch_loses_the_race(warehouse, monkeypatch):
    table = make(warehouse, **{"compaction.force-up-level-0": "true", "commit.min-retry-wait": "1 ms"})
    table.write(rows(range(3000), 1))
    table.compact(full=True)
    table.with_options({"write-only": True}).write(rows([7], 2))
    messages = [table.run_compaction(task) for task in table.plan_compaction()]
    checked = assembly.check_mode

    def then_switches(*arguments):
        checked(*arguments)
        monkeypatch.undo()
        table.alter(ON[:-1] + ", 'deletion-vectors.merge-on-read' = 'true')")  # so level 0 may have rows

    monkeypatch.setattr(assembly, "check_mode", then_switches)
    with pytest.raises(paimon.CommitConflict, match=r"deletion-vectors\.enabled has changed since"):
        table.commit(messages)
    assert content(table.refresh()) == dict.fromkeys(range(3000), 1) | {7: 2}


def test_no_rollback_past_a_switch_that_the_rows_do_not_fit(warehouse):
    table = make(warehouse, **{"write-only": "true"})
    table.write(rows(range(3000), 1))
    table.compact(full=True)
    on_one_level = table.latest_snapshot().id
    table.write(rows([7], 2))
    two_levels = table.latest_snapshot().id
    table.compact(full=True)
    table = table.alter(ON)
    with pytest.raises(
        paimon.InvalidRequest, match=r"snapshot 3, because option deletion-vectors.enabled .* rows in level 0"
    ):
        table.rollback(snapshot=two_levels)
    with pytest.raises(paimon.InvalidRequest, match="cannot be rolled back"):
        table.maintenance.plan_rollback(snapshot=two_levels)
    assert content(table) == dict.fromkeys(range(3000), 1) | {7: 2}
    table.write(rows([8], 3))
    table.compact()
    with_vectors = table.latest_snapshot().id
    table.compact(full=True)
    table = table.alter(OFF)
    with pytest.raises(paimon.InvalidRequest, match="which Java would show again: change the option back"):
        table.rollback(snapshot=with_vectors)
    table.rollback(snapshot=on_one_level)
    assert content(table) == dict.fromkeys(range(3000), 1)
