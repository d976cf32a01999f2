"""Compactions of idle partitions: only partitions without a new file for some time are compacted."""

import datetime

import pytest

import paimon_core as paimon
from paimon_core.compact.recent_compactions import FULL_MARK
from paimon_core.errors import InvalidRequest
from paimon_core.metadata import clock

HOUR = datetime.timedelta(hours=1)
START = 1_790_000_000_000
COLUMNS = {"p": "STRING", "k": "BIGINT", "v": "BIGINT"}


@pytest.fixture
def at(monkeypatch):
    """Set the clock to some hours after the start."""

    def set_clock(hours):
        now = START + int(hours * 3_600_000)
        monkeypatch.setattr(clock, "now_millis", lambda given=None: now if given is None else given)
        monkeypatch.setattr("time.time", lambda: now / 1000)
        monkeypatch.setattr("time.time_ns", lambda: now * 1_000_000)

    return set_clock


@pytest.fixture
def create(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")

    def made(options=None, *, key=("p", "k"), partition_by=("p",)):
        options = {"bucket": "2", "write-only": "true"} | (options or {})
        return catalog.create_table("db.t", COLUMNS, primary_key=key, partition_by=partition_by, options=options)

    return made


def write(table, *partitions):
    for version in range(2):
        table.write([{"p": p, "k": k, "v": version} for p in partitions for k in range(8)])


def counts(table):
    """Return the number of files of each partition."""
    found = table.inspect.files()["partition"].to_pylist()
    return {p: found.count(p) for p in found}


def test_partitions_with_a_new_file_stay(create, at):
    table = create()
    at(0)
    write(table, "a", "b")
    at(2)
    write(table, "b", "c")
    at(3)
    assert not table.compact(True, partition_idle_time=3.1 * HOUR)
    assert {t.partition for t in table.plan_compaction(full=True, partition_idle_time=2 * HOUR)} == {
        t.partition for t in table.plan_compaction(full=True, where="p = 'a'")
    }
    report = table.compact(True, partition_idle_time=2 * HOUR)
    assert len(report.tasks) == 2
    assert counts(table) == {"{a}": 2, "{b}": 8, "{c}": 4}
    assert FULL_MARK[0] not in report.snapshot.properties
    assert not table.compact(True, partition_idle_time=2 * HOUR), "the files of the compaction are new"
    assert len(table.compact(True, where="p = 'c'", partition_idle_time=HOUR).tasks) == 2, "a file of that very moment"
    assert counts(table) == {"{a}": 2, "{b}": 8, "{c}": 2}
    assert table.compact(True, partition_idle_time=0 * HOUR)
    assert counts(table) == {"{a}": 2, "{b}": 2, "{c}": 2}


def test_without_full_the_options_decide(create, at):
    table = create({"num-sorted-run.compaction-trigger": "3"})
    at(0)
    write(table, "a", "b")
    table.write([{"p": "a", "k": k, "v": 5} for k in range(8)])
    at(5)
    table.compact(partition_idle_time=HOUR)
    assert counts(table) == {"{a}": 2, "{b}": 4}


def test_files_in_the_postpone_bucket_are_new_files(create, at):
    table = create({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"})
    at(0)
    write(table, "a", "b")
    at(5)
    write(table, "b")
    at(6)
    report = table.compact(True, partition_idle_time=2 * HOUR)
    assert report.waiting_files == 2
    assert {row["p"] for row in table.scan().to_arrow().to_pylist()} == {"a"}
    assert {f["level"] for f in table.inspect.files().to_pylist() if f["partition"] == "{a}"} == {5}


@pytest.mark.parametrize("clustered", [False, True])
def test_append_tables(create, at, clustered):
    options = {"clustering.incremental": "true", "clustering.columns": "v"} if clustered else {}
    table = create({"bucket": "-1"} | options, key=())
    at(0)
    write(table, "a", "b")
    at(2)
    write(table, "b")
    at(3)
    table.compact(True, partition_idle_time=2 * HOUR)
    assert counts(table) == {"{a}": 1, "{b}": 4}


def test_a_table_without_partitions_is_one_partition(create, at):
    table = create(key=("k",), partition_by=())
    at(0)
    write(table, "a")
    at(1)
    assert not table.compact(True, partition_idle_time=2 * HOUR)
    at(2)
    assert table.compact(True, partition_idle_time=2 * HOUR)


@pytest.mark.parametrize("wrong", ["1 d", 3600, -HOUR, True])
def test_other_values_are_refused(create, wrong):
    with pytest.raises(InvalidRequest, match="partition_idle_time must be a timedelta that is not negative"):
        create().compact(partition_idle_time=wrong)
