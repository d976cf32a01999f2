"""Index changes: deletion vectors follow their files, and a commit that would lose one conflicts."""

from dataclasses import replace

import numpy as np
import pytest

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict, UnsupportedFeature
from paimon_core.metadata.commit_message import CommitMessage, deletions
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.index_manifest import IndexEntry, IndexFile
from paimon_core.table_indexes.bucket_vectors import dropping_vectors
from paimon_core.table_indexes.vector_file import write_vectors
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, message, partition


def a_table(*files, **options):
    """A table with these files, each of 10 rows, in one partition, and one index file with a vector of each."""
    context = fake_table(keyed=False, **{"deletion-vectors.enabled": "true", **options})
    found = [fake_file(context) for _ in files]
    commit([message(context, f) for f in found], context=context, user="u")
    (index,) = write_vectors(context, {f.file_name: np.array([1]) for f in found})
    vectors(context, new=(index,))
    return context, found, index


def vectors(context, new=(), old=(), **members):
    total = -1 if context.options["bucket"] < 1 else context.options["bucket"]
    made = CommitMessage(partition("a"), 0, total, new_indexes=tuple(new), deleted_indexes=tuple(old), **members)
    return commit([made], context=context, user="u")[-1]


def held(context):
    latest = context.snapshots.latest()
    return [e.file for e in context.manifests.read_indexes(latest.index_manifest)]


def test_vectors_are_an_overwrite_and_stay_until_they_are_replaced():
    context, (file,), index = a_table("one")
    snapshot = context.snapshots.latest()
    assert (snapshot.id, snapshot.commit_kind, snapshot.delta_record_count) == (2, "OVERWRITE", 0)
    assert append(context).index_manifest == snapshot.index_manifest
    (more,) = write_vectors(context, {file.file_name: np.array([1, 2])})
    vectors(context, new=(more,), old=(index,))
    assert held(context) == [more]
    vectors(context, old=(more,))
    assert context.snapshots.latest().index_manifest is None


def test_a_replaced_partition_and_a_deleted_one_lose_their_vectors():
    context, _, _ = a_table("one")
    commit([], context=context, user="u", overwrite=Overwrite(lambda p: p == partition("b")))
    assert len(held(context)) == 1
    commit([], context=context, user="u", overwrite=Overwrite(lambda p: p == partition("a")))
    assert context.snapshots.latest().index_manifest is None
    context, files, _ = a_table("one", "two")
    entries = [ManifestEntry(FileKind.ADD, partition("a"), 0, -1, f) for f in files]
    with pytest.raises(CommitConflict, match=f"rows of file {files[1].file_name} were deleted"):
        commit(deletions(entries[1:]), context=context, user="u")
    for entry in entries:
        commit(dropping_vectors(context, deletions([entry])), context=context, user="u")
        assert {v.data_file for f in held(context) for v in f.vectors} == {files[1].file_name} - {entry.file.file_name}
    assert context.snapshots.latest().index_manifest is None


def test_a_compaction_of_a_file_that_has_got_a_vector_conflicts():
    context, (file,), index = a_table("one")
    packed = fake_file(context)
    compacted = {"compact_before": (file,), "compact_after": (packed,)}
    with pytest.raises(CommitConflict, match=f"rows of file {file.file_name} were deleted by another commit"):
        vectors(context, **compacted)
    (more,) = write_vectors(context, {file.file_name: np.array([1, 2])})
    vectors(context, new=(more,), old=(index,))
    with pytest.raises(CommitConflict, match=f"index file {index.file_name} is no longer in the table"):
        vectors(context, **compacted, compact_deleted_indexes=(index,))
    vectors(context, **compacted, compact_deleted_indexes=(more,))
    assert context.snapshots.latest().index_manifest is None


@pytest.mark.parametrize(
    ("old", "problem"),
    [("", "would have two deletion vectors"), ("gone", "is no longer in the table, but the commit deletes rows")],
)
def test_vectors_that_do_not_fit_the_table_conflict(old, problem):
    context, (file,), _ = a_table("one")
    (more,) = write_vectors(context, {old or file.file_name: np.array([2])})
    with pytest.raises(CommitConflict, match=problem):
        vectors(context, new=(more,))


def test_a_fixed_bucket_has_one_index_file():
    context, (_, two), index = a_table("one", "two", **{"bucket": "2", "bucket-key": "k"})
    rest = replace(index, file_name="index-other", vectors=index.vectors[1:])
    with pytest.raises(CommitConflict, match="two files of deletion vectors"):
        vectors(context, new=(rest,))
    vectors(context, new=(rest,), old=(index,))
    assert [v.data_file for f in held(context) for v in f.vectors] == [two.file_name]


def test_tables_with_indexes_that_this_library_does_not_write_are_refused():
    for keyed, kind in ((True, "HASH"), (False, "btree")):
        context = fake_table(keyed=keyed)
        file = fake_file(context)
        snapshot = append(context, file)
        name = context.manifests.write_indexes([IndexEntry(partition("a"), 0, IndexFile(kind, "index-1", 4, 1))])
        context.snapshots.publish(replace(snapshot, id=2, uuid="x", index_manifest=name))
        entry = ManifestEntry(FileKind.ADD, partition("a"), 0, 2 if keyed else -1, file)
        with pytest.raises(UnsupportedFeature, match=f"index-1 of type {kind}"):
            commit(deletions([entry]), context=context, user="u")
        if keyed:
            with pytest.raises(UnsupportedFeature, match="index-1 of type HASH"):
                append(context)
        else:
            assert append(context).index_manifest == name


def test_a_second_hash_index_of_a_bucket_conflicts_also_behind_an_index_of_another_type():
    first, second = (IndexFile("HASH", f"index-{n}", 4, 1) for n in "12")
    context = fake_table(keyed=True, **{"bucket": "-1", "deletion-vectors.enabled": "true"})
    file = fake_file(context, level=5)
    commit([message(context, file)], context=context, user="u")
    (index,) = write_vectors(context, {file.file_name: np.array([1])})
    vectors(context, new=(index,))
    vectors(context, new=(first,))
    assert held(context)[0].index_type != "HASH"
    with pytest.raises(CommitConflict, match="would have two hash indexes, index-2 is one"):
        vectors(context, new=(second,))
