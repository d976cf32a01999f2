"""Slots of tables that are not declared any more, and the lag in the command ``show``."""

from __future__ import annotations

import shutil

import pytest

import paimon_core as paimon
from paimon_core.errors import CorruptTable
from paimon_lake.cli.main import main
from paimon_lake.loads.postgres import left_slots as of_slots
from paimon_lake.loads.postgres.left_slots import left_slots
from paimon_lake.loads.postgres.release import release
from tests.support.postgres import PASSWORD

OTHER = """
columns: {{id: BIGINT, t: STRING}}
primary_key: id
source: {{type: postgres_changes, url: "{}", table: s.p}}
"""


@pytest.fixture
def two(followed):
    """A lake of two tables, of which ``shop.o`` is loaded and then not declared any more."""
    followed.run("CREATE TABLE s.p (id int PRIMARY KEY, t text)")
    followed.lake.declare("shop.p", OTHER.format(followed.url.replace(PASSWORD, "${DATABASE_PASSWORD}")))
    followed.load()
    followed.lake.load("shop.p")
    followed.removed = (followed.lake.folder / "tables" / "shop.o.yaml").rename(followed.lake.folder / "kept.yaml")
    return followed


def left(two):
    return left_slots(two.lake.settings)


def slots(two):
    return [name for (name,) in two.rows("SELECT slot_name::text FROM pg_replication_slots ORDER BY 1")]


@pytest.mark.parametrize("exists", [True, False])
def test_the_slot_of_a_removed_table_is_told_until_it_is_released(two, exists):
    if not exists:
        paimon.open_catalog(two.lake.settings.warehouse).drop_table("shop.o")
    (problem,) = left(two).problems
    assert problem.startswith("shop.o: postgresql://127.0.0.1:")
    assert f"still has the slot {slots(two)[0]!r}, which loads made, in the database postgres" in problem
    assert "declare the table again and run `paimon-lake release --table shop.o`" in problem
    assert PASSWORD not in problem
    two.removed.rename(two.lake.folder / "tables" / "shop.o.yaml")
    assert left(two).problems == ()
    release(two.lake.settings, "shop.o")
    (two.lake.folder / "tables" / "shop.o.yaml").unlink()
    assert left(two).problems == ()


def test_slots_of_other_lakes_are_not_told(two):
    two.run("SELECT pg_create_logical_replication_slot('paimon_shop_o_0123456789ab', 'pgoutput')")
    assert len(left(two).problems) == 1


def test_the_slot_of_a_moved_lake_is_known_by_the_ledger(two):
    moved = two.lake.settings.model_copy(update={"warehouse": two.lake.settings.warehouse + "2"})
    shutil.copytree(two.lake.settings.warehouse, moved.warehouse)
    (problem,) = left_slots(moved).problems
    assert problem.startswith("shop.o: ")


def test_what_cannot_be_known_is_a_note(two):
    text = (two.lake.folder / "tables" / "shop.p.yaml").read_text()
    (two.lake.folder / "tables" / "shop.p.yaml").write_text(text.replace("/postgres", "/missing"))
    found = left(two)
    assert found.problems == ()
    unreachable, unknown = found.notes
    assert unreachable.startswith("whether a slot of a removed table is left is not known: postgresql://127.0.0.1:")
    assert unknown == (
        f"shop.o: no declared table names the server of its slot {slots(two)[0]!r}: whether the slot is left there is "
        "not known"
    )


def test_the_commands_check_and_show(two, capsys):
    configs = ["--configs", str(two.lake.folder), "--env", "local"]
    assert main(["check", *configs]) == 1
    assert "no declared table reads it: it holds " in capsys.readouterr().out
    two.run("INSERT INTO s.p VALUES (1, 'a')")
    assert main(["show", *configs]) == 0
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split()[-1] == "lag"
    assert "B behind, the oldest change waits for 0 s; the slot holds " in row
    path = two.lake.folder / "tables" / "shop.p.yaml"
    path.write_text(path.read_text().replace("/postgres", "/missing"))
    assert main(["show", *configs]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[2].endswith("not known")
    assert "paimon-lake show: shop.p: the lag is not known: postgresql://127.0.0.1:" in printed.err
    assert PASSWORD not in printed.err


def test_a_table_that_cannot_be_read_does_not_end_the_question(two, monkeypatch):
    def broken(*_, **__):
        raise CorruptTable("broken")

    monkeypatch.setattr(of_slots, "read_ledger", broken)
    assert len(left(two).problems) == 1, "by the digest in the name of the slot"
