import pytest

import paimon_core as paimon
from paimon_core.compact import append
from paimon_core.compact.append import pick_append, rewrite_append
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.index_manifest import IndexFile, VectorRange
from paimon_core.options import TableOptions

OPTIONS = TableOptions.parse({"target-file-size": "100 b", "source.split.open-file-cost": "0 b"})


def file(name, size, first=0):
    return DataFile(name, size, 1, 0, min_sequence_number=first, max_sequence_number=first)


def picked(files, **arguments):
    unit = pick_append(files, OPTIONS, **{"full": False, "ordered": False} | arguments)
    return [[f.file_name for f in group] for group in unit.groups] if unit else []


def test_five_small_files_are_packed():
    files = [file(n, 10) for n in "abcde"]
    assert picked(files) == [list("abcde")]
    assert picked(files[:4]) == []
    assert picked(files[:2], full=True) == [["a", "b"]]
    assert picked(files[:1], full=True) == []


def test_twice_the_target_is_enough():
    assert picked([file(n, 69) for n in "abcde"]) == [["a", "b", "c"]]


def test_the_smallest_files_are_packed_first_and_each_counts_the_cost_of_opening_it():
    sizes = {"a": 60, "b": 10, "c": 50, "d": 20, "e": 30, "f": 5}
    files = [file(name, size) for name, size in sizes.items()]
    costly = TableOptions.parse({"target-file-size": "100 b", "source.split.open-file-cost": "40 b"})
    unit = pick_append(files, costly, full=False, ordered=False)
    assert [[f.file_name for f in group] for group in unit.groups] == [list("fbde")]
    assert picked(files) == [list("fbdeca")]
    assert picked(files, ordered=True) == [list("abcdef")]


def test_files_with_vectors_in_one_index_file_are_packed_together():
    def vector(name, cardinality):
        return VectorRange(name, 1, 30, cardinality)

    files = [DataFile(n, 10, 100, 0, min_sequence_number=0, max_sequence_number=99) for n in "abcdef"]
    vectors = {"a": ("index-1", vector("a", 1)), "b": ("index-2", vector("b", 21)), "c": ("index-1", vector("c", 1))}
    assert picked(files, vectors=vectors | {"b": ("index-2", vector("b", 20))}) == []
    assert picked(files, vectors=vectors) == [["b", "a", "c"]]
    assert picked(files, vectors=vectors, full=True) == [["b", "a", "c"], ["d", "e", "f"]]


def test_large_files_are_left():
    assert picked([file("big", 70), *[file(n, 1) for n in "abcde"]]) == [list("abcde")]


def test_ordered_buckets_pack_neighbours_only():
    files = [file("a", 10, 0), file("b", 10, 1), file("big", 90, 2), file("c", 10, 3), file("d", 10, 4)]
    assert picked(files, full=True, ordered=True) == [["a", "b"], ["c", "d"]]
    assert picked(files, full=True) == [["a", "b", "c", "d"]]


@pytest.mark.parametrize(
    "unit", [AppendUnit(((file("a", 1), file("b", 1)),)), CompactionUnit(5, (file("a", 1),), True, True, 3)]
)
def test_tasks_travel_as_bytes(unit):
    index = IndexFile("DELETION_VECTORS", "index-1", 39, 1, (VectorRange("a", 1, 30, 5),))
    task = CompactionTask(b"\x00" * 12, 1, 2, unit, of_full_table=True, indexes=(index,))
    assert CompactionTask.from_bytes(task.to_bytes()) == task
    assert task.input_bytes == len(unit.files)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"version":1}', b'{"version":1,"partition":{"b":"AA=="}}'])
def test_other_bytes_are_refused(data):
    with pytest.raises(InvalidRequest):
        CompactionTask.from_bytes(data)
    with pytest.raises(UnsupportedFeature, match="9"):
        CompactionTask.from_bytes(b'{"version": 9}')


def test_a_rewrite_that_fails_deletes_its_files_and_their_indexes(warehouse, monkeypatch):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"file-index.bloom-filter.columns": "k", "file-index.in-manifest-threshold": "0 b", "write-only": "true"}
    table = catalog.create_table("db.t", "k INT", options=options)
    for k in range(2):
        table.write([{"k": k}])
    entries = table.context.manifests.entries_of(table.latest_snapshot())
    before, inner, calls = table.maintenance.check().findings, append.rewrite_files, []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError("no space")
        return inner(*arguments)

    monkeypatch.setattr(append, "rewrite_files", failing)
    unit = AppendUnit(tuple((e.file,) for e in entries))
    with pytest.raises(OSError, match="no space"):
        rewrite_append(table.context, entries[0].partition, entries[0].bucket, unit)
    assert table.maintenance.check().findings == before
