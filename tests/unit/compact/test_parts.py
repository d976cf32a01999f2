"""Compactions that are divided into parts give the table that an undivided compaction gives."""

import datetime
import decimal
import shutil
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter.changes import AddColumn
from paimon_core.compact.parts import CompactionPart, divided, run_divided, run_part
from paimon_core.datafile.writing import rolling_writer
from paimon_core.errors import CommitConflict, CorruptTable, InvalidRequest
from paimon_core.lsm.key_order import key_order
from tests.support.long_cases import long_cases

EPOCH = datetime.datetime(1970, 1, 1)
SMALL = {"bucket": "1", "write-only": "true", "target-file-size": "4 kb", "file.compression": "none"}
KEYED = {
    "deduplicate": {},
    "partial-update lookup": {"merge-engine": "partial-update", "changelog-producer": "lookup"},
    "aggregation full-compaction": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "changelog-producer": "full-compaction",
    },
    "first-row lookup": {"merge-engine": "first-row", "changelog-producer": "lookup"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "orc": {"file.format": "orc"},
}
MORE = {
    "sequence field": {"sequence.field": "v"},
    "avro": {"file.format": "avro"},
    "thin": {"data-file.thin-mode": "true"},
    "rewritten": {"compaction.force-rewrite-all-files": "true"},
}


def in_parts(share, seen):
    """Return an argument ``work`` that runs the parts in this process, the last one first."""

    def run(context, parts):
        seen.append(len(parts))
        answers = [run_part(context, CompactionPart.from_bytes(part.to_bytes())) for part in reversed(parts)]
        return answers[::-1]

    return lambda context, tasks: run_divided(context, tasks, share, run)


def create(warehouse, options, columns=None, key=("a", "b")):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    columns = columns or {"a": "INT", "b": "STRING", "v": "BIGINT", "w": "STRING"}
    return catalog.create_table("db.t", columns, primary_key=list(key), options=SMALL | options)


def rows(first, end, step, version):
    numbers = range(first, end, step)
    return [{"a": n // 7, "b": f"k{n % 7}", "v": n * version, "w": f"{version}" * (n % 40)} for n in numbers]


def both(table, warehouse, tmp_path, **compact):
    """Compact a copy as a whole and the table in about six parts; return the copy and the numbers of parts."""
    share = sum(f.file_size for f in live(table)) // 6
    shutil.copytree(warehouse, tmp_path / "whole")
    whole = paimon.open_catalog(str(tmp_path / "whole")).table("db.t")
    seen = []
    expected = whole.compact(**compact)
    report = table.compact(work=in_parts(share, seen), **compact)
    assert [len(m.compact_before) for m in report.messages] == [len(m.compact_before) for m in expected.messages]
    for ours, theirs in zip(report.messages, expected.messages, strict=True):
        assert [f.file_name for f in ours.compact_before] == [f.file_name for f in theirs.compact_before]
        assert counted(ours.compact_after) == counted(theirs.compact_after)
        assert counted(ours.compact_changelog) == counted(theirs.compact_changelog)
    assert report.rows_rewritten == expected.rows_rewritten
    assert report.input_files == expected.input_files
    assert content(table.refresh()) == content(whole)
    assert history(table) == history(whole)
    assert not table.maintenance.check(deep=True).findings
    return whole, seen


def counted(files):
    return (
        sorted({f.level for f in files}),
        sum(f.row_count for f in files),
        sum(f.delete_row_count or 0 for f in files),
    )


def content(table):
    return sorted(map(repr, table.scan().to_arrow().to_pylist()))


def history(table):
    names = ("commit_kind", "total_record_count", "delta_record_count", "changelog_record_count")
    return [tuple(s[name] for name in names) for s in table.inspect.snapshots().to_pylist()]


def told(table):
    return sorted(map(repr, table.changes().to_arrow().to_pylist()))


def live(table):
    return [e.file for e in table.context.manifests.entries_of(table.latest_snapshot())]


def filled(warehouse, options, *, deletes=True):
    table = create(warehouse, options)
    table.write(rows(0, 9_000, 1, 1))
    table.compact(full=True)
    table.write(rows(0, 9_000, 3, 2))
    table.write(rows(3_000, 8_000, 2, 3))
    if deletes:
        table.delete(col("a") == 1000)
    return table


@pytest.mark.parametrize("name", [*KEYED, *long_cases(MORE)])
def test_parts_of_a_keyed_bucket_merge_what_the_whole_merges(warehouse, tmp_path, name):
    options = {**KEYED, **MORE}[name]
    table = filled(warehouse, options, deletes="merge-engine" not in options)
    whole, seen = both(table, warehouse, tmp_path, full=True)
    assert seen[0] >= 4
    if "changelog-producer" in options:
        assert told(table) == told(whole)
    order = key_order([f.type for f in table.schema.key_fields])
    keys = sorted((order(f.min_key), order(f.max_key)) for f in live(table))
    assert {f.level for f in live(table)} == {5}
    assert all(one[1] < other[0] for one, other in pairwise(keys))


def test_a_lookup_finds_the_rows_of_higher_levels_in_every_part(warehouse, tmp_path):
    table = filled(warehouse, KEYED["partial-update lookup"], deletes=False)
    table.write(rows(2_000, 10_000, 2, 4))
    (task,) = table.plan_compaction()
    assert task.higher
    whole, seen = both(table, warehouse, tmp_path)
    assert seen[0] > 1
    assert told(table) == told(whole)


def test_vectors_of_higher_files_are_marked_by_one_task(warehouse):
    table = filled(warehouse, KEYED["vectors"], deletes=False)
    (task,) = table.plan_compaction()
    assert task.higher
    assert [part.is_whole for part in divided(table.context, task, 100).parts] == [True]


@pytest.mark.parametrize(
    ("kind", "value", "in_footers"),
    [
        ("INT NOT NULL", lambda n: n - 1500, True),
        ("DOUBLE NOT NULL", lambda n: (n - 1500) / 4, False),
        ("DECIMAL(20, 3) NOT NULL", lambda n: decimal.Decimal(n - 1500) / 8, True),
        ("TIMESTAMP(9) NOT NULL", lambda n: EPOCH + datetime.timedelta(seconds=n - 1500), False),
        ("TIMESTAMP(6) NOT NULL", lambda n: EPOCH + datetime.timedelta(seconds=n - 1500), True),
        ("DATE NOT NULL", lambda n: datetime.date(1970, 1, 1) + datetime.timedelta(days=n - 1500), True),
        ("VARBINARY(9) NOT NULL", lambda n: n.to_bytes(3, "big"), False),
        ("STRING NOT NULL", lambda n: "\u00e4\U0001f600"[n % 2] + str(n), True),
    ],
)
@pytest.mark.parametrize("groups", [False, True])
def test_keys_of_every_type_are_cut_at_files_and_row_groups(
    warehouse, tmp_path, monkeypatch, kind, value, in_footers, groups
):
    if groups:
        monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 300)
    options = {"target-file-size": "100 mb"} if groups else {"target-file-size": "1 b"}
    table = create(warehouse, options, {"k": kind, "v": "INT"}, ["k"])
    for start in (0, 500):
        table.write([{"k": value(n), "v": n + start} for n in range(start, start + 3000)])
    assert (len(live(table)) == 2) is groups
    _, seen = both(table, warehouse, tmp_path, full=True)
    assert seen[0] >= 4 if in_footers or not groups else seen[0] == 2


def test_expired_rows_and_newer_columns_are_left_out_and_kept(warehouse, tmp_path):
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "v"}
    table = create(warehouse, options, {"k": "INT NOT NULL", "v": "BIGINT"}, ["k"])
    now = int(time.time())
    table.write([{"k": n, "v": now + 1000 if n % 2 else 5} for n in range(6000)])
    newer = table.alter(AddColumn("w", "STRING"))
    newer.write([{"k": n, "v": now + 1000, "w": "x"} for n in range(0, 6000, 5)])
    _, seen = both(table, warehouse, tmp_path, full=True)
    assert seen[0] >= 2
    assert len(content(newer)) == 3000 + 600
    assert sum("'w': 'x'" in row for row in content(newer)) == 1200


@pytest.mark.parametrize(
    "options",
    [
        {"bucket": "-1"},
        {"bucket": "-1", "deletion-vectors.enabled": "true"},
        {"bucket": "1", "bucket-key": "a"},
        {
            "bucket": "-1",
            "clustering.incremental": "true",
            "clustering.columns": "a",
            "clustering.incremental.mode": "local-sort",
            "source.split.target-size": "8 kb",
            "source.split.open-file-cost": "1 b",
        },
    ],
    ids=["plain", "vectors", "buckets", "clustered"],
)
def test_groups_of_append_files_are_parts(warehouse, tmp_path, options):
    table = create(warehouse, {"target-file-size": "8 kb", "source.split.open-file-cost": "1 b"} | options, key=())
    for start in range(0, 8000, 500):
        table.write(rows(start, start + 500, 1, 1))
    if "deletion-vectors.enabled" in options:
        table.delete(col("v") < 300)
    whole, seen = both(table, warehouse, tmp_path, full=True)
    assert seen[0] > 1
    assert sizes(table) == sizes(whole)


def sizes(table):
    return sorted((f.level, f.row_count) for f in live(table))


def test_others_that_commit_in_between(warehouse, tmp_path):
    """New rows stay beside the compaction. A compaction of the same files wins, and nothing is left of the parts."""
    table = filled(warehouse, {})
    other = paimon.open_catalog(warehouse).table("db.t")
    work = in_parts(20_000, [])

    def after(change):
        def run(context, tasks):
            found = work(context, tasks)
            change()
            return found

        return run

    report = table.compact(full=True, work=after(lambda: other.write(rows(0, 21, 1, 9))))
    assert report.snapshot.id == table.latest_snapshot().id
    assert table.scan(where=col("a") < 3).to_arrow()["v"].to_pylist() == [9 * n for n in range(21)]
    with pytest.raises(CommitConflict, match=r"table db\.t"):
        table.compact(full=True, work=after(lambda: other.compact(full=True)))
    assert not table.maintenance.check(deep=True).findings
    table.expire_snapshots(keep_last=1, keep_max=1)
    assert len([path for path in files_on_disk(warehouse) if path.name.startswith("data-")]) == len(live(table))


def files_on_disk(warehouse):
    return {path for path in Path(warehouse).rglob("*") if path.is_file()}


def test_a_failed_part_leaves_no_files_of_its_own(warehouse, monkeypatch):
    table = filled(warehouse, {})
    (task,) = table.plan_compaction(full=True)
    *_, last = divided(table.context, task, 20_000).parts
    before = files_on_disk(warehouse)
    lost = last.task.unit.files[0]
    table.context.storage.delete([f"{table.location}/bucket-0/{lost.file_name}"])
    with pytest.raises(CorruptTable, match="is missing"):
        run_part(table.context, last)
    assert len(files_on_disk(warehouse)) == len(before) - 1


def test_keys_outside_of_the_statistics_are_refused(warehouse, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 300)
    table = create(warehouse, {"target-file-size": "1 mb"}, {"k": "INT NOT NULL", "v": "INT"}, ["k"])
    for end in (4000, 9000):
        table.write([{"k": n, "v": end} for n in range(end)])
    (task,) = table.plan_compaction(full=True)
    lied = [replace(f, max_key=f.min_key) if f.row_count == 4000 else f for f in task.unit.files]
    before = files_on_disk(warehouse)
    with pytest.raises(CorruptTable, match=r"table db\.t: bucket 0 cannot be compacted in several tasks, .* overlap"):
        in_parts(10_000, [])(table.context, [replace(task, unit=replace(task.unit, files=tuple(lied)))])
    assert files_on_disk(warehouse) == before


def test_other_bytes_are_no_part():
    with pytest.raises(InvalidRequest, match="not a part of a compaction"):
        CompactionPart.from_bytes(b'{"version": 2}')
