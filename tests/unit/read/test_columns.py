"""Metadata columns and members of ROW columns, in raw and merged reads."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from paimon_core import col
from paimon_core.alter import AddColumn
from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.read import row_reader, split_reader

PLACED = ["__paimon_partition", "__paimon_bucket", "__paimon_file_path", "__paimon_row_index"]
ADDRESS = "ROW<zip_code INT, city STRING, geo ROW<lat DOUBLE, lon DOUBLE>, tags ARRAY<STRING>>"


@pytest.fixture
def catalog(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog


def rows(table, columns, where=None):
    return table.scan(columns, where).to_arrow().to_pylist()


# -- metadata columns --------------------------------------------------------------------------------------------------


@pytest.fixture
def append(catalog):
    """Partition d=1 with two files, of two rows and of one; partition d=2 with one row."""
    columns = {"id": "INT", "note": "STRING", "d": "INT"}
    table = catalog.create_table("db.append", columns, partition_by=["d"])
    table.write([{"id": n, "note": "x" * n, "d": 1} for n in (1, 2)])
    table.write([{"id": 3, "note": None, "d": 1}, {"id": 4, "note": "y", "d": 2}])
    return table


def test_rows_of_an_append_table_tell_where_they_are(append):
    scan = append.scan([*PLACED, "id"])
    assert scan.schema.names == [*PLACED, "id"]
    assert scan.schema.types[:4] == [pa.struct({"d": pa.int32()}), pa.int32(), pa.string(), pa.int64()]
    found = {row["id"]: row for row in scan.to_arrow().to_pylist()}
    files = append.inspect.files().to_pylist()
    assert {r["__paimon_file_path"].rpartition("/")[2] for r in found.values()} == {
        f["file_name"].rpartition("/")[2] for f in files
    }
    assert {n: (r["__paimon_partition"], r["__paimon_bucket"], r["__paimon_row_index"]) for n, r in found.items()} == {
        1: ({"d": 1}, 0, 0),
        2: ({"d": 1}, 0, 1),
        3: ({"d": 1}, 0, 0),
        4: ({"d": 2}, 0, 0),
    }
    assert append.scan().schema.names == ["id", "note", "d"]
    assert rows(append, ["__paimon_bucket"]) == [{"__paimon_bucket": 0}] * 4


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_positions_beside_partition_columns_only(catalog, file_format):
    options = {"file.format": file_format}
    for name, columns in (("a", {"d": "INT", "n": "INT"}), ("b", {"d": "INT"})):
        table = catalog.create_table(f"db.{name}", columns, partition_by=["d"], options=options)
        table.write([{"d": d} for d in (1, 1, 2)])
        expected = [{"d": 1, "__paimon_row_index": 0}, {"d": 1, "__paimon_row_index": 1}]
        assert rows(table, ["d", "__paimon_row_index"], "d = 1") == expected
        assert rows(table, ["__paimon_row_index", "d"], "d > 1") == [{"__paimon_row_index": 0, "d": 2}]
        damaged = table.with_options({"scan.ignore-corrupt-files": True})
        assert rows(damaged, ["d"], "d = 1") == [{"d": 1}, {"d": 1}]


def test_a_limit_does_not_shorten_the_batches_of_a_filter_on_metadata_columns(append, monkeypatch):
    asked = []

    def read_split(context, split, request):
        asked.append(request.limit)
        return split_reader.read_split(context, split, request)

    monkeypatch.setattr(row_reader, "read_split", read_split)
    assert append.scan(["id"], "__paimon_row_index = 1", limit=1).to_arrow().to_pylist() == [{"id": 2}]
    assert set(asked) == {None}


def test_filters_may_use_metadata_columns_and_open_no_other_file(append, monkeypatch):
    path = rows(append, ["__paimon_file_path"], col("id") == 3)[0]["__paimon_file_path"]
    opened, original = [], split_reader.BucketReader.file

    def recorded(reader, file, *rest, **settings):
        opened.append(file.file_name)
        return original(reader, file, *rest, **settings)

    monkeypatch.setattr(split_reader.BucketReader, "file", recorded)
    assert rows(append, ["id"], col("__paimon_file_path") == path) == [{"id": 3}]
    assert opened == [path.rpartition("/")[2]]
    assert append.scan(["id"], col("__paimon_bucket") > 0).count() == 0
    assert len(opened) == 1
    assert rows(append, ["id"], (col("__paimon_row_index") == 1) & (col("id") > 0)) == [{"id": 2}]
    assert rows(append, ["id"], (col("__paimon_row_index") == 1) | (col("id") == 4)) == [{"id": 2}, {"id": 4}]


def test_a_column_of_the_table_wins(catalog):
    table = catalog.create_table("db.own", {"__paimon_bucket": "STRING"})
    table.write([{"__paimon_bucket": "mine"}])
    assert rows(table, ["__paimon_bucket"]) == [{"__paimon_bucket": "mine"}]
    with pytest.raises(SchemaMismatch, match="no column '_VALUE_KIND'"):
        table.scan(["_VALUE_KIND"])


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
def test_merged_rows_have_the_number_and_kind_of_the_winner(catalog, engine):
    options = {"bucket": 1, "merge-engine": engine, "write-only": "true"}
    if engine == "first-row":
        options.pop("write-only")
    if engine == "aggregation":
        options["fields.default-aggregate-function"] = "first_value"
    table = catalog.create_table("db.keyed", {"id": "INT", "note": "STRING"}, primary_key=["id"], options=options)
    table.write([{"id": 1, "note": "a"}, {"id": 2, "note": "b"}])
    table.write([{"id": 2, "note": "c"}, {"id": 3, "note": "d"}])
    if engine == "first-row":
        table.compact(full=True)
    names = ["id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "__paimon_bucket"]
    expected = [(1, 0, 0, 0), (2, 1 if engine == "first-row" else 2, 0, 0), (3, 3, 0, 0)]
    assert [tuple(r.values()) for r in rows(table, names)] == expected
    late = rows(table, ["id"], (col("_SEQUENCE_NUMBER") >= 2) & (col("__paimon_bucket") == 0))
    assert late == [{"id": n} for n, number, *_ in expected if number >= 2]
    if engine == "deduplicate":
        for name in PLACED[2:]:
            with pytest.raises(UnsupportedFeature, match=f"'{name}': rows of bucket 0 of db.keyed are merged"):
                rows(table, [name])
        table.compact(full=True)
        assert [r["__paimon_row_index"] for r in rows(table, PLACED)] == [0, 1, 2]


def test_positions_count_the_rows_that_deletion_vectors_leave_out(catalog):
    table = catalog.create_table(
        "db.dv", {"id": "INT"}, options={"deletion-vectors.enabled": "true", "write-only": "true"}
    )
    table.write([{"id": n} for n in range(5)])
    table.delete(col("id").is_in([0, 2]))
    found = rows(table, ["__paimon_row_index", "id"])
    assert [(r["__paimon_row_index"], r["id"]) for r in found] == [(1, 1), (3, 3), (4, 4)]


# -- members of ROW columns --------------------------------------------------------------------------------------------

DATA = [
    {"id": 1, "address": {"zip_code": 1, "city": "a", "geo": {"lat": 1.0, "lon": 2.0}, "tags": ["x"]}},
    {"id": 2, "address": {"zip_code": None, "city": None, "geo": None, "tags": []}},
    {"id": 3, "address": None},
]
CHOICES = [
    (["address.city"], {"city"}),
    (["address.tags", "address.zip_code"], {"zip_code", "tags"}),
    (["address.geo.lon", "address.city"], {"city", ("geo", "lon")}),
]


def only(address, members):
    """The chosen members, in the order of the table."""
    if address is None:
        return None
    out = {}
    for name, value in address.items():
        inner = {m[1] for m in members if isinstance(m, tuple) and m[0] == name}
        if name in members:
            out[name] = value
        elif inner:
            out[name] = None if value is None else {k: v for k, v in value.items() if k in inner}
    return out


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("engine", [None, "deduplicate", "partial-update"])
def test_chosen_members_equal_those_of_whole_columns(catalog, engine, file_format):
    options = {"file.format": file_format}
    if engine is not None:
        options |= {"bucket": 1, "merge-engine": engine, "write-only": "true"}
    key = [] if engine is None else ["id"]
    table = catalog.create_table("db.t", {"id": "INT", "address": ADDRESS}, primary_key=key, options=options)
    table.write(DATA)
    if engine is not None:
        table.write([DATA[1] | {"address": DATA[0]["address"]}])
    table = table.alter(AddColumn(("address", "since"), "INT"))
    table.write([{"id": 4, "address": {**DATA[0]["address"], "since": 7}}])
    whole = {row["id"]: row["address"] for row in rows(table, ["id", "address"])}
    for columns, members in [*CHOICES, (["address.since"], {"since"})]:
        scan = table.scan([*columns, "id"])
        assert scan.schema.names == ["address", "id"]
        found = {row["id"]: row["address"] for row in scan.to_arrow().to_pylist()}
        assert found == {number: only(address, members) for number, address in whole.items()}
    assert rows(table, ["address.city"], col("address").is_null()) == [{"address": None}]
    lazy = table.scan(["id", "address.city"]).to_lazy().select("address").collect()
    assert lazy["address"].struct.fields == ["city"]


def test_only_the_chosen_members_are_decoded(catalog, monkeypatch):
    table = catalog.create_table("db.t", {"id": "INT", "address": ADDRESS, "address.city": "STRING"})
    table.write([row | {"address.city": "own"} for row in DATA])
    decoded, original = [], pq.ParquetFile.iter_batches

    def recorded(file, rows, groups, columns, *rest):
        decoded.append(columns)
        return original(file, rows, groups, columns, *rest)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", recorded)
    rows(table, ["address.geo.lat", "address.tags"])
    assert decoded.pop() == ["address.geo.lat", "address.tags"]
    assert rows(table, ["address.city"])[0] == {"address.city": "own"}
    rows(table, ["address"])
    assert decoded.pop() == ["address"]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (["address.street"], SchemaMismatch, "column 'address' has no field 'street'; the fields are zip_code, city"),
        (["address.tags.x"], SchemaMismatch, "'address.tags' is ARRAY<STRING>: only fields of a ROW"),
        (["id.x"], SchemaMismatch, "'id' is INT: only fields of a ROW"),
        (["note.x"], SchemaMismatch, "no column 'note.x'"),
        (["address", "address.city"], InvalidRequest, "names 'address.city' twice"),
        (["address.city", "address"], InvalidRequest, "names 'address' twice"),
        (["address.geo", "address.geo.lat"], InvalidRequest, r"names address\.geo\.lat twice"),
        (["address.geo.lat", "address.geo"], InvalidRequest, r"names address\.geo twice"),
        (["address.city", "address.city"], InvalidRequest, "names 'address.city' twice"),
    ],
)
def test_wrong_paths_are_named(catalog, columns, error, message):
    table = catalog.create_table("db.t", {"id": "INT", "address": ADDRESS})
    with pytest.raises(error, match=message):
        table.scan(columns)


def test_a_path_finds_names_with_dots(catalog):
    table = catalog.create_table("db.t", {"a": "ROW<`b.c` INT, b ROW<c INT, d INT>>", "e": "INT"})
    table.write([{"a": {"b.c": 1, "b": {"c": 2, "d": 3}}, "e": 4}])
    assert rows(table, ["a.b.c", "a.b.d"]) == [{"a": {"b.c": 1, "b": {"d": 3}}}]
