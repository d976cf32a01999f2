import dataclasses
import time

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.compact.pick import Extent, last_full_millis, pick_tasks
from paimon_core.errors import UnsupportedFeature
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.times.local_time import epoch_millis
from tests.support.fake_tables import fake_file, fake_table, partition
from tests.support.lsm_files import data_file


def entries(context, *levels, bucket=0, **changes):
    files = [fake_file(context, level=level, low=10 * n, high=10 * n + 9) for n, level in enumerate(levels)]
    files = [dataclasses.replace(f, **changes) for f in files]
    return [ManifestEntry(FileKind.ADD, partition("a"), bucket, 2, f) for f in files]


def picked(context, found, *arguments, **named):
    return [(t.bucket, len(t.unit.files), t.unit.output_level) for t in pick_tasks(context, found, *arguments, **named)]


def test_as_needed_the_largest_first():
    context = fake_table()
    found = [*entries(context, *[0] * 5), *entries(context, *[0] * 6, bucket=1), *entries(context, 0, bucket=2)]
    assert picked(context, found) == [(1, 6, 5), (0, 5, 5)]


def test_fully():
    context = fake_table()
    found = [*entries(context, 0), *entries(context, 5, bucket=1)]
    assert picked(context, found, Extent.SETTLED) == [(0, 1, 5)]
    assert picked(context, found, Extent.REWRITTEN) == [(0, 1, 5)]


def test_a_forced_rewrite_is_only_made_when_asked_for():
    context = fake_table(**{"compaction.force-rewrite-all-files": "true"})
    found = entries(context, 5)
    assert picked(context, found, Extent.SETTLED) == []
    assert picked(context, found, Extent.REWRITTEN) == [(0, 1, 5)]


def test_overdue_buckets():
    context = fake_table(**{"force-lookup": "true", "lookup-compact": "gentle"})
    found = [*entries(context, 0), *entries(context, 0, bucket=1)]
    assert picked(context, found) == []
    assert picked(context, found, overdue={(partition("a"), 1)}) == [(1, 1, 5)]


def test_the_optimisation_interval_counts_from_the_newest_file_of_the_last_level():
    context = fake_table(**{"compaction.optimization-interval": "1 h"})
    found = entries(context, 0, 5)
    then = epoch_millis(max(e.file.creation_time_millis for e in found))
    assert picked(context, found, now_millis=then + 3_600_000) == []
    assert picked(context, found, now_millis=then + 3_600_001) == [(0, 2, 5)]
    assert picked(context, entries(context, 0, 4), now_millis=0) == [(0, 2, 5)]


def test_off_peak_is_an_hour_of_the_local_day(monkeypatch):
    hours = {"compaction.offpeak.start.hour": "5", "compaction.offpeak.end.hour": "6"}
    context = fake_table(**hours, **{"compaction.offpeak-ratio": "100", "num-sorted-run.compaction-trigger": "2"})
    small, large = entries(context, 0, file_size=50), entries(context, 2, file_size=90)
    monkeypatch.setattr(time, "localtime", lambda seconds: dataclasses.make_dataclass("T", ["tm_hour"])(seconds))
    found = [*small, *large]
    assert picked(context, found, now_millis=4999) == []
    assert picked(context, found, now_millis=5000) == [(0, 2, 2)]


def test_the_last_full_compaction():
    files = [data_file("a", level=5, created=7), data_file("b", level=5, created=9), data_file("c", created=11)]
    assert last_full_millis(files, 6) == epoch_millis(9)
    assert last_full_millis([*files, data_file("d", level=5, created=None)], 6) == epoch_millis(9)
    assert last_full_millis(files[2:], 6) is None


def test_files_that_compaction_would_not_carry_over_are_refused():
    context = fake_table()
    with pytest.raises(UnsupportedFeature, match="extra files"):
        pick_tasks(context, entries(context, 0, extra_files=("x",)))


def test_the_small_files_that_one_compaction_looks_at_are_limited(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"compaction.file-num-limit": "7", "write-only": "true"}
    table = catalog.create_table("db.t", pa.schema([("p", pa.int64())]), partition_by=["p"], options=options)
    for _ in range(5):
        table.write(pa.table({"p": [0, 1]}))
    assert [len(task.unit.files) for task in table.plan_compaction()] == [5]
    assert sorted(len(task.unit.files) for task in table.plan_compaction(full=True)) == [5, 5]
