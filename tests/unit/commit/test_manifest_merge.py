"""Manifest merge: the groups of format 4.7, and the same live files before and after."""

import itertools
import random
from dataclasses import replace

import pytest

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit import manifest_merge
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.manifest_file import live_entries
from paimon_core.types import parse_type
from tests.support.fake_tables import append, check_whole, fake_table, live


def entry(name, kind=FileKind.ADD, partition=b"p"):
    return ManifestEntry(kind, partition, 0, 1, DataFile(name, 1, 1, 0))


class Manifests:
    """Manifests in a dictionary; each entry counts as one byte."""

    def __init__(self):
        self.held = {}
        self.written = []
        self.read = []
        self.numbers = itertools.count()

    def new(self, *entries, size=None):
        name = f"m{next(self.numbers)}"
        deletes = sum(e.kind is FileKind.DELETE for e in entries)
        self.held[name] = list(entries)
        return ManifestFile(name, size or len(entries), len(entries) - deletes, deletes)

    def open(self, manifest):
        self.read.append(manifest.file_name)
        return self.held[manifest.file_name]

    def write(self, entries, spread=False):
        self.written.append([e.file.file_name for e in entries])
        count = max(1, len(entries) // self.target) if spread else 1
        ends = [len(entries) * n // count for n in range(count + 1)]
        return [self.new(*entries[low:high]) for low, high in itertools.pairwise(ends)]

    def merged(self, files, *, target=100, count=4, full=1000, types=None):
        self.target = target
        may_hold = lambda m, partitions: any(e.partition in partitions for e in self.held[m.file_name])  # noqa: E731
        merged = ManifestMerge(self.open, self.write, may_hold, target, count, full, types).merge(files)
        assert self.live(merged) == self.live(files)
        return merged

    def merge(self, files, **how):
        return [m.file_name for m in self.merged(files, **how)]

    def live(self, files):
        return {e.file.file_name for e in live_entries(e for m in files for e in self.held[m.file_name])}


def test_few_small_ones_stay():
    m = Manifests()
    files = [m.new(entry(f"f{i}")) for i in range(3)]
    assert m.merge(files) == ["m0", "m1", "m2"]
    assert m.read == []


def test_a_long_tail_becomes_one_in_the_order_of_its_entries():
    m = Manifests()
    files = [m.new(entry(f"f{i}")) for i in range(4)]
    assert m.merge(files) == ["m4"]
    assert m.written == [["f0", "f1", "f2", "f3"]]


def test_rewritten_entries_are_ordered_by_partition_and_bucket():
    types = [parse_type("INT")]
    m = Manifests()
    places = [(300, 1), (2, 0), (None, 0), (300, 0), (2, 0)]
    entries = [replace(entry(f"f{at}", partition=encode_row([p], types)), bucket=b) for at, (p, b) in enumerate(places)]
    m.merge([m.new(e) for e in entries], types=types)
    m.merge([m.new(e) for e in entries], full=1, types=types)
    assert m.written == [["f2", "f1", "f4", "f3", "f0"]] * 2


def test_manifests_larger_than_all_later_ones_together_stay():
    m = Manifests()
    files = [m.new(entry(name), size=size) for name, size in [("a", 50), ("b", 10), ("c", 3), ("d", 2), ("e", 1)]]
    assert m.merge(files) == ["m0", "m1", "m5"]
    assert m.written == [["c", "d", "e"]]


def test_entries_are_rewritten_a_logarithmic_number_of_times():
    m = Manifests()
    files = []
    for number in range(1000):
        names = m.merge([*files, m.new(entry(f"f{number}"))], target=10**6, count=30, full=10**9)
        files = [ManifestFile(name, len(m.held[name]), len(m.held[name]), 0) for name in names]
    assert sum(map(len, m.written)) <= 1000 * 8


def test_a_group_that_reaches_the_target_is_merged_and_a_large_one_is_kept():
    m = Manifests()
    files = [m.new(entry("a"), size=60), m.new(entry("b"), size=60), m.new(entry("c"), size=100), m.new(entry("d"))]
    assert m.merge(files) == ["m4", "m2", "m3"]
    assert m.written == [["a", "b"]]


def test_a_delete_without_its_add_survives_a_minor_merge():
    m = Manifests()
    big = m.new(entry("old"), size=100)
    tail = [m.new(entry("old", FileKind.DELETE)), *(m.new(entry(f"f{i}")) for i in range(3))]
    m.merge([big, *tail])
    assert m.written == [["old", "f0", "f1", "f2"]]


def test_a_group_that_cancels_out_vanishes():
    m = Manifests()
    files = [
        m.new(entry("a")),
        m.new(entry("a", FileKind.DELETE)),
        m.new(entry("b")),
        m.new(entry("b", FileKind.DELETE)),
    ]
    assert m.merge(files) == []


def test_a_full_merge_leaves_no_delete_and_opens_only_what_it_touches():
    m = Manifests()
    far = m.new(entry("far", partition=b"q"), size=500)
    hit = m.new(entry("gone"), entry("stays"), size=500)
    near = m.new(entry("near"), size=500)
    delete = m.new(entry("gone", FileKind.DELETE), size=50)
    assert m.merge([far, hit, near, delete], full=50) == ["m0", "m2", "m4"]
    assert m.written == [["stays"]]
    assert "m0" not in m.read


def test_a_full_merge_of_one_is_none():
    m = Manifests()
    assert m.merge([m.new(entry("a"), size=500), m.new(entry("b"), size=60)], full=50) == ["m0", "m1"]
    assert m.written == []


TYPES = [parse_type("INT")]


def of_partitions(*partitions, tag="", size=None, manifests, kind=FileKind.ADD):
    """A manifest with a file in each of the partitions, and with the range of the partitions."""
    rows = [encode_row([p], TYPES) for p in partitions]
    entries = [entry(f"{p}{tag}", kind, row) for p, row in zip(partitions, rows, strict=True)]
    stats = ColumnStats(min(rows), max(rows), (0,))
    return replace(manifests.new(*entries, size=size), partition_stats=stats)


def test_a_full_merge_of_many_entries_merges_the_first_manifests_and_those_that_hold_their_files(monkeypatch):
    monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", 16)
    m = Manifests()
    large = [of_partitions(*range(p, p + 5), size=5, manifests=m) for p in (0, 5, 10, 15)]
    gone = of_partitions(*range(2, 20, 5), manifests=m, kind=FileKind.DELETE)
    small = of_partitions(1, 11, 18, tag="new", manifests=m)
    merged = m.merge([*large, gone, small], target=5, full=1, types=TYPES)
    # m4 and m5 are read first; then 9 more entries may be opened, which are those of one manifest.
    assert m.read == ["m4", "m5", "m0"]
    assert merged == ["m1", "m2", "m3", "m6", "m7"]
    assert m.written == [["0", "1", "1new", "3", "4"], ["7", "11new", "12", "17", "18new"]]
    assert [e.kind.name for e in m.held["m7"]] == ["DELETE", "ADD", "DELETE", "DELETE", "ADD"]


def test_portions_go_through_the_whole_table_in_turn_also_when_its_manifests_are_not_ordered(monkeypatch):
    monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", 16)
    m = Manifests()
    large = [of_partitions(*range(40), tag=f"f{n}", size=40, manifests=m) for n in range(6)]
    gone = [replace(e, kind=FileKind.DELETE) for f in large for e in m.held[f.file_name][:1]]
    files, steps = [*large, m.new(*gone)], 0
    while any(f.num_deleted_files for f in files):
        m.read, steps = [], steps + 1
        files = m.merged(files, target=30, full=1, types=TYPES)
        assert sum(len(m.held[name]) for name in m.read) <= 46
    assert steps == 6
    assert all(len(m.held[f.file_name]) >= 30 for f in files)


def test_a_new_file_waits_for_the_portion_of_its_partition_and_a_new_partition_does_not(monkeypatch):
    monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", 12)
    m = Manifests()
    large = [of_partitions(*range(p, p + 5), size=5, manifests=m) for p in (0, 5, 10)]
    small = [of_partitions(3, 8, 13, manifests=m, kind=FileKind.DELETE), of_partitions(2, 9, 99, tag="n", manifests=m)]
    merged = m.merge([*large, *small], target=5, full=1, types=TYPES)
    assert [[e.file.file_name for e in m.held[name]] for name in merged[2:]] == [
        ["0", "1", "2", "2n", "4", "99n"],
        ["8", "9n", "13"],
    ]


def test_manifests_after_the_merged_small_ones_keep_their_place(monkeypatch):
    """A DELETE entry stays after the ADD entry of its file, which a later commit added."""
    monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", 8)
    m = Manifests()
    large = [of_partitions(*range(p, p + 5), size=5, manifests=m) for p in (0, 5, 10)]
    small = [
        of_partitions(7, 12, manifests=m, kind=FileKind.DELETE),
        of_partitions(6, 11, tag="new", manifests=m),
        of_partitions(6, 11, tag="new", manifests=m, kind=FileKind.DELETE),
    ]
    merged = m.merge([*large, *small], target=5, full=1, types=TYPES)
    assert merged == ["m0", "m2", "m6", "m7", "m5"]


def test_entries_of_a_bucket_stay_in_the_order_of_the_commits():
    m = Manifests()
    files = [of_partitions(5, tag="a", manifests=m), of_partitions(3, 5, tag="b", manifests=m)]
    m.merge([*files, of_partitions(7, tag="c", manifests=m)], full=1, types=TYPES)
    assert [name for names in m.written for name in names] == ["3b", "5a", "5b", "7c"]


@pytest.mark.parametrize("types", [TYPES, None])
def test_a_full_merge_keeps_all_files_however_few_it_opens(monkeypatch, types):
    numbers = random.Random(5)
    for _ in range(50):
        monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", numbers.choice([5, 12, 40, 1000]))
        m = Manifests()
        target = numbers.choice([1, 4, 9, 1000])
        many = [
            of_partitions(*sorted(numbers.sample(range(40), numbers.randint(1, 12))), tag=f"f{n}", manifests=m)
            for n in range(12)
        ]
        files = list(many)
        for _ in range(8):  # commits that delete files and add others
            live = {e.file.file_name: e for f in files for e in m.held[f.file_name] if e.kind is FileKind.ADD}
            left = sorted(m.live(files))
            gone = [replace(live[name], kind=FileKind.DELETE) for name in numbers.sample(left, len(left) // 4)]
            new = of_partitions(*numbers.sample(range(40), 3), tag=f"n{len(m.held)}", manifests=m)
            files = m.merged([*files, m.new(*gone), new], target=target, full=1, types=types)  # compares live files
        for _ in range(60):
            files = m.merged(files, target=target, full=1, types=types)
        assert not [e for f in files for e in m.held[f.file_name] if e.kind is FileKind.DELETE]


def test_commits_merge_by_the_options():
    context = fake_table(**{"manifest.merge-min-count": "5"})
    for _ in range(12):
        append(context)
    snapshot = context.snapshots.latest()
    lengths = [
        len(context.manifests.read_list(context.snapshots.read(i).base_manifest_list)) for i in context.snapshots.ids()
    ]
    assert lengths == [0, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3]
    assert len(live(context, snapshot)) == 12
    check_whole(context)
