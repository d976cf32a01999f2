"""Copies of rows: after an error the new table is dropped, but never with what another process has committed."""

import pytest

import paimon_core as paimon
from paimon_core.cli.rows import copies
from paimon_core.errors import CommitStateUnknown


def failing(monkeypatch, act, error):
    """Make the write of a copy call ``act`` and raise ``error``."""

    def batches(*_):
        act()
        raise error
        yield

    monkeypatch.setattr(copies, "batches_of", batches)


def test_a_copy_that_fails_leaves_no_table(command, place, orders, monkeypatch):
    failing(monkeypatch, lambda: None, paimon.CorruptTable("a file is damaged"))
    code, text = command("copy", "shop.orders", "shop.new")
    assert (code, "a file is damaged" in text, "kept" in text) == (1, True, False)
    assert paimon.open_catalog(place).list_tables("shop") == ["orders"]


@pytest.mark.parametrize("error", [paimon.CorruptTable("a file is damaged"), KeyboardInterrupt()])
def test_rows_that_another_process_committed_to_the_new_table_are_kept(command, place, orders, monkeypatch, error):
    catalog, row = paimon.open_catalog(place), {"day": "wed", "id": 7, "note": "theirs"}
    failing(monkeypatch, lambda: catalog.table("shop.new").write([row], user="them"), error)
    code, text = command("copy", "shop.orders", "shop.new")
    assert (code, "table shop.new was created and is kept: it has snapshot 1 of user them" in text) == (1, True)
    assert catalog.table("shop.new").scan().to_arrow().to_pylist() == [row]


def test_a_table_that_took_the_place_of_the_new_one_is_kept(command, place, orders, monkeypatch):
    catalog = paimon.open_catalog(place)

    def replace():
        catalog.drop_table("shop.new")
        catalog.create_table("shop.new", {"x": "INT"})

    failing(monkeypatch, replace, paimon.CorruptTable("a file is damaged"))
    code, text = command("copy", "shop.orders", "shop.new")
    assert (code, "is kept: its state cannot be read (table shop.new was dropped or re-created" in text) == (1, True)
    assert catalog.table("shop.new").schema.names == ["x"]


def test_a_commit_whose_outcome_is_unknown_keeps_the_table(command, place, orders, monkeypatch):
    failing(monkeypatch, lambda: None, CommitStateUnknown("no answer"))
    code, text = command("copy", "shop.orders", "shop.new")
    assert (code, "is kept: it is not known whether its rows were committed" in text) == (1, True)
    assert "new" in paimon.open_catalog(place).list_tables("shop")
