"""A table that follows a table of PostgreSQL: the first copy, and all kinds of changes, each exactly once."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace

import pytest

from paimon_core import col
from paimon_lake.cli.main import main
from paimon_lake.loads.ledger.ledger import carry_on, read_ledger
from paimon_lake.loads.ledger.load_snapshot import loads_of
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.loads.postgres.release import release
from paimon_lake.sources.postgres.lsn import lsn_of
from paimon_lake.steps.audits.audit import audit
from tests.support.postgres import PASSWORD

LARGE = "(SELECT string_agg(md5(k::text || {}), '') FROM generate_series(1, 300) AS k)"
"""A text of 9,600 characters that does not compress to less than a page."""


def slot(followed):
    ((name, confirmed),) = followed.rows("SELECT slot_name, confirmed_flush_lsn::text FROM pg_replication_slots")
    return name, lsn_of(confirmed)


def position(followed):
    return lsn_of(read_ledger(followed.lake.table("shop.o")).position["lsn"])


def test_the_source_is_copied_once_and_then_its_changes_are_read(followed):
    followed.declare(more=", split: id, parts: 3")
    followed.run("INSERT INTO s.o SELECT k, 'row ' || k FROM generate_series(-50, 50) AS k")
    first = followed.load()
    assert (first.commits, first.rows_written) == ((1,), 101)
    assert first.details["lag_bytes"] < 1 << 16  # the server itself writes to its log now and then
    followed.check()
    followed.run(
        "INSERT INTO s.o VALUES (1000, 'new')",
        "UPDATE s.o SET t = null WHERE id = 1",
        "DELETE FROM s.o WHERE id = 2",
        "UPDATE s.o SET id = 1003 WHERE id = 3",
        "INSERT INTO s.o VALUES (1004, 'short')",
        "DELETE FROM s.o WHERE id = 1004",
    )
    second = followed.load()
    counts = {name: second.details[name] for name in ("changes", "transactions", "rows_read", "rows_rejected")}
    assert counts == {"changes": 6, "transactions": 6, "rows_read": 6, "rows_rejected": 0}
    followed.check()
    third = followed.load()
    assert third.commits == ()
    none = "of postgresql://127.0.0.1:"  # "no", when the server itself has written to its log meanwhile
    assert third.sentence().startswith((f"load shop.o: all changes {none}", f"load shop.o: no changes {none}"))
    assert all(result.passed for result in audit(followed.lake.settings, "shop.o"))


def test_the_slot_follows_the_committed_position(followed):
    followed.load()
    assert slot(followed)[1] == position(followed)
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    result = followed.load()
    assert slot(followed)[1] == position(followed) == lsn_of(result.details["position"])
    assert result.details["slot_bytes"] < 1 << 20


@pytest.mark.long
def test_the_log_of_other_tables_is_released_too(followed, monkeypatch):
    followed.load()
    before = position(followed)
    followed.run("CREATE TABLE s.other AS SELECT k FROM generate_series(1, 1000) AS k")
    assert followed.load().commits == ()
    assert position(followed) == before
    monkeypatch.setattr(loading, "IDLE_BYTES", 1000)
    assert followed.load().rows_written == 0
    assert slot(followed)[1] == position(followed) > before
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.check()


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL", "USING INDEX by_code"])
def test_replica_identities(followed, identity):
    key = "code" if "INDEX" in identity else "id"
    followed.declare("{id: BIGINT, code: BIGINT, t: STRING}", rest=f"primary_key: {key}")
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, code int NOT NULL, t text)",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        "CREATE UNIQUE INDEX by_code ON s.o (code)",
        f"ALTER TABLE s.o REPLICA IDENTITY {identity}",
        f"INSERT INTO s.o SELECT k, k + 100, {LARGE.format('g.k')} FROM generate_series(1, 6) AS g (k)",
    )
    followed.load()
    followed.run(
        "UPDATE s.o SET id = id + 50 WHERE id = 1",
        "UPDATE s.o SET code = code + 50 WHERE id = 2",
        "UPDATE s.o SET id = id + 50, code = code + 50 WHERE id = 3",
        "DELETE FROM s.o WHERE id = 4",
        "UPDATE s.o SET t = 'x' WHERE id = 5",
    )
    followed.load()
    followed.check()


def test_large_values_that_are_not_repeated_are_kept(followed):
    followed.declare("{id: BIGINT, n: INT, t: STRING, b: BYTES, a: ARRAY<STRING>}")
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, n int, t text, b bytea, a text[])",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL, ALTER a SET STORAGE EXTERNAL",
        f"INSERT INTO s.o SELECT k, 0, x, x::bytea, ARRAY[x, ',\"{{}}\\\\', null] FROM generate_series(1, 5) AS g (k), "
        f"LATERAL {LARGE.format('g.k')} AS s (x)",
    )
    followed.load()
    followed.run("UPDATE s.o SET n = 1 WHERE id < 3", "UPDATE s.o SET n = 2 WHERE id = 1")
    followed.load()
    followed.check()
    followed.run(
        "UPDATE s.o SET id = 10, n = 3 WHERE id = 1",  # from the table, under another key
        f"UPDATE s.o SET t = {LARGE.format(7)} WHERE id = 2",  # from an earlier change of the batch
        "UPDATE s.o SET n = 4 WHERE id = 2",
        "UPDATE s.o SET b = null WHERE id = 3",
        "UPDATE s.o SET n = 5",
    )
    followed.load()
    followed.check()


@pytest.mark.long
def test_tasks_of_spark_copy_and_convert_and_read_large_values(followed_by_spark):
    followed = followed_by_spark
    followed.declare("{id: BIGINT, n: INT, t: STRING}", more=", split: id, parts: 3")
    followed.run(
        "ALTER TABLE s.o ADD n int",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        f"INSERT INTO s.o SELECT k, {LARGE.format('g.k')}, 0 FROM generate_series(1, 9) AS g (k)",
    )
    followed.load()
    followed.check("SELECT id, n, t FROM s.o")
    followed.run("UPDATE s.o SET n = id WHERE id < 5", "DELETE FROM s.o WHERE id = 3")
    followed.load()
    followed.check("SELECT id, n, t FROM s.o")


@pytest.mark.long
def test_large_values_of_a_key_of_several_columns(followed):
    followed.declare(
        "{day: DATE, k: STRING, n: INT, t: STRING}", rest="primary_key: [k, day]\n            partition_by: day"
    )
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (day date, k varchar(9), n numeric(3), t text, PRIMARY KEY (day, k))",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        "INSERT INTO s.o SELECT d, k, 0, " + LARGE.format("k || d") + " FROM unnest('{a,b}'::text[]) AS a (k), "
        "unnest('{2024-01-01,2024-01-02}'::date[]) AS b (d)",
    )
    followed.load()
    followed.run("UPDATE s.o SET n = 1 WHERE k = 'a'", "UPDATE s.o SET day = '2024-01-03' WHERE day = '2024-01-02'")
    followed.load()
    followed.check("SELECT day, k, n::int, t FROM s.o")


def test_a_truncate_replaces_all_rows_at_its_place(followed):
    followed.run("INSERT INTO s.o SELECT k, 'a' FROM generate_series(1, 5) AS k")
    followed.load()
    followed.run("INSERT INTO s.o VALUES (6, 'b')", "TRUNCATE s.o")
    with followed.connect() as session:
        session.execute("INSERT INTO s.o VALUES (1, 'c'), (2, 'c'), (3, 'c')")
        session.execute("DELETE FROM s.o WHERE id = 2")
        session.execute("UPDATE s.o SET id = 8 WHERE id = 3")
    followed.load()
    followed.check()
    followed.run("TRUNCATE s.o")
    assert followed.load().row_count == 0
    followed.run("INSERT INTO s.o VALUES (1, 'd')")
    followed.load()
    followed.check()


@pytest.mark.long
def test_transactions_are_loaded_in_the_order_of_their_commits(followed):
    followed.load()
    with followed.connect() as first, followed.connect() as second:
        first.execute("INSERT INTO s.o VALUES (1, 'first')")
        second.execute("INSERT INTO s.o VALUES (2, 'second')")
        second.commit()
        followed.load()
        assert followed.lake.rows("shop.o") == [(2, "second")]
        second.execute("UPDATE s.o SET t = 'later' WHERE id = 2")
        first.commit()
        followed.load()
        assert followed.lake.rows("shop.o") == [(1, "first"), (2, "second")]
        first.execute("INSERT INTO s.o VALUES (3, 'never')")
        first.rollback()
    followed.load()
    followed.check()


@pytest.mark.long
def test_the_first_copy_waits_for_transactions_that_run_and_has_their_rows_once(followed):
    with followed.connect() as session:
        session.execute("INSERT INTO s.o VALUES (1, 'open')")
        loading_thread = threading.Thread(target=followed.load)
        loading_thread.start()
        time.sleep(0.5)
        session.execute("INSERT INTO s.o VALUES (2, 'open')")
    followed.run("INSERT INTO s.o VALUES (3, 'after')")
    loading_thread.join(60)
    followed.load()
    followed.check()


def test_batches_are_commits_of_whole_transactions(followed):
    followed.declare(more=", batch_rows: 10")
    followed.load()
    for start in range(0, 40, 4):
        followed.run(f"INSERT INTO s.o SELECT k, 'a' FROM generate_series({start}, {start + 3}) AS k")
    result = followed.load()
    sizes = [int(load.properties["pipeline.rows-written"]) for load in loads_of(followed.lake.table("shop.o"))][1:]
    assert (sum(sizes), result.rows_written, len(result.commits)) == (40, 40, len(sizes))
    assert len(sizes) > 2
    assert {size % 4 for size in sizes} == {0}
    followed.check()
    followed.declare(more=", batch_bytes: 1")
    followed.run("DELETE FROM s.o WHERE id < 4", "DELETE FROM s.o WHERE id < 8")
    assert len(followed.load().commits) == 2
    followed.check()


@pytest.mark.long
def test_a_run_ends_after_its_time_and_the_next_one_continues(followed, monkeypatch):
    followed.declare(more=", batch_rows: 1, run_seconds: 5")
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'a')", "INSERT INTO s.o VALUES (2, 'a')")
    times = iter([0.0, 1.0, 6.0])
    with monkeypatch.context() as patched:
        patched.setattr(loading, "time", SimpleNamespace(monotonic=lambda: next(times)))
        result = followed.load()
    assert len(result.commits) == 1
    assert "source.run_seconds is over: " in result.sentence()
    followed.load()
    followed.check()


COLUMNS = {
    "i2": ("smallint", "SMALLINT", "-32768", None),
    "i4": ("integer", "BIGINT", "7", None),
    "i8": ("bigint", "BIGINT", "-9223372036854775808", None),
    "f4": ("real", "FLOAT", "'-Infinity'", None),
    "f8": ("double precision", "DOUBLE", "0.1 + 0.2", None),
    "nu": ("numeric(12,3)", "DECIMAL(12, 3)", "-123456789.125", None),
    "bo": ("boolean", "BOOLEAN", "true", None),
    "te": ("text", "STRING", "E'a\\n\"ü\\\\ '", None),
    "va": ("varchar(5)", "VARCHAR(5)", "'abc'", None),
    "ch": ("char(5)", "STRING", "'abc'", None),
    "by": ("bytea", "BYTES", "'\\x00ff'", None),
    "da": ("date", "DATE", "'9999-12-31'", None),
    "ti": ("time", "TIME(3)", "'23:59:59.999'", None),
    "ts": ("timestamp", "TIMESTAMP(6)", "'2024-02-29 01:02:03.000004'", None),
    "tz": ("timestamptz", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "'2024-02-29 01:02:03+05:30'", None),
    "uu": ("uuid", "STRING", "'123e4567-e89b-12d3-a456-426614174000'", "uu::text"),
    "js": ("json", "STRING", "'{\"a\":  1}'", "js::text"),
    "jb": ("jsonb", "STRING", "'{\"a\":  1}'", "jb::text"),
    "en": ("s.mood", "STRING", "'fine'", "en::text"),
    "do": ("s.small", "INT", "3", None),
    "ai": ("int[]", "ARRAY<INT>", "'{1,NULL,3}'", None),
    "at": ("text[]", "ARRAY<STRING>", '\'{"a,b",NULL,"NULL",""}\'', None),
    "ad": ("date[]", "ARRAY<DATE>", "'{2024-01-01}'", None),
}


@pytest.mark.long
def test_all_types_are_the_same_by_the_copy_and_by_changes(followed):
    columns = ", ".join(f'"{name}" {kind[0]}' for name, kind in COLUMNS.items())
    types = ", ".join(f"{name}: '{kind[1]}'" for name, kind in COLUMNS.items())
    followed.declare(f"{{id: BIGINT, {types}}}")
    followed.run(
        "DROP TABLE s.o",
        "CREATE TYPE s.mood AS ENUM ('fine')",
        "CREATE DOMAIN s.small AS int CHECK (VALUE < 10)",
        f"CREATE TABLE s.o (id int PRIMARY KEY, {columns})",
    )
    values = ", ".join(kind[2] for kind in COLUMNS.values())
    followed.run(f"INSERT INTO s.o VALUES (1, {values})", "INSERT INTO s.o (id) VALUES (2)")
    assert followed.load().rows_written == 2
    followed.run(f"INSERT INTO s.o VALUES (3, {values})", "INSERT INTO s.o (id) VALUES (4)")
    assert followed.load().rows_written == 2
    one, two, three, four = (row[1:] for row in followed.lake.rows("shop.o"))
    assert (three, four) == (one, two)
    assert set(two) == {None}
    query = ", ".join(kind[3] or f'"{name}"' for name, kind in COLUMNS.items())
    ((expected),) = followed.rows(f"SELECT {query} FROM s.o WHERE id = 1")
    assert one == expected


def test_rows_that_do_not_fit_are_rejected_with_their_position_and_not_in_the_table(followed):
    followed.declare("{id: BIGINT, t: VARCHAR(3)}", rest="primary_key: id\n            rejects: {max_share: 0.9}")
    followed.run("INSERT INTO s.o VALUES (1, 'abc'), (2, 'long copied'), (3, 'abc')")
    followed.load()
    assert [row[0] for row in followed.lake.rows("shop.o")] == [1, 3]
    followed.run("UPDATE s.o SET t = 'long changed' WHERE id = 1", "UPDATE s.o SET t = 'ok' WHERE id = 2")
    result = followed.load()
    assert (result.details["rows_read"], result.details["rows_rejected"]) == (3, 1)
    assert followed.lake.rows("shop.o") == [(2, "ok"), (3, "abc")]
    found = followed.lake.table("shop.o__rejects").scan(where=col("load") == 2).to_arrow().to_pylist()
    ((file, line, column, reason, raw, *_),) = [row.values() for row in found]
    assert file.endswith("/postgres s.o")
    assert column == "t"
    assert reason == "'long changed' is not valid for VARCHAR(3)"
    assert raw == '{"id": 1, "t": "long changed"}'
    assert position(followed) > line > 1 << 20
    followed.run("UPDATE s.o SET t = 'x' WHERE id = 1")
    followed.load()
    followed.check()
    assert all(one.passed for one in audit(followed.lake.settings, "shop.o"))


def test_a_load_with_too_many_rejects_is_repeated_as_a_whole(followed):
    followed.declare("{id: BIGINT, t: VARCHAR(3)}")
    followed.load()
    followed.run("INSERT INTO s.o VALUES (1, 'ok')", "INSERT INTO s.o VALUES (2, 'long')")
    for _ in range(2):
        with pytest.raises(Exception, match=r"1 of 2 rows do not fit \(50.0%\).*'long' is not valid for VARCHAR\(3\)"):
            followed.load()
    followed.run("UPDATE s.o SET t = 'abc' WHERE id = 2")
    followed.load()  # only the last change of a row counts
    followed.check()


def test_columns_that_are_not_null_do_not_prevent_deletions(followed):
    followed.declare("{id: BIGINT NOT NULL, t: STRING NOT NULL, n: 'DECIMAL(5, 2) NOT NULL'}")
    followed.run("ALTER TABLE s.o ADD n numeric(5, 2)", "INSERT INTO s.o VALUES (1, 'a', 1), (2, 'b', 2)")
    followed.load()
    followed.run("DELETE FROM s.o WHERE id = 1")
    followed.load()
    followed.check()


@pytest.mark.long
def test_keys_that_are_equal_and_written_differently(followed):
    followed.declare("{id: 'DECIMAL(5, 2)', t: STRING}")
    followed.run("ALTER TABLE s.o ALTER id TYPE numeric", "INSERT INTO s.o VALUES (1.0, 'a')")
    followed.load()
    followed.run("UPDATE s.o SET id = 1.00", "UPDATE s.o SET id = 1.0, t = 'b'")
    followed.load()
    assert [str(row[0]) for row in followed.lake.rows("shop.o")] == ["1.00"]
    followed.check()


@pytest.mark.long
def test_dynamic_buckets_and_keys_that_change_their_partition(followed):
    followed.declare(rest="primary_key: id\n            partition_by: t\n            options: {bucket: -1}")
    followed.run("INSERT INTO s.o SELECT k, 'p' || k % 2 FROM generate_series(1, 10) AS k")
    followed.load()
    followed.run(
        "UPDATE s.o SET t = 'p9' WHERE id < 4", "DELETE FROM s.o WHERE id = 5", "UPDATE s.o SET id = 40 WHERE id = 4"
    )
    followed.load()
    followed.check()


@pytest.mark.long
def test_names_with_capitals_quotes_and_points(followed):
    followed.run('ALTER TABLE s.o RENAME TO "odd ""name"', 'ALTER TABLE s."odd ""name" RENAME t TO "T x"')
    followed.declare("{id: BIGINT, 't x': STRING}")
    path = followed.lake.folder / "tables" / "shop.o.yaml"
    path.write_text(path.read_text().replace("table: s.o", "table: 's.odd \"name'"))
    followed.run('INSERT INTO s."odd ""name" VALUES (1, \'a\')')
    followed.load()
    followed.run('INSERT INTO s."odd ""name" VALUES (2, \'b\')')
    followed.load()
    followed.check('SELECT * FROM s."odd ""name"')


@pytest.mark.long
def test_a_declared_publication_and_slot(followed):
    followed.run(
        'CREATE PUBLICATION "My pub" FOR TABLE s.o (id, t)',
        "SELECT pg_create_logical_replication_slot('mine', 'pgoutput')",
    )
    followed.declare(more=", publication: My pub, slot: mine")
    followed.run("INSERT INTO s.o VALUES (1, 'a')", "ALTER TABLE s.o ADD hidden int")
    followed.load()
    followed.run("INSERT INTO s.o VALUES (2, 'b', 3)")
    followed.load()
    followed.check("SELECT id, t FROM s.o")
    assert slot(followed)[0] == "mine"
    assert release(followed.lake.settings, "shop.o") == []


@pytest.mark.long
def test_release_drops_what_loads_made_and_a_reload_makes_it_again(followed, capsys):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    name, _ = slot(followed)
    command = ["release", "--table", "shop.o", "--configs", str(followed.lake.folder), "--env", "local"]
    assert main(command) == 0
    assert capsys.readouterr().out == f"dropped the slot {name}\ndropped the publication {name}\n"
    assert main(command) == 0
    assert capsys.readouterr().out == "nothing to do: loads made no slot and no publication\n"
    assert followed.rows("SELECT FROM pg_publication") == []
    followed.load(reload=True)
    assert slot(followed)[0] == name
    followed.check()


@pytest.mark.long
def test_new_columns_that_are_ignored_are_told(followed):
    followed.declare(more=", schema_changes: ignore")
    followed.load()
    followed.run("ALTER TABLE s.o ADD extra int", "INSERT INTO s.o VALUES (1, 'a', 2)")
    result = followed.load()
    assert result.details["ignored_columns"] == "extra"
    followed.run("INSERT INTO s.o VALUES (2, 'a', 2)")
    assert followed.load().details["ignored_columns"] == "extra"
    followed.check("SELECT id, t FROM s.o")


@pytest.mark.long
def test_a_reload_replaces_all_rows_and_changes_continue(followed):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.lake.table("shop.o").write([{"id": 99, "t": "not in the source"}])
    followed.run("INSERT INTO s.o VALUES (2, 'b')")
    assert followed.load(reload=True).rows_written == 2
    followed.check()
    followed.run("DELETE FROM s.o WHERE id = 1")
    followed.load()
    followed.check()


@pytest.mark.long
def test_the_position_is_carried_on_by_an_expiry(followed):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    table = followed.lake.table("shop.o")
    assert carry_on(table, [1]) is not None
    table.expire_snapshots(keep_last=1, keep_max=1)
    followed.run("INSERT INTO s.o VALUES (2, 'b')")
    assert followed.load().details["rows_read"] == 1
    followed.check()


def test_the_password_is_nowhere(followed, caplog):
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    with caplog.at_level(logging.DEBUG):
        result = followed.load()
    kept = [load.properties for load in loads_of(followed.lake.table("shop.o"))]
    source = followed.lake.settings.table("shop.o").source
    assert PASSWORD not in f"{result} {result.to_json()} {kept} {source!r} {caplog.text}"
    for path in (followed.lake.folder / "warehouse").rglob("*"):
        assert path.is_dir() or PASSWORD.encode() not in path.read_bytes()
