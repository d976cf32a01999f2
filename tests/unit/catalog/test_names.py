"""Names of new databases and tables: rows 1 to 10 of the bad inputs, in every catalog that stores names itself."""

import pyarrow as pa
import pytest

import paimon_core as paimon

SCHEMA = pa.schema([("k", pa.int64())])


@pytest.fixture(params=["filesystem", "sql"])
def catalog(request, tmp_path):
    uri = f"sqlite:///{tmp_path}/catalog.db" if request.param == "sql" else None
    return paimon.open_catalog(tmp_path / "lake", type=request.param, uri=uri)


BAD = {
    "empty": ("", "'database.table'|not blank"),
    "blank": (" \t", "not blank|control"),
    "parent": ("../x", "no '/'|'database.table'"),
    "deep": ("../../evilt", "no '/'|'database.table'"),
    "absolute": ("/abs", "no '/'"),
    "drive": ("C:\\x", "has no"),
    "colon": ("a:b", "':' at 1"),
    "glob": ("a*", r"'\*' at 1"),
    "dot": ("a.b", "dot|'database.table'"),
    "suffix": ("x.db", "dot|'database.table'"),
    "hidden": (".x", "dot|'database.table'"),
    "dollar": ("t$snapshots", r"'\$'|system table"),
    "long": ("a" * 256, "the limit is 200"),
    "long in bytes": ("ä" * 101, "202 bytes"),
    "nul": ("a\0b", "control"),
    "newline": ("a\nb", "control"),
    "delete": ("a\x7fb", "U\\+007F at 1"),
    "bidi": ("abc\u202egpj", "U\\+202E at 3"),
    "no width": ("a\u200bb", "U\\+200B at 1"),
    "surrogate": ("a\ud800", "control|surrogate|not blank"),
    "reserved": ("CON", "not portable"),
    "reserved, small": ("lpt1", "not portable"),
    "space behind": ("a ", "not portable"),
    "space before": (" a", "not portable"),
}


@pytest.mark.parametrize("case", BAD)
def test_names_that_are_refused(catalog, case, tmp_path):
    name, message = BAD[case]
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    before = sorted(p for p in tmp_path.rglob("*"))
    with pytest.raises(paimon.InvalidRequest, match=message) as error:
        catalog.create_database(name)
    assert "\u202e" not in str(error.value)
    with pytest.raises(paimon.InvalidRequest, match=message):
        catalog.create_table(f"db.{name}", SCHEMA)
    with pytest.raises(paimon.InvalidRequest, match=message):
        catalog.rename_table("db.t", f"db.{name}")
    assert catalog.list_databases() == ["db"]
    assert catalog.list_tables("db") == ["t"]
    assert sorted(p for p in tmp_path.rglob("*")) == before


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


def test_the_database_of_paimons_system_tables_is_reserved(catalog):
    with pytest.raises(paimon.InvalidRequest, match="reserved for Paimon's system tables"):
        catalog.create_database("sys")


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
