"""Rewriting of file indexes: what it changes, what it leaves, and what it does when others commit meanwhile."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_core import col
from paimon_core.alter.changes import RemoveOption, RenameColumn, SetOption
from paimon_core.errors import CommitConflict
from paimon_core.fileindex.container import FileIndex
from paimon_core.maintain import file_indexes

SCHEMA = pa.schema([("k", pa.int64()), ("a", pa.string())])
BITMAP = "file-index.bitmap.columns"
BESIDE = {"file-index.in-manifest-threshold": "0 b"}


def written(catalog, options, **more):
    table = catalog.create_table("db.t", SCHEMA, options=options, **more)
    for n in range(3):
        table.write(pa.table([[n, 9 + n], [f"m{n}", "z"]], schema=SCHEMA))
    return table


def rows_of(table):
    return table.scan().to_arrow().sort_by([("k", "ascending"), ("a", "ascending")])


def files_of(table):
    return [e.file for e in table.context.manifests.entries_of(table.context.snapshots.latest())]


def index_files(table):
    return sorted(i.name for i in table.context.storage.walk(table.context.paths.root) if i.name.endswith(".index"))


def places(table):
    """The columns and kinds of the indexes of all files."""
    found = set()
    for file in files_of(table):
        data = file.embedded_index
        if data is None:
            data = table.context.storage.read(table.context.paths.data_file("", 0, file.extra_files[0]))
        found |= {(c, k) for c, kinds in FileIndex.of_bytes(data, "x").places.items() for k in kinds}
    return found


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("beside", [False, True])
def test_existing_files_get_the_indexes_of_the_options_and_lose_others(catalog, keyed, beside):
    options = (BESIDE if beside else {}) | ({"bucket": "1", "changelog-producer": "lookup"} if keyed else {})
    table = written(catalog, options, **({"primary_key": ["k"]} if keyed else {}))
    assert table.rewrite_file_index() is None
    rows = rows_of(table)
    table = table.alter(SetOption(BITMAP, "a"))
    snapshot = table.rewrite_file_index()
    assert snapshot.commit_kind == "COMPACT"
    assert table.rewrite_file_index() is None
    assert places(table) == {("a", "bitmap")}
    assert len(index_files(table)) == (len(files_of(table)) if beside else 0)
    assert table.scan(where=col("a") == "m1").to_arrow()["k"].to_pylist() == [1]
    table = table.alter(SetOption("file-index.bloom-filter.columns", "k"), RemoveOption(BITMAP))
    table.rewrite_file_index()
    assert places(table) == {("k", "bloom-filter")}
    assert table.rewrite_file_index(every=True) is None
    assert rows_of(table) == rows
    assert table.maintenance.check(deep=True).errors == ()
    table = table.alter(RemoveOption("file-index.bloom-filter.columns"))
    table.rewrite_file_index()
    assert all(f.embedded_index is None and f.extra_files == () for f in files_of(table))
    table.expire_snapshots(keep_last=1, keep_max=1)
    assert rows_of(table) == rows


def test_a_file_of_an_older_schema_is_indexed_under_its_own_names(catalog):
    table = written(catalog, {}).alter(RenameColumn("a", "b"))
    table = table.alter(SetOption(BITMAP, "b"))
    table.rewrite_file_index()
    assert places(table) == {("a", "bitmap")}
    assert table.scan(where=col("b") == "m1").to_arrow()["k"].to_pylist() == [1]


def test_only_the_selected_partitions_are_rewritten(catalog):
    table = written(catalog, {BITMAP: "a"}, partition_by=["k"])
    table.rewrite_file_index(every=True)
    table = table.alter(SetOption("file-index.bitmap.a.version", "1"))
    table.rewrite_file_index(where=col("k") == 1, every=True)
    versions = [
        FileIndex.of_bytes(f.embedded_index, "x").payload("a", "bitmap")[0] for f in files_of(table) if f.embedded_index
    ]
    assert sorted(versions) == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("beside", [False, True])
def test_commits_in_between_keep_their_files_and_a_removed_file_is_a_conflict(catalog, beside):
    table = written(catalog, BESIDE if beside else {}).alter(SetOption(BITMAP, "a"))
    between = []

    def work(*arguments):
        messages = file_indexes.index_files(*arguments)
        between.pop()()
        return messages

    between.append(lambda: table.write(pa.table([[50], ["new"]], schema=SCHEMA)))
    table.rewrite_file_index(work=work)
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [0, 1, 2, 9, 10, 11, 50]
    kept = index_files(table)
    between.append(lambda: table.compact(full=True))
    table = table.alter(SetOption("file-index.bitmap.a.version", "1"))
    with pytest.raises(CommitConflict, match="no longer in the table: snapshot 6"):
        table.rewrite_file_index(every=True, work=work)
    assert len(index_files(table)) == (len(kept) + 1 if beside else 0)
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [0, 1, 2, 9, 10, 11, 50]
