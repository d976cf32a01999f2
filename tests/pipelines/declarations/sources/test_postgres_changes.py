"""Declarations of tables that follow PostgreSQL: what would make them differ from their source is refused."""

from __future__ import annotations

import pytest

from paimon_lake.declarations import SettingsError

GOOD = """
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: postgres_changes, url: "postgresql://lake@db.example/shop", table: s.o}
"""


def declared(lake, text):
    lake.declare("shop.o", text)
    return lake.settings.table("shop.o")


def test_a_table_that_follows_postgresql_is_upserted(dry_lake):
    spec = declared(dry_lake, GOOD)
    assert spec.write_mode == "upsert"
    assert not spec.adds_up
    assert spec.source.batch_rows == 200_000


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("primary_key: id", "natural_key: id", "needs a primary_key, the key of its source"),
        ("table: s.o", "table: o", r"table must be schema\.name, such as public\.orders, not 'o'"),
        (
            "table: s.o",
            "table: s.o_*",
            r"table is one table, not the pattern 's\.o_\*', without source_column: declare",
        ),
        ("table: s.o", "table: [s.o, s.p]", "table is one table, not a list, without source_column"),
        ("table: s.o", "table: []", r"source\.table"),
        ("table: s.o", "table: [s.o, 5]", r"source\.table"),
        ("table: s.o", "table: a.b.c", r"table must be schema\.name"),
        ("table: s.o", "table: .o", r"table must be schema\.name"),
        (", table: s.o", "", r"source\.table"),
        ("postgresql://", "sqlite://", "must be postgresql://...: changes are read from the log"),
        ("lake@", "lake:canary@", r"source\.url contains a password: write the name of its variable"),
        ("s.o}", "s.o, slot: My-Slot}", "at most 63 of a-z, 0-9 and _, not 'My-Slot'"),
        ("s.o}", "s.o, parts: 2}", "parts needs split"),
        ("s.o}", "s.o, split: id, parts: 17}", "16 or less"),
        ("s.o}", "s.o, batch_rows: 0}", r"source\.batch_rows must be 1 or greater|source\.batch_rows"),
        ("s.o}", "s.o, schema_changes: drop}", r"source\.schema_changes must be .*refuse.*ignore.*apply"),
        ("s.o}", "s.o, watermark: id}", r"unknown key source\.watermark"),
        ("s.o}", "s.o, query: SELECT 1}", r"unknown key source\.query"),
        ("source", "mode: append\nsource", "mode.* has no place here: the log of PostgreSQL says what is done"),
        ("source", "kinds: {column: t}\nsource", "kinds.* has no place here"),
        ("source", "order_by: t\nsource", "order_by.* has no place here"),
        ("source", "partitions: dynamic\nsource", "partitions.* has no place here"),
        (
            "source",
            "options: {merge-engine: first-row}\nsource",
            "merge-engine.*must be deduplicate, as the table would",
        ),
        ("source", "options: {sequence.field: t}\nsource", r"sequence\.field.*must not be set"),
        (
            "source",
            "options: {changelog-producer: input}\nsource",
            "changelog-producer.*must be none, lookup, full-comp",
        ),
        ("source", "options: {deletion-vectors.enabled: true}\nsource", r"deletion-vectors\.enabled.*must be false"),
        ("source", "options: {ignore-delete: true}\nsource", "ignore-delete.*must be false"),
        ("source", "options: {bucket: -2}\nsource", "bucket.*must not be -2: loads read rows that would wait"),
        ("source", "schedule: {on: files}\nsource", "files needs a source of type files, not postgres_changes"),
        ("source", "schedule: {on: change}\nsource", r"schedule\.on must be .*changes"),
        ("source", "schedule: {on: changes, cron: '@daily'}\nsource", "a schedule needs either cron or on"),
        ("source", "schedule: {on: changes, timezone: UTC}\nsource", r"timezone.*belongs to cron"),
        ("source", "checks: [{type: lag}]\nsource", "a lag check needs max_bytes, max_seconds or max_slot_bytes"),
        (
            "source",
            "checks: [{type: lag, max_messages: 5}]\nsource",
            r"checks\[0\]\.max_messages: is not known for a source of type postgres_changes",
        ),
        ("source", "checks: [{type: lag, max_bytes: -1}]\nsource", r"checks\[0\]\.max_bytes must be 0 or more, not -1"),
        ("source", "checks: [{type: lag, max_seconds: .inf}]\nsource", r"checks\[0\]\.max_seconds must be a finite"),
        ("source", "checks: [{type: lag, max_minutes: 1}]\nsource", r"unknown key checks\[0\]\.max_minutes"),
        (
            "source",
            "checks: [{type: lag, max_seconds: 9, block: true}]\nsource",
            r"checks\[0\]\.block.*has no place in a lag check",
        ),
        ("t: STRING", "t: VARIANT", "a database has no values of the type VARIANT"),
    ],
)
def test_mistakes(dry_lake, old, new, said):
    assert old in GOOD
    with pytest.raises(SettingsError, match=said) as caught:
        declared(dry_lake, GOOD.replace(old, new, 1))
    assert "canary" not in str(caught.value)


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
            r"source\.lookup.*has no place beside source_column: look up in a table with a source of type sql",
        ),
    ],
)
def test_mistakes_with_several_tables(dry_lake, old, new, said):
    assert old in SEVERAL
    with pytest.raises(SettingsError, match=said) as caught:
        declared(dry_lake, SEVERAL.replace(old, new, 1))
    assert "canary" not in str(caught.value)
