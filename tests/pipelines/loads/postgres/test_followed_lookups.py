"""A table that follows PostgreSQL and looks up columns of another table of the lake."""

from __future__ import annotations

import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.steps.audits.audit import audit_loads


def declare(followed, rule, share="1"):
    lookup = f"{{table: dim.names, on: {{t: id}}, columns: {{name: name}}, {rule}}}"
    followed.declare(
        "{id: BIGINT, t: STRING, name: STRING}",
        f", lookup: [{lookup}]",
        f"primary_key: id\n            rejects: {{max_share: {share}}}",
    )
    followed.lake.declare(
        "dim.names",
        """
        columns: {id: STRING, name: STRING}
        primary_key: id
        source: {type: files, path: "names/*.csv"}
        """,
    )


def names(followed, number, *rows):
    followed.lake.file(f"names/{number}.csv", "id,name\n" + "".join(f"{row}\n" for row in rows))
    followed.lake.load("dim.names")


def test_changes_wait_and_keep_the_position(followed):
    declare(followed, "missing: wait, max_wait: 2 d")
    names(followed, 1, "a,Anna")
    followed.run("INSERT INTO s.o VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, null)")
    assert followed.load().details["rows_waiting"] == 2
    followed.run("UPDATE s.o SET t = 'c' WHERE id = 1", "DELETE FROM s.o WHERE id = 3")
    followed.load()
    assert followed.lake.rows("shop.o") == [(1, "a", "Anna"), (4, None, None)]
    names(followed, 2, "b,Bert", "c,Carl")
    result = followed.load()
    assert result.details["rows_waited"] == 2
    assert followed.lake.rows("shop.o") == [(1, "c", "Carl"), (2, "b", "Bert"), (4, None, None)]
    assert followed.load().commits == ()
    followed.run("TRUNCATE s.o", "INSERT INTO s.o VALUES (7, 'a')")
    followed.load()
    assert followed.lake.rows("shop.o") == [(7, "a", "Anna")]
    assert not audit_loads(followed.lake.settings, "shop.o").wrong


@pytest.mark.parametrize("rule", ["missing: reject", "missing: wait, max_wait: 1 ms"])
def test_a_rejected_change_removes_the_older_row(followed, rule):
    declare(followed, rule)
    names(followed, 1, "a,Anna")
    followed.run("INSERT INTO s.o VALUES (1, 'a'), (2, 'a')")
    followed.load()
    followed.run("UPDATE s.o SET t = 'x' WHERE id = 1")
    followed.load()
    followed.run("UPDATE s.o SET t = 'a' WHERE id = 2")
    followed.load()
    assert followed.lake.rows("shop.o") == [(2, "a", "Anna")]
    assert followed.lake.rows("shop.o__rejects")[0][3].startswith("dim.names has no row with id = 'x'")
    assert not audit_loads(followed.lake.settings, "shop.o").wrong


def test_an_unchanged_large_value_is_the_one_of_the_row_that_waits(followed):
    declare(followed, "missing: wait, max_wait: 2 d")
    path = followed.lake.folder / "tables" / "shop.o.yaml"
    path.write_text(path.read_text().replace("name: STRING}\n", "name: STRING, large: STRING}\n", 1))
    names(followed, 1, "a,Anna")
    followed.run("ALTER TABLE s.o ADD large text", "ALTER TABLE s.o ALTER large SET STORAGE EXTERNAL")
    followed.run("INSERT INTO s.o SELECT id, 'a', repeat('1', 9000) FROM generate_series(1, 3) id")
    followed.load()
    followed.run("UPDATE s.o SET t = 'x', large = repeat('2', 9000) WHERE id < 3")
    followed.run("INSERT INTO s.o VALUES (4, 'x', repeat('3', 9000))")
    assert followed.load().details["rows_waiting"] == 3
    followed.run("UPDATE s.o SET t = 'a' WHERE id IN (1, 3)", "UPDATE s.o SET t = 'y' WHERE id = 2")
    followed.run("UPDATE s.o SET id = 5, t = 'a' WHERE id = 4")
    assert followed.load().details["rows_waiting"] == 1
    names(followed, 2, "y,Yann")
    followed.load()
    assert [(row[0], row[3]) for row in followed.lake.rows("shop.o")] == followed.rows(
        "SELECT id, large FROM s.o ORDER BY 1"
    )
    assert not followed.lake.rows("shop.o__rejects")
    assert not audit_loads(followed.lake.settings, "shop.o").wrong


def test_a_new_column_that_a_lookup_fills_is_refused(followed):
    declare(followed, "missing: reject")
    path = followed.lake.folder / "tables" / "shop.o.yaml"
    text = path.read_text().replace("table: s.o", "table: s.o, schema_changes: apply")
    path.write_text(text)
    names(followed, 1, "a,Anna")
    followed.run("INSERT INTO s.o VALUES (1, 'a')")
    followed.load()
    followed.run("ALTER TABLE s.o ADD name text", "UPDATE s.o SET name = 'mine'")
    for reload in (False, True):
        with pytest.raises(
            PipelineError, match=r"s\.o has the column 'name', which a lookup fills: give the looked-up"
        ):
            followed.load(reload=reload)
    path.write_text(text.replace("apply", "ignore"))
    assert followed.load().details["ignored_columns"] == "name"
    assert followed.lake.rows("shop.o") == [(1, "a", "Anna")]


def test_rows_that_wait_get_a_new_column_of_the_source(followed):
    declare(followed, "missing: wait, max_wait: 2 d")
    path = followed.lake.folder / "tables" / "shop.o.yaml"
    path.write_text(path.read_text().replace("table: s.o", "table: s.o, schema_changes: apply"))
    names(followed, 1, "a,Anna")
    followed.run("INSERT INTO s.o VALUES (1, 'b'), (2, 'c'), (3, 'a'), (4, 'c')")
    followed.load()
    followed.run("ALTER TABLE s.o ADD large text", "ALTER TABLE s.o ALTER large SET STORAGE EXTERNAL")
    followed.run("UPDATE s.o SET large = repeat('1', 9000) WHERE id = 3")
    followed.load()
    followed.run("UPDATE s.o SET t = 'c' WHERE id = 3")
    assert followed.load().details["rows_waiting"] == 4
    names(followed, 2, "b,Bert")
    followed.load()
    followed.run("UPDATE s.o SET t = 'a' WHERE id = 3", "UPDATE s.o SET large = 'x' WHERE id = 4")
    names(followed, 3, "c,Carl")
    followed.load()
    found = {
        row["id"]: (row["name"], row["large"]) for row in followed.lake.table("shop.o").scan().to_arrow().to_pylist()
    }
    assert found == {1: ("Bert", None), 2: ("Carl", None), 3: ("Anna", "1" * 9000), 4: ("Carl", "x")}
