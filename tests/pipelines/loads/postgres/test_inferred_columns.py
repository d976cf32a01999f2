"""``infer`` writes the columns of tables of PostgreSQL into declarations, with which they can be loaded."""

from __future__ import annotations

import pytest

from paimon_lake.cli.main import main
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.infer import infer
from tests.pipelines.loads.postgres.conftest import Followed
from tests.pipelines.loads.postgres.test_several_tables import declare

MADE = """CREATE TABLE s.o (id bigint PRIMARY KEY, t text NOT NULL, v varchar(3), n numeric(7, 2), u numeric, j jsonb,
  a int[], w timestamptz(3), k uuid, p point, p2 int4range[], g int GENERATED ALWAYS AS (1) STORED)"""
ROW = "1, 'x', 'abc', 1.5, 2, '{}', '{1}', '2024-01-01 00:00Z', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '(1,2)', NULL"


def inferred(followed: Followed):
    return infer(followed.lake.settings, "shop.o")


def test_a_table_is_loaded_with_the_columns_that_were_inferred(followed: Followed) -> None:
    followed.run("DROP TABLE IF EXISTS s.o", MADE, f"INSERT INTO s.o VALUES ({ROW})")
    followed.declare("infer")
    found = inferred(followed)
    assert found.columns == {
        "id": "BIGINT",
        "t": "STRING",
        "v": "VARCHAR(3)",
        "n": "DECIMAL(7, 2)",
        "u": "STRING",
        "j": "STRING",
        "a": "ARRAY<INT>",
        "w": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        "k": "STRING",
    }
    assert set(found.left_out) == {"p", "p2", "g"}
    assert found.left_out["g"] == "it is generated, and the log does not contain it"
    assert found.left_out["p"] == "its type point cannot be read"
    assert followed.load().rows_written == 1


def test_several_tables_have_the_columns_of_all(followed: Followed) -> None:
    followed.run("CREATE TABLE s.o_1 (id int PRIMARY KEY, a text)", "CREATE TABLE s.o_2 (id int PRIMARY KEY, b date)")
    declare(followed, columns="infer")
    assert inferred(followed).columns == {"shard": "STRING", "id": "INT", "a": "STRING", "b": "DATE"}


def test_the_command_tells_what_is_left_out_with_its_exit_code(followed: Followed, capsys) -> None:
    command = ["infer", "--configs", str(followed.lake.folder), "--table", "shop.o"]
    for columns, code, told in (
        ("g int GENERATED ALWAYS AS (1) STORED", 1, "g is left out: it is generated, and the log does not contain it"),
        ("g int", 0, "g   INT"),
    ):
        followed.run("DROP TABLE IF EXISTS s.o", f"CREATE TABLE s.o (id int PRIMARY KEY, {columns})")
        followed.declare("infer")
        assert main(command) == code
        assert capsys.readouterr().out.splitlines() == ["id  INT", told]


def test_a_key_that_is_not_in_the_source_is_told(followed: Followed) -> None:
    followed.run("DROP TABLE IF EXISTS s.o", "CREATE TABLE s.o (nr int PRIMARY KEY)")
    followed.declare("infer")
    with pytest.raises(PipelineError, match="'id' of primary_key is not a column that can be read"):
        inferred(followed)
