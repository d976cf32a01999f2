"""Readers accept whatever writers accept: each limit at its boundary. ``tests/bad_inputs`` has what exceeds them."""

import json
from functools import reduce

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest
from paimon_core.limits import AVRO_RECORDS, COLUMNS, PROPERTIES_BYTES, TEXT_BYTES, TYPE_DEPTH

ROWS = pa.table({"k": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})
FORMATS = ("parquet", "orc", "avro")


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def reopened(warehouse: str) -> paimon.Table:
    return paimon.open_catalog(warehouse).table("db.t")


def files_of(table: paimon.Table) -> set[str]:
    return {info.path for info in table.context.storage.walk(table.context.paths.root)}


def nested(levels: int, kind: str) -> tuple[pa.DataType, object]:
    """Return a type with so many nested types, and a value of it."""
    wrap = {
        "row": lambda t, v: (pa.struct([("x", t)]), {"x": v}),
        "array": lambda t, v: (pa.list_(t), [v]),
        "map": lambda t, v: (pa.map_(pa.int32(), t), [(1, v)]),
    }[kind]
    return reduce(lambda made, _: wrap(*made), range(levels - 1), (pa.int32(), 7))


@pytest.mark.parametrize("kind", ["row", "array", "map"])
@pytest.mark.parametrize("form", FORMATS)
def test_types_as_deep_as_the_limit_are_read_again(catalog, warehouse, form, kind):
    arrow, value = nested(TYPE_DEPTH, kind)
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", arrow)])
    table = catalog.create_table("db.t", schema, primary_key=["k"], options={"bucket": "1", "file.format": form})
    for at in range(2):
        table.write(pa.table({"k": pa.array([at, 5]), "v": pa.array([value, value], arrow)}))
    assert reopened(warehouse).scan().to_arrow().to_pylist() == [{"k": k, "v": value} for k in (0, 1, 5)]


@pytest.mark.parametrize("form", FORMATS)
def test_many_row_columns_are_read_again(catalog, warehouse, form):
    row = pa.struct([("x", pa.int32()), ("m", pa.map_(pa.string(), pa.int32()))])
    rows = pa.table({f"c{n}": pa.array([{"x": n, "m": [("a", n)]}, None], row) for n in range(70)})
    table = catalog.create_table("db.t", rows.schema, options={"file.format": form})
    table.write(rows)
    assert reopened(warehouse).scan().to_arrow().to_pylist() == rows.to_pylist()


def test_more_rows_types_than_an_avro_reader_takes_are_refused(catalog):
    schema = pa.schema([(f"c{n}", pa.struct([("x", pa.int32())])) for n in range(AVRO_RECORDS + 1)])
    message = f"avro: the columns have {AVRO_RECORDS + 1} ROW and MAP types.*{AVRO_RECORDS}"
    with pytest.raises(InvalidRequest, match=message):
        catalog.create_table("db.t", schema, options={"file.format": "avro"})
    assert catalog.list_tables("db") == []


def test_a_row_that_packs_well_is_read_again_from_avro(catalog, warehouse):
    table = catalog.create_table("db.t", ROWS.schema, options={"file.format": "avro"})
    table.write(pa.table({"k": [1], "v": ["x" * (30 << 20)]}))
    assert reopened(warehouse).scan().to_arrow()["v"][0].as_buffer().size == 30 << 20
    before = files_of(table)
    with pytest.raises(InvalidRequest, match="the limit is 33554432"):
        table.write(pa.table({"k": [1], "v": ["x" * (40 << 20)]}))
    assert files_of(table) == before


def test_a_key_of_which_no_manifest_could_be_read_is_refused(catalog, warehouse):
    schema = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("k", "v")])
    options = {"bucket": "1", "bucket-key": "k"}
    table = catalog.create_table("db.t", schema, primary_key=["k", "v"], options=options)
    table.write(pa.table({"k": ["a"], "v": ["a"]}))
    before = files_of(table)
    with pytest.raises(InvalidRequest, match="bytes, the limit is 33554432"):
        table.write(pa.table({"k": ["a"], "v": ["x" * (35 << 20)]}))
    assert files_of(table) == before
    assert reopened(warehouse).scan().to_arrow().num_rows == 1


def test_a_schema_of_many_columns_is_read_again(catalog, warehouse):
    schema = pa.schema([(f"column_{n}", pa.int32()) for n in range(COLUMNS)])
    catalog.create_table("db.t", schema, comment="c" * TEXT_BYTES)
    assert reopened(warehouse).schema.names == schema.names


def properties(size: int) -> dict[str, str]:
    """Return properties that take ``size`` bytes in a file."""
    return {"p": "x" * (size - len(json.dumps({"p": ""}, indent=2)))}


def test_properties_at_the_limit_are_read_again_also_in_a_tag(catalog, warehouse):
    table = catalog.create_table("db.t", ROWS.schema)
    table.write(ROWS, properties=properties(PROPERTIES_BYTES))
    table.tags.create("t")
    again = reopened(warehouse)
    assert again.at(tag="t").scan().to_arrow() == ROWS
    assert again.scan().to_arrow() == ROWS


def test_a_user_prefix_that_makes_too_long_a_user_is_refused(catalog):
    table = catalog.create_table("db.t", ROWS.schema, options={"commit.user-prefix": "p" * 180})
    with pytest.raises(InvalidRequest, match=r"commit user .* the limit is 200"):
        table.write(ROWS)
    assert table.context.snapshots.ids() == []
