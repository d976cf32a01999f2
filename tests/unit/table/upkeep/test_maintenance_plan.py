"""Maintenance under a budget: forecasts beside outcomes, exactly the chosen buckets, and what others do in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.compact.compaction import run_tasks
from paimon_core.errors import InvalidRequest, NotFound, StorageError
from paimon_core.health.plan.candidates import ACTIONS, Budget
from paimon_core.health.plan.choice import Reason
from paimon_core.health.plan.history import Place
from paimon_core.health.plan.policy import Policy
from paimon_core.metadata import clock
from paimon_core.table.upkeep import plan_run
from paimon_core.table.upkeep.group_run import PREFIX, predicted_peak, threads_within
from paimon_core.table.upkeep.maintenance_plan import plan_tables

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32()), ("text", pa.string())])


@pytest.fixture
def catalog(warehouse):
    made = paimon.open_catalog(warehouse)
    made.create_database("db")
    return made


def rows(seed, count=2000, day=1, keys=20_000):
    rng = np.random.default_rng(seed)
    ids = rng.choice(keys, count, replace=False)
    return pa.table({"id": ids, "day": [day] * count, "text": [f"{n:09}" for n in ids]}, schema=SCHEMA)


def keyed(catalog, name="db.t", commits=6, **options):
    options = {"bucket": "2", "write-only": "true"} | {
        key.replace("__", ".").replace("_", "-"): v for key, v in options.items()
    }
    table = catalog.create_table(name, SCHEMA, primary_key=["id"], options=options)
    for seed in range(commits):
        table.write(rows(seed))
    return table


def content(table):
    return table.refresh().scan().to_arrow().sort_by("id")


def actions(plan):
    return [c.action for c in plan.chosen]


def test_the_forecast_is_near_the_outcome_and_both_are_in_the_snapshot(catalog):
    table = keyed(catalog)
    before = content(table)
    plan = table.plan_maintenance()
    assert [(c.action, c.bucket) for c in plan.chosen] == [("compact", 1), ("compact", 0)] or len(plan.chosen) == 2
    assert repr(plan).startswith("MaintenancePlan(chosen=2, left_out=0")
    report = plan.run(properties={"why": "test"})
    assert content(table) == before
    assert (report.count("done"), report.failed, report.log_error) == (2, (), None)
    for one in report.outcomes:
        assert one.bytes_read == one.candidate.bytes_read
        assert abs(one.prediction_error) < 0.1
        assert one.saved == pytest.approx(one.candidate.saved, rel=0.1)
        assert one.peak_memory is None or one.peak_memory <= one.group_peak_memory
    properties = table.refresh().latest_snapshot().properties
    assert properties["why"] == "test"
    assert properties[PREFIX + "buckets"] == "2"
    assert int(properties[PREFIX + "bytes-read"]) == sum(one.bytes_read for one in report.outcomes)
    assert int(properties[PREFIX + "bytes-written"]) == sum(one.bytes_written for one in report.outcomes)
    assert {"predicted-bytes-read", "predicted-bytes-written", "predicted-seconds", "seconds"} <= {
        name.removeprefix(PREFIX) for name in properties
    }
    assert table.plan_maintenance().chosen == ()


def test_a_plan_changes_nothing_and_is_a_table(catalog):
    table = keyed(catalog)
    latest = table.latest_snapshot()
    plan = table.plan_maintenance(Budget(bytes=0))
    assert plan.chosen == ()
    assert plan.to_arrow()["why"].to_pylist()[0].startswith("too-large: even alone")
    assert plan.to_arrow().num_rows == 2
    assert "left out: compact db.t bucket" in plan.text()
    assert plan.run().outcomes == ()
    assert table.latest_snapshot() == latest
    with pytest.raises(NotFound):
        catalog.table("paimon_maintenance.outcomes")


def test_exactly_the_chosen_buckets_are_compacted(catalog):
    table = keyed(catalog)
    size = max(c.bytes_read + c.bytes_written for c in table.plan_maintenance().chosen)
    plan = table.plan_maintenance(Budget(bytes=size))
    assert [one.reason for one in plan.left_out] == [Reason.BUDGET]
    plan.run()
    files = table.refresh().inspect.files().to_pylist()
    by_bucket = {bucket: sum(f["bucket"] == bucket for f in files) for bucket in (0, 1)}
    assert by_bucket == {plan.chosen[0].bucket: 1, plan.left_out[0].candidate.bucket: 6}


def test_a_commit_in_between_is_a_conflict_of_its_bucket_only_and_the_place_rests(catalog, monkeypatch):
    """Another process compacts bucket 0 and adds rows between the plan and its run."""
    table, log = keyed(catalog), catalog.maintenance_log()
    plan = table.plan_maintenance(log=log)
    other = catalog.table("db.t")
    (task,) = (t for t in other.plan_compaction(full=True) if t.bucket == 0)
    other.commit([other.run_compaction(task)])
    other.write(rows(100))
    expected = content(table)
    report = plan.run()
    assert {one.candidate.bucket: one.status for one in report.outcomes} == {0: "conflict", 1: "done"}
    assert report.failed == ()
    assert content(table) == expected
    assert sum(f["bucket"] == 1 for f in table.refresh().inspect.files().to_pylist()) == 2  # the new file stays
    kept = {row["bucket"]: row for row in catalog.system_table("sys.maintenance").to_arrow().to_pylist()}
    assert (kept[0]["status"], kept[0]["bytes_written"], kept[1]["status"]) == ("conflict", 0, "done")
    for seed in range(200, 206):
        other.write(rows(seed))
    again = table.refresh().plan_maintenance(log=log)
    assert [c.bucket for c in again.chosen] == [1]
    assert [(one.candidate.bucket, one.reason) for one in again.left_out if one.candidate.action == "compact"] == [
        (0, Reason.BACKS_OFF)
    ]
    assert again.failing == {}  # a conflict is no error of the table
    later = clock.now_millis() + 10**7
    monkeypatch.setattr(clock, "now_millis", lambda now=None: later if now is None else now)
    assert {c.bucket for c in table.plan_maintenance(log=log).chosen} == {0, 1}


def test_a_lost_file_fails_its_bucket_only(catalog, warehouse):
    table = keyed(catalog)
    plan = table.plan_maintenance()
    next(iter((Path(warehouse) / "db.db" / "t" / "bucket-0").glob("data-*"))).unlink()
    report = plan.run()
    assert {one.candidate.bucket: one.status for one in report.outcomes} == {0: "failed", 1: "done"}
    (failed,) = report.failed
    assert "corrupt" in failed.error.lower()
    assert "failed: compact db.t 0" in report.text()


class BrokenLog:
    def outcomes(self):
        raise StorageError("no disk")

    def histories(self):
        return {}

    def append(self, outcomes, histories):
        raise StorageError("no disk")


def test_a_broken_log_hides_neither_the_plan_nor_the_outcome(catalog):
    table = keyed(catalog)
    report = table.maintain(log=BrokenLog())
    assert report.count("done") == 2
    assert "no disk" in report.log_error
    assert "no disk" in report.text()


def test_the_log_has_the_outcomes_and_improves_the_forecast(catalog):
    table, log = keyed(catalog, commits=0), catalog.maintenance_log()
    assert (log.outcomes(), log.histories(), list(log.rows())) == ([], {}, [])
    for round_ in range(6):
        for seed in range(3):
            table.write(rows(10 * round_ + seed))
        report = table.maintain(log=log)
    assert max(abs(one.prediction_error) for one in report.outcomes) < 0.05
    found = log.outcomes()
    assert len(found) == 12
    assert found[-1].row() in [one.row() for one in report.outcomes]
    rows_of_log = catalog.system_table("sys.maintenance").to_arrow()
    assert rows_of_log.equals(catalog.table("paimon_maintenance.outcomes").scan().to_arrow().sort_by("started_millis"))
    # Seconds are learned: they are not the default any more.
    assert table.plan_maintenance(log=log).chosen == ()
    table.write(rows(99))
    table.write(rows(98))
    assert table.plan_maintenance(log=log).chosen[0].seconds < 0.3


def test_a_round_without_work_keeps_histories(catalog):
    table, log = keyed(catalog), catalog.maintenance_log()
    policy = Policy(start_mark=1e-3, stop_mark=1e-4)
    (one, other) = table.plan_maintenance().chosen
    plan = table.plan_maintenance(Budget(bytes=one.bytes_read + one.bytes_written + 1), policy=policy, log=log)
    plan.run()
    assert log.histories()[Place.of(other)].waited == 1
    nothing = replace(plan, chosen=(), histories={Place.of(other): replace(plan.histories[Place.of(other)], waited=7)})
    nothing.run()
    assert log.histories()[Place.of(other)].waited == 7
    assert len(log.outcomes()) == 1


def test_work_that_is_late_is_not_started(catalog, monkeypatch):
    table = keyed(catalog)
    monkeypatch.setattr(plan_run, "GROUP_BYTES", 1)
    log = catalog.maintenance_log()
    plan = table.plan_maintenance(log=log)
    report = replace(plan, budget=Budget(seconds=0.001)).run()
    assert (report.count("done"), len(report.not_started)) == (1, 1)
    assert "not started" in report.text()
    assert log.histories()[Place.of(report.not_started[0])].waited == 1
    assert len(table.refresh().plan_maintenance().chosen) == 1


def test_each_group_is_one_commit(catalog, monkeypatch):
    table = keyed(catalog)
    before = table.latest_snapshot().id
    table.maintain()
    assert table.latest_snapshot().id == before + 1
    other = keyed(catalog, "db.other")
    monkeypatch.setattr(plan_run, "GROUP_BYTES", 1)
    before = other.latest_snapshot().id
    other.maintain()
    assert other.latest_snapshot().id == before + 2


def test_manifests_snapshots_and_buckets_are_maintained(catalog, monkeypatch):
    table = keyed(catalog, commits=40, manifest__target_file_size="1 b", snapshot__num_retained__min="1")
    plan = table.plan_maintenance(actions=["compact-manifests"])
    assert actions(plan) == ["compact-manifests"]
    table.compact(full=True)
    table.alter("SET ('bucket' = '1', 'snapshot.num-retained.max' = '1', 'manifest.target-file-size' = '8 mb')")
    table = table.refresh()
    before = content(table)
    assert "expire" not in actions(table.plan_maintenance())
    plan = table.plan_maintenance(actions=ACTIONS, policy=Policy(start_mark=0, stop_mark=0))
    assert set(actions(plan)) == {"rescale", "expire", "compact-manifests"}
    assert "compact" not in [one.candidate.action for one in plan.left_out]  # the rescale rewrites the same files
    report = plan.run()
    assert {one.candidate.action: one.status for one in report.outcomes} == dict.fromkeys(actions(plan), "done")
    table = table.refresh()
    assert content(table) == before
    assert len(table.inspect.snapshots()) <= 3
    assert {f["bucket"] for f in table.inspect.files().to_pylist()} == {0}
    assert set(actions(table.plan_maintenance(actions=ACTIONS))) <= {"expire"}


def test_waiting_rows_are_moved(catalog):
    table = keyed(catalog, commits=3, bucket="-2", postpone__batch_write_fixed_bucket="false")
    assert len(table.scan().to_arrow()) == 0
    plan = table.plan_maintenance(policy=Policy(start_mark=0, stop_mark=0))
    assert [(c.action, c.bucket) for c in plan.chosen] == [("compact", -2)]
    report = plan.run()
    assert report.outcomes[0].status == "done"
    assert len(table.refresh().scan().to_arrow()) > 0
    assert plan.run().outcomes[0].status == "nothing"


def test_partitions_and_clustering(catalog):
    options = {"bucket": "-1", "write-only": "true", "clustering.incremental": "true", "clustering.columns": "id"}
    table = catalog.create_table("db.c", SCHEMA, partition_by=["day"], options=options)
    for seed in range(6):
        table.write(pa.concat_tables([rows(seed, 300, day=1), rows(seed, 300, day=2)]))
    plan = table.plan_maintenance()
    assert sorted((c.action, c.partition) for c in plan.chosen) == [("cluster", "day=1"), ("cluster", "day=2")]
    before = content(table)
    assert plan.run().count("done") == 2
    assert content(table).sort_by([("id", "ascending"), ("day", "ascending")]) == before.sort_by(
        [("id", "ascending"), ("day", "ascending")]
    )


def test_a_lake_shares_one_budget_and_a_broken_table_does_not_stop_it(catalog, warehouse):
    small, large = keyed(catalog, "db.small", commits=4), keyed(catalog, "db.large", commits=9)
    broken = keyed(catalog, "db.broken")
    for path in (Path(warehouse) / "db.db" / "broken" / "manifest").glob("manifest-list*"):
        path.write_bytes(b"x")
    tables = [small, catalog.table("db.broken"), large]
    plan = plan_tables(tables)
    assert list(plan.unreadable) == ["db.broken"]
    assert [c.table for c in plan.chosen] == ["db.large", "db.large", "db.small", "db.small"]
    assert "db.broken could not be examined" in plan.text()
    best = plan.chosen[0]
    assert [c.table for c in plan_tables(tables, Budget(bytes=best.bytes_read + best.bytes_written)).chosen] == [
        "db.large"
    ]
    assert broken.name == "db.broken"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.plan_maintenance(actions=["compactt"]),
        lambda t: t.plan_maintenance(Budget(bytes=-1)),
        lambda t: t.plan_maintenance(Budget(seconds=float("nan"))),
        lambda t: t.plan_maintenance(Budget(memory=1.5)),
        lambda t: t.maintain(properties={"a": 1}),
    ],
)
def test_wrong_requests_are_refused(catalog, wrong):
    table = keyed(catalog)
    latest = table.latest_snapshot()
    with pytest.raises(InvalidRequest):
        wrong(table)
    assert table.latest_snapshot() == latest


def test_an_empty_table_has_nothing_to_do(catalog):
    assert keyed(catalog, commits=0).plan_maintenance().to_arrow().num_rows == 0
    assert ACTIONS == ("compact", "cluster", "rescale", "compact-manifests", "expire")


def test_memory_limits_how_many_buckets_run_at_once(catalog):
    candidates = keyed(catalog, bucket="4").plan_maintenance().chosen
    peak = max(c.peak_memory for c in candidates)
    assert threads_within(candidates, None, 3) == 3
    assert threads_within(candidates, peak, 3) == 1
    assert threads_within(candidates, 2 * peak, 3) == 2
    assert predicted_peak(candidates, 2) <= 2 * peak


def test_a_view_has_no_maintenance(catalog):
    table = keyed(catalog)
    with pytest.raises(AttributeError):
        table.at(snapshot=1).plan_maintenance()
    assert table.maintain(actions=["expire"]).outcomes == ()


def test_compactions_run_elsewhere_and_a_bucket_that_fails_does_not_stop_the_others(catalog):
    table, log = keyed(catalog), catalog.maintenance_log()
    before, calls = content(table), []

    def work(context, tasks):
        calls.append([task.bucket for task in tasks])
        if 1 in calls[-1]:
            raise StorageError("no executor")
        return run_tasks(context, tasks)

    plan = plan_tables([table], log=log, host="a cluster")
    report = plan.run(work=work)
    assert sorted(map(sorted, calls)) == [[0], [0, 1], [1]]
    found = {one.candidate.bucket: one for one in report.outcomes}
    assert (found[0].status, found[1].status) == ("done", "failed")
    assert found[0].bytes_read == found[0].candidate.bytes_read
    assert "no executor" in found[1].error
    assert {one.host for one in log.outcomes()} == {"a cluster"}
    assert content(table).equals(before)
    assert not any(name.endswith("peak-memory") and "predicted" not in name for name in report_properties(table))


def report_properties(table):
    return table.refresh().latest_snapshot().properties


def test_a_plan_for_another_place_needs_work_that_runs_there_and_no_other_plan_takes_it(catalog):
    table = keyed(catalog)
    with pytest.raises(InvalidRequest, match="made for a cluster, so run needs work"):
        plan_tables([table], host="a cluster").run()
    with pytest.raises(InvalidRequest, match="made for this machine, so run takes no work"):
        table.plan_maintenance().run(work=run_tasks)
