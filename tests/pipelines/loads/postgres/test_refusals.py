"""What prevents a load of changes: each error says what to do, and nothing is loaded."""

from __future__ import annotations

import dataclasses
import threading

import psycopg
import pytest

from paimon_core import col
from paimon_lake.declarations import SettingsError
from paimon_lake.loads.postgres.release import release
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres import server
from paimon_lake.sources.postgres.server import Server
from tests.support.postgres import PASSWORD

RELOAD = "load the table with reload"


def refused(followed, said):
    latest = followed.lake.create("shop.o").latest_snapshot()
    with pytest.raises(PipelineError, match=rf"^shop\.o: .*{said}") as caught:
        followed.load()
    assert PASSWORD not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"
    assert followed.lake.table("shop.o").latest_snapshot() == latest


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DROP TABLE s.o"], r"s\.o: there is no such table: correct source\.table"),
        (["DROP TABLE s.o", "CREATE VIEW s.o AS SELECT 1 AS id, '' AS t"], r"s\.o is a view, whose changes"),
        (
            ["DROP TABLE s.o", "CREATE TABLE s.o (id int, t text) PARTITION BY LIST (id)"],
            "is a partitioned table, whose changes are not in the log under its name: declare a table for each of its",
        ),
        (["CREATE TABLE s.child () INHERITS (s.o)"], "is a table with child tables"),
        (
            ["ALTER TABLE s.o DROP CONSTRAINT o_pkey"],
            r"s\.o has no primary key, .*: add a primary key, or a unique index",
        ),
        (["ALTER TABLE s.o REPLICA IDENTITY NOTHING"], "has REPLICA IDENTITY NOTHING: set it to DEFAULT, FULL or"),
        (
            ["ALTER TABLE s.o DROP CONSTRAINT o_pkey, ADD PRIMARY KEY (t)"],
            "identifies rows in the log by t, and the declared primary_key is id: declare this key, or set REPLICA",
        ),
        (
            ["ALTER TABLE s.o DROP CONSTRAINT o_pkey, REPLICA IDENTITY FULL"],
            "has no unique key of exactly the columns id, NOT NULL and not deferrable",
        ),
        (
            ["ALTER TABLE s.o DROP CONSTRAINT o_pkey, ADD UNIQUE (id) DEFERRABLE, REPLICA IDENTITY FULL"],
            "has no unique key of exactly the columns id, NOT NULL and not deferrable",
        ),
        (["ALTER TABLE s.o DROP t"], r"s\.o has no column 't'; its columns are 'id'"),
        (
            ["ALTER TABLE s.o DROP t, ADD t text GENERATED ALWAYS AS (id::text) STORED"],
            "the log does not contain generated columns: remove t from the declaration",
        ),
        (
            ["ALTER TABLE s.o ALTER t TYPE interval USING null"],
            "'t' has the type interval, which cannot be read: remove it from the declaration",
        ),
        (["ALTER TABLE s.o ALTER t TYPE s.point USING null"], "'t' has the type s.point, which cannot be read"),
        (["ALTER TABLE s.o ALTER id TYPE text"], None),
    ],
)
def test_sources_that_cannot_be_followed(followed, statements, said):
    followed.run("CREATE TYPE s.point AS (x int)", *statements)
    if said is None:  # a text can be the key of a BIGINT: rows that are no numbers are rejected
        followed.load()
        return
    refused(followed, said)
    assert followed.rows("SELECT FROM pg_replication_slots") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wal_level": "replica"}, r"wal_level is replica: set wal_level = logical in postgresql\.conf and restart"),
        ({"in_recovery": True}, r"is a standby: write the address of its primary into source\.url"),
        ({"version": 120_009}, "the server is PostgreSQL 12, and changes need 13 or later"),
    ],
)
def test_servers_that_cannot_be_followed(followed, monkeypatch, change, said):
    real = Server.facts
    monkeypatch.setattr(Server, "facts", lambda self: dataclasses.replace(real(self), **change))
    refused(followed, said)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (None, r"there is no publication 'pub', .*: create it, or remove source\.publication"),
        ("CREATE PUBLICATION pub", r"'pub' does not name this table: ALTER PUBLICATION \"pub\" ADD TABLE"),
        ("CREATE PUBLICATION pub FOR TABLES IN SCHEMA s", "'pub' does not name this table"),
        ("CREATE PUBLICATION pub FOR ALL TABLES; ALTER TABLE s.o SET UNLOGGED", "'pub' does not name this table"),
        (
            "CREATE PUBLICATION pub FOR TABLE s.o WITH (publish = 'insert, update, delete')",
            r"'pub' does not send all kinds of changes: ALTER PUBLICATION \"pub\" SET \(publish = 'insert, update, del",
        ),
        ("CREATE PUBLICATION pub FOR TABLE s.o WHERE (id > 1)", "'pub' filters rows: remove its WHERE"),
        (
            "CREATE PUBLICATION pub FOR TABLE s.o (id)",
            "'pub' does not send the columns t: add them to its list of columns",
        ),
    ],
)
def test_publications_that_do_not_send_all_changes(followed, statement, said):
    followed.declare(more=", publication: pub")
    followed.run(*([statement] if statement else []))
    refused(followed, said)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            None,
            r"'mine' does not exist, .*create it by SELECT pg_create_logical_replication_slot\('mine', 'pgoutput'\)",
        ),
        (
            "SELECT pg_create_physical_replication_slot('mine')",
            r"'mine' is not a slot of pgoutput for the database postgres",
        ),
        ("SELECT pg_create_logical_replication_slot('mine', 'test_decoding')", "'mine' is not a slot of pgoutput"),
    ],
)
def test_slots_that_cannot_be_read(followed, statement, said):
    followed.declare(more=", slot: mine")
    followed.run(*([statement] if statement else []))
    refused(followed, said)


def test_a_slot_that_the_server_has_given_up(followed, monkeypatch):
    followed.load()
    real = Server.slot
    with monkeypatch.context() as patched:
        patched.setattr(Server, "slot", lambda *given: dataclasses.replace(real(*given), wal_status="lost"))
        refused(followed, f"is lost, .*: raise that setting or load more often, then {RELOAD}")
    dropped = []

    def lost_until_dropped(self, name):
        state = real(self, name)
        return state if state is None or dropped else dataclasses.replace(state, wal_status="lost")

    real_drop = Server.drop_slot
    with monkeypatch.context() as patched:
        patched.setattr(Server, "slot", lost_until_dropped)
        patched.setattr(Server, "drop_slot", lambda *given: dropped.append(given) or real_drop(*given))
        followed.load(reload=True)
    assert len(dropped) == 1
    followed.check()


def test_a_slot_that_was_dropped_or_made_again(followed):
    followed.load()
    release(followed.lake.settings, "shop.o")
    refused(followed, f"there is no publication .*{RELOAD}")
    followed.load(reload=True)
    ((name,),) = followed.rows("SELECT slot_name FROM pg_replication_slots")
    followed.run(f"SELECT pg_drop_replication_slot('{name}')")
    refused(followed, f"'{name}' does not exist, so changes may be missing: {RELOAD}")
    followed.run("INSERT INTO s.o VALUES (1, 'a')", f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    refused(followed, f"was advanced to 0/.*another program reads the slot, or the table was rolled back: {RELOAD}")
    followed.load(reload=True)
    followed.check()


def test_a_slot_that_another_program_advanced(followed):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.run("SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots")
    refused(followed, "was advanced to 0/.*another program reads the slot")


def test_a_rollback_of_the_table(followed):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.lake.table("shop.o").rollback(snapshot=1)
    refused(followed, f"was advanced to 0/.*the table was rolled back: {RELOAD}")


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["ALTER TABLE s.o DROP t"], "has no column 't'"),
        (["ALTER TABLE s.o RENAME t TO u"], "has no column 't'"),
        (["ALTER TABLE s.o RENAME t TO u", "ALTER TABLE s.o ADD t text"], "has new columns: u"),
        (["ALTER TABLE s.o DROP t, ADD t text"], f"the column 't' was dropped and added again: {RELOAD}"),
        (["ALTER TABLE s.o ALTER t TYPE varchar(9)"], f"the type of the column 't' changed, .*: {RELOAD}"),
        (["ALTER TABLE s.o ALTER id TYPE bigint"], f"the type of the column 'id' changed, .*: {RELOAD}"),
        (
            ["ALTER TABLE s.o ADD n int"],
            f"has new columns: n. Add them to the declaration and {RELOAD}, .* or set source.schema_changes: apply,",
        ),
        (
            [
                "DROP TABLE s.o",
                "CREATE TABLE s.o (id int PRIMARY KEY, t text)",
                "ALTER PUBLICATION {pub} ADD TABLE s.o",
            ],
            f"from another table, dropped and created again, than the one that is there .*: {RELOAD}",
        ),
        (
            ["ALTER PUBLICATION {pub} DROP TABLE s.o", "DELETE FROM s.o", "ALTER PUBLICATION {pub} ADD TABLE s.o"],
            f"from another publication, changed since, than the one that is there .*: {RELOAD}",
        ),
        (
            [
                "ALTER PUBLICATION {pub} SET (publish = '')",
                "ALTER PUBLICATION {pub} SET (publish = 'insert,update,delete,truncate')",
            ],
            "from another publication, changed since",
        ),
        (
            [
                "ALTER TABLE s.o ALTER t TYPE varchar(9)",
                "INSERT INTO s.o VALUES (2, 'b')",
                "ALTER TABLE s.o ALTER t TYPE text",
            ],
            f"the type of the column 't' changed, .*: {RELOAD}",
        ),
        (
            [
                "ALTER TABLE s.o ADD n int NOT NULL UNIQUE DEFAULT 1",
                "ALTER TABLE s.o REPLICA IDENTITY USING INDEX o_n_key",
                "UPDATE s.o SET n = 2",
                "ALTER TABLE s.o REPLICA IDENTITY DEFAULT",
                "ALTER TABLE s.o DROP n",
            ],
            f"the replica identity was n for some changes, and the declared primary_key is id: {RELOAD}",
        ),
    ],
)
def test_sources_that_changed_since_they_were_copied(followed, statements, said):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    ((publication,),) = followed.rows("SELECT pubname FROM pg_publication")
    followed.run(*(statement.replace("{pub}", publication) for statement in statements))
    refused(followed, said)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("system", "7", "from another server than the one that is there"),
        ("timeline", 2, "from another timeline of the server, after a failover or recovery,"),
    ],
)
def test_another_server_or_history(followed, monkeypatch, name, value, said):
    followed.load()
    real = Server.facts
    monkeypatch.setattr(Server, "facts", lambda self: dataclasses.replace(real(self), **{name: value}))
    refused(followed, f"{said}.*{RELOAD}")


def test_another_database_of_the_server(followed):
    followed.load()
    followed.run("DROP DATABASE IF EXISTS other", "CREATE DATABASE other")
    other = followed.url.replace("/postgres", "/other")
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA s")  # type: ignore[arg-type]
        connection.execute("CREATE TABLE s.o (id int PRIMARY KEY, t text)")
        ((publication,),) = followed.rows("SELECT pubname FROM pg_publication")
        connection.execute(f"CREATE PUBLICATION {publication} FOR TABLE s.o")
    followed.url = other
    followed.declare()
    refused(followed, "from another database than the one that is there")


def test_a_declaration_that_changed(followed):
    followed.run("ALTER TABLE s.o ADD n int")
    followed.load()
    followed.declare("{id: BIGINT, t: STRING, n: INT}")
    with pytest.raises(PipelineError, match="paimon-lake apply"):
        followed.load()
    followed.lake.table("shop.o").alter("ADD COLUMN n INT")
    refused(followed, f"the column 'n' is declared and was not copied: {RELOAD}")
    followed.declare(more=", slot: mine")
    followed.lake.table("shop.o").alter("DROP COLUMN n")
    refused(
        followed,
        f"source.slot is 'mine', but the earlier changes were read from 'paimon_shop_o_.*': "
        f"run `paimon-lake release`.*{RELOAD}",
    )


def test_rows_that_are_there_before_the_first_copy(followed):
    followed.lake.create("shop.o").write([{"id": 1, "t": "by another program"}])
    refused(followed, f"the table has rows of another source: {RELOAD}")
    followed.lake.table("shop.o").delete(col("id") == 1)


def test_a_damaged_position(followed):
    followed.load()
    table = followed.lake.table("shop.o")
    for number, text in enumerate(('{"lsn": "0/1"}', '"x"', "[", "7")):
        table.commit([], user="load shop.o", identifier=10 + number, properties={"pipeline.position": text})
        refused(followed, "position.*(which a load of changes did not write: load with reload|is damaged)")


@pytest.mark.parametrize("then", ["load", "release"])
@pytest.mark.parametrize("has_lock", [True, False])
def test_a_load_that_has_just_failed_may_end_before_its_slot_is_used(followed, then, has_lock):
    """The session of a killed load ends a moment later, and its lock is released before its slot."""
    followed.load()
    ((name,),) = followed.rows("SELECT slot_name FROM pg_replication_slots")
    load = psycopg.connect(followed.url, replication="database")
    if has_lock:
        load.pgconn.exec_(f"SELECT pg_advisory_lock({server._LOCK})".replace("%s", f"'{name}'").encode())
    load.pgconn.send_query(
        f"START_REPLICATION SLOT {name} LOGICAL 0/0 (proto_version '1', publication_names '{name}')".encode()
    )
    load.pgconn.get_result()
    with pytest.raises(psycopg.errors.ObjectInUse):
        followed.run(f"SELECT pg_drop_replication_slot('{name}')")
    end = threading.Timer(0.4, load.close)
    end.start()
    if then == "load":
        followed.run("INSERT INTO s.o VALUES (1, 'a')")
        followed.load()
        followed.check()
    else:
        assert f"dropped the slot {name}" in release(followed.lake.settings, "shop.o")
    end.join()


def test_a_damaged_position_does_not_name_what_is_dropped(followed):
    followed.load()
    followed.run("SELECT pg_create_logical_replication_slot('of_another', 'pgoutput')")
    text = '{"slot": "of_another", "publication": "of_another", "made": ["slot"]}'
    properties = {"pipeline.position": text}
    followed.lake.table("shop.o").commit([], user="load shop.o", identifier=9, properties=properties)
    assert len(release(followed.lake.settings, "shop.o")) == 2
    assert followed.rows("SELECT slot_name FROM pg_replication_slots") == [("of_another",)]


def test_missing_privileges(followed):
    followed.run(
        "DROP ROLE IF EXISTS reader",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        "GRANT USAGE ON SCHEMA s TO reader",
    )
    followed.url = followed.url.replace("//lake:", "//reader:")
    followed.declare()
    refused(followed, "permission denied for .*; grant the user what is needed: REPLICATION")
    followed.run("CREATE PUBLICATION pub FOR TABLE s.o")
    followed.declare(more=", publication: pub")
    refused(followed, "must be superuser or replication role to use replication slots; grant the user")
    followed.run("ALTER ROLE reader REPLICATION")
    refused(followed, "permission denied for .*; grant the user what is needed: .*SELECT on the table")
    followed.run("GRANT SELECT ON s.o TO reader", "INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.run("UPDATE s.o SET t = 'b'")
    followed.load()
    followed.check()
    followed.run("ALTER TABLE s.o ENABLE ROW LEVEL SECURITY")
    refused(followed, "has row security, which would hide rows from the first copy: give the user BYPASSRLS")
    followed.run("DROP OWNED BY reader", "DROP ROLE reader")


def test_no_slot_is_left(followed):
    followed.run(*(f"SELECT pg_create_physical_replication_slot('s{n}')" for n in range(10)))
    refused(followed, "all replication slots are in use; raise max_replication_slots, or drop slots")


def test_a_wrong_password_is_not_repeated(followed, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "canary-wrong")
    with pytest.raises(PipelineError, match=r"postgresql://127.*password authentication failed") as caught:
        followed.load()
    assert "canary" not in f"{caught.value!r} {caught.value.__context__!r}"


def test_release_of_another_source(followed):
    followed.lake.declare("shop.f", 'columns: {id: INT}\nprimary_key: id\nsource: {type: files, path: "*.csv"}')
    with pytest.raises(PipelineError, match=r"only a table with a source of type postgres_changes"):
        release(followed.lake.settings, "shop.f")
    with pytest.raises(SettingsError):
        release(followed.lake.settings, "shop.none")


def test_a_server_that_was_restored_to_an_earlier_state(followed, monkeypatch):
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    facts = Server.facts
    monkeypatch.setattr(Server, "facts", lambda server: dataclasses.replace(facts(server), lsn=16))
    monkeypatch.setattr(Server, "advance", lambda *_: pytest.fail("the slot was advanced"))
    refused(followed, f"the log of the server ends at 0/10: the server was restored to an earlier state.*: {RELOAD}")


def test_rows_of_another_source_end_the_position(followed):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    declared = (followed.lake.folder / "tables" / "shop.o.yaml").read_text()
    followed.lake.file("o.csv", "id,t\n7,files\n")
    source = "columns: {id: BIGINT, t: STRING}\nprimary_key: id\nsource: {type: files, path: o.csv}\n"
    followed.lake.declare("shop.o", source)
    followed.load()
    followed.lake.declare("shop.o", declared)
    refused(followed, f"the table has rows of another source: {RELOAD}")
    followed.load(reload=True)
    followed.check()


def test_a_slot_that_loads_made_is_released_after_another_one_was_declared(followed):
    followed.load()
    ((made,),) = followed.rows("SELECT slot_name FROM pg_replication_slots")
    followed.run("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')")
    followed.declare(more=", slot: mine")
    reason = f"source.slot is 'mine', but the earlier changes were read from '{made}': run `paimon-lake release`"
    refused(followed, reason)
    assert f"dropped the slot {made}" in release(followed.lake.settings, "shop.o")
    assert followed.rows("SELECT slot_name FROM pg_replication_slots") == [("mine",)]
    followed.load(reload=True)
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.check()
