"""Parts that follow tables of PostgreSQL and look up rows that come later: the rows of the part wait for them."""

from __future__ import annotations

import contextlib

import pytest

from paimon_lake.declarations.part_spec import part_spec
from paimon_lake.loads import load as loads
from paimon_lake.loads.lag import lag
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.lookup.due_rows import due_now
from paimon_lake.loads.postgres import postgres_changes
from paimon_lake.steps.audits.audit import audit_loads
from tests.support.postgres import PASSWORD

NAME, WAITING, REJECTS = "shop.w", "shop.w__waiting_p", "shop.w__rejects_p"
WIDE = """
columns: {id: BIGINT, n: INT, o_at: BIGINT, b: INT, t: STRING, name: STRING, p_at: BIGINT}
primary_key: id
rejects: {max_share: 1}
OPTIONS
parts:
  o: {source: {type: postgres_changes, url: "URL", table: s.o}, columns: n, order_by: o_at}
  p:
    source:
      type: postgres_changes
      url: "URL"
      table: s.p
      MORE
      lookup: [{table: dim.c, on: {b: id}, columns: {name: name}, missing: wait, RULE}]
    columns: [b, t, name]
    order_by: p_at
    deletes: DELETES
"""
LARGE = "(SELECT string_agg(md5((k + {})::text), '') FROM generate_series(1, 90) AS k)"


@pytest.fixture
def wide(followed):
    return wide_lake(followed)


def wide_lake(followed):
    (followed.lake.folder / "tables" / "shop.o.yaml").unlink()
    followed.run(
        "ALTER TABLE s.o ADD n int",
        "CREATE TABLE s.p (id int PRIMARY KEY, b int, t text)",
        "ALTER TABLE s.p ALTER t SET STORAGE EXTERNAL",
        "INSERT INTO s.o SELECT k, null, k FROM generate_series(1, 3) AS k",
    )
    followed.lake.declare(
        "dim.c",
        """
        columns: {id: INT, name: STRING}
        primary_key: id
        source: {type: files, path: "c/*.csv"}
        """,
    )
    declare(followed)
    return followed


def declare(wide, rule="max_wait: 2 d", deletes="columns", more="", options=""):
    text = WIDE.replace("URL", wide.url.replace(PASSWORD, "${DATABASE_PASSWORD}"))
    for place, value in (("RULE", rule), ("DELETES", deletes), ("MORE", more), ("OPTIONS", options)):
        text = text.replace(place, value)
    wide.lake.declare(NAME, text)


def names(wide, number, *rows):
    wide.lake.file(f"c/{number}.csv", "id,name\n" + "".join(f"{row}\n" for row in rows))
    wide.lake.load("dim.c")


def load(wide, **more):
    return wide.lake.load(NAME, part="p", **more)


def rows(wide, *columns):
    """Return some columns of the rows that have values of the part p."""
    found = wide.lake.table(NAME).scan(["id", "b", *columns]).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found if row["b"] is not None)


def waiting(wide, *columns):
    found = wide.lake.table(WAITING).scan(["id", "b", *columns]).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def equal(wide):
    found = audit_loads(wide.lake.settings, NAME)
    assert not found.wrong, found.sentence
    return found.sentence


def test_rows_wait_and_are_tried_again_with_the_number_of_their_load(wide):
    names(wide, 1, "1,Anna")
    wide.run("INSERT INTO s.p VALUES (1, 1), (2, 2), (3, 3), (4, null), (5, 3)")
    result = wide.lake.load(NAME)
    assert (result.details["rows_began_to_wait"], result.details["p_rows_waiting"]) == (3, 3)
    assert rows(wide, "name") == [(1, 1, "Anna")]
    copied = read_ledger(wide.lake.table(NAME), f"{NAME} part p").watermark
    wide.run("UPDATE s.p SET b = 3 WHERE id = 1", "DELETE FROM s.p WHERE id = 5", "UPDATE s.p SET b = 1 WHERE id = 3")
    assert load(wide).details["p_rows_waiting"] == 2
    assert rows(wide, "name") == [(1, 1, "Anna"), (3, 1, "Anna")], "the row 1 waits, and the table has the older row"
    assert waiting(wide) == [(1, 3), (2, 2)]
    assert "part p: 2 rows waiting, the oldest since " in equal(wide)
    assert load(wide).commits == ()
    assert not lag(wide.lake.settings, NAME).is_behind
    names(wide, 2, "2,Bert", "3,Carl")
    found = lag(wide.lake.settings, NAME)
    assert (found.parts["p"].note, found.parts["p"].is_behind, found.parts["o"].is_behind) == (
        "rows that wait are due",
        True,
        False,
    )
    result = load(wide)
    assert (result.details["rows_waited"], result.details["p_rows_waiting"]) == (2, 0)
    assert rows(wide, "name") == [(1, 3, "Carl"), (2, 2, "Bert"), (3, 1, "Anna")]
    assert {id: at for id, _, at in rows(wide, "p_at")}[2] == copied
    assert [row[:2] for row in wide.lake.rows(NAME) if row[1]] == [(1, 1), (2, 2), (3, 3)]
    ledger = read_ledger(wide.lake.table(NAME), f"{NAME} part p")
    assert ledger.watermark > copied, "a load of rows that waited keeps the number"
    assert ledger.position is not None
    assert load(wide).commits == ()
    wide.run("UPDATE s.p SET b = 2 WHERE id = 1")
    load(wide)
    assert rows(wide, "name")[0] == (1, 2, "Bert")
    equal(wide)


@pytest.mark.parametrize("deletes", ["columns", "row"])
@pytest.mark.parametrize("copies", [False, True])
def test_a_truncate_and_a_copy_end_the_wait_of_all_rows(wide, deletes, copies):
    declare(wide, deletes=deletes, more="split: id\n      parts: 2")
    names(wide, 1, "1,Anna")
    wide.run("INSERT INTO s.p VALUES (1, 1), (2, 2), (3, 1), (4, 4), (5, 1)")
    wide.lake.load(NAME)
    with wide.connection.transaction():
        wide.run("DELETE FROM s.p" if copies else "TRUNCATE s.p")
        wide.run("INSERT INTO s.p VALUES (1, 3), (3, 1), (6, 1), (7, 7)")
    names(wide, 2, "4,Dora")
    assert load(wide, reload=copies).details["p_rows_waiting"] == 2
    older = [(1, 1, "Anna")] if deletes == "row" else []  # a delete would remove the columns of other parts
    assert rows(wide, "name") == [*older, (3, 1, "Anna"), (6, 1, "Anna")]
    assert waiting(wide) == [(1, 3), (7, 7)]
    assert {row[0] for row in wide.lake.rows(NAME) if row[1]} == {1, 2, 3}, "the other part"
    names(wide, 3, "2,Bert", "3,Carl")
    assert load(wide).details["rows_waited"] == 1
    assert rows(wide, "name") == [(1, 3, "Carl"), (3, 1, "Anna"), (6, 1, "Anna")]
    equal(wide)


def test_an_unchanged_large_value_is_the_one_of_the_row_that_waits(wide):
    names(wide, 1, "1,Anna")
    wide.run(f"INSERT INTO s.p SELECT id, 1, {LARGE.format('id')} FROM generate_series(1, 3) id")
    load(wide)
    wide.run(f"UPDATE s.p SET b = 9, t = {LARGE.format('10 * id')} WHERE id < 3")
    wide.run(f"INSERT INTO s.p VALUES (4, 9, {LARGE.format(4)})")
    assert load(wide).details["p_rows_waiting"] == 3
    wide.run("UPDATE s.p SET b = 1 WHERE id IN (1, 3)", "UPDATE s.p SET b = 8 WHERE id = 2")
    wide.run("UPDATE s.p SET id = 5, b = 1 WHERE id = 4")
    assert load(wide).details["p_rows_waiting"] == 1
    names(wide, 2, "8,Hugo")
    load(wide)
    assert rows(wide, "t") == wide.rows("SELECT id, b, t FROM s.p ORDER BY 1")
    assert wide.lake.rows(REJECTS) == []
    equal(wide)


def test_a_load_that_only_moves_the_position_tries_rows_that_wait(wide, monkeypatch):
    wide.run("INSERT INTO s.p VALUES (2, 2)")
    load(wide)
    monkeypatch.setattr(postgres_changes, "IDLE_BYTES", 1)
    wide.run("UPDATE s.o SET n = 5")
    names(wide, 1, "2,Bert")
    before = read_ledger(wide.lake.table(NAME), f"{NAME} part p").position["lsn"]
    result = load(wide)
    assert (len(result.commits), result.details["rows_waited"], result.details["changes"]) == (1, 1, 0)
    assert rows(wide, "name") == [(2, 2, "Bert")]
    assert read_ledger(wide.lake.table(NAME), f"{NAME} part p").position["lsn"] != before
    equal(wide)


@pytest.mark.parametrize("after", ["reject", "null"])
def test_a_row_that_has_waited_long_enough(wide, after):
    declare(wide, f"max_wait: 1 ms, after_wait: {after}")
    names(wide, 1, "1,Anna")
    wide.run("INSERT INTO s.p VALUES (1, 1), (2, 2)")
    load(wide)
    wide.run("UPDATE s.p SET b = 5 WHERE id = 1")
    result = load(wide)
    assert len(result.commits) == 2, "the run that lets the row wait tries it again when it finds no further change"
    assert (result.details["rows_waited"], result.details["p_rows_waiting"]) == (1, 0)
    assert rows(wide, "name") == ([] if after == "reject" else [(1, 5, None), (2, 2, None)])
    reasons = sorted(row[3] for row in wide.lake.rows(REJECTS))
    late = ", and the row has waited for 0.001 s"
    assert reasons == ([f"dim.c has no row with id = '{id}'{late}" for id in (2, 5)] if after == "reject" else [])
    equal(wide)


def test_a_rollback_of_the_table_brings_the_rows_back_that_waited(wide):
    names(wide, 1, "1,Anna")
    wide.run("INSERT INTO s.p VALUES (1, 1), (2, 2)")
    load(wide)
    before = wide.lake.table(NAME).latest_snapshot().id
    wide.run("UPDATE s.p SET b = 3 WHERE id = 1", "UPDATE s.p SET b = 1 WHERE id = 2")
    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(loads, "publish_waiting", _die)
        load(wide)
    assert waiting(wide) == [(2, 2)], "the load died before it committed which rows wait"
    assert due_now(wide.lake.settings, part_spec(wide.lake.settings.table(NAME), "p"))
    assert load(wide).commits == ()
    assert waiting(wide) == [(1, 3)]
    wide.lake.table(NAME).rollback(snapshot=before)
    with pytest.raises(Exception, match="or the table was rolled back: load the table with reload"):
        load(wide)
    assert waiting(wide) == [(2, 2)]
    load(wide, reload=True)
    assert (rows(wide, "name"), waiting(wide)) == ([(2, 1, "Anna")], [(1, 3)])
    equal(wide)


@pytest.mark.parametrize("deletes", ["columns", "row"])
def test_rows_that_wait_get_a_new_column_of_the_source(wide, deletes):
    declare(wide, more="schema_changes: apply", deletes=deletes)
    names(wide, 1, "1,Anna")
    wide.run("INSERT INTO s.p VALUES (1, 2), (2, 3), (3, 1), (4, 3)")
    load(wide)
    wide.run("ALTER TABLE s.p ADD u text", "ALTER TABLE s.p ALTER u SET STORAGE EXTERNAL")
    wide.run(f"UPDATE s.p SET u = {LARGE.format(1)} WHERE id = 3")
    load(wide)
    wide.run("UPDATE s.p SET b = 3 WHERE id = 3")
    assert load(wide).details["p_rows_waiting"] == 4
    names(wide, 2, "2,Bert")
    load(wide)
    wide.run("UPDATE s.p SET b = 1 WHERE id = 3", "UPDATE s.p SET u = 'x' WHERE id = 4")
    names(wide, 3, "3,Carl")
    load(wide)
    assert rows(wide, "u") == wide.rows("SELECT id, b, u FROM s.p ORDER BY 1")
    assert [name for _, _, name in rows(wide, "name")] == ["Bert", "Carl", "Anna", "Carl"]
    wide.run("ALTER TABLE s.p ADD name text", "UPDATE s.p SET name = 'mine'")
    with pytest.raises(Exception, match="has the column 'name', which a lookup fills: give the looked-up column"):
        load(wide)
    equal(wide)


def test_tasks_of_spark_let_rows_wait(followed_by_spark):
    wide = wide_lake(followed_by_spark)
    declare(wide, more="split: id\n      parts: 2", options="options: {bucket: '-1'}")
    names(wide, 1, "1,Anna")
    wide.run("INSERT INTO s.p SELECT k, k % 3, null FROM generate_series(1, 9) AS k")
    assert load(wide).details["p_rows_waiting"] == 6
    names(wide, 2, "2,Bert")
    wide.run("UPDATE s.p SET b = 1 WHERE id = 3", "DELETE FROM s.p WHERE id = 2")
    assert load(wide).details["p_rows_waiting"] == 2
    names_now, found = {1: "Anna", 2: "Bert"}, {1: 1, 3: 1, 4: 1, 5: 2, 7: 1, 8: 2}
    assert rows(wide, "name") == [(k, b, names_now[b]) for k, b in found.items()]


def _die(*_):
    raise KeyboardInterrupt
