"""Interrupted drops: at every call, on every store, and by other programs."""

from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.filesystem import FilesystemCatalog
from paimon_core.catalog.sql.sql_catalog import SqlCatalog
from paimon_core.errors import PaimonError
from tests.support.faulty_storage import Died, FaultyStorage

SCHEMA = pa.schema([("p", pa.int64()), ("k", pa.int64())])
OPTIONS = {"bucket": "1", "write-only": "true"}


def create(catalog):
    made = catalog.create_table("db.t", SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    made.write(pa.table({"p": [1, 2], "k": [1, 2]}, schema=SCHEMA))
    made.tags.create("t1")
    made.branches.create("b1", tag="t1")
    schema = made.context.storage.read(made.context.paths.schema(0))
    made.context.storage.write(made.context.paths.schema(1), schema.replace(b'"id": 0,\n  "f', b'"id": 1,\n  "f'))
    return catalog.table("db.t")


def opened(kind, path):
    path.mkdir()
    if kind == "sql":
        made = paimon.open_catalog(path / "lake", type="sql", uri=f"sqlite:///{path}/names.db")
    else:
        made = paimon.open_catalog(path / "lake" if kind == "local" else f"memory://{path}")
    made.create_database("db")
    return made


def with_storage(catalog, storage):
    if isinstance(catalog, SqlCatalog):
        return SqlCatalog(storage, catalog.warehouse, catalog.location, catalog.names, catalog.lock, False)
    return FilesystemCatalog(storage, catalog.warehouse)


def calls_of_a_drop(kind, path):
    catalog = opened(kind, path)
    create(catalog)
    storage = FaultyStorage(catalog.storage)
    with_storage(catalog, storage).drop_table("db.t")
    return storage.mutations


KINDS = ["local", "memory", pytest.param("sql", marks=pytest.mark.long)]


@pytest.mark.parametrize("die_after", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_drop_interrupted_at_any_call_is_completed_by_the_next(tmp_path, kind, die_after):
    calls = calls_of_a_drop(kind, tmp_path / "count")
    assert calls > 8
    for number in range(calls):
        catalog = opened(kind, tmp_path / str(number))
        table = create(catalog)
        storage = FaultyStorage(catalog.storage, die_at=number, die_after=die_after)
        with pytest.raises(Died):
            with_storage(catalog, storage).drop_table("db.t")
        if number == 0 and not die_after:
            assert catalog.table("db.t").scan().count() == table.scan().count() == 2
            continue
        # Readers see that the table is missing, not that it is damaged.
        assert not catalog.table_exists("db.t")
        with pytest.raises(paimon.TableNotFound):
            catalog.table("db.t")
        if storage.count("delete", "schema/schema-1") > 1 - die_after:
            for call in (table.scan, table.tags.list, table.maintenance.repair_hints):
                with pytest.raises(paimon.TableNotFound):
                    call()
        catalog.drop_table("db.t", ignore_if_missing=True)
        assert catalog.list_tables("db") == []
        assert not catalog.storage.exists(table.location)
        assert create(catalog).scan().count() == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_table_is_created_or_the_error_states_what_to_do(tmp_path, kind):
    for number in range(calls_of_a_drop(kind, tmp_path / "count")):
        catalog = opened(kind, tmp_path / str(number))
        create(catalog)
        with pytest.raises(Died):
            with_storage(catalog, FaultyStorage(catalog.storage, die_at=number, die_after=True)).drop_table("db.t")
        if any(catalog.storage.walk(f"{catalog.warehouse}/db.db/t")) or catalog.list_tables("db"):
            with pytest.raises(PaimonError, match="drop_table"):
                create(catalog)
            catalog.drop_table("db.t")
        assert create(catalog).scan().count() == 2


def test_the_name_of_a_half_dropped_table_is_not_renamed_to(tmp_path):
    catalog = opened("local", tmp_path / "x")
    create(catalog)
    with pytest.raises(Died):
        with_storage(catalog, FaultyStorage(catalog.storage, die_at=3)).drop_table("db.t")
    catalog.create_table("db.u", SCHEMA)
    with pytest.raises(paimon.AlreadyExists, match="which drop_table completes"):
        catalog.rename_table("db.u", "db.t")
    catalog.drop_table("db.t")
    catalog.rename_table("db.u", "db.t")


@pytest.mark.parametrize("left", ["bucket-0", "manifest", "p=1", "snapshot", "tag"])
def test_an_interrupted_drop_of_another_program_is_completed(tmp_path, left):
    """Another program deletes in another order, without a mark."""
    catalog = opened("local", tmp_path / "x")
    folder = Path(catalog.warehouse, "db.db", "t", left)
    file = folder / ("bucket-0/data-1.parquet" if left == "p=1" else f"{left}-1")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    with pytest.raises(paimon.InvalidRequest, match=r"Call drop_table\('[a-z.]+'\)"):
        catalog.create_table("db.t", SCHEMA)
    catalog.drop_table("db.t")
    assert not folder.parent.exists()


@pytest.mark.parametrize("files", [["notes.txt"], ["dt=1/part-0.csv"], ["bucket-0/x", "notes.txt"], ["tag/x"]])
def test_a_directory_that_is_not_a_table_is_not_dropped(tmp_path, files):
    catalog = opened("local", tmp_path / "x")
    root = Path(catalog.warehouse, "db.db", "t")
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")
    with pytest.raises(paimon.TableNotFound):
        catalog.drop_table("db.t")
    assert all((root / name).exists() for name in files)


def test_an_interrupted_drop_of_a_database_is_completed(tmp_path):
    for number in range(calls_of_a_drop("local", tmp_path / "count") + 1):
        catalog = opened("local", tmp_path / str(number))
        create(catalog)
        with pytest.raises(Died):
            with_storage(catalog, FaultyStorage(catalog.storage, die_at=number)).drop_database("db", cascade=True)
        if number:
            assert not catalog.table_exists("db.t")
        catalog.drop_database("db", cascade=True)
        assert catalog.list_databases() == []


def test_files_of_a_concurrent_writer_are_deleted_too(tmp_path):
    catalog = opened("local", tmp_path / "x")
    table = create(catalog)
    storage = FaultyStorage(catalog.storage)
    late = f"{table.location}/a-late-file"
    storage.before("delete_directory", "/tag", lambda: catalog.storage.write(late, b"x"))
    with_storage(catalog, storage).drop_table("db.t")
    assert not catalog.storage.exists(table.location)
