"""Declarations of tables that follow PostgreSQL: what would make them differ from their source is refused."""

from __future__ import annotations

import pytest

from paimon_lake.declarations import SettingsError
from tests.support.declared_lakes import CHANGES

_, GOOD = CHANGES


def declared(lake, text):
    lake.declare("shop.o", text)
    return lake.settings.table("shop.o")


def test_a_table_that_follows_postgresql_is_upserted(dry_lake):
    spec = declared(dry_lake, GOOD)
    assert spec.write_mode == "upsert"
    assert not spec.adds_up
    assert spec.source.batch_rows == 200_000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("schedule: {on: changes}", "changes needs a source of type postgres_changes or kafka, not files"),
        (
            "checks: [{type: lag, max_bytes: 1}]",
            r"checks\[0\]\.type.*, and this source is of type files",
        ),
    ],
)
def test_only_a_source_of_changes_has_a_lag(dry_lake, more, said):
    with pytest.raises(SettingsError, match=said):
        declared(dry_lake, f"columns: {{id: INT}}\nprimary_key: id\nsource: {{type: files, path: '*.csv'}}\n{more}\n")


SEVERAL = """
columns: {shard: STRING, id: BIGINT, t: STRING}
primary_key: [shard, id]
source: {type: postgres_changes, url: "postgresql://lake@db.example/shop", table: [s.o_*, s.p], source_column: shard}
"""


def test_several_tables_have_a_column_with_their_names_in_the_key(dry_lake):
    source = declared(dry_lake, SEVERAL).source
    assert (source.table, source.name, source.source_column) == (("s.o_*", "s.p"), "s.o_*, s.p", "shard")
    assert declared(dry_lake, SEVERAL.replace("shard}", "shard, parts: 2}")).source.parts == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "[shard, id]",
            "[id]",
            r"source\.source_column.*'shard' is not in the primary_key: rows of two tables with equal",
        ),
        ("[shard, id]", "shard", r"source\.source_column.*the primary_key also needs the key of the source tables"),
        ("column: shard", "column: shar", r"source\.source_column.*'shar' is not a column.*did you mean shard"),
        ("shard: STRING", "shard: VARCHAR(9)", r"shard is VARCHAR\(9\), and names of tables need STRING"),
        ("shard: STRING", "shard: INT", "shard is INT, and names of tables need STRING"),
        ("[s.o_*, s.p]", "[s.o_*, o]", r"table must be schema\.name, such as public\.orders, not 'o'"),
        ("[s.o_*, s.p]", "[s.p, s.p]", "table names 's.p' twice"),
        ("[s.o_*, s.p]", "o_*", r"table must be schema\.name"),
        (
            'url: "postgresql://lake@db.example/shop"',
            "url: ['postgresql://lake:canary@a/b']",
            "must be one database: the",
        ),
        (
            'url: "postgresql://lake@db.example/shop"',
            "database: [a, b]",
            "must be one database: the position of a table",
        ),
        (
            "column: shard}",
            "column: shard, lookup: [{table: shop.p, on: {id: id}, columns: {t: t}}]}",
            r"source\.lookup.*is not allowed beside source_column: look up in a table with a source of type sql",
        ),
    ],
)
def test_mistakes_with_several_tables(dry_lake, old, new, said):
    assert old in SEVERAL
    with pytest.raises(SettingsError, match=said) as caught:
        declared(dry_lake, SEVERAL.replace(old, new, 1))
    assert "canary" not in str(caught.value)
