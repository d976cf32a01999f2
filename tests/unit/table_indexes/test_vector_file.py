from dataclasses import replace

import numpy as np
import pytest

from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.manifests.index_manifest import VectorRange
from paimon_core.table_indexes.bucket_vectors import replace_vectors, vectors_in
from paimon_core.table_indexes.vector_file import read_vector, write_vectors
from tests.support.fake_tables import fake_table, reopened
from tests.support.faulty_storage import FaultyStorage
from tests.support.outcomes import Outcome

SMALL = {"deletion-vectors.enabled": "true", "deletion-vector.index-file.target-size": "30 b"}


def at(*positions):
    return np.array(positions, np.int64)


def content(context, files):
    return {n: read_vector(context, name, v).tolist() for n, (name, v) in vectors_in(files).items()}


def index_names(context):
    return {f.name for f in context.storage.list(context.paths.index_directory)}


def test_vectors_are_read_where_they_were_written():
    context = fake_table(keyed=False)
    (file,) = write_vectors(context, {"a": at(0, 7, 14, 21, 28), "b": at(3)})
    assert file.vectors == (VectorRange("a", 1, 30, 5), VectorRange("b", 39, 22, 1))
    assert (file.file_size, file.row_count) == (69, 2)
    assert read_vector(context, file.file_name, file.vectors[0], 29).tolist() == [0, 7, 14, 21, 28]
    assert read_vector(context, file.file_name, file.vectors[1], 4).tolist() == [3]


def test_an_index_file_ends_with_the_vector_that_exceeds_the_target_size():
    context = fake_table(keyed=False, **SMALL)
    assert [f.row_count for f in write_vectors(context, {"a": at(1), "b": at(2), "c": at(3)})] == [1, 1, 1]
    assert [f.row_count for f in write_vectors(context, {"a": at(1), "b": at(2)}, single=True)] == [2]
    assert write_vectors(context, {}) == ()


def test_a_write_that_fails_leaves_no_index_file():
    context = fake_table(keyed=False, **SMALL)
    storage = FaultyStorage(context.storage)
    storage.before("write", "-1", lambda: storage.on("write", "-1", Outcome.FAIL))
    with pytest.raises(OSError):
        write_vectors(reopened(context, storage), {"a": at(1), "b": at(2)})
    assert index_names(context) == set()


@pytest.mark.parametrize(
    ("vector", "rows", "problem"),
    [
        (VectorRange("a", 1, 30, 5), 28, "deletes row 28, but the file has 28 rows"),
        (VectorRange("a", 1, 30, 4), 29, "a bitmap has 5 rows, the limit is 4"),
        (VectorRange("a", 1, 22, 5), 29, "a deletion vector of 30 bytes states a payload of 30"),
        (VectorRange("a", 1, 31, 5), 29, "has 30 bytes, but 31 are recorded"),
        (VectorRange("a", 3, 30, 5), 29, "states a payload"),
        (VectorRange("a", 900, 30, 5), 29, "has 39 bytes, but the deletion vector of a is recorded at 900 with 30"),
        (VectorRange("a", 1, 2**40, 5), 29, f"is recorded at 1 with {2**40} bytes"),
        (VectorRange("a", 1, -100, 5), 29, "is recorded at 1 with -100 bytes"),
        (VectorRange("a", -1, 30, 5), 29, "is recorded at -1 with 30 bytes"),
    ],
)
def test_a_vector_that_does_not_fit_is_corruption_of_its_index_file(vector, rows, problem):
    context = fake_table(keyed=False)
    (file,) = write_vectors(context, {"a": at(0, 7, 14, 21, 28)})
    with pytest.raises(CorruptTable, match=f"index/{file.file_name}.*{problem}"):
        read_vector(context, file.file_name, vector, rows)


def test_a_missing_file_and_another_version_are_named():
    context = fake_table(keyed=False)
    with pytest.raises(CorruptTable, match="index/gone is missing"):
        read_vector(context, "gone", VectorRange("a", 1, 30))
    context.storage.write(context.paths.index("later"), b"\x02")
    with pytest.raises(UnsupportedFeature, match="index/later"):
        read_vector(context, "later", VectorRange("a", 1, 30))


def test_only_index_files_with_a_changed_vector_are_replaced_without_fixed_buckets():
    context = fake_table(keyed=False, **SMALL)
    there = write_vectors(context, {"a": at(1), "b": at(2)})
    assert replace_vectors(context, there, {}, {"other"}) == ((), ())
    added, deleted = replace_vectors(context, there, {"b": at(2, 3)}, set())
    assert deleted == there[1:]
    assert content(context, added) == {"b": [2, 3]}
    assert replace_vectors(context, there, {}, {"a"}) == ((), there[:1])
    (pair,) = write_vectors(context, {"a": at(1), "b": at(2)}, single=True)
    added, deleted = replace_vectors(context, (pair, replace(there[0], vectors=())), {}, {"a"})
    assert deleted == (pair,)
    assert content(context, added) == {"b": [2]}


def test_the_index_file_of_a_fixed_bucket_is_replaced_as_a_whole():
    context = fake_table(**SMALL)
    there = write_vectors(context, {"a": at(1), "b": at(2)}, single=True)
    added, deleted = replace_vectors(context, there, {"c": at(9)}, {"a"})
    assert deleted == there
    assert len(added) == 1
    assert content(context, added) == {"b": [2], "c": [9]}
