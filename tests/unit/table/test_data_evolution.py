"""Data evolution: the columns of a row come from the newest files that contain them, and no other file is opened."""

import dataclasses

import pyarrow as pa
import pytest

from paimon_core import CorruptTable, UnsupportedFeature, col
from paimon_core.datafile.reading import reader
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.plan.split import Split
from tests.support.evolved_tables import set_columns, tracked_table, with_data_evolution

SCHEMA = pa.schema([("k", pa.int64()), ("a", pa.string()), ("b", pa.int64()), ("c", pa.int64())])
ROWS = 70_000
"""More than one batch of each file."""


def rows(start, count):
    keys = pa.array(range(start, start + count), pa.int64())
    return pa.table({"k": keys, "a": [f"a{k.as_py()}" for k in keys], "b": keys, "c": keys}, schema=SCHEMA)


@pytest.fixture
def evolved(warehouse):
    """Three ranges: of the first, b was updated and then a and b; of the last, two rows are deleted."""
    table = tracked_table(warehouse, SCHEMA, **{"deletion-vectors.enabled": "true"})
    table.write(rows(0, ROWS))
    table.write(rows(ROWS, 5))
    table.write(rows(ROWS + 5, 5))
    table.delete(col("_ROW_ID").is_in([7, ROWS + 6, ROWS + 7]))
    set_columns(table, 0, pa.table({"b": pa.array([-1] * ROWS)}))
    set_columns(table, 0, pa.table({"b": pa.array([1 << 40] * ROWS), "a": ["new"] * ROWS}))
    set_columns(table, ROWS + 5, pa.table({"c": pa.array([50, 60, 70, 80, 90])}))
    return with_data_evolution(table)


@pytest.fixture
def opened(monkeypatch):
    paths = []
    open_file = reader.open_file
    monkeypatch.setattr(reader, "open_file", lambda s, path, o: paths.append(path) or open_file(s, path, o))
    return paths


def test_each_column_comes_from_its_newest_file(evolved):
    found = evolved.scan().to_arrow()
    kept = [k for k in range(ROWS + 10) if k not in (7, ROWS + 6, ROWS + 7)]
    assert found["k"].to_pylist() == kept
    assert found["a"].to_pylist() == ["new" if k < ROWS else f"a{k}" for k in kept]
    assert found["b"].to_pylist() == [1 << 40 if k < ROWS else k for k in kept]
    assert found["c"].to_pylist() == [{0: 50, 3: 80, 4: 90}[k - ROWS - 5] if k >= ROWS + 5 else k for k in kept]
    assert evolved.scan().count() == len(kept)
    ids = evolved.scan(columns=["_SEQUENCE_NUMBER", "_ROW_ID"]).to_arrow()
    assert ids["_ROW_ID"].to_pylist() == kept
    assert ids["_SEQUENCE_NUMBER"].to_pylist() == [6 if k < ROWS else 2 if k < ROWS + 5 else 7 for k in kept]
    (split,) = evolved.scan().splits()
    assert Split.from_bytes(split.to_bytes()) == split
    assert not evolved.maintenance.check(deep=True).errors


@pytest.mark.parametrize(("columns", "files"), [(["k"], 3), (["b"], 3), (["a", "b", "c"], 5), (["_ROW_ID"], 0)])
def test_only_the_files_of_the_columns_are_opened(evolved, opened, columns, files):
    evolved.scan(columns=columns).to_arrow()
    assert len(opened) == files


@pytest.mark.parametrize(
    ("where", "files", "count"),
    [
        (col("b") == 1 << 40, 3, ROWS - 1),
        (col("b") == -1, 0, 0),
        (col("a") == "a3", 0, 0),
        (col("c") == 80, 5, 2),
        (col("c") == ROWS + 6, 0, 0),
        ((col("k") == 3) & (col("b") > 5), 3, 1),
        (col("_ROW_ID") == ROWS + 9, 2, 1),
        (col("_SEQUENCE_NUMBER") == 4, 0, 0),
    ],
)
def test_only_the_statistics_of_the_newest_file_leave_out_rows(evolved, where, files, count):
    scan = evolved.scan(where=where)
    assert scan.plan.counts.files_selected == files
    assert scan.to_arrow().num_rows == count


def test_what_data_evolution_does_not_allow(evolved):
    for change in (
        lambda: evolved.write(rows(0, 1)),
        lambda: evolved.delete(col("k") == 1),
        lambda: evolved.compact(full=True),
    ):
        with pytest.raises(UnsupportedFeature, match=r"data-evolution\.enabled"):
            change()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"first_row_id": None}, CorruptTable, "has no row ids"),
        ({"first_row_id": 2}, CorruptTable, "overlapping row ids"),
        ({"file_name": "data-1.blob"}, UnsupportedFeature, "large objects"),
        ({"file_name": "data-1.vector.parquet"}, UnsupportedFeature, "vectors"),
    ],
)
def test_files_that_do_not_fit_are_refused(warehouse, monkeypatch, change, error, says):
    table = tracked_table(warehouse, SCHEMA)
    table.write(rows(0, 5))
    set_columns(table, 0, pa.table({"b": pa.array([-1] * 5)}))
    first, second = table.context.manifests.entries_of(table.latest_snapshot())
    table = with_data_evolution(table)
    changed = [first, dataclasses.replace(second, file=dataclasses.replace(second.file, **change))]
    monkeypatch.setattr(ManifestStore, "read_each", lambda *_: [changed])
    with pytest.raises(error, match=says):
        table.scan().to_arrow()
