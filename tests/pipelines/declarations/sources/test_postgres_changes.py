"""Declarations of tables that follow PostgreSQL."""

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
