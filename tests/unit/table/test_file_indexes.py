"""File indexes of a table: where they are stored, what a filtered read opens, and what a broken index does."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from paimon_core import col
from paimon_core.alter.changes import AddColumn, RemoveOption, RenameColumn, SetOption, UpdateType
from paimon_core.datafile.parquet.parquet_input import ParquetInput
from paimon_core.datafile.writing import rolling_writer
from paimon_core.errors import CorruptTable, InvalidOption
from paimon_core.fileindex.container import FileIndex
from paimon_core.options import Use

SCHEMA = pa.schema([("k", pa.int64()), ("a", pa.string()), ("b", pa.int32())])
BLOOM = {"file-index.bloom-filter.columns": "a", "file-index.bloom-filter.a.items": "100"}
BITMAP = {"file-index.bitmap.columns": "a"}
BSI = {"file-index.bsi.columns": "k"}
BESIDE = {"file-index.in-manifest-threshold": "0 b"}


def create(catalog, options, **more):
    return catalog.create_table("db.t", SCHEMA, options=options, **more)


def rows(*ks, text="a"):
    return pa.table([ks, [f"{text}{k % 7}" for k in ks], [k % 7 for k in ks]], schema=SCHEMA)


def entries_of(table):
    return table.context.manifests.entries_of(table.context.snapshots.latest())


def opened(table, where, monkeypatch):
    """The rows of a filtered read, and the data and index files that it opens."""
    names = []
    kind = type(table.context.storage)
    inner = kind.open_input
    with monkeypatch.context() as patch:
        patch.setattr(kind, "open_input", lambda self, path: names.append(path.rsplit("/", 1)[1]) or inner(self, path))
        found = table.scan(where=where).to_arrow()
    return sorted(found["k"].to_pylist()), [n for n in names if not n.startswith(("manifest", "snapshot", "schema"))]


@pytest.mark.parametrize("index", [BLOOM, BITMAP, {"file-index.range-bitmap.columns": "a"}, BSI])
@pytest.mark.parametrize("beside", [False, True])
def test_a_filtered_read_opens_only_the_files_that_can_match(catalog, index, beside, monkeypatch):
    table = create(catalog, index | (BESIDE if beside else {"file-index.in-manifest-threshold": "1 mb"}))
    for n in range(4):
        # The value is between the minimum and the maximum of each file, so that statistics cannot tell them apart.
        table.write(pa.table([[n, 8, 9], [f"m{n}", "a", "z"], [0, 0, 0]], schema=SCHEMA))
    where = col("k") == 3 if index is BSI else col("a") == "m3"
    files = [e.file for e in entries_of(table)]
    assert all(bool(f.extra_files) == beside and (f.embedded_index is None) == beside for f in files)
    found, names = opened(table, where, monkeypatch)
    assert found == [3]
    assert len([n for n in names if n.endswith(".parquet")]) == 1
    assert len([n for n in names if n.endswith(".index")]) == (4 if beside else 0)
    if not beside:
        assert len(table.scan(where=where).plan.files) == 1
    table = catalog.table("db.t").alter(SetOption("file-index.read.enabled", "false"))
    found, names = opened(table, where, monkeypatch)
    assert (found, len(names)) == ([3], 4)


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation"])
def test_a_primary_key_table_drops_no_newer_row(catalog, engine, monkeypatch):
    options = BITMAP | {"bucket": "1", "merge-engine": engine, "write-only": "true"}
    options |= {"fields.b.aggregate-function": "sum"} if engine == "aggregation" else {}
    table = create(catalog, options, primary_key=["k"])
    table.write(pa.table([[1, 2], ["old", "z"], [1, 1]], schema=SCHEMA))
    table.write(pa.table([[1, 3], ["new", "a"], [1, 1]], schema=SCHEMA))
    assert opened(table, col("a") == "old", monkeypatch)[0] == []
    table.compact(full=True)
    (file,) = [e.file for e in entries_of(table)]
    assert file.embedded_index is not None
    assert opened(table, col("a") == "old", monkeypatch) == ([], [])
    assert opened(table, col("a") == "new", monkeypatch)[0] == [1]


def test_only_the_selected_rows_and_row_groups_are_decoded(catalog, monkeypatch):
    monkeypatch.setattr(rolling_writer, "ROW_GROUP_ROWS", 10)
    table = create(catalog, BITMAP)
    table.write(rows(*range(40)).set_column(1, "a", pa.array([f"g{n // 10}" for n in range(40)])))
    seen = []
    inner = ParquetInput.batches
    monkeypatch.setattr(ParquetInput, "batches", lambda *a, **k: seen.append(a[2]) or inner(*a, **k))
    assert table.scan(where=col("a") == "g2").to_arrow()["k"].to_pylist() == list(range(20, 30))
    assert seen == [[2], [2]], "the column of the filter, then the others"


@pytest.mark.parametrize("format", ["orc", "avro"])
def test_rows_are_selected_in_formats_without_row_groups(catalog, format):
    table = create(catalog, BITMAP | {"file.format": format})
    table.write(rows(*range(20)))
    assert table.scan(where=col("a") == "a3").to_arrow()["k"].to_pylist() == [3, 10, 17]


def test_indexes_follow_their_column_and_stop_at_a_new_type(catalog, monkeypatch):
    table = create(catalog, {"file-index.bitmap.columns": "b"})
    table.write(rows(1, 2, 9))
    table = table.alter(RemoveOption("file-index.bitmap.columns"))
    table = table.alter(RenameColumn("b", "c"), AddColumn("b", "INT"))
    assert opened(table, col("c") == 1, monkeypatch)[0] == [1]
    assert opened(table, (col("c") != 1) & (col("c") != 2), monkeypatch) == ([], [])
    assert opened(table, col("b").is_null(), monkeypatch)[0] == [1, 2, 9]
    table = table.alter(UpdateType("c", "BIGINT"))
    assert opened(table, (col("c") != 1) & (col("c") != 2), monkeypatch)[0] == []


def test_changelog_files_have_no_index(catalog):
    options = BITMAP | BESIDE | {"bucket": "1", "changelog-producer": "input"}
    table = create(catalog, options, primary_key=["k"])
    table.write(rows(1))
    snapshot = table.context.snapshots.latest()
    manifests = table.context.manifests
    (listed,) = manifests.read_list(snapshot.changelog_manifest_list)
    (entry,) = manifests.read_manifest(listed.file_name, listed.file_size)
    assert (entry.file.extra_files, entry.file.embedded_index) == ((), None)


def test_an_aborted_write_leaves_no_index_file(catalog):
    table = create(catalog, BITMAP | BESIDE)
    prepared = table.prepare(rows(1))
    prepared.discard()
    assert [i.name for i in table.context.storage.walk(table.context.paths.root) if ".index" in i.name] == []


def test_files_that_get_higher_sequence_numbers_have_an_index_of_their_own(catalog):
    table = create(catalog, BITMAP | BESIDE | {"bucket": "1", "write-only": "true"}, primary_key=["k"])
    late = table.prepare(rows(1))
    table.write(rows(1, 2))
    late.publish(rebase=True)
    files = [e.file for e in entries_of(table)]
    names = [i.name for i in table.context.storage.walk(f"{table.context.paths.root}/bucket-0")]
    assert sorted(names) == sorted(n for f in files for n in (f.file_name, *f.extra_files))
    assert len(names) == 4


def test_expiry_deletes_index_files_and_orphan_removal_keeps_those_in_use(catalog):
    table = create(catalog, BITMAP | BESIDE)
    table.write(rows(1))
    table.overwrite(rows(2))
    table.expire_snapshots(keep_last=1, keep_max=1)

    def names():
        root = table.context.paths.root
        return sorted(i.name for i in table.context.storage.walk(f"{root}/bucket-0"))

    (file,) = [e.file for e in entries_of(table)]
    assert names() == sorted([file.file_name, *file.extra_files])
    table.context.storage.write(table.context.paths.data_file("", 0, f"{file.file_name}-1.index"), b"x")
    for info in table.context.storage.walk(table.context.paths.root):
        os.utime(info.path, (1, 1))
    plan = table.maintenance.plan_orphan_removal(mode="delete")
    table.maintenance.apply(plan)
    assert names() == sorted([file.file_name, *file.extra_files])
    assert table.maintenance.check(deep=True).findings == ()


def test_a_broken_index_is_an_error_that_names_its_file(catalog):
    table = create(catalog, BITMAP | BESIDE)
    table.write(rows(1, 2))
    (file,) = [e.file for e in entries_of(table)]
    path = table.context.paths.data_file("", 0, file.extra_files[0])
    data = table.context.storage.read(path)
    for broken in (data[:-1], data[:20], b"", data[:80] + b"\xff" * (len(data) - 80)):
        table.context.storage.overwrite(path, broken)
        with pytest.raises(CorruptTable, match=file.extra_files[0]):
            table.scan(where=col("a") == "a1").to_arrow()
    table.context.storage.delete([path])
    with pytest.raises(CorruptTable, match=file.extra_files[0]):
        table.scan(where=col("a") == "a1").to_arrow()
    assert table.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"file-index.bitmap.columns": "x"}, "no column"),
        ({"file-index.bsi.columns": "a"}, "have no bsi index"),
        ({"file-index.bitmap.columns": "a[x]"}, "not a map"),
        ({"file-index.bitmap.columns": "a,,b"}, "a list of columns"),
        ({"file-index.bitmap.columns": "a", "file-index.bitmap.a.version": "3"}, "1' or"),
        ({"file-index.bloom-filter.columns": "a", "file-index.bloom-filter.a.fpp": "1"}, "below 1"),
        ({"file-index.lumina.columns": "a"}, "file-index.lumina.columns"),
    ],
)
def test_an_index_that_cannot_be_built_is_refused(catalog, options, why):
    with pytest.raises(InvalidOption, match=why):
        create(catalog, options)


def test_index_options_are_obeyed(catalog):
    table = create(catalog, BLOOM)
    assert {table.context.options.uses[key] for key in BLOOM} == {Use.OBEYED}


def test_the_values_of_a_map_key_are_indexed(catalog):
    schema = pa.schema([("k", pa.int64()), ("m", pa.map_(pa.string(), pa.int32()))])
    table = catalog.create_table("db.m", schema, options={"file-index.bitmap.columns": "m[x],m[y]"})
    table.write(pa.table([[1, 2], [[("x", 5)], None]], schema=schema))
    (entry,) = entries_of(table)
    assert set(FileIndex.of_bytes(entry.file.embedded_index, "m").places) == {"m[x]", "m[y]"}


@pytest.mark.parametrize("kind", ["bitmap", "bsi", "range-bitmap"])
def test_rows_that_an_index_selects_are_without_deleted_ones(catalog, kind):
    table = create(catalog, {f"file-index.{kind}.columns": "b", "deletion-vectors.enabled": "true"})
    table.write(rows(*range(70)))
    table.delete(col("k") < 30)
    assert len(entries_of(table)) == 1
    expected = [k for k in range(30, 70) if k % 7 == 3]
    assert table.scan(where=col("b") == 3).to_arrow()["k"].to_pylist() == expected
    table.update(col("b") == 3, {"b": 8})
    assert sorted(table.scan(where=col("b") == 8).to_arrow()["k"].to_pylist()) == expected
    assert table.scan(where=col("b") == 3).count() == 0
