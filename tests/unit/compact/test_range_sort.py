"""A sort that is divided by ranges of keys writes the rows of an undivided sort in the same order."""

import datetime
import decimal
import math
import random
import shutil

import pytest

import paimon_core as paimon
from paimon_core.compact.parts import CompactionPart, run_divided, run_part
from paimon_core.compact.planning import plan_sorted
from paimon_core.compact.range_sort import bounds_of, joined, ranged, sampled, shares_of, without_files, written
from paimon_core.compact.sort_order import SortOrder
from paimon_core.compact.task import CompactionTask
from paimon_core.errors import CommitConflict, StorageError
from paimon_core.metadata.commit_message import CommitMessage
from tests.support.long_cases import long_cases

COLUMNS = {
    "p": "STRING", "k": "INT", "t": "STRING", "d": "DOUBLE", "n": "DECIMAL(12, 3)", "b": "BYTES", "ts": "TIMESTAMP(9)",
    "day": "DATE", "at": "INT",
}  # fmt: skip
KINDS = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "tracked": {"row-tracking.enabled": "true"},
    "orc": {"file.format": "orc"},
}
ORDERS = [
    (["k"], "order"),
    (["t", "d"], "order"),
    (["d"], "order"),
    (["b", "n"], "order"),
    (["ts"], "order"),
    (["k", "t"], "zorder"),
    (["day", "d", "k"], "hilbert"),
]


def row(chance, number):
    def maybe(value):
        return None if chance.random() < 0.1 else value

    return {
        "p": "a",
        "k": maybe(chance.randrange(-9, 9)),
        "t": maybe(chance.choice(["", "ä", "x" * 80, "x" * 79 + "y"]) + str(chance.randrange(5))),
        "d": maybe(chance.choice([math.nan, -0.0, 0.0, -math.inf, 1.5, 2.5, chance.random()])),
        "n": maybe(decimal.Decimal(chance.randrange(-5000, 5000)) / 1000),
        "b": maybe(chance.randbytes(chance.randrange(3))),
        "ts": maybe(datetime.datetime(1960, 1, 1) + datetime.timedelta(hours=chance.randrange(500_000))),
        "day": maybe(datetime.date(2020, 1, 1) + datetime.timedelta(days=chance.randrange(90))),
        "at": number,
    }


def filled(warehouse, chance, options, rows=300):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    small = {"write-only": "true", "target-file-size": "2 kb", "file.compression": "none"}
    table = catalog.create_table("db.t", COLUMNS, partition_by=["p"], options=small | options)
    for start in range(0, rows, 60):
        table.write([row(chance, number) for number in range(start, start + 60)])
    if options.keys() & {"deletion-vectors.enabled", "row-tracking.enabled"}:
        table.delete("k = 3")
    return table


def in_ranges(share, seen=None):
    """Return an argument ``work`` that sorts in ranges in this process; shares and ranges come in any order."""

    def sort(context, part):
        tasks = [CompactionTask.from_bytes(t.to_bytes()) for t in shares_of(part.task, share)]
        rows = sum(f.row_count for f in part.task.unit.files)
        found = [sampled(context, t, ranges=part.ranges, rows=rows) for t in tasks]
        assert found == [sampled(context, t, ranges=part.ranges, rows=rows) for t in tasks]
        bounds, chunks = bounds_of(found, part.ranges), {}
        for task in tasks:
            for number, data in ranged(context, task, bounds):
                chunks.setdefault(number, []).append(data)
        if seen is not None:
            seen.append(len(chunks))
        answers = {n: written(context, without_files(part.task), iter(chunks[n])) for n in sorted(chunks, reverse=True)}
        messages = [CommitMessage.from_bytes(answers[n].to_bytes()) for n in sorted(answers)]
        return joined(context, part.task, messages)

    def run(context, parts):
        parts = [CompactionPart.from_bytes(part.to_bytes()) for part in parts]
        return [sort(context, part) if part.ranges else run_part(context, part) for part in parts]

    return lambda context, tasks: run_divided(context, tasks, share, run)


def stored(table):
    """The rows in the order of the files, and of the rows in each file."""
    kept = ["_ROW_ID", "_SEQUENCE_NUMBER"] if table.context.tracks_rows else []
    return [repr(row) for row in table.scan(columns=[*COLUMNS, *kept]).to_arrow().to_pylist()]


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        *((kind, ORDERS[0]) for kind in KINDS),
        *(("plain", order) for order in ORDERS[1:]),
        *long_cases((kind, order) for kind in list(KINDS)[1:] for order in ORDERS[1:]),
    ],
)
def test_ranges_have_the_rows_of_an_undivided_sort_in_the_same_order(warehouse, tmp_path, kind, order):
    table = filled(warehouse, random.Random(str((kind, order))), KINDS[kind])
    shutil.copytree(warehouse, tmp_path / "whole")
    whole = paimon.open_catalog(str(tmp_path / "whole")).table("db.t")
    seen = []
    done = table.sort_compact(*order, work=in_ranges(3_000, seen))
    expected = whole.sort_compact(*order)
    assert seen[0] > 2
    assert len(done.snapshots) == len(done.messages) == 1
    assert (done.rows_rewritten, done.input_files) == (expected.rows_rewritten, expected.input_files)
    assert stored(table) == stored(whole)
    assert not table.maintenance.check(deep=True).findings


def test_rows_that_are_all_equal_or_deleted_make_one_range_or_none(warehouse):
    table = filled(warehouse, random.Random(1), KINDS["vectors"])
    table.sort_compact(["day"], work=in_ranges(3_000))
    table.update("at >= 0", {"k": 5})
    seen = []
    table.sort_compact(["k"], work=in_ranges(3_000, seen))
    assert seen == [1]
    table.write([row(random.Random(2), 900)])
    table.delete("at >= 0")
    table.sort_compact(["k"], work=in_ranges(100))
    assert table.scan().to_arrow().num_rows == 0
    assert not table.maintenance.check(deep=True).findings


def test_a_clustered_table_is_divided_too(warehouse, tmp_path):
    options = {"clustering.incremental": "true", "clustering.columns": "k,t", "clustering.strategy": "zorder"}
    table = filled(warehouse, random.Random(4), options)
    shutil.copytree(warehouse, tmp_path / "whole")
    whole = paimon.open_catalog(str(tmp_path / "whole")).table("db.t")
    seen = []
    table.compact(full=True, work=in_ranges(3_000, seen))
    whole.compact(full=True)
    assert seen[0] > 2
    assert stored(table) == stored(whole)
    assert set(table.inspect.files()["level"].to_pylist()) == set(whole.inspect.files()["level"].to_pylist()) == {5}


def test_a_file_that_is_gone_is_a_conflict(warehouse, tmp_path):
    table = filled(warehouse, random.Random(5), {})
    (task,) = plan_sorted(table.context, SortOrder.of(table.context, ["k"], "order"))
    paths = [str(path) for path in tmp_path.rglob("data-*")]
    table.delete("at >= 0")
    table.context.storage.delete(paths)  # as an expiry does
    with pytest.raises(CommitConflict, match="run the compaction again"):
        sampled(table.context, task, ranges=3, rows=300)
    with pytest.raises(CommitConflict, match="run the compaction again"):
        list(ranged(table.context, task, b""))


def test_a_failed_range_leaves_no_files(warehouse, tmp_path):
    table = filled(warehouse, random.Random(6), {"write-buffer-size": "10 kb", "write-buffer-spillable": "false"})
    before = sorted(tmp_path.rglob("data-*"))
    with pytest.raises(StorageError, match="write-buffer-spillable = false"):
        table.sort_compact(["k"], work=in_ranges(30_000))
    assert sorted(tmp_path.rglob("data-*")) == before
