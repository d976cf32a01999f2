"""Columns that a source gets and types that it widens: the table is altered in the order of the log, or is not."""

from __future__ import annotations

import json

import pytest

from paimon_lake.differences import differences
from paimon_lake.loads import load as commits
from paimon_lake.loads.postgres import postgres_changes as loading
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.apply import apply

RELOAD = "load the table with reload"


@pytest.fixture
def applied(followed):
    followed.declare(more=", schema_changes: apply")
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    return followed


def kinds(followed):
    return {field.name: field.type.sql for field in followed.lake.table("shop.o").schema.fields}


def test_an_added_column_is_added_between_the_changes_before_and_after_it(applied):
    applied.run(
        "INSERT INTO s.o VALUES (2, 'b')",
        "ALTER TABLE s.o ADD n numeric(5, 2)",
        "INSERT INTO s.o VALUES (3, 'c', 1.5)",
        "UPDATE s.o SET n = 2 WHERE id = 1",
    )
    told = applied.load()
    assert len(told.commits) == 2
    assert told.details["schema_changes"] == "the new column n of the source is DECIMAL(5, 2) in the table"
    assert "the new column n of the source is DECIMAL(5, 2) in the table" in told.sentence()
    applied.check()
    assert applied.load().commits == ()
    applied.run("DELETE FROM s.o WHERE id = 2")
    assert "schema_changes" not in applied.load().details
    applied.check()


def test_a_column_without_a_change_after_it_is_added_too(applied):
    applied.run("ALTER TABLE s.o ADD d date, ADD u uuid, ADD a int[], ADD j timestamptz(3)")
    told = applied.load()
    assert len(told.commits) == 1
    assert kinds(applied) == {
        "id": "BIGINT NOT NULL",
        "t": "STRING",
        "d": "DATE",
        "u": "STRING",
        "a": "ARRAY<INT>",
        "j": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    }
    applied.check()
    applied.run("INSERT INTO s.o VALUES (2, 'b')")
    applied.load()
    applied.check()


def test_several_alterations_in_one_transaction(applied):
    with applied.connect() as session:
        for statement in (
            "INSERT INTO s.o VALUES (2, 'b')",
            "ALTER TABLE s.o ADD n int",
            "INSERT INTO s.o VALUES (3, 'c', 3)",
            "ALTER TABLE s.o ADD m varchar(3)",
            "INSERT INTO s.o VALUES (4, 'd', 4, 'm')",
            "ALTER TABLE s.o ALTER m TYPE varchar(9)",
            "UPDATE s.o SET m = 'longer' WHERE id = 4",
        ):
            session.execute(statement)
    assert len(applied.load().commits) == 1
    assert kinds(applied)["m"] == "VARCHAR(9)"
    applied.check()


@pytest.mark.parametrize(
    ("declared", "old", "new", "value", "held"),
    [
        ("SMALLINT", "smallint", "int", "70000", "INT"),
        ("INT", "int", "bigint", "5000000000", "BIGINT"),
        ("BIGINT", "int", "bigint", "5000000000", "BIGINT"),
        ("FLOAT", "real", "double precision", "0.1", "DOUBLE"),
        ("DECIMAL(4, 2)", "numeric(4, 2)", "numeric(8, 2)", "123456.78", "DECIMAL(8, 2)"),
        ("VARCHAR(2)", "varchar(2)", "varchar(5)", "'abcde'", "VARCHAR(5)"),
        ("VARCHAR(2)", "varchar(2)", "text", "'abcde'", "STRING"),
        ("STRING", "int", "bigint", "5000000000", "STRING"),
        ("TIMESTAMP(0)", "timestamp(0)", "timestamp(3)", "'2024-01-02 03:04:05.678'", "TIMESTAMP(3)"),
    ],
)
def test_a_wider_type(followed, declared, old, new, value, held):
    followed.run("DROP TABLE s.o", f"CREATE TABLE s.o (id int PRIMARY KEY, v {old})")
    followed.declare(f'{{id: BIGINT, v: "{declared}"}}', ", schema_changes: apply")
    small = "'ab'" if "char" in old else "'2024-01-02'" if "time" in old else "0.1" if old == "real" else "1"
    followed.run(f"INSERT INTO s.o VALUES (1, {small})")
    followed.load()
    followed.run(
        f"INSERT INTO s.o VALUES (2, {small})",
        f"ALTER TABLE s.o ALTER v TYPE {new}",
        f"INSERT INTO s.o VALUES (3, {value})",
    )
    told = followed.load()
    assert "v of the source has a wider type" in told.details["schema_changes"]
    assert kinds(followed)["v"] == held
    followed.check("SELECT id, v::text FROM s.o" if declared == "STRING" else "SELECT * FROM s.o")


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (
            ["ALTER TABLE s.o DROP t"],
            "has no column 't' any more.*remove it from the declaration and run `paimon-lake app",
        ),
        (
            ["ALTER TABLE s.o RENAME t TO u"],
            "has no column 't' any more.*if it was renamed, rename it back, or declare",
        ),
        (["ALTER TABLE s.o ALTER t TYPE varchar(9)"], f"the type of the column 't' changed, .*: {RELOAD}"),
        (["ALTER TABLE s.o ALTER id TYPE text"], f"the type of the column 'id' changed, .*: {RELOAD}"),
        (
            ["ALTER TABLE s.o ADD n int DEFAULT 5"],
            f"has the new column 'n' with the default '5' in older rows.*: {RELOAD}",
        ),
        (["ALTER TABLE s.o ADD n int NOT NULL DEFAULT 5"], "has the new column 'n' with the default '5' in older rows"),
        (
            ["ALTER TABLE s.o ADD n int DEFAULT 5", "ALTER TABLE s.o ALTER n DROP DEFAULT"],
            "has the new column 'n' with the default '5' in older rows",
        ),
        (["ALTER TABLE s.o ADD n int DEFAULT 5", "VACUUM FULL s.o"], "'n', and was rewritten or truncated meanwhile"),
        (["ALTER TABLE s.o ADD n serial"], "'n', and was rewritten or truncated meanwhile"),
        (["ALTER TABLE s.o ADD p point"], "'p' has the type point, .*set source.schema_changes: ignore"),
        (['ALTER TABLE s.o ADD "T" int'], "has the new column 'T', which differs from 't' only by case"),
        (
            ["ALTER TABLE s.o ADD n int", "INSERT INTO s.o VALUES (2, 'b', 2)", "ALTER TABLE s.o DROP n"],
            "has the new column 'n' in its log, which it does not have any more",
        ),
        (
            ["ALTER TABLE s.o ADD n int", "INSERT INTO s.o VALUES (2, 'b', 2)", "ALTER TABLE s.o DROP n, ADD n int"],
            "'n', and columns that were added and dropped again",
        ),
    ],
)
def test_changes_that_stop_the_load_also_where_columns_are_added(applied, statements, said):
    applied.run(*statements)
    before = applied.lake.rows("shop.o")
    with pytest.raises(PipelineError, match=rf"^shop\.o: .*{said}"):
        applied.load()
    assert applied.lake.rows("shop.o") == before
    if "reload" in said or "'n'" in said:
        applied.load(reload=True)
        if "TYPE text" not in statements[0]:
            applied.check()
            applied.run("UPDATE s.o SET t = 'z'")
            applied.load()
            applied.check()


def test_rows_that_were_rewritten_without_values_have_null(applied):
    applied.run("ALTER TABLE s.o ADD n int", "VACUUM FULL s.o", "INSERT INTO s.o VALUES (2, 'b')")
    applied.load()
    applied.check()
    applied.run("VACUUM FULL s.o", "UPDATE s.o SET t = 'c'")
    applied.load()
    applied.run("ALTER TABLE s.o ADD m int", "UPDATE s.o SET m = 1")
    applied.load()
    applied.check()


def test_a_type_that_cannot_follow_its_source(followed):
    followed.declare("{id: INT, t: STRING}", ", schema_changes: apply")
    followed.load()
    followed.run("ALTER TABLE s.o ALTER id TYPE bigint")
    with pytest.raises(PipelineError, match=r"^shop\.o: .*the table cannot follow: .*id.*Declare a type that holds"):
        followed.load()


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("where", "name"), [(loading, "write_parts"), (commits, "commit_load")])
def test_a_load_that_died_before_or_after_the_alteration_is_repeated(applied, monkeypatch, where, name, batch):
    applied.run("INSERT INTO s.o VALUES (2, 'b')", "ALTER TABLE s.o ADD n int", "INSERT INTO s.o VALUES (3, 'c', 3)")
    real, calls = getattr(where, name), []

    def dying_later(*given, **more):
        calls.append(None)
        if len(calls) == batch:
            raise KeyboardInterrupt
        return real(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(where, name, dying_later)
        with pytest.raises(KeyboardInterrupt):
            applied.load()
    assert ("n" in kinds(applied)) == (batch == 2)
    applied.run("DELETE FROM s.o WHERE id = 2")
    applied.load()
    applied.check()
    assert kinds(applied)["n"] == "INT"


def test_a_table_that_was_altered_by_a_load_that_died_takes_the_changes_before_it(applied, monkeypatch):
    applied.run("INSERT INTO s.o VALUES (2, 'b')", "ALTER TABLE s.o ADD n int")
    applied.lake.table("shop.o").alter("ADD COLUMN n INT")
    applied.run("UPDATE s.o SET n = 4 WHERE id = 2")
    assert len(applied.load().commits) == 2
    applied.check()


def test_the_declaration_may_lag_behind_the_table(applied):
    applied.run("ALTER TABLE s.o ADD n numeric(9, 2)", "UPDATE s.o SET n = 7")
    applied.load()
    added = 'has column n, which is not declared: loads added it; add the line `n: "DECIMAL(9, 2)"`'
    assert differences(applied.lake.settings)["shop.o"] == [added]
    assert apply(applied.lake.settings) == []
    assert kinds(applied)["n"] == "DECIMAL(9, 2)"
    applied.declare('{id: BIGINT, t: STRING, n: "DECIMAL(9, 2)"}', ", schema_changes: apply")
    assert differences(applied.lake.settings)["shop.o"] == []
    applied.run("INSERT INTO s.o VALUES (2, 'b', 1)")
    applied.load()
    applied.check()


def test_a_column_that_is_dropped_from_the_table_is_not_added_again(applied):
    applied.run("ALTER TABLE s.o ADD n int", "UPDATE s.o SET n = 7")
    applied.load()
    assert "altered shop.o" in apply(applied.lake.settings, drop=True)[0]
    applied.run("INSERT INTO s.o VALUES (2, 'b', 1)")
    applied.load()
    applied.check("SELECT id, t FROM s.o")
    applied.run("ALTER TABLE s.o DROP n", "INSERT INTO s.o VALUES (3, 'c')")
    applied.load()
    applied.check()


def test_a_column_that_was_dropped_at_the_source_is_dropped_by_apply_without_a_reload(applied):
    applied.run("ALTER TABLE s.o ADD n int", "UPDATE s.o SET n = 7")
    applied.load()
    applied.run("UPDATE s.o SET n = 8", "ALTER TABLE s.o DROP n", "INSERT INTO s.o VALUES (2, 'b')")
    with pytest.raises(PipelineError, match="has no column 'n' any more"):
        applied.load()
    apply(applied.lake.settings, drop=True)
    applied.load()
    applied.check()


def test_columns_that_were_left_out_are_told_and_not_added_later(followed):
    followed.declare(more=", schema_changes: ignore")
    followed.load()
    followed.run("ALTER TABLE s.o ADD n int", "INSERT INTO s.o VALUES (1, 'a', 1)")
    assert followed.load().details["ignored_columns"] == "n"
    assert followed.load().details["ignored_columns"] == "n"
    followed.declare(more=", schema_changes: apply")
    followed.run("INSERT INTO s.o VALUES (2, 'b', 2)")
    with pytest.raises(
        PipelineError, match=f"'n', and loads have left its values out: {RELOAD}, .* and adds the column"
    ):
        followed.load()
    followed.load(reload=True)
    followed.check()


def test_values_of_a_wider_type_are_rejected_where_changes_are_ignored(followed):
    followed.run("ALTER TABLE s.o ADD n int")
    followed.declare(
        "{id: BIGINT, t: STRING, n: INT}",
        ", schema_changes: ignore",
        "primary_key: id\n            rejects: {max_share: 0.5}",
    )
    followed.load()
    followed.run("ALTER TABLE s.o ALTER n TYPE bigint", "INSERT INTO s.o VALUES (1, 'a', 1), (2, 'b', 5000000000)")
    told = followed.load()
    assert (
        "has a wider type and is INT in the table, values outside of it are rejected" in told.details["schema_changes"]
    )
    followed.check("SELECT * FROM s.o WHERE id = 1")
    assert [reject[2] for reject in followed.lake.rows("shop.o__rejects")] == ["n"]


def test_a_position_of_an_earlier_version_adds_columns_by_a_reload_only(applied):
    ledger = applied.lake.table("shop.o").latest_snapshot().properties["pipeline.position"]
    old = {name: value for name, value in json.loads(ledger).items() if name not in ("made", "file_node", "ignored")}
    applied.lake.table("shop.o").commit(
        [], user="load shop.o", identifier=9, properties={"pipeline.position": json.dumps(old)}
    )
    applied.run("ALTER TABLE s.o ADD n int")
    with pytest.raises(PipelineError, match=f"'n', and loads have left its values out: {RELOAD}"):
        applied.load()
    applied.load(reload=True)
    applied.check()
