import numpy as np
import pytest

from paimon_core.commit.base import Base
from paimon_core.commit.conflicts import check_changes
from paimon_core.errors import CommitConflict
from paimon_core.metadata.column_stats import EMPTY_ROW
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.constant_columns import joined, memory_of, shared, taken
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.metadata.manifests.named_entries import FileNames, all_names
from paimon_core.metadata.snapshot import CommitKind


def entry(name, bucket=0, kind=FileKind.ADD, total=2, **file):
    return ManifestEntry(kind, EMPTY_ROW, bucket, total, DataFile(name, 1, 10, 0, **file))


@pytest.mark.parametrize("as_columns", [True, False])
def test_the_entries_with_some_names(as_columns, created):
    entries = [entry(f"f{n}", extra_files=(f"x{n}",) if n % 7 == 0 else ()) for n in range(500)]
    entries.append(entry("f3", kind=FileKind.DELETE))
    some = EntryColumns.of_entries(entries) if as_columns else tuple(entries)
    names = FileNames(["f3", "f400", "other", "x14"])
    assert names.entries(some) == [entries[3], entries[400], entries[500]]
    assert names.used(some) == {"f3", "f400", "x14"}
    assert all_names(some) == {n for e in entries for n in (e.file.file_name, *e.file.extra_files)}
    assert created == ([3] if as_columns else [])


@pytest.mark.parametrize("as_columns", [True, False])
def test_no_names_and_no_entries(as_columns):
    def form(entries):
        return EntryColumns.of_entries(entries) if as_columns else tuple(entries)

    assert FileNames([]).entries(form([entry("a")])) == []
    assert FileNames([]).used(form([entry("a")])) == set()
    assert FileNames(["a"]).entries(form([])) == []
    assert FileNames(["a"]).used(form([])) == all_names(form([])) == set()


class LiveFiles(Base):
    """A base whose only manifest has the live files."""

    manifests = (ManifestFile("m", 1, 500, 0),)

    def may_hold(self, manifest, partitions):
        return True

    def read_among(self, manifest, partitions, *, keep=True):
        return EntryColumns.of_entries([e for e in LIVE if e.partition in partitions])

    def live_columns(self, matches, among=None):
        return EntryColumns.of_entries([e for e in LIVE if matches(e.partition)])


LIVE = [entry(f"f{n}", n % 50) for n in range(500)]


def test_a_check_of_conflicts_creates_the_entries_of_the_changed_files_only(created):
    deletes = [entry("f7", 7, FileKind.DELETE), entry("f8", 8, FileKind.DELETE)]
    base = LiveFiles(Context, None)
    check_changes(base, CommitKind.COMPACT, deletes)
    assert sorted(created) == [1, 2]  # the two deleted files, and one of the other files


def test_another_number_of_buckets_is_found_in_a_bucket_that_does_not_change():
    with pytest.raises(CommitConflict, match="was written for 2 buckets, but its partition has 3"):
        check_changes(LiveFiles(Context, None), CommitKind.APPEND, [entry("new", 60, total=3, level=1)])


class Context:
    name = "db.t"

    class schema:
        primary_keys = ()

    @staticmethod
    def bucket_path(partition, bucket):
        return f"bucket-{bucket}"


def test_constant_columns_need_the_memory_of_one_value():
    same, other = shared(np.full(100, 7)), shared(np.arange(100))
    assert (memory_of(same), memory_of(other)) == (8, 800)
    assert memory_of(taken(same, np.array([1, 5, 99]))) == memory_of(taken(same, slice(3, 9))) == 8
    assert taken(same, np.array([1, 5])).tolist() == [7, 7]
    assert (memory_of(joined([same, same])), len(joined([same, same]))) == (8, 200)
    assert joined([same, shared(np.full(3, 8))]).tolist() == [7] * 100 + [8] * 3
    assert joined([same, np.array([7])]).tolist() == [7] * 101
    assert len(joined([np.zeros(0, np.int64), same])) == 100
