"""touched_files: the live files of touched buckets and the numbers of buckets, the same as from all entries."""

import random
from dataclasses import replace

import pytest

from paimon_core.commit.base import Base
from paimon_core.commit.touched_files import first_of_each_number, runs_of, touched_files
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.metadata.manifests.manifest_file import live_entries
from tests.support.fake_tables import append, fake_table, partition


class Listed(Base):
    """A base with given manifests."""

    manifests = ()


def base_of(context, commits):
    base = Listed(context, context.snapshots.latest())
    base.manifests = [m for entries in commits if entries for m in context.manifests.write_manifests(entries, 1 << 20)]
    return base


def added(name, value, bucket, total):
    file = DataFile(name, 1, 1, 0, level=len(name) % 3, min_key=b"\0" * 12, max_key=b"\0" * 12)
    return ManifestEntry(FileKind.ADD, partition(value), bucket, total, file)


@pytest.fixture
def context():
    context = fake_table()
    append(context)
    return context


def test_touched_files_are_the_live_files_of_their_buckets(context):
    numbers = random.Random(3)
    several = 0
    for _ in range(40):
        live, commits, count = [], [], 0
        for _ in range(6):
            new = [
                added(
                    f"f{(count := count + 1)}",
                    numbers.choice("abcd"),
                    numbers.randrange(4),
                    numbers.choice([4, 4, 4, 8]),
                )
                for _ in range(numbers.choice([3, 120]))
            ]
            gone = numbers.sample(live, len(live) // 3)
            commits.append([*(replace(e, kind=FileKind.DELETE) for e in gone), *new])
            live = [e for e in [*live, *new] if e not in gone]
        base = base_of(context, commits)
        entries = [added("new", numbers.choice("abcd"), numbers.randrange(4), 4) for _ in range(numbers.randint(1, 3))]
        places = {(e.partition, e.bucket) for e in entries}
        found = touched_files(base, entries)
        expected = [e for e in live_entries(e for c in commits for e in c) if (e.partition, e.bucket) in places]
        assert sorted(e.identity for e in found.files.entries()) == sorted(e.identity for e in expected)
        others = {(e.partition, e.total_buckets) for e in live if (e.partition, e.bucket) not in places}
        assert {(e.partition, e.total_buckets) for e in found.others} <= others
        for value in {e.partition for e in entries}:
            own = {total for p, total in others if p == value}
            if own - {4}:
                several += 1
                assert {e.total_buckets for e in found.others if e.partition == value} == own
    assert several > 10


def test_no_value_is_created_for_other_buckets_of_one_number(context):
    base = base_of(context, [[added(f"f{n}", "a", n % 4, 4) for n in range(400)]])
    found = touched_files(base, [added("new", "a", 1, 4)])
    assert len(found.files) == 100
    assert found.others == []
    assert int(found.files.spans["value_min_values"].lengths.max()) == -1


def test_a_base_without_manifests_has_no_files(context):
    found = touched_files(base_of(context, []), [added("new", "a", 1, 4)])
    assert (len(found.files), list(found.others)) == (0, [])


def test_runs_are_partition_bucket_and_level():
    entries = [
        replace(added("f", value, bucket, 4), file=replace(added("f", value, bucket, 4).file, level=level))
        for value in "ab"
        for bucket in (-2, 0, 7)
        for level in (0, 1, 5)
    ]
    runs = runs_of(EntryColumns.of_entries([*entries, *entries])).tolist()
    assert len(set(runs)) == len(entries)
    assert runs[: len(entries)] == runs[len(entries) :]


def test_the_first_entry_of_each_number_of_buckets():
    entries = [
        added(str(n), value, 0, total) for n, (value, total) in enumerate([("a", 2), ("a", 2), ("b", 2), ("a", -1)])
    ]
    assert [e.file.file_name for e in first_of_each_number(EntryColumns.of_entries(entries))] == ["0", "2", "3"]
