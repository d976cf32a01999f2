"""A new table in the place of an old one: after an error the old table is as it was."""

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.alter.changes import SetOption
from paimon_core.errors import CommitConflict, UnsupportedFeature
from paimon_core.spark.sql.replacing import replace_table

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def catalog(tmp_path):
    catalog = paimon.open_catalog(str(tmp_path))
    catalog.create_database("db")
    catalog.create_table("db.t", "id BIGINT").write(ROWS)
    return catalog


def replaced(catalog, during=lambda: None, columns="n BIGINT"):
    def write(table):
        found = table.write(pa.table({"n": [7]}))
        during()
        return found

    return replace_table(catalog, catalog.table("db.t"), lambda name: catalog.create_table(name, columns), write)


def is_unchanged(catalog):
    return catalog.list_tables("db") == ["t"] and catalog.table("db.t").scan().to_arrow()["id"].to_pylist()[:2] == [
        1,
        2,
    ]


def test_the_new_table_takes_the_name(catalog):
    assert replaced(catalog).id == 1
    assert catalog.list_tables("db") == ["t"]
    assert catalog.table("db.t").scan().to_arrow().to_pydict() == {"n": [7]}


@pytest.mark.parametrize(
    "change", [lambda table: table.write(ROWS), lambda table: table.alter(SetOption("write-only", "true"))]
)
def test_a_commit_or_alteration_in_between_keeps_the_old_table(catalog, change):
    with pytest.raises(CommitConflict, match="run the statement again"):
        replaced(catalog, lambda: change(catalog.table("db.t")))
    assert is_unchanged(catalog)


def test_a_commit_after_the_rows_were_written_is_seen_too(catalog, monkeypatch):
    rename = type(catalog).rename_table

    def late(catalog, name, to):
        if name == "db.t":
            catalog.table("db.t").write(ROWS)
        rename(catalog, name, to)

    monkeypatch.setattr(type(catalog), "rename_table", late)
    with pytest.raises(CommitConflict):
        replaced(catalog)
    assert is_unchanged(catalog)
    assert catalog.table("db.t").scan().to_arrow().num_rows == 4


def test_a_table_that_is_dropped_in_between_is_a_conflict(catalog):
    with pytest.raises(CommitConflict):
        replaced(catalog, lambda: catalog.drop_table("db.t"))
    assert catalog.list_tables("db") == []


def test_a_failing_rename_gives_the_old_table_its_name_back(catalog, monkeypatch):
    rename = type(catalog).rename_table

    def failing(catalog, name, to):
        if to == "db.t" and "replacing" in name:
            raise OSError("the store is away")
        rename(catalog, name, to)

    monkeypatch.setattr(type(catalog), "rename_table", failing)
    with pytest.raises(OSError, match="the store is away"):
        replaced(catalog)
    assert is_unchanged(catalog)


def test_a_catalog_that_cannot_rename_refuses_before_rows_are_written(catalog, monkeypatch):
    def refuse(catalog, name, to):
        raise UnsupportedFeature(f"cannot rename table {name}", table=name)

    monkeypatch.setattr(type(catalog), "rename_table", refuse)
    with pytest.raises(UnsupportedFeature, match=r"table db\.t cannot be replaced.*INSERT OVERWRITE"):
        replaced(catalog, lambda: pytest.fail("rows were written"))
    assert is_unchanged(catalog)
