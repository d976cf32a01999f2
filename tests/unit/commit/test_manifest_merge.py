"""Manifest merge: the groups of format 4.7, and the same live files before and after."""

import itertools
from dataclasses import replace

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit.manifest_merge import ManifestMerge
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

    def write(self, entries):
        self.written.append([e.file.file_name for e in entries])
        return [self.new(*entries)]

    def merge(self, files, *, target=100, count=4, full=1000, types=None):
        may_hold = lambda m, partitions: any(e.partition in partitions for e in self.held[m.file_name])  # noqa: E731
        merged = ManifestMerge(self.open, self.write, may_hold, target, count, full, types).merge(files)
        assert self.live(merged) == self.live(files)
        return [m.file_name for m in merged]

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
