"""Hash index files: their bytes, and damaged ones."""

import numpy as np
import pytest

from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.manifests.index_manifest import IndexFile
from paimon_core.table_indexes.hash_file import read_hashes, write_hashes
from tests.support.fake_tables import fake_table


def test_hashes_are_big_endian_integers():
    context = fake_table()
    file = write_hashes(context, np.array([7, -2], np.int32))
    assert context.storage.read(context.paths.index(file.file_name)) == b"\xff\xff\xff\xfe\x00\x00\x00\x07"
    assert (file.index_type, file.file_size, file.row_count) == ("HASH", 8, 2)
    assert read_hashes(context, file).tolist() == [-2, 7]


@pytest.mark.parametrize(("size", "rows"), [(8, 3), (12, 2), (8, 1)])
def test_a_file_of_another_size_than_recorded_is_corrupt(size, rows):
    context = fake_table()
    name = write_hashes(context, np.array([7, -2], np.int32)).file_name
    with pytest.raises(CorruptTable, match="has 8 bytes"):
        read_hashes(context, IndexFile("HASH", name, size, rows))


def test_a_missing_file_is_corrupt_and_one_outside_of_the_table_is_refused():
    context = fake_table()
    with pytest.raises(CorruptTable, match="index/gone is missing"):
        read_hashes(context, IndexFile("HASH", "gone", 8, 2))
    with pytest.raises(UnsupportedFeature, match="outside of the table"):
        read_hashes(context, IndexFile("HASH", "gone", 8, 2, external_path="/elsewhere"))
