import pyarrow as pa
import pytest

import paimon_core as paimon

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture(params=["local", "memory", "sql"])
def catalog(request, tmp_path):
    if request.param == "sql":
        return paimon.open_catalog(tmp_path / "lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db")
    return paimon.open_catalog(tmp_path / "lake" if request.param == "local" else f"memory://{tmp_path}")


def test_databases(catalog):
    assert catalog.list_databases() == []
    catalog.create_database("b")
    catalog.create_database("a")
    assert catalog.list_databases() == ["a", "b"]
    with pytest.raises(paimon.AlreadyExists, match="a"):
        catalog.create_database("a")
    catalog.create_database("a", ignore_if_exists=True)
    catalog.drop_database("a")
    assert catalog.list_databases() == ["b"]
    with pytest.raises(paimon.DatabaseNotFound, match="a"):
        catalog.drop_database("a")
    catalog.drop_database("a", ignore_if_missing=True)


def test_tables(catalog):
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1"}, comment="c")
    assert catalog.list_tables("db") == ["t"]
    assert catalog.table_exists("db.t")
    assert catalog.table("db.t").schema == table.schema
    assert table.schema.comment == "c"
    with pytest.raises(paimon.AlreadyExists, match=r"db\.t"):
        catalog.create_table("db.t", SCHEMA)
    again = catalog.create_table("db.t", pa.schema([("other", pa.int8())]), ignore_if_exists=True)
    assert again.schema == table.schema
    with pytest.raises(paimon.InvalidRequest, match="contains tables"):
        catalog.drop_database("db")
    catalog.drop_table("db.t")
    assert catalog.list_tables("db") == []
    with pytest.raises(paimon.TableNotFound, match="tables: none"):
        catalog.table("db.t")
    catalog.drop_table("db.t", ignore_if_missing=True)


def test_the_error_for_a_wrong_name_lists_the_existing_names(catalog):
    with pytest.raises(paimon.DatabaseNotFound, match="databases: none"):
        catalog.table("db.t")
    catalog.create_database("db")
    catalog.create_table("db.orders", SCHEMA)
    with pytest.raises(paimon.TableNotFound, match="tables: orders"):
        catalog.table("db.order")
    for name in ("t", "a.b.c", "", "db.", 3):
        with pytest.raises(paimon.InvalidRequest, match=r"database\.table"):
            catalog.table(name)
    with pytest.raises(paimon.InvalidRequest, match="table name"):
        catalog.table("db...")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"primary_key": ["k"], "options": {"dynamic-bucket.max-buckets": "0"}}, "max-buckets"),
        ({"options": {"bucket": "2"}}, "bucket-key"),
        ({"options": {"bucket-key": "k"}}, "bucket-key"),
        ({"options": {"bucket": "2", "bucket-key": "z"}}, "'z'"),
        ({"primary_key": ["k"], "options": {"bucket": "2", "bucket-key": "v"}}, "bucket-key"),
        ({"options": {"sequence.field": "v"}}, "primary key"),
        ({"primary_key": ["k"], "options": {"bucket": "1", "sequence.field": "z"}}, "'z'"),
        ({"primary_key": ["k"], "options": {"bucket": "1", "rowkind.field": "z"}}, "'z'"),
        ({"options": {"fields.z.stats-mode": "none"}}, "'z'"),
        ({"options": {"merge-engine": "aggregation"}}, "merge-engine"),
        ({"options": {"mystery": "1"}}, "mystery"),
        ({"options": {"bucket": 2}}, "text"),
        ({"primary_key": "k"}, "list"),
    ],
)
def test_definitions_that_are_refused(catalog, arguments, word):
    catalog.create_database("db")
    with pytest.raises(paimon.InvalidRequest, match=word):
        catalog.create_table("db.t", SCHEMA, **arguments)
    assert catalog.list_tables("db") == []


def test_columns_that_a_file_format_does_not_support(catalog):
    catalog.create_database("db")
    schema = pa.schema([("k", pa.int32()), ("t", pa.timestamp("ns"))])
    with pytest.raises(paimon.UnsupportedFeature, match="'t'"):
        catalog.create_table("db.t", schema, options={"file.format": "avro"})
    assert catalog.list_tables("db") == []


def test_other_stores_are_refused_by_scheme():
    with pytest.raises(paimon.UnsupportedFeature, match="ftp"):
        paimon.open_catalog("ftp://host/lake")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"primary_key": (c for c in ["k"])}, "primary_key"),
        ({"primary_key": None}, "primary_key"),
        ({"comment": 5}, "comment"),
        ({"types": 5}, "types"),
        ({"options": {"ignore-delete": "true"}}, "ignore-delete"),
        ({"options": {"ignore-update-before": "true"}}, "ignore-update-before"),
    ],
)
def test_arguments_of_the_wrong_kind(catalog, arguments, word):
    catalog.create_database("db")
    with pytest.raises(paimon.InvalidRequest, match=word):
        catalog.create_table("db.t", SCHEMA, **arguments)
    with pytest.raises(paimon.InvalidRequest, match="database name"):
        catalog.create_database(None)
    with pytest.raises(paimon.InvalidRequest, match="database name"):
        catalog.create_database("a.b")
    with pytest.raises(paimon.InvalidRequest, match="warehouse"):
        paimon.open_catalog(None)


def test_the_remaining_files_of_a_table_are_not_taken_over(tmp_path):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, options={"write-only": "true"})
    table.write(pa.table({"k": [1]}))
    catalog.storage.delete_directory(f"{table.location}/schema")
    with pytest.raises(paimon.InvalidRequest, match="contains files of a table but no schema"):
        catalog.create_table("db.t", SCHEMA)


def test_a_path_where_no_directory_can_be_created():
    with pytest.raises(paimon.StorageError, match="/proc"):
        paimon.open_catalog("/proc/none").create_database("a")
