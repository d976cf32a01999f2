"""Several Spark tasks compact one large bucket, and one commit has the files of all."""

import shutil

import pytest

import paimon_core as paimon
from paimon_core.errors import CommitConflict
from paimon_core.spark import compact_spark, compactor

OPTIONS = {"bucket": "2", "write-only": "true", "target-file-size": "4 kb", "changelog-producer": "full-compaction"}


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    columns = {"p": "STRING", "k": "BIGINT", "v": "BIGINT"}
    made = catalog.create_table("db.t", columns, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    for version, step in ((1, 1), (2, 3)):
        made.write([{"p": "ab"[n % 5 == 0], "k": n, "v": n * version} for n in range(0, 20_000, step)])
    return made


@pytest.fixture
def sent(monkeypatch):
    """Divide all buckets, and list the numbers of payloads of the jobs."""
    found = []
    collected = compactor.collect_messages

    def collect(spark, context, payloads, work, sizes):
        found.append(len(payloads))
        return collected(spark, context, payloads, work, sizes)

    monkeypatch.setattr(compactor, "_SHARE_BYTES", 3_000)
    monkeypatch.setattr(compactor, "cores", lambda _: 1000)
    monkeypatch.setattr(compactor, "collect_messages", collect)
    return found


def content(table):
    return sorted(map(repr, table.scan().to_arrow().to_pylist()))


def told(table):
    return sorted(map(repr, table.changes().to_arrow().to_pylist()))


def test_tasks_compact_as_the_library_does(spark, table, warehouse, tmp_path, sent):
    shutil.copytree(warehouse, tmp_path / "whole")
    whole = paimon.open_catalog(str(tmp_path / "whole")).table("db.t")
    expected, done = whole.compact(full=True), compact_spark(spark, table, full=True)
    assert sent[0] > 8
    assert len(done.messages) == len(expected.messages) == 4
    assert len(done.snapshots) == 1
    assert done.rows_rewritten == expected.rows_rewritten
    assert content(table) == content(whole)
    assert told(table) == told(whole)
    assert done.snapshot.changelog_record_count == expected.snapshot.changelog_record_count
    assert {f["level"] for f in table.inspect.files().to_pylist()} == {5}
    assert not table.maintenance.check(deep=True).findings


def test_a_bucket_that_another_commit_has_compacted_is_left_and_the_others_are_committed(
    spark, table, sent, monkeypatch
):
    before = content(table)
    collect = compactor.collect_messages

    def interrupted(*given):
        found = collect(*given)
        other.compact(full=True, where="p = 'a'")
        return found

    other = table.refresh()
    monkeypatch.setattr(compactor, "collect_messages", interrupted)
    report = compact_spark(spark, table, full=True)
    assert sent[0] > 8
    assert (report.conflicts, len(report.messages)) == (2, 2)
    assert content(table) == before
    table.write([{"p": "a", "k": 1, "v": 5}])
    with pytest.raises(CommitConflict, match=r"table db\.t"):
        compact_spark(spark, table, full=True)
    assert not table.maintenance.check(deep=True).findings
