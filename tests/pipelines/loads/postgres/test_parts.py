"""Parts of a wide table that follow tables of PostgreSQL, each by a slot of its own."""

from __future__ import annotations

import pytest

from paimon_lake.checks.lag_check import lag_result
from paimon_lake.cli.main import main
from paimon_lake.loads.lag import lag
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.postgres import part_changes
from paimon_lake.loads.postgres.left_slots import left_slots
from paimon_lake.loads.postgres.release import release
from paimon_lake.protocol import PartsFailed
from paimon_lake.sources.postgres.lsn import lsn_of
from tests.support.postgres import PASSWORD

LARGE = "(SELECT string_agg(md5(k::text || {}), '') FROM generate_series(1, 300) AS k)"
"""A text of 9,600 characters that does not compress to less than a page."""
WIDE = """
columns: {id: BIGINT, n: INT, t: STRING, o_lsn: BIGINT, b: VARCHAR(3), p_lsn: BIGINT}
primary_key: id
rejects: {max_share: 1}
parts:
  o:
    source: {type: postgres_changes, url: "URL", table: s.o}
    columns: [n, t]
    order_by: o_lsn
  p:
    source: {type: postgres_changes, url: "URL", table: s.p, split: id, parts: 2}
    columns: b
    order_by: p_lsn
MORE
checks: [{type: lag, max_bytes: 0}]
"""
DECLARED = "columns: b\n    order_by: p_lsn"


def declare(followed, deletes: str = "", more: str = "") -> None:
    url = followed.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
    followed.lake.declare("shop.w", WIDE.replace("URL", url).replace("MORE\n", more))
    if deletes:
        text = (followed.lake.folder / "tables" / "shop.w.yaml").read_text()
        followed.lake.declare("shop.w", text.replace("order_by: p_lsn", f"order_by: p_lsn\n    deletes: {deletes}"))


@pytest.fixture
def wide(followed):
    return wide_lake(followed)


def wide_lake(followed):
    (followed.lake.folder / "tables" / "shop.o.yaml").unlink()
    declare(followed)
    followed.run(
        "ALTER TABLE s.o ADD n int",
        "ALTER TABLE s.o ALTER t SET STORAGE EXTERNAL",
        "CREATE TABLE s.p (id int PRIMARY KEY, b text)",
        "INSERT INTO s.o SELECT k, 'o' || k, k FROM generate_series(1, 4) AS k",
        "INSERT INTO s.p SELECT k, 'p' || k FROM generate_series(3, 6) AS k",
    )
    return followed


def load(wide, **more):
    return wide.lake.load("shop.w", **more)


def rows(wide):
    """Return the rows without the numbers of loads, and without rows in which all columns are null."""
    found = [(id, n, t, b) for id, n, t, _, b, _ in wide.lake.rows("shop.w")]
    return [row for row in found if any(value is not None for value in row[1:])]


def check(wide):
    joined = (
        "SELECT id, n, t, b FROM s.o FULL JOIN s.p USING (id) WHERE n IS NOT NULL OR t IS NOT NULL OR b IS NOT NULL"
    )
    assert rows(wide) == sorted(wide.rows(joined))


def test_parts_are_copied_and_then_follow_their_tables(wide):
    first = load(wide)
    assert first.rows_written == 8
    check(wide)
    slots = [name for (name,) in wide.rows("SELECT slot_name FROM pg_replication_slots ORDER BY 1")]
    assert [name[:-12] for name in slots] == ["paimon_shop_w_part_o_", "paimon_shop_w_part_p_"]
    wide.run(
        "UPDATE s.o SET n = 10 WHERE id = 1",
        "DELETE FROM s.o WHERE id = 3",
        "UPDATE s.p SET id = 16 WHERE id = 6",
        "DELETE FROM s.p WHERE id = 3",
        "DELETE FROM s.p WHERE id = 5",
        "INSERT INTO s.p VALUES (1, 'new')",
    )
    second = load(wide)
    assert (second.details["changes"], second.details["transactions"]) == (6, 6)
    check(wide)
    table = wide.lake.table("shop.w")
    for part in ("o", "p"):
        ledger = read_ledger(table, f"shop.w part {part}")
        orders = table.scan([f"{part}_lsn"]).to_arrow()[f"{part}_lsn"].to_pylist()
        assert max(one for one in orders if one is not None) == ledger.watermark == lsn_of(ledger.position["lsn"])
    confirmed = [lsn_of(one) for (one,) in wide.rows("SELECT confirmed_flush_lsn::text FROM pg_replication_slots")]
    assert sorted(confirmed) == sorted(
        lsn_of(read_ledger(table, f"shop.w part {part}").position["lsn"]) for part in ("o", "p")
    )
    assert load(wide).commits == ()


@pytest.mark.parametrize("deletes", ["columns", "row"])
def test_a_truncate_removes_the_values_of_its_part_only(wide, deletes):
    declare(wide, deletes)
    load(wide)
    wide.run("TRUNCATE s.p", "INSERT INTO s.p VALUES (3, 'c'), (9, 'c')")
    load(wide)
    left = [(1, 1, "o1", None), (2, 2, "o2", None), (3, 3, "o3", "c"), (4, 4, "o4", None), (9, None, None, "c")]
    assert rows(wide) == [row for row in left if deletes == "columns" or row[0] != 4]
    wide.run("TRUNCATE s.p")
    load(wide)
    assert rows(wide) == [(*row[:3], None) for row in left[: 4 if deletes == "columns" else 2]]


@pytest.mark.parametrize("deletes", ["columns", "row"])
def test_a_reload_removes_the_values_of_rows_that_are_gone(wide, deletes):
    declare(wide, deletes)
    load(wide)
    wide.run("DELETE FROM s.p WHERE id = 4", "UPDATE s.p SET b = 'x' WHERE id = 3", "INSERT INTO s.p VALUES (7, 'n')")
    wide.run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name ~ 'part_p'")
    with pytest.raises(PartsFailed, match=r"part p failed: .* does not exist, so changes may be missing"):
        load(wide)
    load(wide, part="p", reload=True)
    found = {row[0]: row[1:] for row in rows(wide)}
    gone = (4, "o4", None) if deletes == "columns" else None
    assert (found[3], found.get(4), found[7]) == ((3, "o3", "x"), gone, (None, None, "n"))


def test_a_part_that_is_added_later_and_one_whose_source_changes(wide):
    load(wide, part="o")
    assert [row[3] for row in rows(wide)] == [None] * 4
    load(wide)
    check(wide)
    wide.run("CREATE TABLE s.q (id int PRIMARY KEY, b text)", "INSERT INTO s.q VALUES (4, 'q'), (8, 'q')")
    text = (wide.lake.folder / "tables" / "shop.w.yaml").read_text().replace("table: s.p", "table: s.q")
    wide.lake.declare("shop.w", text)
    with pytest.raises(PartsFailed, match=r"part p failed: .* s.q: the publication 'paimon_shop_w_part_p_"):
        load(wide)
    release(wide.lake.settings, "shop.w", "p")
    load(wide, part="p", reload=True)
    assert {row[0]: row[3] for row in rows(wide) if row[3]} == {4: "q", 8: "q"}


def test_large_values_that_are_not_repeated_are_kept(wide):
    wide.run(f"UPDATE s.o SET t = {LARGE.format('id')}")
    load(wide)
    wide.run("UPDATE s.o SET n = 20 WHERE id < 3", "UPDATE s.o SET id = 13, n = 4 WHERE id = 3")
    load(wide)
    check(wide)
    wide.run("UPDATE s.o SET id = 5, n = 7 WHERE id = 4", "UPDATE s.o SET n = 8 WHERE id = 5")
    load(wide)
    check(wide)


def test_a_large_value_is_not_taken_from_a_row_that_was_rejected_or_that_only_another_part_has(wide):
    text = (wide.lake.folder / "tables" / "shop.w.yaml").read_text().replace("n: INT", "n: TINYINT")
    wide.lake.declare("shop.w", text)
    wide.run(f"INSERT INTO s.o VALUES (5, {LARGE.format(5)}, 5), (7, {LARGE.format(7)}, 1000)")
    first = load(wide)
    assert first.details["rows_rejected"] == 1
    wide.run("INSERT INTO s.p VALUES (7, 'p7')", "UPDATE s.o SET n = 1000 WHERE id = 5")
    load(wide)
    assert [row for row in rows(wide) if row[0] in (5, 7)] == [(5, None, None, "p5"), (7, None, None, "p7")]
    wide.run("UPDATE s.o SET n = 6 WHERE id = 5", "UPDATE s.o SET n = 6 WHERE id = 7")
    assert load(wide).details["rows_rejected"] == 2, "the log does not repeat the text"
    assert [row for row in rows(wide) if row[0] in (5, 7)] == [(5, None, None, "p5"), (7, None, None, "p7")]
    load(wide, part="o", reload=True)
    check(wide)


def test_rows_that_do_not_fit_lose_the_values_of_their_part(wide):
    load(wide)
    wide.run("UPDATE s.p SET b = 'too long' WHERE id = 3", "INSERT INTO s.p VALUES (1, 'too long')")
    assert load(wide).details["rows_rejected"] == 2
    assert [row for row in rows(wide) if row[0] in (1, 3)] == [(1, 1, "o1", None), (3, 3, "o3", None)]
    wide.run("UPDATE s.p SET b = 'ok' WHERE id < 4")
    load(wide)
    check(wide)


def test_a_copy_wins_over_greater_numbers_of_a_log_that_begins_lower(wide, monkeypatch):
    load(wide)
    table = wide.lake.table("shop.w")
    table.write([{"id": 3, "b": "old", "p_lsn": 1 << 60}, {"id": 99, "b": "old", "p_lsn": 1 << 61}])
    load(wide, part="p", reload=True)
    check(wide)
    assert read_ledger(table, "shop.w part p").watermark == (1 << 61) + 1
    wide.run("UPDATE s.p SET b = 'new' WHERE id = 3")
    load(wide)
    check(wide)
    table.write([{"id": 98, "p_lsn": (1 << 63) - 1}])
    with pytest.raises(Exception, match=r"shop.w part p: p_lsn has the greatest BIGINT: choose another column"):
        load(wide, part="p", reload=True)


def test_keys_beyond_their_bound_are_refused(wide, monkeypatch):
    declare(wide, "row")
    load(wide)
    monkeypatch.setattr(part_changes, "KEY_BYTES", 40)
    with pytest.raises(Exception, match=r"shop.w: the keys of the source take more than 40 B, and with `deletes: row`"):
        load(wide, part="p", reload=True)
    load(wide)
    check(wide)


def test_the_order_column_must_not_be_a_column_of_the_source(wide):
    wide.run("ALTER TABLE s.o ADD o_lsn bigint")
    with pytest.raises(PartsFailed, match=r"s.o has a column 'o_lsn' too, and loads fill order_by with the position"):
        load(wide)


def test_tasks_of_spark_copy_convert_and_remove(followed_by_spark):
    wide = wide_lake(followed_by_spark)
    declare(wide, "row")
    wide.run(f"UPDATE s.o SET t = {LARGE.format('id')}")
    load(wide)
    wide.run("UPDATE s.o SET n = 9", "DELETE FROM s.o WHERE id = 1", "TRUNCATE s.p", "INSERT INTO s.p VALUES (3, 'c')")
    load(wide, part="o")  # a change of o that is loaded after the deletions of p would begin a row again
    load(wide, part="p")
    load(wide, part="p", reload=True)
    assert [(key, n, b) for key, n, _, b in rows(wide)] == [(2, 9, None), (3, 9, "c")]
    texts = dict(wide.rows("SELECT id, t FROM s.o"))
    assert all(t == texts[key] for key, _, t, _ in rows(wide))


def test_a_rollback_of_the_table_is_noticed_by_each_part(wide):
    load(wide)
    wide.run("UPDATE s.o SET n = 50", "UPDATE s.p SET b = 'q'")
    load(wide)
    wide.lake.create("shop.w").rollback(snapshot=2)
    refused = r"part o failed: .* was advanced to .*part p failed: .*or the table was rolled back: load the table with"
    wide.run("UPDATE s.o SET n = 51 WHERE id = 1", "DELETE FROM s.p WHERE id = 6")
    with pytest.raises(PartsFailed, match=refused):
        load(wide)
    load(wide, reload=True)
    check(wide)


def test_rows_look_up_columns_of_other_tables(wide):
    wide.lake.declare("shop.d", "columns: {name: STRING, m: INT}\nprimary_key: name\n")
    wide.lake.create("shop.d").write([{"name": "p3", "m": 3}, {"name": "p4", "m": 4}])
    text = (wide.lake.folder / "tables" / "shop.w.yaml").read_text().replace("columns: b\n", "columns: [b, m]\n")
    lookup = "parts: 2, lookup: [{table: shop.d, on: {b: name}, columns: {m: m}, missing: reject}]}"
    text = text.replace("parts: 2}", lookup).replace("b: VARCHAR(3)", "b: STRING, m: INT")
    wide.lake.declare("shop.w", text)
    assert load(wide).details["rows_rejected"] == 2
    wide.run("UPDATE s.p SET b = 'p3' WHERE id > 4", "UPDATE s.p SET b = 'none' WHERE id = 4")
    assert load(wide).details["rows_rejected"] == 1
    found = wide.lake.table("shop.w").scan(["id", "b", "m"]).to_arrow().to_pylist()
    assert {row["id"]: (row["b"], row["m"]) for row in found if row["m"]} == dict.fromkeys((3, 5, 6), ("p3", 3))
    assert {row["id"]: row["b"] for row in found if row["id"] < 5} == {1: None, 2: None, 3: "p3", 4: None}


def test_each_part_has_a_lag_and_is_released_alone(wide, capsys):
    assert lag(wide.lake.settings, "shop.w").text() == "part o: nothing is loaded yet; part p: nothing is loaded yet"
    result = load(wide)
    assert result.details.keys() >= {"o_lag_bytes", "p_lag_bytes", "o_slot_bytes", "p_lag_seconds"}
    (check,) = wide.lake.settings.table("shop.w").checks
    assert lag_result(check, "shop.w", lag(wide.lake.settings, "shop.w")).passed
    wide.run("UPDATE s.p SET b = 'x'")
    found = lag(wide.lake.settings, "shop.w")
    assert (found.is_behind, found.parts["o"].is_behind, found.parts["p"].is_behind) == (True, False, True)
    failed = lag_result(check, "shop.w", found)
    assert (failed.passed, failed.details.keys() >= {"o_lag_bytes", "p_lag_bytes"}) == (False, True)
    command = ["release", "--table", "shop.w", "--configs", str(wide.lake.folder), "--env", "local"]
    assert main([*command, "--part", "p"]) == 0
    assert "dropped the slot paimon_shop_w_part_p_" in capsys.readouterr().out
    assert [name[:20] for (name,) in wide.rows("SELECT slot_name FROM pg_replication_slots")] == [
        "paimon_shop_w_part_o"
    ]
    assert main([*command, "--part", "q"]) != 0
    assert "shop.w has no part 'q': its parts are o, p" in capsys.readouterr().err
    assert main(command) == 0
    assert wide.rows("SELECT FROM pg_replication_slots") == wide.rows("SELECT FROM pg_publication") == []


def test_the_slot_of_a_part_that_is_removed_is_told(wide):
    load(wide)
    assert left_slots(wide.lake.settings).problems == ()
    text = (wide.lake.folder / "tables" / "shop.w.yaml").read_text()
    before, rest = text.split("  p:\n")
    wide.lake.declare("shop.w", before.replace(", b: VARCHAR(3), p_lsn: BIGINT", "") + rest[rest.index("checks:") :])
    (problem,) = left_slots(wide.lake.settings).problems
    assert problem.startswith("shop.w part p: ")
    assert "declare the part again and run `paimon-lake release --table shop.w --part p`" in problem
    (wide.lake.folder / "tables" / "shop.w.yaml").unlink()
    wide.run("CREATE TABLE s.other (id int PRIMARY KEY)")
    url = wide.url.replace(PASSWORD, "${DATABASE_PASSWORD}")
    source = f"source: {{type: postgres_changes, url: '{url}', table: s.other}}"
    wide.lake.declare("shop.other", f"columns: {{id: INT}}\nprimary_key: id\n{source}\n")
    assert [one.split(":")[0] for one in left_slots(wide.lake.settings).problems] == ["shop.w part o", "shop.w part p"]
