import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidOption, SnapshotNotFound, TagNotFound
from paimon_core.spark.reference import TableReference


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": 1, "num-sorted-run.compaction-trigger": 10, "ignore-delete": True}
    found = catalog.create_table("db.t", {"id": "INT NOT NULL", "v": "STRING"}, primary_key=["id"], options=options)
    found.write([{"id": 1, "v": "one"}])
    return found


def files(table):
    return table.inspect.files().to_pylist()


def test_options_of_one_handle_are_obeyed_and_not_stored(table):
    other = table.with_options({"file.format": "orc", "num-sorted-run.compaction-trigger": 1, "write-only": True})
    other.write([{"id": 1, "v": "1"}, {"id": 2, "v": "two"}])
    assert sorted(f["file_name"].rpartition(".")[2] for f in files(table)) == ["orc", "parquet"]
    assert not table.compact()
    assert other.compact().snapshot.id == 3
    assert [f["file_name"].rpartition(".")[2] for f in files(table)] == ["orc"]
    assert table.refresh().schema == table.schema == other.schema
    assert other.refresh().options["file.format"] == "orc"
    assert other.alter("ADD COLUMN note STRING").schema.options == table.schema.options
    assert table.scan().to_arrow()["v"].to_pylist() == ["1", "two"]


def test_later_options_replace_earlier_ones_and_survive_a_branch_and_a_task(table):
    other = table.with_options({"file.format": "orc"}).with_options({"file.compression": "gzip"})
    table.branches.create("b")
    for options in (other.options, other.branch("b").options, TableReference.of(other.context).open().options):
        assert (options["file.format"], options["file.compression"]) == ("orc", "gzip")
    assert other.with_options({"write.compaction-skip": True}).options["write-only"] is True
    assert other.at(snapshot=1).options["file.format"] == "orc"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("bucket", 2, "all handles of a table need the same value"),
        ("sequence.field", "v", "all handles of a table need the same value"),
        ("fields.v.aggregate-function", "max", "all handles"),
        ("merge-engine", "first-row", "cannot change once the table has a snapshot"),
        ("ignore-delete", False, "from true to false"),
        ("type", "format-table", "never changes"),
        ("owner", "me", "is not an option of Paimon"),
        ("read.batch-size", 5, "this library does not use it"),
        ("file.fromat", "orc", "did you mean 'file.format'"),
        ("target-file-size", 128, "'128 b' or '128 mb'"),
        ("commit.timeout", "5", "'5 ms' or '5 s'"),
        ("file.format", None, "'file.format' = None: the value must be text"),
        ("file.format", "lance", "file.format = 'lance'"),
        ("scan.mode", "from-snapshot", "scan.mode = from-snapshot needs"),
    ],
)
def test_options_that_one_handle_cannot_have(table, key, value, message):
    with pytest.raises(InvalidOption, match=message):
        table.with_options({key: value})


def test_an_unchanged_option_is_accepted(table):
    assert table.with_options({"bucket": 1, "ignore-delete": "true"}).options["bucket"] == 1


@pytest.mark.parametrize("stored", ["'scan.tag-name' = 'one'", "'scan.mode' = 'from-snapshot', 'scan.version' = 'one'"])
def test_the_snapshot_of_a_handle_wins_over_one_that_is_stored_later(table, stored):
    table.tags.create("one")
    table.write([{"id": 2, "v": "two"}])
    handle = table.with_options({"scan.snapshot-id": 2})
    table.alter(f"SET ({stored})")
    for later in (handle.refresh(), handle.alter("SET ('write-only' = 'true')")):
        assert later.scan().to_arrow()["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "error"), [({"scan.tag-name": "gone"}, TagNotFound), ({"scan.snapshot-id": 7}, SnapshotNotFound)]
)
def test_the_error_of_a_missing_version_names_the_option_that_selects_it(table, options, error):
    ((key, value),) = options.items()
    with pytest.raises(error, match=f"option {key} = {value} of table db.t: no (tag|snapshot)"):
        table.with_options(options).scan()
