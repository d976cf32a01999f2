"""Databases of PostgreSQL in the settings of a lake: what their tables get from them, and what is refused."""

from __future__ import annotations

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.declarations.lake.databases import tables_of

URL = "url: postgresql://lake@db.example/shop"
TABLE = """
columns: {id: BIGINT, t: STRING}
primary_key: id
source: {type: postgres_changes, database: shop, table: s.o}
"""


def write(lake, database, table=TABLE):
    (lake.folder / "base.yaml").write_text(f"warehouse: warehouse\npostgres: {database}\n")
    lake.declare("shop.o", table)


def test_a_table_has_the_keys_of_its_database(dry_lake):
    write(dry_lake, f"{{shop: {{{URL}, slot: a, publication: b, batch_rows: 7}}}}")
    dry_lake.declare("shop.p", TABLE.replace("s.o", "s.p"))
    dry_lake.declare("shop.q", TABLE.replace("database: shop", URL))
    settings = dry_lake.settings
    source = settings.table("shop.o").source
    assert (source.url, source.slot, source.publication, source.batch_rows) == (URL[5:], "a", "b", 7)
    assert source.run_seconds == 3600
    assert tables_of(settings.tables, "shop") == ["shop.o", "shop.p"]
    assert tables_of(settings.tables, "") == []
    assert "lake@" not in repr(settings)


@pytest.mark.parametrize(
    ("database", "said"),
    [
        (f"{{shop: {{{URL}, keep_versions: 3}}}}", r"postgres\.shop\.keep_versions.*needs consistent: true"),
        (f"{{Shop-1: {{{URL}}}}}", r"postgres\.Shop-1.*at most 30 of a-z, 0-9 and _"),
        ("{shop: {url: 'sqlite:///x'}}", r"postgres\.shop\.url: must be postgresql://"),
        ("{shop: {url: ''}}", r"postgres\.shop\.url"),
        ("{shop: {}}", r"postgres\.shop\.url"),
        ("{shop: {url: 'postgresql://lake:canary@h/d'}}", r"postgres\.shop\.url contains a password"),
        (f"{{shop: {{{URL}, slot: My-Slot}}}}", "at most 63 of a-z, 0-9 and _"),
        (f"{{shop: {{{URL}, batch_rows: 0}}}}", r"postgres\.shop\.batch_rows"),
        (f"{{shop: {{{URL}, keep_versions: 0, consistent: true}}}}", r"postgres\.shop\.keep_versions"),
        (f"{{shop: {{{URL}, table: s.o}}}}", r"unknown key postgres\.shop\.table"),
        (f"{{shop: {{{URL}, consistent: true}}}}\ncatalog: {{type: rest, uri: 'http://h'}}", "rest has no groups"),
        (f"{{shops: {{{URL}}}}}", r"shop\.o\.yaml:4.*'shop' is not below postgres in base\.yaml \(shops\).*'?shops'?"),
        ("{}", r"is not below postgres in base\.yaml \(there is no database yet\)"),
    ],
)
def test_settings_that_are_refused(dry_lake, database, said):
    write(dry_lake, database)
    with pytest.raises(SettingsError, match=said) as caught:
        _ = dry_lake.settings
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (f"database: shop, {URL}", "needs either url or database"),
        ("parts: 2, split: id", "needs either url or database"),
        ("database: shop, slot: a", r"slot belongs to the slot.*base\.yaml, below postgres\.shop"),
        ("database: shop, batch_rows: 5", r"batch_rows belongs to the slot.*below postgres\.shop"),
    ],
)
def test_sources_that_are_refused(dry_lake, source, said):
    write(dry_lake, f"{{shop: {{{URL}}}}}", TABLE.replace("database: shop", source))
    with pytest.raises(SettingsError, match=said):
        _ = dry_lake.settings
