import copy
import datetime
from dataclasses import replace

import pytest

import paimon_core as paimon
from paimon_core.alter import AddColumn, SetOption
from paimon_core.errors import InvalidOption, InvalidRequest, SnapshotNotFound, UnsupportedFeature
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.table.table import Table
from paimon_core.table.view import METHODS_OF_TABLES, TableView


@pytest.fixture
def table(warehouse):
    """Snapshots 1 (id 1, tag one), 2 (id 2, watermark 20) and, with the column note, 3 (id 3)."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    found = catalog.create_table("db.t", {"id": "INT NOT NULL"}, primary_key=["id"], options={"bucket": 1})
    found.write([{"id": 1}])
    found.tags.create("one")
    found.write([{"id": 2}], watermark=20)
    found = found.alter(AddColumn("note", "STRING"))
    found.write([{"id": 3, "note": "three"}])
    return found


def stored(table, **options):
    """The table with these options in its schema file, unchecked, as other programs write them."""
    schema = table.schema
    options = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    table.context.schemas.publish(replace(schema, id=schema.id + 1, options={**schema.options, **options}))
    return table.refresh()


def ids(table):
    return table.scan(["id"]).to_arrow()["id"].to_pylist()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("scan.snapshot-id", 2, [1, 2]),
        ("scan.tag-name", "one", [1]),
        ("scan.watermark", 20, [1, 2]),
        ("scan.version", "one", [1]),
        ("scan.version", "2", [1, 2]),
        ("scan.timestamp", "2100-01-01 00:00:00", [1, 2, 3]),
        ("scan.mode", "latest", [1, 2, 3]),
    ],
)
def test_reads_obey_the_stored_scan_options_and_writes_do_not(table, key, value, expected):
    table = table.alter(SetOption(key, value))
    assert ids(table) == expected
    assert table.scan().schema.names == (["id", "note"] if 3 in expected else ["id"])
    assert ids(table.at(snapshot=3)) == [1, 2, 3]
    assert ids(table.with_options({"scan.mode": "latest"})) == [1, 2, 3]
    assert table.with_options({"scan.tag-name": "one"}).scan().count() == 1
    table.write([{"id": 4, "note": "four"}])
    table.delete(paimon.col("id") == 3)
    assert ids(table.at(snapshot=table.latest_snapshot().id)) == [1, 2, 4]


def test_a_time_selects_the_snapshot_that_was_the_latest_then(table):
    second = table.context.snapshots.read(2).time_millis
    table = stored(table, scan__timestamp_millis=str(second))
    assert ids(table) == [1, 2]
    with pytest.raises(SnapshotNotFound):
        ids(stored(table, scan__timestamp_millis="1"))


def test_a_scan_mode_that_is_not_known_is_refused_by_reads(table):
    table = stored(table, scan__mode="first-delta")
    with pytest.raises(UnsupportedFeature, match=r"table db\.t .*'scan\.mode'"):
        table.scan()
    assert table.write([{"id": 4, "note": None}]).id == 4
    assert ids(table.at(snapshot=1)) == [1]
    assert ids(table.with_options({"scan.snapshot-id": 2})) == [1, 2]


def test_compacted_full_reads_the_last_compaction_or_else_the_latest(table):
    mode = {"scan.mode": "compacted-full"}
    assert ids(table.with_options(mode)) == [1, 2, 3]
    table.compact(full=True)
    table.write([{"id": 4, "note": None}])
    assert ids(table.with_options(mode)) == [1, 2, 3]
    table = stored(table, scan__mode="compacted-full")
    assert ids(table) == [1, 2, 3]
    assert ids(stored(table, full_compaction__delta_commits="2")) == [1, 2, 3]


def test_latest_delta_reads_what_the_latest_snapshot_added(table):
    delta = table.with_options({"scan.mode": "latest-delta"})
    assert ids(delta) == [3]
    assert delta.scan().count() == 1
    table.compact(full=True)
    assert ids(delta) == []
    with pytest.raises(UnsupportedFeature, match="only a scan"):
        delta.reading()


def test_files_from_a_creation_time_on(table):
    """Files are told apart by their own time, so that a compaction makes all rows new."""
    times = [f.creation_time_millis for f in table.scan().plan.files]
    third = epoch_millis(max(times))
    recent = table.with_options({"scan.file-creation-time-millis": third})
    assert third > epoch_millis(min(times))
    assert ids(recent) == [3]
    scan = recent.scan()
    assert (scan.count(), scan.min("id"), len(scan.to_polars())) == (1, 3, 1)
    assert dict(scan.explain().skipped) == {"creation time": 2}
    assert ids(table.with_options({"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": 0})) != []
    assert ids(table.with_options({"scan.file-creation-time-millis": 2**62})) == []
    with pytest.raises(UnsupportedFeature, match="only a scan"):
        recent.reading()
    with pytest.raises(InvalidOption, match="from-file-creation-time needs"):
        table.with_options({"scan.mode": "from-file-creation-time"})
    table.compact(full=True)
    assert ids(recent) == [1, 2, 3]


def test_a_creation_timestamp_selects_a_snapshot_or_else_files(table):
    times = [table.context.snapshots.read(i).time_millis for i in (1, 2, 3)]
    assert ids(table.with_options({"scan.creation-time-millis": times[1]})) == [1, 2]
    assert ids(table.with_options({"scan.creation-time-millis": times[2] + 1})) == []
    assert ids(table.with_options({"scan.creation-time-millis": 0})) == [1, 2, 3]


def test_times_may_be_texts_and_dates(table):
    second = datetime.datetime.fromtimestamp(table.at(snapshot=2).pinned.time_millis / 1000)
    for time in (second, second.isoformat(), second.astimezone(datetime.UTC).isoformat(sep=" ")):
        assert table.at(time=time).pinned.id == 2
    tomorrow = datetime.date.today() + datetime.timedelta(days=2)
    assert table.at(time=tomorrow).pinned.id == 3
    assert table.at(time=tomorrow.isoformat()).pinned.id == 3
    with pytest.raises(SnapshotNotFound):
        table.at(time=datetime.date(2001, 1, 1))
    for wrong in ("yesterday", "2026-13-01", 1.5, True):
        with pytest.raises(InvalidRequest, match="time"):
            table.at(time=wrong)


def test_scan_options_that_contradict_each_other_are_refused(table):
    with pytest.raises(InvalidOption, match="exclude each other"):
        table.alter("SET ('scan.snapshot-id' = 1, 'scan.tag-name' = 'one')")
    with pytest.raises(InvalidOption, match="exclude each other"):
        stored(table, scan__snapshot_id="1", scan__tag_name="one").scan()


def test_a_table_is_shown_by_its_name_and_snapshot(table):
    assert repr(table) == "Table(db.t)"
    assert repr(table.at(snapshot=1)) == "TableView(db.t at snapshot 1)"


# -- views and tables


def names_of(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def test_a_view_knows_what_only_tables_have():
    assert names_of(Table) - names_of(TableView) == METHODS_OF_TABLES


@pytest.mark.parametrize("name", sorted(METHODS_OF_TABLES))
def test_a_view_says_where_to_write(table, name):
    with pytest.raises(AttributeError, match=rf"^table db\.t at snapshot 2 is read-only: call {name} on catalog"):
        getattr(table.at(snapshot=2), name)
    assert not hasattr(table.at(tag="one"), name)
    assert hasattr(table, name)


def test_other_names_are_missing_as_in_any_class(table):
    for handle in (table, table.at(snapshot=1)):
        with pytest.raises(AttributeError, match=r"object has no attribute 'scna'"):
            handle.scna  # noqa: B018
    assert copy.copy(table.at(snapshot=1)) == table.at(snapshot=1)
    assert not hasattr(TableView.__new__(TableView), "__setstate__")  # as pickle asks for it


def test_what_a_view_returns_is_a_view_and_a_table_returns_tables(table):
    table.branches.create("side", tag="one")
    view = table.at(snapshot=1)
    optioned = view.with_options({"read.allow.fullScan": True})
    for of in (view.branch("side"), view.refresh(), optioned, view.at(snapshot=2)):
        assert type(of) is TableView
    assert optioned.pinned == view.pinned
    assert (
        view.with_options({"scan.snapshot-id": 2}).pinned is view.refresh().pinned is view.branch("side").pinned is None
    )
    with pytest.raises(AttributeError, match=r"^table db\.t\$branch_side is read-only: call write on catalog"):
        view.branch("side").write([])
    pinning = table.with_options({"scan.snapshot-id": 1})
    for of in (pinning, table.branch("side"), table.refresh()):
        assert type(of) is Table
    assert type(pinning.reading()) is TableView
    assert (ids(pinning), pinning.write([{"id": 9, "note": ""}]).id) == ([1], 4)  # the option is for reads
    with table.lease(datetime.timedelta(hours=1)) as leased:
        assert type(leased) is TableView
    assert type(table.prepare([{"id": 8, "note": ""}]).table) is TableView


def test_a_tag_of_a_view_is_on_its_snapshot(table):
    assert table.at(snapshot=2).tags.create("two").snapshot.id == 2
