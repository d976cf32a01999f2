import pytest

from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.storage.paths import FileNames, TablePaths, component, database_path, partition_path, table_path

PATHS = TablePaths("/lake/db.db/t")


def test_the_paths_of_files():
    assert database_path("/lake", "db") == "/lake/db.db"
    assert table_path("/lake", "db", "t") == "/lake/db.db/t"
    assert PATHS.snapshot(3) == "/lake/db.db/t/snapshot/snapshot-3"
    assert PATHS.tag("eod") == "/lake/db.db/t/tag/tag-eod"
    assert PATHS.data_file("", 2, "data-x-0.parquet") == "/lake/db.db/t/bucket-2/data-x-0.parquet"
    assert PATHS.data_file("dt=1", -2, "f") == "/lake/db.db/t/dt=1/bucket-postpone/f"


def test_partition_values_are_escaped():
    assert partition_path(("p", "q"), ("a b:c=d/e%f", "中|x")) == "p=a b%3Ac%3Dd%2Fe%25f/q=中|x"


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".", "", "a\\b", "a\x00b", 7])
def test_a_name_from_metadata_cannot_leave_the_table(name):
    with pytest.raises(CorruptTable):
        component(name)
    with pytest.raises(CorruptTable):
        PATHS.data_file("", 0, name)


@pytest.mark.parametrize("name", ["", " ", ".hidden", "a/b", "..", "t$files", "a\nb"])
def test_names_of_users_are_checked(name):
    with pytest.raises(InvalidRequest, match="tag name"):
        PATHS.tag(name)
    with pytest.raises(InvalidRequest, match="table name"):
        table_path("/lake", "db", name)


def test_new_names_have_increasing_numbers():
    names = FileNames("u")
    assert [names.next("data-", ".parquet"), names.next("manifest-")] == ["data-u-0.parquet", "manifest-u-1"]
    assert FileNames().token != FileNames().token
