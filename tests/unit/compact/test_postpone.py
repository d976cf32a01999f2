"""Postpone bucket: rows wait unread until a compaction gives them fixed buckets."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.compact import compaction
from paimon_core.errors import CommitConflict, InvalidOption, InvalidRequest, UnsupportedFeature

SCHEMA = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.int64(), False), ("v", pa.string())])
WAITING = {"postpone.batch-write-fixed-bucket": "false"}


def table_with(tmp_path, **options):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    options = {"bucket": "-2", **{k.replace("_", "-"): v for k, v in options.items()}}
    return catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=options)


def rows(*keys, v="a", p=1):
    return [{"p": p, "k": k, "v": v} for k in keys]


def live(table):
    return [(e.bucket, e.total_buckets, e.file) for e in table.context.manifests.entries_of(table.latest_snapshot())]


def content(table):
    return sorted((r["p"], r["k"], r["v"]) for r in table.scan().to_arrow().to_pylist())


def test_waiting_rows_are_in_order_of_arrival_and_invisible(tmp_path):
    table = table_with(tmp_path, **WAITING)
    table.write(rows(2, 2, 1), kinds=pa.array(["+I", "+U", "-D"]))
    [(bucket, total, file)] = live(table)
    assert (bucket, total, file.level, file.row_count, file.delete_row_count) == (-2, -2, 0, 3, 1)
    assert (file.min_sequence_number, file.max_sequence_number, file.value_stats_cols) == (-1, -1, ())
    assert re.fullmatch(r"data--u-[0-9a-f-]{36}-s-\d+-w-[0-9a-f-]{36}-0\.avro", file.file_name)
    assert content(table) == []
    assert table.maintenance.check(deep=True).findings == ()


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"postpone.default-bucket-num": "3"}, {1: 3, 2: 3}),
        ({"postpone.target-row-num-per-bucket": "4"}, {1: 3, 2: 1}),
        ({}, {1: 1, 2: 1}),
    ],
    ids=["default", "rows", "bytes"],
)
def test_a_compaction_spreads_the_rows_in_order(tmp_path, options, counts):
    table = table_with(tmp_path, **WAITING, **options)
    table.write(rows(*range(9), v="old"))
    table.write([*rows(1, 3, v="new"), *rows(7, p=2)])
    table.write(rows(8), kinds=pa.array(["-D"]))
    table.compact()
    assert content(table) == [(1, k, "new" if k in (1, 3) else "old") for k in range(8)] + [(2, 7, "a")]

    assert {total for _, total, _ in live(table)} == set(counts.values())
    assert all(bucket >= 0 for bucket, _, _ in live(table))
    assert table.maintenance.check(deep=True).findings == ()
    table.write(rows(100, v="later"))
    table.compact(full=True)
    assert (1, 100, "later") in content(table)


def test_a_write_goes_to_fixed_buckets(tmp_path):
    table = table_with(tmp_path, **{"postpone.target-row-num-per-bucket": "10"})
    table.write(rows(*range(25)))
    assert {(bucket, total) for bucket, total, _ in live(table)} == {(0, 4), (1, 4), (2, 4), (3, 4)}
    table.write([*rows(0, v="b"), *rows(5, p=2)])
    assert {total for _, total, _ in live(table)} == {4, 1}
    assert content(table) == [(1, k, "a" if k else "b") for k in range(25)] + [(2, 5, "a")]
    table.delete(col("k") == 5)
    table.update(col("k") == 1, {"v": "u"})
    assert content(table)[:3] == [(1, 0, "b"), (1, 1, "u"), (1, 2, "a")]
    table.compact(full=True)
    assert len(content(table)) == 24
    assert not list(tmp_path.rglob("data--u-*"))
    assert table.maintenance.check(deep=True).findings == ()


def test_an_overwrite_removes_waiting_rows(tmp_path):
    table = table_with(tmp_path, **WAITING)
    table.write([*rows(1, 2), *rows(3, p=2)])
    fixed = table.with_options({"postpone.batch-write-fixed-bucket": "true"})
    fixed.overwrite(rows(9))
    table.compact()
    assert content(table) == [(1, 9, "a"), (2, 3, "a")]


def test_a_commit_between_plan_and_commit_of_a_compaction(tmp_path, monkeypatch):
    table = table_with(tmp_path, **WAITING, **{"postpone.default-bucket-num": "2"})
    fixed = table.with_options({"postpone.batch-write-fixed-bucket": "true"})
    fixed.write(rows(1, 2, v="old"))
    table.write(rows(1, v="waiting"))
    real = compaction.spread_messages

    def spread(meanwhile):
        def messages(context, entries):
            found = real(context, entries)
            monkeypatch.setattr(compaction, "spread_messages", real)
            meanwhile()
            return found

        monkeypatch.setattr(compaction, "spread_messages", messages)

    def others():
        fixed.write(rows(1, 2, v="fixed"))
        table.write(rows(3, v="waits"))

    spread(others)
    table.compact()  # its rows count as later than those of the other commits
    assert content(table) == [(1, 1, "waiting"), (1, 2, "fixed")]
    assert [bucket for bucket, _, _ in live(table) if bucket < 0] == [-2]
    spread(table.compact)
    with pytest.raises(CommitConflict, match="no longer in the table"):
        table.compact()
    assert content(table) == [(1, 1, "waiting"), (1, 2, "fixed"), (1, 3, "waits")]
    assert table.maintenance.check(deep=True).findings == ()


def test_the_input_changelog_is_written_with_the_compaction(tmp_path):
    table = table_with(tmp_path, **WAITING, **{"changelog-producer": "input"})
    snapshot = table.write(rows(1, 2), kinds=pa.array(["+I", "-D"]))
    assert snapshot.changelog_manifest_list is None
    assert table.compact().snapshot.changelog_manifest_list is not None
    assert table.maintenance.check(deep=True).findings == ()


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "last_value"}, "bca"),
        ({"merge-engine": "first-row"}, "aaa"),
        ({"deletion-vectors.enabled": "true"}, "bca"),
        ({"sequence.field": "v", "changelog-producer": "lookup"}, "bca"),
    ],
    ids=["aggregation", "first-row", "vectors", "lookup"],
)
@pytest.mark.parametrize("fixed", ["true", "false"])
def test_engines_and_producers(tmp_path, options, values, fixed):
    table = table_with(tmp_path, **options, **{"postpone.batch-write-fixed-bucket": fixed})
    table.write(rows(1, 2, 3))
    table.write(rows(1, 2, v="b"))
    table.compact()
    table.write(rows(2, v="c"))
    table.compact(full=True)
    assert content(table) == [(1, k, v) for k, v in zip((1, 2, 3), values, strict=True)]
    assert table.maintenance.check(deep=True).findings == ()


def test_what_is_refused(tmp_path):
    table = table_with(tmp_path, **WAITING)
    table.write(rows(1))
    with pytest.raises(UnsupportedFeature, match="wait in the postpone bucket"):
        table.delete(col("k") == 1)
    with pytest.raises(InvalidOption, match="merge-on-read"):
        table.with_options({"postpone.merge-on-read": "true"})
    catalog = paimon.open_catalog(str(tmp_path))
    with pytest.raises(InvalidRequest, match="needs a primary key"):
        catalog.create_table("db.u", SCHEMA, options={"bucket": "-2"})
    with pytest.raises(InvalidRequest, match="bucket = -2"):
        catalog.create_table("db.u", SCHEMA, options={"postpone.default-bucket-num": "2"})
