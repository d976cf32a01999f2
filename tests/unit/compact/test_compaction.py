"""Compaction: how writes and ``compact`` change the sorted runs of a table."""

from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.commit.author import Author
from paimon_core.compact import compaction
from paimon_core.compact.recent_compactions import FULL_MARK, marked
from paimon_core.compact.report import CompactReport
from paimon_core.compact.task import CompactionTask
from paimon_core.lsm.compaction.universal import CompactionUnit
from tests.support.lsm_files import data_file

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
MARK = dict([FULL_MARK])


@pytest.fixture
def create(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return lambda **options: catalog.create_table(
        "db.t",
        SCHEMA,
        primary_key=["k"],
        options={"bucket": "2", **{k.replace("_", "-"): v for k, v in options.items()}},
    )


def write(table, *keys):
    return table.write(pa.table([list(keys), list(keys)], schema=SCHEMA))


def levels(table):
    """Return the levels of each bucket's files."""
    found: dict[int, list[int]] = {}
    for row in table.inspect.files().to_pylist():
        found.setdefault(row["bucket"], []).append(row["level"])
    return {bucket: sorted(levels) for bucket, levels in sorted(found.items())}


def kinds(table):
    return "".join(kind[0] for kind in table.inspect.snapshots()["commit_kind"].to_pylist())


def test_a_full_compaction_after_every_third_commit(create):
    table = create(**{"full-compaction.delta-commits": "3"})
    for n in range(7):
        write(table, n)
    assert kinds(table) == "AAACAAACA"
    latest = table.context.snapshots
    assert [i for i in latest.ids() if latest.read(i).properties == MARK] == [4, 8]
    write(table, *range(20))
    assert all(0 in found for found in levels(table).values())
    write(table, 1)  # compacts the other bucket too
    assert levels(table) == {0: [5], 1: [5]}
    assert table.scan().count() == 20


def test_a_compaction_by_hand_counts_when_it_is_full(create):
    table = create(**{"full-compaction.delta-commits": "2"})
    write(table, 1)
    assert table.compact(full=True, properties={"why": "test"}).snapshot.properties == {"why": "test", **MARK}
    write(table, 2)
    assert kinds(table) == "ACA"
    write(table, 3)
    assert kinds(table) == "ACAAC"


def test_a_table_that_others_compact_is_planned_by_the_same_count(create):
    table = create(write_only="true", **{"full-compaction.delta-commits": "2"})
    write(table, 1)
    assert table.plan_compaction() == []
    write(table, 2, 3, 4, 5)
    tasks = table.plan_compaction()
    assert all(task.of_full_table for task in tasks)
    messages = [table.run_compaction(task) for task in tasks]
    table.commit(messages, properties=marked(tasks, {}))
    assert table.plan_compaction() == []
    write(table, 1)
    assert table.plan_compaction() == []


def test_a_lookup_table_keeps_level_0_empty(create):
    table = create(force_lookup="true")
    write(table, *range(20))
    assert levels(table) == {0: [5], 1: [5]}
    write(table, *range(4))
    assert all(0 not in found for found in levels(table).values())
    assert table.scan().count() == 20


def test_gently_level_0_waits_also_in_buckets_that_nobody_writes(create):
    options = {"lookup-compact.max-interval": "4", "num-sorted-run.compaction-trigger": "4"}
    table = create(force_lookup="true", lookup_compact="gentle", **options)
    write(table, *range(20))
    assert levels(table) == {0: [0], 1: [0]}
    for _ in range(2):
        write(table, 1)
    assert kinds(table) == "AAA"
    write(table, 1)
    assert kinds(table) == "AAAAC"
    assert all(0 not in found for found in levels(table).values())


def test_force_up_level_0(create):
    table = create(**{"compaction.force-up-level-0": "true"})
    write(table, 1)
    assert list(levels(table).values()) == [[5]]


def test_a_write_only_table_is_left_alone(create):
    table = create(write_only="true", force_lookup="true", **{"full-compaction.delta-commits": "1"})
    write(table, 1)
    assert kinds(table) == "A"


def test_small_buckets_are_always_one_run(create):
    table = create(**{"compaction.total-size-threshold": "1 mb"})
    for n in range(3):
        write(table, n)
    assert all(found in ([0], [5]) for found in levels(table).values())


def test_more_runs_than_the_stop_trigger_are_compacted_again(create, monkeypatch):
    table = create()
    left = [9, 8, 7, 0]
    planned = []

    def plan(context, *, full, where, written, partitions):
        planned.append(written)
        unit = CompactionUnit(5, (data_file("f"),), True, runs_left=left[len(planned) - 1])
        return [CompactionTask(b"p", 1, 2, unit)]

    monkeypatch.setattr(compaction, "plan", plan)
    monkeypatch.setattr(compaction, "run", lambda context, author, tasks, work: CompactReport(tuple(tasks)))
    assert len(compaction.compact(table.context, Author("u"), written={(b"p", 0)}).tasks) == 3
    assert planned == [{(b"p", 0)}, {(b"p", 1)}, {(b"p", 1)}]


def test_a_bucket_that_conflicts_does_not_hold_up_the_others(create):
    table = create(write_only="true")
    write(table, *range(20))
    tasks = table.plan_compaction(full=True)
    (lost,) = [t for t in tasks if t.bucket == 1]
    table.commit([table.run_compaction(lost)])
    report = compaction.run(table.context, Author("u"), tasks)
    assert (report.snapshot.id, report.conflicts, len(report.tasks), len(report.messages)) == (3, 1, 2, 1)
    assert levels(table) == {0: [5], 1: [5]}
    with pytest.raises(paimon.CommitConflict):
        compaction.run(table.context, Author("u"), tasks)
    assert table.scan().count() == 20


def test_an_error_after_a_committed_round_names_its_snapshots(create, monkeypatch):
    table = create(write_only="true")
    write(table, *range(20))
    tasks = table.plan_compaction(full=True)
    again = [replace(task, unit=replace(task.unit, runs_left=9)) for task in tasks]
    monkeypatch.setattr(compaction, "plan", lambda context, **_: again)
    rounds = []

    def work(context, tasks):
        rounds.append(tasks)
        if len(rounds) == 2:
            raise paimon.StorageError("the disk is full")
        return compaction.run_tasks(context, tasks)

    with pytest.raises(paimon.StorageError) as error:
        table.compact(work=work)
    assert error.value.facts["committed"] == [2]
    assert (len(rounds), kinds(table)) == (2, "AC")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"full-compaction.delta-commits": "2", "changelog-producer": "lookup"}, "full-compaction.delta-commits"),
        ({"compaction.offpeak-ratio": "2"}, "compaction.offpeak.start.hour"),
        ({"compaction.offpeak.start.hour": "2"}, "compaction.offpeak.end.hour"),
        ({"lookup-compact.max-interval": "2"}, "lookup-compact = gentle"),
    ],
)
def test_options_that_do_not_hold_together(create, options, named):
    with pytest.raises(paimon.InvalidRequest, match=named):
        create(**options)


def test_a_table_without_key_and_buckets_has_no_full_compactions(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    with pytest.raises(paimon.InvalidRequest, match="full-compaction"):
        catalog.create_table("db.a", SCHEMA, options={"full-compaction.delta-commits": "2"})


# -- overwrites and expired partitions


def overwritten(create, **options):
    """Overwrite a table twice, with several files in each bucket, and return the levels of its files."""
    table = create(write_only="true", **options)
    write(table, 1, 2, 3)
    table.overwrite(pa.table([list(range(4000)), list(range(4000))], schema=SCHEMA))
    assert table.scan().count() == 4000
    return levels(table)


def test_the_files_of_an_overwrite_go_to_the_last_level(create):
    found = overwritten(create, target_file_size="1 kb")
    assert {level for files in found.values() for level in files} == {5}
    assert max(map(len, found.values())) > 1


def test_an_overwrite_stays_at_level_0_when_an_option_says_so(create):
    assert overwritten(create, overwrite_upgrade="false") == {0: [0], 1: [0]}


def test_deletes_of_an_overwrite_stay_at_level_0(create):
    table = create(write_only="true", bucket="1")
    with table.writer() as writer:
        writer.write(pa.table([[1, 2], [1, 2]], schema=SCHEMA), pa.array(["+I", "-D"]))
        table.commit(writer.flush(), overwrite=table.overwrite_spec())
    assert levels(table) == {0: [0]}
    assert table.scan().to_arrow()["k"].to_pylist() == [1]


def test_files_of_an_overwrite_whose_keys_overlap_stay_at_level_0(create):
    table = create(write_only="true", bucket="1")
    writers = [table.writer(), table.writer()]
    messages = []
    for number, writer in enumerate(writers):
        writer.write(pa.table([[1, 5], [number, number]], schema=SCHEMA))
        messages += writer.flush()
    table.commit(messages, overwrite=table.overwrite_spec())
    assert levels(table) == {0: [0, 0]}


@pytest.mark.parametrize(("skips", "strategy", "days"), [
    ("false", "values-time", {"2020-01-01", "2999-01-01"}),
    ("true", "values-time", {"2999-01-01"}),
    ("true", "update-time", {"2020-01-01", "2999-01-01"}),
])  # fmt: skip
def test_a_compaction_skips_expired_partitions(tmp_path, skips, strategy, days):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    options = {
        "bucket": "1",
        "write-only": "true",
        "partition.expiration-time": "7 d",
        "partition.expiration-strategy": strategy,
        "compaction.skip-expired-partitions": skips,
    }
    columns = {"day": "STRING", "k": "INT"}
    table = catalog.create_table("db.p", columns, primary_key=["day", "k"], partition_by=["day"], options=options)
    for k in (1, 2):
        table.write([{"day": "2020-01-01", "k": k}, {"day": "2999-01-01", "k": k}])
    assert len(table.plan_compaction(full=True)) == len(days)
    table.compact(full=True)
    files = table.inspect.files().to_pylist()
    assert {day for row in files for day in ("2020-01-01", "2999-01-01") if day in str(row) and row["level"]} == days
