"""Names of new databases and tables, in every catalog that stores names itself; ``tests/bad_inputs`` has bad ones."""

import pyarrow as pa
import pytest

import paimon_core as paimon

SCHEMA = pa.schema([("k", pa.int64())])


@pytest.fixture(params=["filesystem", "sql"])
def catalog(request, tmp_path):
    uri = f"sqlite:///{tmp_path}/catalog.db" if request.param == "sql" else None
    return paimon.open_catalog(tmp_path / "lake", type=request.param, uri=uri)


@pytest.mark.parametrize(
    ("one", "other"), [("Orders", "orders"), ("caf\u00e9", "cafe\u0301"), ("stra\u00dfe", "STRASSE")]
)
def test_two_names_that_are_one_directory_on_some_file_systems(catalog, one, other):
    catalog.create_database(one)
    with pytest.raises(paimon.AlreadyExists, match="conflicts with the existing"):
        catalog.create_database(other)
    catalog.create_table(f"{one}.{one}", SCHEMA)
    with pytest.raises(paimon.AlreadyExists, match="conflicts with the existing"):
        catalog.create_table(f"{one}.{other}", SCHEMA)
    catalog.create_table(f"{one}.third", SCHEMA)
    with pytest.raises(paimon.AlreadyExists, match="conflicts with the existing"):
        catalog.rename_table(f"{one}.third", f"{one}.{other}")
    assert catalog.list_tables(one) == sorted([one, "third"])


def test_a_table_may_change_the_case_of_its_name(catalog):
    catalog.create_database("db")
    catalog.create_table("db.orders", SCHEMA, options={"write-only": "true"}).write(pa.table({"k": [1]}))
    catalog.rename_table("db.orders", "db.Orders")
    assert catalog.list_tables("db") == ["Orders"]
    assert catalog.table("db.Orders").scan().count() == 1


@pytest.mark.parametrize("name", ["x'; DROP TABLE paimon_tables; --", "%", "_", "a%' OR '1'='1", "ünïcödé 数据"])
def test_names_are_never_sql(catalog, name):
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    catalog.create_database(name)
    catalog.create_table(f"{name}.{name}", SCHEMA)
    assert catalog.list_databases() == sorted(["db", name])
    assert catalog.list_tables(name) == [name]
    assert catalog.table(f"{name}.{name}").name == f"{name}.{name}"
    catalog.drop_database(name, cascade=True)
    assert catalog.list_databases() == ["db"]
    assert catalog.list_tables("db") == ["t"]
    assert not catalog.table_exists("db._")
