"""Changed rows: their kinds, columns, order and filters, as a table returns them."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.errors import CorruptTable, InvalidRequest, SchemaMismatch, SnapshotNotFound
from paimon_core.table.table import Table
from tests.support import changelogs
from tests.support.changelogs import changing
from tests.support.commits import commit

SCHEMA = pa.schema([("p", pa.string()), ("k", pa.int64()), ("v", pa.string())])
KEYED = {"primary_key": ["p", "k"], "partition_by": ["p"]}
FIRST = [("+I", 0, "a", 1, "x"), ("+I", 1, "a", 2, "y")]
LATER = [("-U", 0, "a", 1, "x"), ("+U", 2, "a", 1, "xx"), ("-D", 1, "a", 2, "y")]


@pytest.fixture
def catalog(tmp_path) -> FilesystemCatalog:
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return catalog


def make(catalog, **options) -> Table:
    options = {"bucket": "1", "write-only": "true", **{k.replace("_", "-"): v for k, v in options.items()}}
    return catalog.create_table("db.t", SCHEMA, options=options, **KEYED)


def rows(*values) -> pa.Table:
    return pa.table([list(c) for c in zip(*values, strict=True)], schema=SCHEMA)


def changed(table, *range_, **query) -> list[tuple]:
    return [tuple(r.values()) for r in table.changes(*range_, **query).to_arrow().to_pylist()]


@pytest.fixture
def logged(catalog) -> Table:
    """Return a table with two snapshots: keys 1 and 2 are added, then 1 is changed and 2 is deleted."""
    table = make(catalog, changelog_producer="input")
    table.commit([changing(table.context, FIRST, FIRST, p="a")])
    merged = [("+U", 2, "a", 1, "xx"), ("-D", 3, "a", 2, "y")]
    table.commit([changing(table.context, merged, LATER, p="a")])
    return table


def test_without_a_producer_the_rows_written_are_the_changes(catalog):
    table = make(catalog)
    table.write(rows(("b", 1, "z"), ("a", 2, "y"), ("a", 1, "x")))
    table.write(rows(("a", 1, "x"), ("a", 2, "y")), pa.array(["+U", "-D"]))
    first = [("+I", "a", 1, "x"), ("+I", "a", 2, "y"), ("+I", "b", 1, "z")]
    second = [("+U", "a", 1, "x"), ("-D", "a", 2, "y")]
    assert changed(table, way="delta") == first + second
    assert changed(table, 1, way="delta") == second
    assert changed(table, 0, 1, way="delta") == first
    table.compact(full=True)
    assert changed(table, 2, way="delta") == []
    table.overwrite(rows(("a", 9, "o")))
    assert changed(table, 2, way="delta") == [("-D", "a", 1, "x"), ("+I", "a", 9, "o")]
    assert changed(table) == [("+I", "a", 9, "o"), ("+I", "b", 1, "z")]


def test_with_a_producer_its_changelog_files_are(logged):
    assert changed(logged) == [
        ("+I", "a", 1, "x"),
        ("+I", "a", 2, "y"),
        ("-U", "a", 1, "x"),
        ("+U", "a", 1, "xx"),
        ("-D", "a", 2, "y"),
    ]
    assert [tuple(r.values()) for r in logged.scan().to_arrow().to_pylist()] == [("a", 1, "xx")]


def test_rows_of_a_key_come_file_after_file(catalog):
    table = make(catalog, changelog_producer="lookup")
    context = table.context
    first = changing(context, changes=[("+I", 5, "a", 1, "x")], p="a").changelog_files
    then = changing(context, changes=[("-D", 0, "a", 0, "o"), ("-D", 5, "a", 1, "x")], p="a").changelog_files
    whole = changing(context, [("+I", 6, "a", 2, "n")], p="a")
    commit([dataclasses.replace(whole, compact_changelog=first + then)], context=context, user="u")
    assert changed(table, way="changelog") == [("+I", "a", 1, "x"), ("-D", "a", 0, "o"), ("-D", "a", 1, "x")]


def test_columns_and_their_order(logged):
    reader = logged.changes(1, columns=["v", "k"]).to_batches()
    assert reader.schema.names == ["rowkind", "v", "k"]
    assert not reader.schema.field("rowkind").nullable
    assert [tuple(r.values()) for r in reader.read_all().to_pylist()] == [
        ("-U", "x", 1),
        ("+U", "xx", 1),
        ("-D", "y", 2),
    ]


def test_a_filter_tests_each_row_alone(logged):
    assert changed(logged, where=(col("v") == "x"), columns=["k"]) == [("+I", 1), ("-U", 1)]
    assert changed(logged, where=(col("p") == "z")) == []


def test_a_table_without_key_tells_its_new_rows(catalog):
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    table.write(rows(("b", 1, "z"), ("a", 2, "y")))
    table.write(rows(("a", 3, "x")))
    assert changed(table) == [("+I", "b", 1, "z"), ("+I", "a", 2, "y"), ("+I", "a", 3, "x")]
    assert changed(table, where=col("k") == 2) == [("+I", "a", 2, "y")]


def test_no_changes_still_have_columns(catalog):
    table = make(catalog)
    assert table.changes().schema == pa.schema([pa.field("rowkind", pa.string(), nullable=False), *table.arrow_schema])
    assert changed(table) == []


def test_a_pinned_table_tells_the_changes_up_to_it(logged):
    assert len(changed(logged.at(snapshot=1))) == 2
    with pytest.raises(InvalidRequest, match="pinned"):
        logged.at(snapshot=1).changes(0, 2)


def test_what_is_wrong_is_said_at_once(logged):
    with pytest.raises(SnapshotNotFound):
        logged.changes(7)
    with pytest.raises(SchemaMismatch, match="nix"):
        logged.changes(columns=["nix"])
    with pytest.raises(InvalidRequest, match="column 7"):
        logged.changes(where="k = 1 +")


def test_batches_are_read_as_they_are_asked_for(logged):
    reader = logged.changes().to_batches()
    assert reader.read_next_batch().num_rows == 2
    logged.expire_snapshots(keep_last=1, keep_max=1)
    assert len(reader.read_all()) == 3
    reader = logged.changes(1).to_batches()
    logged.write(rows(("b", 1, "z")))
    logged.expire_snapshots(keep_last=1, keep_max=1)
    with pytest.raises(SnapshotNotFound, match="snapshot 2"):
        reader.read_all()


def test_a_data_file_that_is_gone_is_a_snapshot_that_expired_or_a_broken_table(logged):
    storage, paths = logged.context.storage, logged.context.paths
    snapshot = logged.context.snapshots.read(2)
    ((list_name, size),) = [(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)]
    (manifest,) = logged.context.manifests.read_list(list_name, size)
    (entry,) = logged.context.manifests.read_manifest(manifest.file_name)
    storage.delete([paths.data_file("p=a", 0, entry.file.file_name)])
    with pytest.raises(CorruptTable, match="missing"):
        logged.changes(1).to_arrow()
    changes = logged.changes(1)
    storage.delete([paths.snapshot(2)])
    with pytest.raises(SnapshotNotFound, match="snapshot 2"):
        changes.to_arrow()


def test_an_unknown_row_kind_is_a_broken_file(catalog, monkeypatch):
    table = make(catalog, changelog_producer="input")
    monkeypatch.setattr(changelogs, "KINDS", ("+I", 1, 2, 3, "?"))
    table.commit([changing(table.context, FIRST, [("?", 0, "a", 1, "x")], p="a")])
    with pytest.raises(CorruptTable, match="row kind"):
        changed(table, way="changelog")


def test_a_file_of_an_older_schema_has_nulls_for_what_came_later(catalog, logged):
    before = logged.context.schemas.latest()
    more = paimon.DataField(before.highest_field_id + 1, "w", paimon.types.parse_type("INT"))
    newer = dataclasses.replace(
        before, id=before.id + 1, fields=(*before.fields, more), highest_field_id=before.highest_field_id + 1
    )
    logged.context.schemas.publish(newer)
    assert changed(catalog.table("db.t"), 1, columns=["k", "w"]) == [("-U", 1, None), ("+U", 1, None), ("-D", 2, None)]


# -- messages with wrong changelog files, and changelog files in other calls


def test_changelog_files_need_a_producer_and_their_bytes(catalog, logged):
    plain = catalog.create_table("db.plain", SCHEMA, options={"bucket": "1", "write-only": "true"}, **KEYED)
    with pytest.raises(InvalidRequest, match="no changelog producer"):
        plain.commit([changing(plain.context, FIRST, FIRST, p="a")])
    message = changing(logged.context, FIRST, FIRST, p="a")
    (file,) = message.changelog_files
    with pytest.raises(InvalidRequest, match="must not occur in it a second time"):
        logged.commit([dataclasses.replace(message, changelog_files=message.new_files)])
    with pytest.raises(InvalidRequest, match="0 rows"):
        logged.commit([dataclasses.replace(message, changelog_files=(dataclasses.replace(file, row_count=0),))])
    logged.context.storage.delete([logged.context.paths.data_file("p=a", 0, file.file_name)])
    with pytest.raises(paimon.CommitConflict, match=file.file_name):
        logged.commit([message])
    assert logged.latest_snapshot().id == 2


def test_changelog_files_travel_in_messages(logged):
    message = changing(logged.context, FIRST, FIRST, p="a")
    assert paimon.CommitMessage.from_bytes(message.to_bytes()) == message


def test_an_overwrite_deletes_the_changelog_files_of_its_own_messages(logged):
    message = changing(logged.context, FIRST, FIRST, p="a")
    context = logged.context
    paths = [context.paths.data_file("p=a", 0, f.file_name) for f in (*message.new_files, *message.changelog_files)]
    request = paimon.table.commit_request.CommitRequest.of(context, None, None, None)
    assert logged.complete(request, [message], logged.overwrite_spec()).commit_kind == "OVERWRITE"
    assert [context.storage.exists(path) for path in paths] == [True, False]
    assert changed(logged, 2) == [("-U", "a", 1, "xx"), ("+U", "a", 1, "x"), ("+I", "a", 2, "y")]


def test_inspect_shows_counts_and_manifests_but_no_changelog_file(logged):
    assert logged.inspect.snapshots()["changelog_record_count"].to_pylist() == [2, 3]
    assert logged.inspect.files().num_rows == 2
    assert logged.inspect.manifests()["list"].to_pylist() == ["base", "delta", "changelog"]
    logged.tags.create("t", snapshot=1)
    logged.expire_snapshots(keep_last=1, keep_max=1)
    assert logged.at(tag="t").inspect.manifests()["list"].to_pylist() == ["delta"]
