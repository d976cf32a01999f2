import pytest

from paimon_core.errors import CorruptTable, StorageError
from paimon_core.table_indexes.index_reads import index_read_errors


@pytest.mark.parametrize(
    ("raised", "expected", "problem"),
    [
        (FileNotFoundError("gone"), CorruptTable, "index file t/index-1 is missing"),
        (OSError("timed out"), StorageError, "cannot read t/index-1: timed out"),
        (StorageError("the store says no"), StorageError, "^the store says no"),
    ],
)
def test_a_missing_file_is_corruption_and_a_failing_store_a_storage_error(raised, expected, problem):
    with pytest.raises(expected, match=problem), index_read_errors("t/index-1"):
        raise raised
