"""A quick check of many files works on columns of manifests and creates values for findings only."""

import dataclasses
from collections import Counter

import numpy as np
import pytest

from paimon_core.fsck.check import check
from paimon_core.fsck.checked_entries import CheckedEntries
from paimon_core.fsck.finding import Level
from paimon_core.fsck.known_names import KnownNames, in_order, name_hashes, share_none
from paimon_core.fsck.live_parts import LiveParts, _Part
from paimon_core.metadata.column_stats import EMPTY_ROW, ColumnStats
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support import broken_tables as broken
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, key, message

COUNT = 300


def many(context):
    """Commit ``COUNT`` files of level 5 with keys of their own, then replace the last one."""
    files = [fake_file(context, 10 * n, 10 * n + 9, level=5) for n in range(COUNT)]
    append(context, *files)
    append(context)
    changed = message(context, fake_file(context, 10 * COUNT, level=5, high=10 * COUNT + 9), deleted=(files[-1],))
    commit([changed], context=context, user="u")
    return files


def path_of(context, file):
    return context.paths.data_file("p=a", 0, file.file_name)


def test_no_value_per_file_is_created(created):
    context = fake_table()
    many(context)
    created.clear()
    report = check(broken.fresh(context))
    assert report.findings == ()
    assert report.checked["I8"] == COUNT + 3
    assert report.checked["I9"] == COUNT + 2
    assert sum(created) == 0


def test_values_are_created_for_findings_only_and_are_in_order(created):
    context = fake_table()
    files = many(context)
    missing, short = files[200], files[100]
    context.storage.delete([path_of(context, missing)])
    context.storage.overwrite(path_of(context, short), b"row")
    created.clear()
    report = check(broken.fresh(context))
    assert [(f.invariant, f.path) for f in report.findings] == [("I6", path_of(context, f)) for f in (short, missing)]
    assert "3 bytes instead of the recorded 4" in report.findings[0].message
    assert report.checked["I6"] == check(broken.fresh(context)).checked["I6"] > COUNT
    assert sum(created[: len(created) // 2]) == 2


def test_files_that_share_keys_among_many():
    context = fake_table()
    append(context)
    files = [fake_file(context, 10 * n, 10 * n + 9, level=5) for n in range(COUNT)]
    entries = [*files, fake_file(context, 505, 506, level=5), fake_file(context, 77, 76)]
    broken.record(context, *map(broken.added, entries))
    found = [f.message for f in check(broken.fresh(context)).findings if f.level is not Level.INFO]
    assert len(found) == 2
    assert "has a minimum key above its maximum key" in found[0]
    assert f"files {files[50].file_name} and " in found[1]


def test_a_local_directory_is_listed_once_unless_it_has_another_file(tmp_path, monkeypatch):
    context = fake_table(FsspecStorage("file"), root=str(tmp_path / "db.db" / "t"))
    many(context)
    listed = Counter()

    def counted(real):
        return lambda self, path: listed.update([path]) or real(self, path)

    for name in ("list", "file_sizes"):
        monkeypatch.setattr(FsspecStorage, name, counted(getattr(FsspecStorage, name)))
    place = path_of(context, DataFile("x", 0, 0, 0)).rpartition("/")[0]
    clean = check(broken.fresh(context))
    assert clean.findings == ()
    assert listed[place] == 1
    context.storage.write(f"{place}/data-other.parquet", b"12345")
    report = check(broken.fresh(context))
    assert [f.message for f in report.findings] == ["nothing references p=a/bucket-0/data-other.parquet (5 bytes)"]
    assert report.checked["I29"] == clean.checked["I29"] + 1
    context.storage.delete([f"{place}/data-other.parquet"])
    context.storage.write(f"{place}/below/data-other.parquet", b"12345")
    report = check(broken.fresh(context))
    assert [f.path for f in report.findings] == [f"{place}/below/data-other.parquet"]


def entry(**changes):
    stats = ColumnStats(key(1), key(2), (0, None))
    file = DataFile("f", 1, 10, 0, value_stats=stats, extra_files=("x",), creation_time_millis=0)
    return ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 2, dataclasses.replace(file, **changes))


CHANGES = [
    {"file_size": 2},
    {"delete_row_count": 0},
    {"creation_time_millis": None},
    {"value_stats": ColumnStats(key(1), key(3), (0, None))},
    {"value_stats": ColumnStats(key(1), key(2), (0, 0))},
    {"value_stats_cols": ()},
    {"embedded_index": b"i" * 5000},
    {"embedded_index": b"i" * 5001},
    {"write_cols": ("k",)},
    {"min_key": key(7)},
]


@pytest.mark.parametrize("changes", CHANGES, ids=range(len(CHANGES)))
def test_a_change_of_any_value_changes_the_hash_of_the_record(changes):
    entries = [entry(), entry(**changes), entry()]
    found = CheckedEntries.of(tuple(entries), whole=False)
    assert found.record[0] == found.record[2]
    assert found.record[0] != found.record[1]
    assert (found.identity[0] == found.identity[1]) == (entries[0].identity == entries[1].identity)
    other = CheckedEntries.of(tuple([dataclasses.replace(entries[0], kind=FileKind.DELETE)] * 5000), whole=False)
    assert set(other.record.tolist()) == {int(found.record[0])}


def test_long_values_differ_after_the_bytes_that_are_hashed():
    found = CheckedEntries.of(tuple(entry(embedded_index=b"i" * 5000 + end) for end in (b"a", b"b")), whole=False)
    assert found.identity[0] != found.identity[1]


def test_known_names_keep_the_older_value():
    known = KnownNames()
    names = name_hashes([b"n%d" % n for n in range(100)])
    for start in range(0, 100, 7):
        known.add(names[start : start + 7], np.arange(start, min(start + 7, 100)))
    known.add(names[3:5], np.array([1000, 1001]))
    found, values = known.find(np.append(names, name_hashes([b"other"])))
    assert found.tolist() == [True] * 100 + [False]
    assert values[:100].tolist() == list(range(100))


def entries_of(identity, record):
    columns = EntryColumns.of_entries([entry() for _ in identity])
    return CheckedEntries(columns, np.array(identity, np.int64), np.array(record, np.int64))


@pytest.mark.parametrize("seed", range(20))
def test_many_files_are_found_as_few_are(monkeypatch, seed):
    """Hashes that share none with others, or records that are all live, are found with one sort."""
    numbers = np.random.default_rng(seed)
    live = LiveParts()
    live._parts = [_Part(entries_of(range(first, first + 5), numbers.integers(0, 2, 5))) for first in (0, 5, 10)]
    for removed in numbers.integers(0, 15, int(numbers.integers(0, 3))).tolist():
        live.remove(removed)
    low = int(numbers.integers(0, 20))
    identity = numbers.integers(low, low + 8, 3)
    record = numbers.integers(0, 2, 3)
    names = KnownNames()
    names.add(np.arange(0, 20, 2), np.arange(10))
    found = []
    for many in (0, 10**9):
        monkeypatch.setattr("paimon_core.fsck.live_parts.MANY", many)
        monkeypatch.setattr("paimon_core.fsck.known_names.MANY", many)
        pairs = identity * 2 + record  # a record is a hash of the identity, too
        for part in live._parts:
            part.entries = dataclasses.replace(part.entries, record=part.entries.identity * 2 + part.entries.record % 2)
        found.append([live.find(identity), live.differ(identity, pairs), *names.find(identity)])
    for few, many in zip(*found, strict=True):
        assert few.tolist() == many.tolist()


def test_equal_hashes_keep_their_order():
    hashes = np.random.default_rng(0).integers(0, 50, 1000)
    assert in_order(hashes).tolist() == np.argsort(hashes, kind="stable").tolist()
    assert share_none(np.arange(5), np.arange(5, 9))
    assert not share_none(np.arange(5), np.arange(4, 9))
    assert share_none()


def test_a_manifest_that_a_merge_replaced_is_decoded_once(monkeypatch):
    context = fake_table(**{"manifest.merge-min-count": "2"})
    for n in range(6):
        append(context, fake_file(context, 10 * n, 10 * n + 9, level=5))
    read = Counter()
    real = ManifestStore.read_entries
    monkeypatch.setattr(
        ManifestStore, "read_entries", lambda self, name, *a, **k: read.update([name]) or real(self, name, *a, **k)
    )
    assert check(broken.fresh(context)).findings == ()
    snapshots = [context.snapshots.read(n) for n in context.snapshots.ids()]
    replaced = {m.file_name for s in snapshots for m in context.manifests.manifests_of(s)}
    replaced -= {m.file_name for m in context.manifests.manifests_of(snapshots[-1])}
    assert replaced
    assert {read[name] for name in replaced} == {1}
