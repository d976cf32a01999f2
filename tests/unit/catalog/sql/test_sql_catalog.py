"""The SQL catalog on SQLite: opening, secrets, and the state after each crash between database and files."""

import pickle
import sqlite3
import sys
from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.alter import SetOption
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.sql.connection import SqlConnection
from paimon_core.catalog.sql.names import SqlNames, table_properties
from paimon_core.catalog.sql.sql_catalog import SqlCatalog
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.schema import new_schema
from paimon_core.storage.open import open_storage
from tests.support.faulty_storage import Died, FaultyStorage, Outcome

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])
OPTIONS = {"write-only": "true"}
CANARY = "canary-7f3a"


@pytest.fixture
def uri(tmp_path):
    return f"sqlite:///{tmp_path}/catalog.db"


@pytest.fixture
def catalog(tmp_path, uri):
    catalog = paimon.open_catalog(tmp_path / "lake", type="sql", uri=uri)
    catalog.create_database("db")
    return catalog


def with_storage(catalog, storage):
    return SqlCatalog(storage, catalog.warehouse, catalog.location, catalog.names, catalog.lock, False)


def rows(tmp_path, query):
    connection = sqlite3.connect(tmp_path / "catalog.db")
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_the_rows_are_those_of_javas_catalog(catalog, tmp_path):
    catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "2"}, comment="c")
    lake = f"{tmp_path}/lake"
    assert rows(tmp_path, "SELECT * FROM paimon_tables") == [("jdbc", "db", "t")]
    assert sorted(rows(tmp_path, "SELECT * FROM paimon_database_properties")) == [
        ("jdbc", "db", "exists", "true"),
        ("jdbc", "db", "location", f"{lake}/db.db"),
    ]
    assert sorted(rows(tmp_path, "SELECT table_name, property_key, property_value FROM paimon_table_properties")) == [
        ("t", "bucket", "2"),
        ("t", "bucket-key", "k"),
        ("t", "primary-key", "k"),
    ]
    catalog.rename_table("db.t", "db.u")
    assert set(rows(tmp_path, "SELECT table_name FROM paimon_table_properties")) == {("u",)}
    catalog.drop_table("db.u")
    assert (
        rows(tmp_path, "SELECT * FROM paimon_tables UNION SELECT table_name, 1, 1 FROM paimon_table_properties") == []
    )
    assert rows(tmp_path, "SELECT * FROM paimon_distributed_locks") == []


def test_catalogs_share_a_database_by_their_keys(catalog, tmp_path, uri):
    other = paimon.open_catalog(tmp_path / "lake", type="sql", uri=uri, options={"catalog-key": "b"})
    other.create_database("db")
    catalog.create_table("db.t", SCHEMA)
    assert (catalog.list_tables("db"), other.list_tables("db")) == (["t"], [])
    other.drop_database("db", cascade=True)
    assert catalog.table("db.t").scan().count() == 0
    catalog.drop_table("db.t")
    catalog.storage.write(f"{tmp_path}/lake/db.db/t/snapshot/snapshot-1", b"{}")
    with pytest.raises(paimon.AlreadyExists, match="does not name"):
        catalog.create_table("db.t", SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"type": "hive"}, "'hive'.*filesystem, sql or rest"),
        ({"type": "sql"}, "needs a uri"),
        ({"uri": "sqlite:///x"}, "must have no uri"),
        ({"options": {"catalog-key": "a"}}, "'catalog-key'.*filesystem"),
        ({"type": "sql", "uri": "sqlite:///x", "options": {"lock-enabled": "true"}}, "'lock-enabled'"),
        ({"type": "sql", "uri": "sqlite:///x", "options": {"lock.enabled": "maybe"}}, "lock.enabled.*true or false"),
        ({"type": "sql", "uri": "sqlite:///x", "options": {"lock.type": "zookeeper"}}, "lock.type.*jdbc"),
        ({"type": "sql", "uri": "sqlite:///x", "options": {"lock-acquire-timeout": "8"}}, "must be '8 ms' or '8 s'"),
        ({"type": "sql", "uri": "sqlite:///x", "options": {"catalog-key": " "}}, "catalog-key.*blank"),
        ({"type": "sql", "uri": "sqlite://"}, "in memory"),
        ({"type": "sql", "uri": "sqlite:///:memory:"}, "in memory"),
        ({"type": "sql", "uri": f"jdbc:postgresql://h/d?password={CANARY}"}, "not a JDBC URI"),
        ({"type": "sql", "uri": f"mysql://u:{CANARY}@h/d"}, "'mysql'"),
        ({"type": "sql", "uri": f"u:{CANARY}@h/d"}, "cannot be parsed"),
        ({"type": "sql", "uri": f"postgresql+nothing://u:{CANARY}@h/d"}, "driver of postgresql"),
        ({"type": "sql", "uri": f"postgresql+psycopg://u:{CANARY}@h:port/d"}, "cannot be parsed"),
    ],
)
def test_arguments_that_are_refused_and_not_shown(tmp_path, arguments, message):
    with pytest.raises(paimon.InvalidRequest, match=message) as error:
        paimon.open_catalog(tmp_path, **arguments)
    assert CANARY not in f"{error.value!r} {error.value} {error.value.facts}"
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_never_shown(tmp_path, monkeypatch):
    uri = f"postgresql+psycopg://u:{CANARY}@127.0.0.1:1/d?application_name={CANARY}"
    connection = SqlConnection.to(uri)
    shown = f"{connection} {connection!r} {SqlNames(connection, 'jdbc')!r} {connection.shown}"
    assert CANARY not in shown
    assert "u:***@127.0.0.1:1/d" in shown
    assert pickle.loads(pickle.dumps(connection)) == connection  # noqa: S301
    with pytest.raises(paimon.StorageError, match=r"u:\*\*\*@127\.0\.0\.1") as error:
        paimon.open_catalog(tmp_path, type="sql", uri=uri)
    assert CANARY not in f"{error.value!r} {error.value} {error.value.__cause__}"


def test_a_relative_file_is_found_from_every_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    catalog = paimon.open_catalog("lake", type="sql", uri="sqlite:///catalog.db")
    monkeypatch.chdir("/")
    catalog.create_database("db")
    assert rows(tmp_path, "SELECT DISTINCT database_name FROM paimon_database_properties") == [("db",)]


def test_a_file_that_is_not_a_database(tmp_path):
    (tmp_path / "text").write_text("this is no database, " * 100)
    with pytest.raises(paimon.StorageError, match="not a database"):
        paimon.open_catalog(tmp_path / "lake", type="sql", uri=f"sqlite:///{tmp_path}/text")


@pytest.mark.parametrize(
    ("kind", "library", "uri"), [("sql", "sqlalchemy", "sqlite:///x"), ("rest", "requests", "http://h")]
)
def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch, kind, library, uri):
    for name in [n for n in sys.modules if n.startswith(("paimon_core.catalog.sql.", "paimon_core.catalog.rest."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(paimon.UnsupportedFeature, match=rf"{library}: install paimon-core\[{kind}\]"):
        paimon.open_catalog(tmp_path, type=kind, uri=uri)


def test_an_option_that_is_too_long_for_the_database(catalog):
    with pytest.raises(paimon.InvalidOption, match="the value has 1001 characters, the limit of a SQL catalog is 1000"):
        catalog.create_table("db.t", SCHEMA, options={"partition.default-name": "a" * 1001})
    assert catalog.list_tables("db") == []


def test_a_name_of_an_option_that_is_too_long_for_the_database():
    schema = replace(new_schema(SCHEMA), options={"x" * 256: "a"})
    with pytest.raises(paimon.InvalidOption, match="the name has 256 characters, the limit of a SQL catalog is 255"):
        table_properties(schema)


# -- crash points


def test_a_create_interrupted_before_the_name_is_completed_by_the_same_call(catalog, monkeypatch):
    def die(*_):
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(SqlNames, "add", die)
        with pytest.raises(Died):
            catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    assert catalog.list_tables("db") == []
    with pytest.raises(paimon.TableNotFound):
        catalog.table("db.t")
    with pytest.raises(paimon.AlreadyExists, match="register_table"):
        catalog.create_table("db.t", SCHEMA, options={**OPTIONS, "bucket": "2", "bucket-key": "k"})
    catalog.create_table("db.t", SCHEMA, options=OPTIONS).write(pa.table({"k": [1], "v": ["a"]}))
    assert catalog.table("db.t").scan().count() == 1


def test_a_create_interrupted_in_the_middle_of_a_file(catalog, tmp_path):
    catalog.storage.write(f"{tmp_path}/lake/db.db/t/schema/.schema-0.uuid.tmp", b"torn")
    assert catalog.create_table("db.t", SCHEMA).scan().count() == 0


def test_register_table(catalog, tmp_path, uri):
    catalog.create_table("db.t", SCHEMA, options=OPTIONS).write(pa.table({"k": [1], "v": ["a"]}))
    other = paimon.open_catalog(tmp_path / "lake", type="sql", uri=uri, options={"catalog-key": "b"})
    other.create_database("db")
    assert other.register_table("db.t").scan().count() == 1
    with pytest.raises(paimon.AlreadyExists, match=r"db\.t"):
        other.register_table("db.t")
    with pytest.raises(paimon.TableNotFound, match=r"db\.u"):
        other.register_table("db.u")


@pytest.mark.parametrize("outcome", [Outcome.DIE_BEFORE, Outcome.FAIL])
def test_an_interrupted_drop_leaves_files_that_are_not_read(catalog, outcome):
    table = catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    table.write(pa.table({"k": [1], "v": ["a"]}))
    storage = FaultyStorage(catalog.storage)
    storage.on("delete_directory", "db.db/t", outcome)
    with pytest.raises((Died, paimon.StorageError)):
        with_storage(catalog, storage).drop_table("db.t")
    assert catalog.list_tables("db") == []
    with pytest.raises(paimon.AlreadyExists, match=r"call drop_table\(.*\), which deletes the remaining files"):
        catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    with pytest.raises(paimon.TableNotFound):
        catalog.register_table("db.t")
    catalog.drop_table("db.t")
    assert catalog.create_table("db.t", SCHEMA, options=OPTIONS).scan().count() == 0


def test_the_files_of_an_interrupted_rename_are_not_used_for_a_new_table(tmp_path, uri):
    """When files are moved one by one, the schemas are last: the rest looks like a table that was just created."""
    catalog = in_memory(tmp_path, uri)
    storage = FaultyStorage(catalog.storage)
    storage.on("move", "schema-0", Outcome.FAIL)
    with pytest.raises(paimon.StorageError, match="repeat rename_table"):
        with_storage(catalog, storage).rename_table("db.t", "db.u")
    with pytest.raises(paimon.AlreadyExists, match="completes an interrupted rename"):
        catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    catalog.rename_table("db.t", "db.u")
    assert catalog.table("db.u").scan().count() == 1
    assert catalog.create_table("db.t", SCHEMA, options=OPTIONS).scan().count() == 0


def test_a_rename_that_moves_no_file_restores_the_name(catalog):
    catalog.create_table("db.t", SCHEMA, options=OPTIONS).write(pa.table({"k": [1], "v": ["a"]}))
    storage = FaultyStorage(catalog.storage)
    storage.on("move_directory", "db.db/t", Outcome.FAIL)
    with pytest.raises(paimon.StorageError, match="injected"):
        with_storage(catalog, storage).rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ["t"]
    assert catalog.table("db.t").scan().count() == 1


def test_an_interrupted_rename_is_completed_by_the_same_call(catalog):
    catalog.create_table("db.t", SCHEMA, options=OPTIONS).write(pa.table({"k": [1], "v": ["a"]}))
    storage = FaultyStorage(catalog.storage)
    storage.on("move_directory", "db.db/t", Outcome.DIE_BEFORE)
    with pytest.raises(Died):
        with_storage(catalog, storage).rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ["u"]
    with pytest.raises(paimon.StorageError, match="rename_table with the same names"):
        catalog.table("db.u")
    assert not catalog.table_exists("db.u")
    catalog.rename_table("db.t", "db.u")
    assert catalog.table("db.u").scan().count() == 1


def in_memory(tmp_path, uri, key="jdbc"):
    store, root = open_storage(f"memory://{tmp_path}/{key}")
    catalog = SqlCatalog.open(store, root, root, uri, {"lock.enabled": "false", "catalog-key": key})
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA, options=OPTIONS).write(pa.table({"k": [1], "v": ["a"]}))
    return catalog


@pytest.mark.parametrize("after", [False, True])
def test_rename_file_by_file_survives_a_crash_at_every_step(tmp_path, uri, after):
    """A store that cannot rename directories: its refusal is call 0, the moves follow."""
    steps = 1
    while True:
        catalog = in_memory(tmp_path, uri, f"step-{steps}")
        storage = FaultyStorage(catalog.storage, die_at=steps, die_after=after)
        broken = with_storage(catalog, storage)
        died = False
        try:
            broken.rename_table("db.t", "db.u")
        except Died:
            died = True
            if not catalog.table_exists("db.u"):
                catalog.rename_table("db.t", "db.u")
        assert catalog.table("db.u").scan().to_arrow()["k"].to_pylist() == [1]
        assert catalog.list_tables("db") == ["u"]
        if not died:
            break
        steps += 1
    assert steps > 5


def test_the_error_of_an_incomplete_rename_states_what_to_do(tmp_path, uri):
    catalog = in_memory(tmp_path, uri)
    storage = FaultyStorage(catalog.storage)
    storage.on("move", "snapshot-1", Outcome.FAIL)
    with pytest.raises(paimon.StorageError, match="repeat rename_table"):
        with_storage(catalog, storage).rename_table("db.t", "db.u")
    catalog.rename_table("db.t", "db.u")
    assert catalog.table("db.u").scan().count() == 1


def test_a_view_of_the_name(catalog, tmp_path):
    connection = sqlite3.connect(tmp_path / "catalog.db")
    connection.execute("CREATE TABLE paimon_views (catalog_key TEXT, database_name TEXT, view_name TEXT)")
    connection.execute("INSERT INTO paimon_views VALUES ('jdbc', 'db', 'v')")
    connection.commit()
    connection.close()
    with pytest.raises(paimon.AlreadyExists, match="a view"):
        catalog.create_table("db.v", SCHEMA)
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(paimon.AlreadyExists, match="a view"):
        catalog.rename_table("db.t", "db.v")
    assert not catalog.names.has(Identifier("db", "v"))


def test_dropping_a_database_keeps_files_that_belong_to_no_table(catalog, tmp_path):
    catalog.create_table("db.t", SCHEMA)
    catalog.storage.write(f"{tmp_path}/lake/db.db/notes", b"mine")
    with pytest.raises(paimon.InvalidRequest, match="contains tables"):
        catalog.drop_database("db")
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []
    assert [p.name for p in (tmp_path / "lake" / "db.db").iterdir()] == ["notes"]


# -- alterations


def properties(tmp_path):
    return dict(rows(tmp_path, "SELECT property_key, property_value FROM paimon_table_properties"))


def test_an_alteration_updates_the_properties_under_the_lock(catalog, tmp_path, monkeypatch):
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "2"})
    held = []
    real = SchemaStore.publish

    def publish(*arguments):
        held.append(rows(tmp_path, "SELECT lock_id FROM paimon_distributed_locks"))
        return real(*arguments)

    monkeypatch.setattr(SchemaStore, "publish", publish)
    altered = table.alter("RENAME COLUMN k TO key, SET ('write-only' = 'true')")
    assert held == [[("jdbc.db.t",)]]
    expected = {"bucket": "2", "write-only": "true", "primary-key": "key", "bucket-key": "key"}
    assert properties(tmp_path) == expected
    assert catalog.table("db.t").schema == altered.schema
    altered.write([{"key": 1, "v": "a"}])
    altered.tags.create("x")
    altered.branches.create("b", tag="x")
    catalog.table("db.t$branch_b").alter("SET ('write-only' = 'false')")
    assert properties(tmp_path) == expected


def test_an_option_that_is_too_long_for_a_property_is_refused_before_the_schema(catalog):
    table = catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    with pytest.raises(paimon.InvalidOption, match="limit of a SQL catalog"):
        table.alter(SetOption("sink.writer-refresh-detectors", "x" * 9000))
    assert table.context.schemas.ids() == [0]


def test_a_table_that_another_process_renamed_is_not_altered(catalog):
    table = catalog.create_table("db.t", SCHEMA, options=OPTIONS)
    catalog.names.rename(Identifier("db", "t"), Identifier("db", "u"))
    with pytest.raises(paimon.TableNotFound, match="nothing was changed"):
        table.alter("ADD COLUMN n INT")
    assert table.context.schemas.ids() == [0]
