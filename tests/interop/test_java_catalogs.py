"""Java's JDBC catalog on our SQLite database and ours on its, the lock between both; Paimon's own REST server."""

import sqlite3
import threading

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.alter import AddColumn
from paimon_core.catalog.identifier import Identifier
from paimon_core.catalog.sql.sql_catalog import SqlCatalog
from paimon_core.table.table import Table
from tests.support.faulty_storage import FaultyStorage

pytestmark = pytest.mark.java

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])
OPTIONS = {"bucket": "1", "write-only": "true"}
FIELDS = [{"name": "k", "type": "BIGINT NOT NULL"}, {"name": "v", "type": "STRING"}]
CANARY = "canary-7f3a"


def rows(table: Table) -> list[tuple[int, str]]:
    found = table.scan().to_arrow()
    return sorted(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True))


def dumped(table: str) -> dict:
    return {"op": "dump", "table": table}


# -- JDBC


@pytest.fixture
def ours(tmp_path):
    return paimon.open_catalog(
        tmp_path / "lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", options={"lock.enabled": "true"}
    )


@pytest.fixture
def java(oracle, tmp_path):
    # Java 1.4 leaves the first reads of its connections open, which stops later writes of the same ones.
    options = {
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        "lock.enabled": "true",
        "client-pool-size": "1",
    }

    def run(*steps, **arguments):
        return oracle.run(tmp_path / "lake", steps, catalog_options=options, **arguments)

    return run


def test_java_uses_the_tables_that_we_make(ours, java):
    ours.create_database("db")
    table = ours.create_table("db.t", SCHEMA, primary_key=["k"], options=OPTIONS)
    table.write(pa.table({"k": [1], "v": ["ours"]}))
    listed, _, dump = java(
        {"op": "list"},
        {"op": "write", "table": "db.t", "rows": [["+I", 2, "java"]]},
        dumped("db.t"),
    )
    assert listed["databases"] == {"db": ["t"]}
    assert dump["rows"] == [["+I", 1, "ours"], ["+I", 2, "java"]]
    assert rows(ours.table("db.t")) == [(1, "ours"), (2, "java")]
    (listed,) = java({"op": "renameTable", "table": "db.t", "to": "db.u"}, {"op": "list"})[1:]
    assert listed["databases"] == {"db": ["u"]}
    assert ours.list_tables("db") == ["u"]
    assert rows(ours.table("db.u")) == [(1, "ours"), (2, "java")]
    java({"op": "dropTable", "table": "db.u"}, {"op": "dropDatabase", "name": "db"})
    assert ours.list_databases() == []


def test_we_use_the_tables_that_java_makes(ours, java):
    java(
        {"op": "create", "table": "db.t", "fields": FIELDS, "primaryKeys": ["k"], "options": OPTIONS},
        {"op": "write", "table": "db.t", "rows": [["+I", 1, "java"]]},
    )
    assert (ours.list_databases(), ours.list_tables("db")) == (["db"], ["t"])
    ours.table("db.t").write(pa.table({"k": [2], "v": ["ours"]}))
    ours.create_database("other")
    ours.rename_table("db.t", "other.u")
    (dump,) = java(dumped("other.u"))
    assert dump["rows"] == [["+I", 1, "java"], ["+I", 2, "ours"]]
    # A table of the old name: what rows of the old one are left would stop Java.
    java({"op": "create", "table": "db.t", "fields": FIELDS, "options": {"bucket": "-1"}})
    ours.drop_table("db.t")
    ours.drop_database("other", cascade=True)
    (_, listed) = java({"op": "create", "table": "db.t", "fields": FIELDS, "options": {}}, {"op": "list"})
    assert listed["databases"] == {"db": ["t"]}


def test_tables_that_one_side_alters_in_the_jdbc_catalog(ours, java):
    ours.create_database("db")
    table = ours.create_table("db.t", SCHEMA, primary_key=["k"], options=OPTIONS)
    table.write(pa.table({"k": [1], "v": ["ours"]}))
    java({"op": "alter", "table": "db.t", "changes": [{"change": "rename", "name": "v", "to": "w"}]})
    altered = table.alter("RENAME COLUMN w TO v, ADD COLUMN n INT, SET ('snapshot.num-retained.min' = '2')")
    assert altered.schema.id == 2
    (dump,) = java(dumped("db.t"))
    assert dump["rows"] == [["+I", 1, "ours", None]]


def test_java_and_we_refuse_each_others_names(ours, java):
    java({"op": "create", "table": "db.t", "fields": FIELDS})
    with pytest.raises(paimon.AlreadyExists, match=r"db\.t"):
        ours.create_table("db.t", SCHEMA)
    ours.create_table("db.u", SCHEMA)
    (refused,) = java({"op": "create", "table": "db.u", "fields": FIELDS}, allow_errors=True)
    assert "TableAlreadyExist" in refused["error"]
    (refused,) = java({"op": "renameTable", "table": "db.t", "to": "db.u"}, allow_errors=True)
    assert "TableAlreadyExist" in refused["error"]
    with pytest.raises(paimon.AlreadyExists, match="does not name"):
        without_a_name(ours, java)


def without_a_name(ours, java):
    java({"op": "create", "table": "db.lost", "fields": FIELDS})
    ours.names.remove(Identifier("db", "lost"))
    ours.create_table("db.lost", SCHEMA)


def test_commits_of_java_and_ours_race_under_the_lock_and_nothing_is_lost(ours, java):
    """Java checks that the next snapshot's file is not there, then renames: without the lock it loses commits."""
    count = 25
    ours.create_database("db")
    ours.create_table("db.t", SCHEMA, options={"write-only": "true", "commit.max-retries": "1000"})
    steps = [
        {"op": "write", "table": "db.t", "rows": [["+I", n, "java"]], "options": {"commit.max-retries": "1000"}}
        for n in range(count)
    ]
    answers: list = []
    racer = threading.Thread(target=lambda: answers.append(java(*steps)))
    racer.start()
    table = ours.table("db.t")
    for n in range(count):
        table.write(pa.table({"k": [n], "v": ["ours"]}))
    racer.join()
    assert len(answers) == 1, "Java failed"
    assert rows(ours.table("db.t")) == sorted([(n, who) for n in range(count) for who in ("java", "ours")])
    assert ours.table("db.t").inspect.snapshots()["snapshot_id"].to_pylist() == list(range(1, 2 * count + 1))
    (dump,) = java(dumped("db.t"))
    assert dump["count"] == 2 * count


COUNT_ATTEMPTS = """
CREATE TABLE attempts (lock_id TEXT);
CREATE TRIGGER count_attempts BEFORE INSERT ON paimon_distributed_locks
WHEN EXISTS (SELECT 1 FROM paimon_distributed_locks WHERE lock_id = NEW.lock_id)
BEGIN INSERT INTO attempts VALUES (NEW.lock_id); SELECT RAISE(IGNORE); END;
"""


def test_java_does_not_commit_while_we_hold_the_lock(ours, java, tmp_path):
    """If it did not wait it would find no snapshot 1 and put its own there; so ours is the first, Java's the second."""
    ours.create_database("db")
    ours.create_table("db.t", SCHEMA, options={"write-only": "true"})
    database = sqlite3.connect(tmp_path / "catalog.db")
    database.executescript(COUNT_ATTEMPTS)
    storage = FaultyStorage(ours.storage)
    table = SqlCatalog(storage, ours.warehouse, ours.location, ours.names, ours.lock, True).table("db.t")
    write = {"op": "write", "table": "db.t", "rows": [["+I", 1, "java"]]}
    racer = threading.Thread(target=java, args=(write,))

    def let_java_try() -> None:
        racer.start()
        while racer.is_alive() and not database.execute("SELECT * FROM attempts").fetchall():
            racer.join(timeout=0.02)

    storage.before("create_exclusive", "snapshot-1", let_java_try)
    assert table.write(pa.table({"k": [1], "v": ["ours"]})).id == 1
    racer.join()
    assert table.latest_snapshot().id == 2
    assert rows(table) == [(1, "java"), (1, "ours")]
    database.close()


# -- REST


@pytest.fixture
def server(oracle, tmp_path):
    """Paimon's own server for tests, on files of this machine; its address."""

    def start(**fields):
        step = {"op": "startRest", "name": "lake", "path": f"file://{tmp_path}/lake", "token": CANARY, **fields}
        (answer,) = oracle.run(tmp_path / "lake", [step])
        uris.append(answer["uri"])
        return answer["uri"]

    uris: list[str] = []
    yield start
    oracle.run(tmp_path / "lake", [{"op": "stopRest", "uri": uri} for uri in uris])


def rest_of(uri, **options):
    return paimon.open_catalog("lake", type="rest", uri=uri, options={"token": CANARY, **options})


@pytest.fixture
def rest(server):
    return rest_of(server())


def through_rest(rest, oracle, tmp_path, *steps):
    options = {
        "metastore": "rest",
        "uri": rest.client.uri,
        "token.provider": "bear",
        "token": CANARY,
    }
    return oracle.run("lake", steps, catalog_options=options)


def test_rest_databases_and_tables(rest):
    assert rest.list_databases() == []
    rest.create_database("db")
    with pytest.raises(paimon.AlreadyExists, match="db"):
        rest.create_database("db")
    rest.create_database("db", ignore_if_exists=True)
    assert (rest.database_exists("db"), rest.database_exists("nope")) == (True, False)
    table = rest.create_table("db.t", SCHEMA, primary_key=["k"], options=OPTIONS, comment="c")
    assert table.schema.comment == "c"
    assert table.schema.options["bucket"] == "1"
    assert rest.create_table("db.t", SCHEMA, ignore_if_exists=True).schema == table.schema
    with pytest.raises(paimon.AlreadyExists, match=r"db\.t"):
        rest.create_table("db.t", SCHEMA)
    assert rest.list_tables("db") == ["t"]
    assert (rest.table_exists("db.t"), rest.table_exists("db.u")) == (True, False)
    with pytest.raises(paimon.TableNotFound, match=r"db\.u"):
        rest.table("db.u")
    with pytest.raises(paimon.DatabaseNotFound, match="nope"):
        rest.list_tables("nope")
    with pytest.raises(paimon.InvalidRequest, match="contains tables"):
        rest.drop_database("db")
    rest.drop_table("db.t")
    with pytest.raises(paimon.TableNotFound, match="t"):
        rest.drop_table("db.t")
    rest.drop_table("db.t", ignore_if_missing=True)
    rest.drop_database("db")
    rest.drop_database("db", ignore_if_missing=True)
    with pytest.raises(paimon.DatabaseNotFound):
        rest.drop_database("db")


def test_rest_commits(rest, oracle, tmp_path):
    rest.create_database("db")
    table = rest.create_table("db.t", SCHEMA, primary_key=["k"], options=OPTIONS)
    assert rest.latest_snapshot("db.t") is None
    snapshot = table.write(pa.table({"k": [1], "v": ["ours"]}))
    # A server of 1.4 drops what it does not know, the uuid too.
    assert rest.latest_snapshot("db.t").is_same_commit(snapshot)
    (dump, _) = through_rest(
        rest, oracle, tmp_path, dumped("db.t"), {"op": "write", "table": "db.t", "rows": [["+I", 2, "java"]]}
    )
    assert dump["rows"] == [["+I", 1, "ours"]]
    assert rows(rest.table("db.t")) == [(1, "ours"), (2, "java")]
    rest.table("db.t").compact(full=True)
    table.write(pa.table({"k": [1], "v": ["again"]}))
    assert rest.latest_snapshot("db.t").id == table.latest_snapshot().id == 4
    rest.rename_table("db.t", "db.u")
    assert rest.list_tables("db") == ["u"]


def test_rest_alterations(rest, oracle, tmp_path):
    rest.create_database("db")
    table = rest.create_table("db.t", SCHEMA, primary_key=["k"], options=OPTIONS)
    table.write(pa.table({"k": [1], "v": ["5"]}))
    altered = table.alter(
        "ADD COLUMN n DECIMAL(5, 2) DEFAULT 1.5 COMMENT 'c' AFTER k, ALTER COLUMN v TYPE INT, COMMENT 'all'",
        AddColumn("r", pa.struct([("a", pa.int32())]), first=True),
        "SET ('snapshot.num-retained.min' = '2'), ALTER COLUMN v COMMENT 'x', RENAME COLUMN k TO id",
    )
    assert altered.schema.names == ["r", "id", "n", "v"]
    assert rest.table("db.t").schema == altered.schema
    assert (altered.schema.comment, altered.schema.by_name["n"].default) == ("all", "1.5")
    altered.write(pa.table({"id": [2], "v": pa.array([6], pa.int32())}))
    (dump,) = through_rest(rest, oracle, tmp_path, dumped("db.t"))
    assert dump["rows"] == [["+I", None, 1, None, 5], ["+I", None, 2, "1.50", 6]]
    again = table.alter("DROP COLUMN r, ALTER COLUMN v SET DEFAULT 3, ALTER COLUMN n FIRST, DROP COMMENT")
    assert again.schema.names == ["n", "id", "v"]
    with pytest.raises(paimon.InvalidRequest, match="no column 'nope'"):
        table.alter("DROP COLUMN nope")


def test_rest_statistics_of_partitions(rest):
    rest.create_database("db")
    schema = pa.schema([("k", pa.int64()), ("day", pa.date32()), ("p", pa.string())])
    table = rest.create_table("db.t", schema, partition_by=["day", "p"], options={"write-only": "true"})
    snapshot = table.write(pa.table({"k": [1, 2, 3], "day": pa.array([1, 1, 2], pa.date32()), "p": ["a", "a", None]}))
    told = sorted(table.context.snapshots.publisher._statistics(snapshot), key=lambda s: s["recordCount"])
    assert [(s["spec"], s["recordCount"], s["fileCount"], s["totalBuckets"]) for s in told] == [
        ({"day": "2", "p": "__DEFAULT_PARTITION__"}, 1, 1, -1),
        ({"day": "1", "p": "a"}, 2, 1, -1),
    ]
    assert all(s["fileSizeInBytes"] > 0 and s["lastFileCreationTime"] > 0 for s in told)


def test_rest_writers_race_and_nothing_is_lost(rest, oracle, tmp_path):
    count = 15
    rest.create_database("db")
    table = rest.create_table("db.t", SCHEMA, options={"write-only": "true", "commit.max-retries": "1000"})
    steps = [{"op": "write", "table": "db.t", "rows": [["+I", n, "java"]]} for n in range(count)]
    answers: list = []
    racer = threading.Thread(target=lambda: answers.append(through_rest(rest, oracle, tmp_path, *steps)))
    racer.start()
    for n in range(count):
        table.write(pa.table({"k": [n], "v": ["ours"]}))
    racer.join()
    assert len(answers) == 1, "Java failed"
    assert rows(rest.table("db.t")) == sorted([(n, who) for n in range(count) for who in ("java", "ours")])


def test_rest_commit_to_a_table_that_was_made_anew(rest):
    rest.create_database("db")
    table = rest.create_table("db.t", SCHEMA, options={"write-only": "true"})
    snapshot = table.write(pa.table({"k": [1], "v": ["a"]}))
    rest.drop_table("db.t")
    rest.create_table("db.t", SCHEMA, options={"write-only": "true"})
    with pytest.raises(paimon.TableNotFound, match="t"):
        table.context.snapshots.publisher.client.post(
            "databases", "db", "tables", "t", "commit",
            body={"tableId": "old", "snapshot": snapshot.to_members(), "statistics": []},
        )  # fmt: skip
    assert rest.table("db.t").latest_snapshot() is None


def test_rest_refusals(server, oracle, tmp_path):
    uri = server()
    with pytest.raises(paimon.InvalidRequest, match=r"401.*not permitted") as error:
        paimon.open_catalog("lake", type="rest", uri=uri, options={"token": f"{CANARY}-wrong"})
    assert CANARY not in str(error.value)
    rest = rest_of(uri)
    assert CANARY not in f"{rest!r} {rest.client!r}"
    rest.create_database("db")
    rest.create_table("db.t", SCHEMA)
    oracle.run(tmp_path / "lake", [{"op": "forbid", "uri": uri, "table": "db.t"}])
    with pytest.raises(paimon.InvalidRequest, match=r"403.*not permitted"):
        rest.table("db.t")
    for name, message in (("CON", "portable"), ("a/b", "'/'"), ("a\u202eb", "U\\+202E"), ("a" * 256, "200")):
        with pytest.raises(paimon.InvalidRequest, match=message):
            rest.create_database(name)
        with pytest.raises(paimon.InvalidRequest, match=message):
            rest.create_table(f"db.{name}", SCHEMA)
    with pytest.raises(paimon.AlreadyExists, match="conflicts with the existing"):
        rest.create_database("DB")
    with pytest.raises(paimon.AlreadyExists, match="conflicts with the existing"):
        rest.create_table("db.T", SCHEMA)
    with pytest.raises(paimon.InvalidOption, match="did you mean 'bucket'"):
        rest.create_table("db.new", SCHEMA, options={"buckett": "1"})
    assert (rest.list_databases(), rest.list_tables("db")) == (["db"], ["t"])


def test_rest_servers_defaults(server):
    defaults = {"table-default.write-only": "true", "header.x-team": "a"}
    rest = rest_of(server(defaults=defaults))
    rest.create_database("db")
    assert rest.create_table("db.t", SCHEMA).schema.options == {"write-only": "true"}
    assert [(name, value.reveal()) for name, value in rest.client.headers] == [("x-team", "a")]
    assert rest.client.prefix == "paimon"


def test_rest_names_with_marks(rest):
    for name in ("ünï cödé", "a+b %20~", "x'; DROP"):
        rest.create_database(name)
        rest.create_table(f"{name}.{name}", SCHEMA, options={"write-only": "true"}).write(
            pa.table({"k": [1], "v": ["a"]})
        )
        assert rest.list_tables(name) == [name]
        assert rows(rest.table(f"{name}.{name}")) == [(1, "a")]
