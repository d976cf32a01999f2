"""A SELECT over the tables of a group reads all of them at one version."""

import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, NotFound

JOIN = "SELECT o.id FROM shop.orders o JOIN shop.items USING (id) ORDER BY o.id"


@pytest.fixture
def catalog(tmp_path):
    pytest.importorskip("duckdb")
    made = paimon.open_catalog(tmp_path)
    made.create_database("shop")
    for name in ("shop.orders", "shop.items", "shop.other"):
        made.create_table(name, {"id": "INT"}).write([{"id": 1}])
    publish(made)
    for name in ("shop.orders", "shop.items", "shop.other"):
        made.table(name).write([{"id": 2}])
    return made


def publish(catalog):
    tables = [catalog.table(name) for name in ("shop.orders", "shop.items")]
    return catalog.group("shop").publish_snapshots({one.name: one.latest_snapshot().id for one in tables})


def test_tables_of_the_group_are_read_at_its_newest_version_and_others_as_always(catalog):
    assert catalog.sql(JOIN).fetchall() == [(1,), (2,)]
    assert catalog.sql(JOIN, group="shop").fetchall() == [(1,)]
    assert catalog.sql("SELECT count(*) FROM shop.other, shop.orders", group="shop").fetchall() == [(2,)]
    later = "SELECT (SELECT count(*) FROM shop.items AT (VERSION => 2)), (SELECT count(*) FROM shop.orders)"
    assert catalog.sql(later, group="shop").fetchall() == [(2, 1)]
    assert catalog.sql('SELECT count(*) FROM shop."orders$files"', group="shop").fetchall() == [(1,)]
    publish(catalog)
    assert catalog.sql(JOIN, group="shop").fetchall() == [(1,), (2,)]


def test_a_publish_between_two_tables_of_a_query_changes_nothing(catalog, monkeypatch):
    table, opened = type(catalog).table, []

    def raced(self, name):
        opened.append(name)
        if len(opened) == 2:  # the first table of the query is open
            with monkeypatch.context() as patched:
                patched.setattr(type(catalog), "table", table)
                publish(catalog)
        return table(self, name)

    monkeypatch.setattr(type(catalog), "table", raced)
    assert catalog.sql(JOIN, group="shop").fetchall() == [(1,)]
    assert catalog.group("shop").latest().number == 2
    assert catalog.sql(JOIN, group="shop").fetchall() == [(1,), (2,)]


def test_a_group_that_would_be_ignored_is_refused(catalog):
    for text in ("SELECT * FROM shop.other", "SELECT 1", "SELECT * FROM shop.orders AT (VERSION => 1)"):
        with pytest.raises(InvalidRequest, match=r"reads no table of group shop .*: it has shop.items, shop.orders"):
            catalog.sql(text, group="shop")
    with pytest.raises(NotFound, match="group shpo has no version: nothing was published yet"):
        catalog.sql(JOIN, group="shpo")
    catalog.table("shop.items").tags.delete("group-shop-1")
    with pytest.raises(InvalidRequest, match="version 1 of group shop cannot be read any more"):
        catalog.sql(JOIN, group="shop")
