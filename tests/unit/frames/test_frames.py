"""Scans as datasets, polars and DuckDB: the same rows, and only those are read that a query needs."""

import datetime as dt
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest
from paimon_core.frames import source as frames_source
from paimon_core.query import planned_rows

NAN = float("nan")
ROWS = pa.table(
    {
        "id": pa.array(range(8), pa.int64()),
        "small": pa.array([0, 1, 2, None, 4, 5, 6, 7], pa.int32()),
        "note": ["a", "ab", None, "b", "ba", "c", "", "zz"],
        "ratio": pa.array([0.5, -0.0, None, NAN, 1e300, -1.0, 0.1, 7.0]),
        "narrow": pa.array([0.1, 0.2, None, NAN, 1.5, -1.0, 0.1, 7.0], pa.float32()),
        "day": pa.array([dt.date(2024, 1, d) for d in range(1, 8)] + [None]),
        "at": pa.array([dt.datetime(2024, 1, d, 12) for d in range(1, 9)], pa.timestamp("us")),
        "price": pa.array([Decimal(n) for n in range(8)], pa.decimal128(10, 2)),
        "flag": [True, False, None, True, False, True, None, False],
    }
)
SPLIT_EACH_FILE = {"source.split.open-file-cost": "1 b", "source.split.target-size": "1 b"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """An append table with one file of two rows for each of four partitions."""
    catalog = paimon.open_catalog(str(tmp_path_factory.mktemp("frames")))
    catalog.create_database("db")
    schema = ROWS.schema.append(pa.field("part", pa.int32()))
    table = catalog.create_table("db.t", schema, partition_by=["part"], options=SPLIT_EACH_FILE)
    table.write(ROWS.append_column("part", pa.array([0, 0, 1, 1, 2, 2, 3, 3], pa.int32())))
    return table


@pytest.fixture
def reads(monkeypatch):
    """The columns and the number of rows in the files of each read of a split."""
    done, alone, together = [], planned_rows.read_rows, planned_rows.read_together

    def recorded(context, split, request):
        done.append((tuple(request.columns), split.row_count))
        return alone(context, split, request)

    def recorded_together(context, splits, request):
        done.extend((tuple(request.columns), split.row_count) for split in splits)
        return together(context, splits, request)

    monkeypatch.setattr(planned_rows, "read_rows", recorded)
    monkeypatch.setattr(planned_rows, "read_together", recorded_together)
    return done


def rows_read(reads):
    return sum(count for _, count in reads)


POLARS_FILTERS = [
    (pl.col("part") == 1, 2),
    (pl.col("part") > pl.lit(2), 2),
    (pl.lit(1) > pl.col("part"), 2),
    (pl.col("part").is_in([0, 3, None]), 4),
    (pl.col("part").is_between(1, 2, closed="right"), 2),
    ((pl.col("part") == 1) & (pl.col("note").str.len_chars() == 1), 2),
    ((pl.col("part") == 1) | (pl.col("part") == 3), 4),
    (pl.col("day") >= dt.date(2024, 1, 7), 2),
    (pl.col("at") < dt.datetime(2024, 1, 3), 2),
    (pl.col("note").str.starts_with("z"), 2),
    (pl.col("price") > 5, 2),
    (pl.col("ratio") > 1, 8),
    (pl.col("ratio") <= 0.0, 6),
    (pl.col("narrow") <= 0.1, 8),
    (pl.col("narrow") == pl.lit(0.1, pl.Float64), 8),
    (pl.col("day").is_null(), 2),
    (pl.col("flag"), 8),
    (~(pl.col("part") == 1), 6),
    (pl.col("small") != 1, 8),
    (pl.col("small") < 2.5, 8),
    (pl.col("id") % 2 == 0, 8),
]


@pytest.mark.parametrize(("keep", "expected"), POLARS_FILTERS)
def test_polars_filters_equally_and_reads_only_what_may_match(table, reads, keep, expected):
    whole = pl.from_arrow(table.scan().to_arrow())
    reads.clear()
    lazy = table.scan().to_lazy().filter(keep).select("id", "note").sort("id")
    assert lazy.collect().equals(whole.filter(keep).select("id", "note").sort("id"))
    assert rows_read(reads) == expected


def test_polars_reads_only_the_columns_and_rows_that_a_query_needs(table, reads):
    lazy = table.to_polars_lazy()
    assert lazy.collect_schema() == pl.from_arrow(table.scan().to_arrow()).schema
    reads.clear()
    assert lazy.select("note").collect().columns == ["note"]
    assert {columns for columns, _ in reads} == {("note",)}
    reads.clear()
    assert len(lazy.head(3).collect()) == 3
    assert rows_read(reads) == 4
    assert lazy.select(pl.len()).collect().item() == 8
    assert lazy.filter(pl.col("id") > 1).sort("id", descending=True).head(2).select("id").collect()["id"].to_list() == [
        7,
        6,
    ]
    assert lazy.filter(pl.col("id") > 100).collect().schema == lazy.collect_schema()


def test_a_limit_comes_before_the_filters_of_frames(table):
    scan = table.scan(limit=2)
    assert scan.to_lazy().filter(pl.col("id") >= 2).collect().is_empty()
    assert scan.to_dataset().to_table(filter=pc.field("id") >= 2).num_rows == 0
    assert scan.to_lazy().head(1).collect().height == 1


def test_duckdb_reads_only_what_a_query_needs(table, reads):
    with duckdb.connect() as connection:
        view = table.scan().to_duckdb(connection, name="t")
        assert view.filter("id = 3").project("note").fetchall() == [("b",)]
        assert {columns for columns, _ in reads} == {("id", "note")}
        reads.clear()
        assert connection.sql("SELECT id FROM t WHERE part = 1 AND note IS NULL").fetchall() == [(2,)]
        assert [rows for _, rows in reads] == [2]
        reads.clear()
        assert connection.sql("SELECT id FROM t WHERE NOT (ratio > 0) ORDER BY id").fetchall() == [(1,), (5,)]
        reads.clear()
        assert connection.sql("SELECT count(*) FROM t").fetchall() == [(8,)]
        assert {columns for columns, _ in reads} == {("id",)}
        reads.clear()
        table.scan(["id", "part"]).to_duckdb(connection, name="u")
        joined = connection.sql("SELECT sum(t.id) FROM t JOIN u USING (id) WHERE t.id < 4 AND u.id > 1")
        assert joined.fetchall() == [(5,)]


def test_a_dataset_filters_projects_and_is_read_again(table, reads):
    data = table.scan().to_dataset()
    assert data.schema == table.scan().schema
    found = data.to_table(columns=["note"], filter=pc.field("id") == 3)
    assert found.to_pydict() == {"note": ["b"]}
    assert {columns for columns, _ in reads} == {("id", "note")}
    assert str(data.to_table()) == str(data.to_table()) == str(table.scan().to_arrow())
    assert data.count_rows(filter=pc.field("small") > 4) == 3
    assert data.filter(pc.field("id") > 2).filter(pc.field("id") < 5).to_table(columns=["id"])["id"].to_pylist() == [
        3,
        4,
    ]
    assert data.head(2, columns={"twice": pc.field("id") * 2})["twice"].to_pylist() == [0, 2]
    by_place = data.to_table(columns=["note"], filter=pc.field(1) == 1)
    assert by_place["note"].to_pylist() == ["ab"]
    assert pl.scan_pyarrow_dataset(data).filter(pl.col("id") == 3).select("note").collect()["note"].to_list() == ["b"]


def test_what_bypasses_the_scanner_of_a_dataset_sees_the_same_rows(table):
    data = table.scan(["id", "note"]).to_dataset()
    direct = ds.Scanner.from_dataset(data, filter=pc.field("id") == 3).to_table()
    assert direct.to_pydict() == {"id": [3], "note": ["b"]}
    assert data.sort_by([("id", "descending")]).to_table()["id"].to_pylist() == list(range(7, -1, -1))
    with pytest.raises(InvalidRequest, match=r"scan\(columns"):
        data.replace_schema(data.schema)


def test_a_scanner_refuses_unknown_settings(table):
    data = table.scan(["id"]).to_dataset()
    assert data.scanner(batch_size=1, batch_readahead=2, use_threads=False).count_rows() == 8
    with pytest.raises(TypeError, match="fliter"):
        data.scanner(fliter=pc.field("id") < 0)


def test_pandas_has_arrow_types_and_chunks(table):
    frame = table.scan().to_pandas(dtype_backend="pyarrow")
    assert frame["small"].dtype == pd.ArrowDtype(pa.int32())
    chunks = list(table.scan(["id"]).to_pandas_chunks(3))
    assert [len(c) for c in chunks] == [3, 3, 2]
    assert pd.concat(chunks, ignore_index=True).equals(table.scan(["id"]).to_pandas())
    with pytest.raises(InvalidRequest, match="dtype_backend must be one of numpy, pyarrow"):
        table.scan().to_pandas_chunks(dtype_backend="numpy_nullable")


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("polars", lambda s: s.to_polars()),
        ("polars", lambda s: s.to_lazy()),
        ("pandas", lambda s: s.to_pandas()),
        ("pandas", lambda s: s.to_pandas_chunks()),
        ("duckdb", lambda s: s.to_duckdb(name="t")),
    ],
)
def test_a_missing_package_is_an_error_that_names_the_extra(table, monkeypatch, package, call):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(frames_source.importlib, "import_module", missing)
    with pytest.raises(InvalidRequest, match=rf"install paimon-core\[{package}\]"):
        call(table.scan())


def test_a_view_of_duckdb_needs_a_name(table):
    with pytest.raises(InvalidRequest, match="name must be the name of a view"):
        table.scan().to_duckdb(name="")
