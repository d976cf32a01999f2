"""CompactReport: the counts of a compaction are those of the files that it read and wrote."""

import pyarrow as pa
import pytest

import paimon_core as paimon

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])


@pytest.fixture
def create(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return lambda **options: catalog.create_table(
        "db.t", SCHEMA, primary_key=["k"], options={"write-only": "true", **options}
    )


def write(table, *keys):
    table.write(pa.table([list(keys), list(keys)], schema=SCHEMA))


def test_a_compaction_reports_what_it_read_wrote_and_committed(create):
    table = create(bucket="1")
    write(table, 1, 2)
    write(table, 2, 3)
    size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    report = table.compact(full=True)
    assert report
    assert (len(report.tasks), report.input_files, report.input_bytes) == (1, 2, size)
    assert (report.files_written, report.rows_rewritten, report.conflicts, report.waiting_files) == (1, 3, 0, 0)
    assert report.snapshots == (report.snapshot,)
    assert report.snapshot == table.latest_snapshot()
    assert repr(report) == (
        f"CompactReport(tasks=1, input_files=2, input_bytes={size:,}, files_written=1, rows_rewritten=3, snapshots=[3])"
    )


def test_a_file_that_only_moves_to_another_level_is_not_rewritten(create):
    table = create(bucket="1")
    write(table, 1, 2)
    report = table.compact(full=True)
    assert (report.input_files, report.files_written, report.rows_rewritten, report.snapshot.id) == (1, 0, 0, 2)


def test_a_report_without_a_commit_is_false(create):
    report = create(bucket="1").compact(full=True)
    assert not report
    assert (report.snapshot, report.tasks, report.input_files) == (None, (), 0)


def test_waiting_files_are_counted_apart_from_the_files_that_are_merged(create):
    waiting = {"postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "1"}
    table = create(bucket="-2", **waiting)
    write(table, 1, 2)
    write(table, 2, 3)
    report = table.compact(full=True)
    assert (report.waiting_files, report.input_files, report.files_written) == (2, 1, 1)
    assert [snapshot.id for snapshot in report.snapshots] == [3, 4]
