"""Columns that the source of a part gets and types that it widens: the part follows them, and other parts do not."""

from __future__ import annotations

import contextlib
import threading

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.differences import differences
from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import part_changes
from paimon_lake.protocol import PartsFailed, PipelineError
from paimon_lake.steps.apply import apply
from tests.support.postgres import PASSWORD

NAME = "shop.w"
WIDE = """
columns: {id: BIGINT, n: INT, o_at: BIGINT, b: VARCHAR(3), p_at: BIGINT}
primary_key: id
rejects: {max_share: 1}
parts:
  o: {source: {type: postgres_changes, url: "URL", table: s.o O_CHANGES}, columns: n, order_by: o_at}
  p: {source: {type: postgres_changes, url: "URL", table: s.p P_CHANGES}, columns: b, order_by: p_at, deletes: row}
"""
GROUPS = ("fields.o_at.sequence-group", "fields.p_at.sequence-group")
APPLY = ", schema_changes: apply"


def declare(wide, o=APPLY, p=APPLY, **replaced):
    text = WIDE.replace("URL", wide.url.replace(PASSWORD, "${DATABASE_PASSWORD}"))
    text = text.replace(" O_CHANGES", o).replace(" P_CHANGES", p)
    for old, new in replaced.items():
        text = text.replace(*{"columns": ("p_at: BIGINT}", f"p_at: BIGINT, {new}}}"), "part": ("columns: b", new)}[old])
    wide.lake.declare(NAME, text)


@pytest.fixture
def wide(followed):
    (followed.lake.folder / "tables" / "shop.o.yaml").unlink()
    followed.run(
        "DROP TABLE s.o",
        "CREATE TABLE s.o (id int PRIMARY KEY, n int)",
        "CREATE TABLE s.p (id int PRIMARY KEY, b varchar(3))",
        "INSERT INTO s.o SELECT k, k FROM generate_series(1, 3) AS k",
        "INSERT INTO s.p VALUES (2, 'p2'), (3, 'p3')",
    )
    declare(followed)
    load(followed)
    return followed


def load(wide, **more):
    return wide.lake.load(NAME, **more)


def check(wide, *columns):
    names = ["id", "n", "b", *columns]
    rows = wide.lake.table(NAME).scan(names).to_arrow().to_pylist()
    found = sorted(tuple(row.values()) for row in rows if any(row[name] is not None for name in names[1:]))
    wanted = wide.rows(f"SELECT {', '.join(names)} FROM s.o FULL JOIN s.p USING (id) ORDER BY id")
    assert found == [row for row in wanted if any(one is not None for one in row[1:])]


def kinds(wide):
    return {field.name: field.type.sql for field in wide.lake.table(NAME).schema.fields}


def groups(wide):
    return tuple(wide.lake.table(NAME).schema.options[group] for group in GROUPS)


def test_an_added_column_belongs_to_its_part_in_the_order_of_the_log(wide):
    wide.run(
        "INSERT INTO s.p VALUES (4, 'p4')",
        "ALTER TABLE s.p ADD c numeric(5, 2)",
        "UPDATE s.p SET c = 1.5 WHERE id = 2",
        "UPDATE s.o SET n = 9 WHERE id = 2",
    )
    told = load(wide)
    assert told.details["p_schema_changes"] == "the new column c of the source is DECIMAL(5, 2) in the table"
    assert len(told.commits) == 3, "two of the part p, before and from the change of the columns on, and one of o"
    assert (groups(wide), kinds(wide)["c"]) == (("n", "b,c"), "DECIMAL(5, 2)")
    check(wide, "c")
    assert load(wide).commits == ()
    wide.run("UPDATE s.o SET n = 10", "UPDATE s.p SET c = null, b = 'x' WHERE id = 2", "DELETE FROM s.p WHERE id = 3")
    load(wide, part="p")
    load(wide, part="o")
    assert {row[0]: row[3] for row in wide.lake.rows(NAME)}[2] == "x"
    wide.run("UPDATE s.p SET c = 7", "TRUNCATE s.p", "INSERT INTO s.p VALUES (1, 'n', 8)")
    load(wide, part="p")
    assert {row[0]: (row[3], row[5]) for row in wide.lake.rows(NAME) if row[3]} == {1: ("n", 8)}
    wide.lake.create(NAME).compact(full=True)
    assert {row[0]: (row[3], row[5]) for row in wide.lake.rows(NAME) if row[3]} == {1: ("n", 8)}


def test_a_wider_type_and_columns_of_both_parts(wide):
    wide.run(
        "ALTER TABLE s.o ALTER n TYPE bigint, ADD d date",
        "INSERT INTO s.o VALUES (9, 5000000000)",
        "ALTER TABLE s.p ALTER b TYPE text",
        "INSERT INTO s.p VALUES (9, 'longer')",
        "ALTER TABLE s.p ADD e int",
    )
    told = load(wide)
    assert "n of the source has a wider type and is BIGINT" in told.details["o_schema_changes"]
    assert (groups(wide), kinds(wide)["n"], kinds(wide)["b"]) == (("n,d", "b,e"), "BIGINT", "STRING")
    check(wide, "d", "e")
    wide.run("UPDATE s.o SET d = '2025-01-01'", "UPDATE s.p SET e = id")
    load(wide)
    check(wide, "d", "e")


def test_a_reload_adds_a_column_whose_older_values_the_log_lacks(wide):
    wide.run("ALTER TABLE s.p ADD c int DEFAULT 5", "DELETE FROM s.p WHERE id = 3")
    with pytest.raises(PartsFailed, match=r"part p failed: .*'c' with the default '5' in older rows.*with reload"):
        load(wide)
    load(wide, part="p", reload=True)
    assert {row[0]: row[3:] for row in wide.lake.rows(NAME)}.keys() == {1, 2}, "a delete of p removes the row"
    assert [row[3::2] for row in wide.lake.rows(NAME) if row[3]] == [("p2", 5)]
    wide.run("UPDATE s.p SET c = 6")
    load(wide)
    assert [row[3::2] for row in wide.lake.rows(NAME) if row[3]] == [("p2", 6)]


def test_a_truncate_in_the_transaction_that_adds_the_column(wide):
    with wide.connection.transaction():
        wide.run("ALTER TABLE s.p ADD c int", "TRUNCATE s.p", "INSERT INTO s.p VALUES (3, 'new')")
    load(wide)
    wide.run("UPDATE s.p SET c = 3")
    load(wide)
    assert {row[0]: (row[3], row[5]) for row in wide.lake.rows(NAME)} == {1: (None, None), 3: ("new", 3)}


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["ALTER TABLE s.p DROP b"], "has no column 'b' any more.*If it was dropped, remove it from the declaration"),
        (["ALTER TABLE s.p RENAME b TO x"], "has no column 'b' any more.*if it was renamed, rename it back, or declar"),
        (["ALTER TABLE s.p ALTER b TYPE varchar(2)"], "the type of the column 'b' changed, .*with reload"),
        (["ALTER TABLE s.p ADD n int"], "has the new column 'n', which the part p would add, and which the part o fi"),
        (["ALTER TABLE s.p ADD o_at int"], "has the new column 'o_at', which the part p would add, and which the par"),
        (["ALTER TABLE s.p ADD p_at int"], "new column 'p_at', which the part p would add, and which loads of the p"),
        (['ALTER TABLE s.p ADD "N" int'], "has the new column 'N', which differs from 'n' only by case"),
    ],
)
def test_changes_that_stop_the_part(wide, statements, said):
    wide.run(*statements, "UPDATE s.o SET n = 30 WHERE id = 3")
    with pytest.raises(PartsFailed, match=rf"part p failed: shop\.w: .*{said}"):
        load(wide)
    assert {row[0]: row[1] for row in wide.lake.rows(NAME)} == {1: 1, 2: 2, 3: 30}, "the part o is loaded"
    assert groups(wide) == ("n", "b")


def test_a_column_that_two_parts_would_add_is_refused_for_the_second(wide):
    wide.run("ALTER TABLE s.o ADD c int", "ALTER TABLE s.p ADD c int", "UPDATE s.o SET c = 1", "UPDATE s.p SET c = 2")
    load(wide, part="o")
    refused = r"part p failed: .*new column 'c', which the part p would add, and which the part o fills: a column belo"
    with pytest.raises(PartsFailed, match=refused + r".*set parts.p.source.schema_changes: ignore"):
        load(wide)
    with pytest.raises(PipelineError, match=r"which the part p would add, and which the part o fills"):
        load(wide, part="p", reload=True)
    assert (groups(wide), [row[5] for row in wide.lake.rows(NAME)]) == (("n,c", "b"), [1, 1, 1])
    declare(wide, p=", schema_changes: ignore")
    assert load(wide).details["p_ignored_columns"] == "c"
    assert [row[5] for row in wide.lake.rows(NAME)] == [1, 1, 1]


def test_two_parts_that_add_the_column_at_the_same_time(wide, monkeypatch):
    """Both loads have planned the column before one of them alters the table."""
    wide.run("ALTER TABLE s.o ADD c int", "ALTER TABLE s.p ADD c int", "UPDATE s.o SET c = 1", "UPDATE s.p SET c = 2")
    real, met = part_changes.PartChangesLoads._moved, threading.Barrier(2, timeout=20)

    def together(*given):
        with contextlib.suppress(threading.BrokenBarrierError):
            met.wait()
            met.abort()
        return real(*given)

    monkeypatch.setattr(part_changes.PartChangesLoads, "_moved", together)
    with pytest.raises(PartsFailed, match=r"which the part [op] would add, and which the part [op] fills") as failed:
        load(wide)
    loaded = "o" if "part p failed" in str(failed.value) else "p"
    assert groups(wide) == {"o": ("n,c", "b"), "p": ("n", "b,c")}[loaded]
    assert {row[5] for row in wide.lake.rows(NAME)} - {None} == {1 if loaded == "o" else 2}


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("where", "name"), [(part_changes, "write_parts"), (commits, "commit_load")])
def test_a_load_that_died_before_or_after_the_alteration_is_repeated(wide, monkeypatch, where, name, batch):
    wide.run("INSERT INTO s.p VALUES (5, 'p5')", "ALTER TABLE s.p ADD c int", "INSERT INTO s.p VALUES (6, 'p6', 6)")
    real, calls = getattr(where, name), []

    def dying_later(*given, **more):
        calls.append(None)
        if len(calls) == batch:
            raise KeyboardInterrupt
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(where, name, dying_later)
        with pytest.raises(KeyboardInterrupt):
            load(wide, part="p")
    assert groups(wide)[1] == ("b" if batch == 1 else "b,c")
    wide.run("UPDATE s.p SET c = 2 WHERE id = 2", "UPDATE s.o SET n = 20 WHERE id = 2")
    load(wide)
    check(wide, "c")


def test_the_declaration_may_lag_behind_the_table(wide):
    wide.run("ALTER TABLE s.p ADD c numeric(9, 2), ALTER b TYPE varchar(9)", "UPDATE s.p SET c = 7")
    load(wide)
    assert differences(wide.lake.settings)[NAME] == [
        "has column b as VARCHAR(9), and it is declared as VARCHAR(3): loads widened it; declare `b: VARCHAR(9)`",
        'has column c, which is not declared: loads added it; add the line `c: "DECIMAL(9, 2)"` to columns, and c to '
        "parts.p.columns",
    ]
    assert apply(wide.lake.settings) == []
    declare(wide, columns='c: "DECIMAL(9, 2)"', part="columns: [b, c]")
    text = (wide.lake.folder / "tables" / "shop.w.yaml").read_text().replace("VARCHAR(3)", "VARCHAR(9)")
    wide.lake.declare(NAME, text)
    assert differences(wide.lake.settings)[NAME] == []
    wide.run("INSERT INTO s.p VALUES (1, 'b', 1)")
    load(wide)
    check(wide, "c")


def test_a_column_that_was_dropped_at_the_source_is_dropped_by_apply(wide):
    wide.run("ALTER TABLE s.p ADD c int", "UPDATE s.p SET c = 7")
    load(wide)
    wide.run("UPDATE s.p SET c = 8", "ALTER TABLE s.p DROP c", "INSERT INTO s.p VALUES (1, 'b')")
    with pytest.raises(PartsFailed, match=r"part p failed: .* has no column 'c' any more.*`paimon-lake apply --drop`"):
        load(wide)
    assert "altered shop.w" in apply(wide.lake.settings, drop=True)[0]
    assert groups(wide) == ("n", "b")
    load(wide)
    check(wide)


def test_a_column_that_moves_to_another_part_needs_apply(wide):
    wide.run("ALTER TABLE s.p ADD c int", "ALTER TABLE s.o ADD c int", "UPDATE s.p SET c = 7")
    load(wide, part="p")
    declare(wide, columns="c: INT")
    text = (wide.lake.folder / "tables" / "shop.w.yaml").read_text().replace("columns: n,", "columns: [n, c],")
    wide.lake.declare(NAME, text)
    with pytest.raises(PartsFailed, match=r"has n in the part o, and n, c is declared: `paimon-lake apply` alters"):
        load(wide)


def test_a_part_that_refuses_new_columns_names_the_setting(wide):
    declare(wide, p="")
    wide.run("ALTER TABLE s.p ADD c int", "UPDATE s.p SET c = 1")
    with pytest.raises(PartsFailed, match=r"new columns: c\. .*or set source.schema_changes: apply, which adds them"):
        load(wide)


def test_other_sources_of_parts_do_not_add_columns(wide):
    path = wide.lake.folder / "tables" / "shop.w.yaml"
    source = path.read_text().split("  p: {source: ")[1].split("}, columns")[0]
    files = "{type: files, path: 'p/*.json', format: debezium-json, schema_changes: apply"
    path.write_text(path.read_text().replace(source, files))
    with pytest.raises(
        SettingsError, match="apply can be used in a part only if its source is of type postgres_changes"
    ):
        _ = wide.lake.settings
