"""Directories that a killed copy by reference leaves are found and removed when they are old, and only then."""

import json
import os
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.catalog import unfinished
from paimon_core.catalog.linked_copy import linked_copy
from paimon_core.catalog.unfinished import remove_unfinished, unfinished_tables
from paimon_core.cli.main import main
from paimon_core.errors import DatabaseNotFound, StorageError
from paimon_core.storage import local_disk

KILLED = """
import os, signal, sys
import paimon_core as paimon
from paimon_core.catalog import linked_copy

def killed(targets):
    os.kill(os.getpid(), signal.SIGKILL)

linked_copy.local_disk.sync_directories = killed
catalog = paimon.open_catalog(sys.argv[1])
linked_copy.linked_copy(catalog.table("db.orders"), catalog, "db.copy")
"""
TWO_DAYS = 2 * 86_400


@pytest.fixture(scope="module")
def killed_lake(tmp_path_factory):
    """Return a warehouse in which a process was killed after it had linked all files of db.orders to db.copy."""
    place = tmp_path_factory.mktemp("unfinished") / "lake"
    catalog = paimon.open_catalog(place)
    catalog.create_database("db")
    catalog.create_table("db.orders", {"id": "INT"}).write([{"id": 1}])
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return place


def hidden(place):
    return list(Path(place).glob("db.db/.create-*"))


def aged(place, seconds=TWO_DAYS):
    """Set the times of the directories back; linked files keep the times of the table that was copied."""
    (root,) = hidden(place)
    then = time.time() - seconds
    for path in (root, *(p for p in root.rglob("*") if p.is_dir())):
        os.utime(path, (then, then))


@pytest.fixture
def lake(killed_lake, tmp_path):
    place = tmp_path / "lake"
    subprocess.run(["cp", "-al", str(killed_lake), str(place)], check=True)
    return place


def test_a_killed_copy_is_found_when_it_is_old_and_removed_once(lake):
    catalog = paimon.open_catalog(lake)
    assert unfinished_tables(catalog) == []  # it is new: the process may still run
    aged(lake)
    (found,) = unfinished_tables(catalog, "db")
    assert (found.table, found.path, found.files > 4) == ("db.copy", str(hidden(lake)[0]), True)
    assert hidden(lake)  # listing changes nothing
    assert remove_unfinished(catalog) == [found]
    assert (hidden(lake), remove_unfinished(catalog)) == ([], [])
    assert catalog.table("db.orders").scan().to_arrow().to_pylist() == [{"id": 1}]
    assert catalog.table("db.orders").maintenance.check(deep=True).is_clean


def test_one_new_directory_deep_inside_makes_it_new(lake):
    aged(lake)
    deepest = max((p for p in hidden(lake)[0].rglob("*") if p.is_dir()), key=lambda p: len(p.parts))
    os.utime(deepest)
    assert unfinished_tables(paimon.open_catalog(lake)) == []


def test_other_hidden_directories_links_and_stores_are_left_alone(lake, tmp_path):
    aged(lake)
    (root,) = hidden(lake)
    root.rename(lake / "db.db" / ".other")
    (tmp_path / "elsewhere").mkdir()
    (lake / "db.db" / ".create-link").symlink_to(tmp_path / "elsewhere")
    assert remove_unfinished(paimon.open_catalog(lake), older_than_millis=0) == []
    assert (lake / "db.db" / ".create-link").is_symlink()
    memory = paimon.open_catalog("memory://unfinished")
    memory.create_database("db")
    assert unfinished_tables(memory) == []
    with pytest.raises(DatabaseNotFound):
        unfinished_tables(memory, "none")


def test_the_commands_list_first_and_remove_only_with_apply(lake, capsys):
    def run(*arguments):
        code = main([*arguments, "--warehouse", str(lake)])
        return code, capsys.readouterr().out

    assert run("doctor")[0] == 0
    aged(lake)
    code, text = run("doctor", "db")
    assert code == 3
    assert "a copy to db.copy that was killed left" in text
    assert "paimon-core orphans unfinished db --warehouse" in text
    assert json.loads(run("doctor", "db", "--json")[1])["unfinished"][0]["table"] == "db.copy"
    assert run("doctor", "db.orders")[0] == 0
    code, text = run("orphans", "unfinished")
    assert (code, "nothing was deleted: add --apply" in text, bool(hidden(lake))) == (0, True, True)
    assert run("orphans", "unfinished", "--older-than", "3 d", "--apply")[1] == "no unfinished tables\n"
    code, text = run("orphans", "unfinished", "db", "--apply")
    assert (code, "done: 1 unfinished table deleted" in text, hidden(lake)) == (0, True, [])
    assert run("doctor", "db")[0] == 0


def test_another_kind_of_catalog_is_refused(tmp_path, capsys):
    arguments = ("--catalog", "sql", "--uri", f"sqlite:///{tmp_path}/names.db", "--warehouse", str(tmp_path))
    assert main(["orphans", "unfinished", *arguments]) == 2
    assert "needs a catalog of type filesystem" in capsys.readouterr().err


def test_a_copy_whose_directory_is_removed_meanwhile_creates_no_table(tmp_path, monkeypatch):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    table = catalog.create_table("db.orders", {"id": "INT"})
    for number in range(3):
        table.write([{"id": number}])
    calls = count()
    link = local_disk.link

    def linked(source, target):
        link(source, target)
        if next(calls) == 0:  # the next links create the directories again
            assert len(remove_unfinished(catalog, older_than_millis=-60_000)) == 1

    monkeypatch.setattr(local_disk, "link", linked)
    with pytest.raises(StorageError, match=r"db.copy was not created: another process deleted .*/\.create-"):
        linked_copy(table, catalog, "db.copy")
    assert (catalog.list_tables("db"), hidden(tmp_path)) == (["orders"], [])
    assert table.maintenance.check(deep=True).is_clean


def test_a_directory_that_its_copy_deletes_first_is_not_counted_as_removed(lake, monkeypatch):
    aged(lake)
    catalog = paimon.open_catalog(lake)
    find = unfinished.unfinished_tables

    def found_too_late(*arguments, **named):
        found = find(*arguments, **named)
        shutil.rmtree(found[0].path)
        return found

    monkeypatch.setattr(unfinished, "unfinished_tables", found_too_late)
    assert (remove_unfinished(catalog), hidden(lake)) == ([], [])
