import pyarrow as pa
import pytest

import paimon_core as paimon

SCHEMA = pa.schema([("k", pa.int64())])
OPTIONS = {"write-only": "true"}


@pytest.fixture(params=["filesystem", "sql"])
def catalog(request, tmp_path):
    uri = f"sqlite:///{tmp_path}/catalog.db" if request.param == "sql" else None
    catalog = paimon.open_catalog(tmp_path / "lake", type=request.param, uri=uri)
    catalog.create_database("db")
    return catalog


def keys(table):
    return sorted(table.scan().to_arrow()["k"].to_pylist())


def with_branch(catalog):
    """Create a table whose branch ``b`` has a schema and no snapshot."""
    table = catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    table.write(pa.table({"k": [1]}))
    schema = catalog.storage.read(f"{table.location}/schema/schema-0")
    catalog.storage.create_exclusive(f"{table.location}/branch/branch-b/schema/schema-0", schema)
    return table


def test_a_branch_opens_by_its_name_as_in_java(catalog):
    table = with_branch(catalog)
    branch = catalog.table("db.t$branch_b")
    branch.write(pa.table({"k": [2]}))
    assert branch.name == "db.t$branch_b"
    assert keys(branch) == [2]
    assert keys(table) == [1]
    assert keys(catalog.table("db.t$branch_main")) == [1]
    assert catalog.table_exists("db.t$branch_b")
    assert not catalog.table_exists("db.t$branch_c")
    assert catalog.list_tables("db") == ["t"]
    with pytest.raises(paimon.BranchNotFound, match="'c'"):
        catalog.table("db.t$branch_c")


def test_a_branch_is_not_a_table(catalog):
    with_branch(catalog)
    for call in (
        lambda: catalog.create_table("db.t$branch_x", SCHEMA),
        lambda: catalog.drop_table("db.t$branch_b"),
        lambda: catalog.rename_table("db.t$branch_b", "db.u"),
        lambda: catalog.rename_table("db.t", "db.t$branch_u"),
    ):
        with pytest.raises(paimon.InvalidRequest, match="names a branch"):
            call()
    with pytest.raises(paimon.UnsupportedFeature, match="system table"):
        catalog.table("db.t$snapshots")
    with pytest.raises(paimon.UnsupportedFeature, match="system table"):
        catalog.table("db.t$branch_b$snapshots")
    for bad in ("db.t$branch_", "db.t$branch_../x"):
        with pytest.raises(paimon.InvalidRequest, match="branch name"):
            catalog.table(bad)


def test_rename(catalog):
    with_branch(catalog)
    catalog.create_database("other")
    catalog.rename_table("db.t", "other.u")
    assert (catalog.list_tables("db"), catalog.list_tables("other")) == ([], ["u"])
    table = catalog.table("other.u")
    assert keys(table) == [1]
    table.write(pa.table({"k": [3]}))
    assert keys(catalog.table("other.u")) == [1, 3]
    assert keys(catalog.table("other.u$branch_b")) == []
    with pytest.raises(paimon.TableNotFound, match="tables: none"):
        catalog.table("db.t")
    catalog.create_table("db.t", SCHEMA)


def test_renames_that_are_refused(catalog):
    catalog.create_table("db.t", SCHEMA)
    catalog.create_table("db.u", SCHEMA)
    with pytest.raises(paimon.AlreadyExists, match=r"db\.u"):
        catalog.rename_table("db.t", "db.u")
    with pytest.raises(paimon.AlreadyExists, match=r"db\.t"):
        catalog.rename_table("db.t", "db.t")
    with pytest.raises(paimon.TableNotFound, match=r"db\.v"):
        catalog.rename_table("db.v", "db.w")
    with pytest.raises(paimon.DatabaseNotFound, match="nowhere"):
        catalog.rename_table("db.t", "nowhere.t")
    assert catalog.list_tables("db") == ["t", "u"]


def test_files_without_a_table_are_not_taken_over(catalog):
    catalog.create_table("db.t", SCHEMA)
    catalog.storage.write(f"{catalog.warehouse}/db.db/u/data", b"x")
    with pytest.raises(paimon.AlreadyExists, match="/u"):
        catalog.rename_table("db.t", "db.u")
    assert catalog.table("db.t").scan().count() == 0


def test_a_store_that_cannot_rename_directories():
    catalog = paimon.open_catalog("memory://rename")
    catalog.create_database("db", ignore_if_exists=True)
    catalog.create_table("db.t", SCHEMA, ignore_if_exists=True)
    with pytest.raises(paimon.UnsupportedFeature, match="cannot rename directories"):
        catalog.rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ["t"]
