"""Declared groups: their tables are loaded and then published together, or readers of the group see what they saw."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import PaimonError, StorageError
from paimon_core.group.group import Group
from paimon_core.group.record import ABANDONED, GroupVersion, Intent, Mode, Part
from paimon_core.group.store import GroupStore
from paimon_lake.cli import main as cli_main
from paimon_lake.cli.main import main
from paimon_lake.declarations import SettingsError, load_settings
from paimon_lake.loads.groups.group_versions import Published, publish_group
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.load_group import GroupRun, NotPublished, load_group
from paimon_lake.steps.load_several import NotLoaded
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake

ORDERS = "columns: {id: INT}\nprimary_key: id\nsource: {type: files, path: 'orders/*.csv'}\n"
ITEMS = ORDERS.replace("orders", "items")
OTHER = ORDERS.replace("orders", "other")
GROUPS = "warehouse: warehouse\ngroups: {sales: [a.orders, b.items]}\n"


@pytest.fixture
def shop(quick: SmallLake, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    for name, text in {"a.orders": ORDERS, "b.items": ITEMS, "c.other": OTHER}.items():
        quick.declare(name, text)
        deliver(quick, name.split(".")[1], 1)
    base(quick, GROUPS)
    monkeypatch.setattr(cli_main, "start_session", lambda _: quick.session)
    return quick


def base(lake: SmallLake, text: str) -> None:
    (lake.folder / "base.yaml").write_text(text)


def deliver(lake: SmallLake, folder: str, number: int, text: str = "id\n{}\n") -> Path:
    return lake.file(f"{folder}/{number}.csv", text.format(number))


def run(lake: SmallLake, *arguments: str) -> int:
    return main([*arguments, "--configs", str(lake.folder)])


def seen(lake: SmallLake) -> tuple[int, int]:
    """The numbers of orders and items that a reader of the group sees."""
    group = open_lake(lake.settings).group("sales")
    return group.table("a.orders").scan().count(), group.table("b.items").scan().count()


def test_the_tables_are_published_together(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shop, "load", "group:sales") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["load a.orders", "load b.items", "publish group sales"]
    assert lines[2] == "publish group sales: version 1 shows a.orders (snapshot 1), b.items (snapshot 1)"
    assert seen(shop) == (1, 1)
    assert run(shop, "load", "group:sales") == 0
    assert "publish group sales: nothing to do, version 1 shows" in capsys.readouterr().out
    assert run(shop, "load", "--all", "--json") == 0
    out = capsys.readouterr().out
    assert json.loads(out[out.rindex("\n{") :]) == {
        "step": "publish",
        "group": "sales",
        "version": 1,
        "snapshots": {"a.orders": 1, "b.items": 1},
        "is_new": False,
        "not_deleted": "",
    }


def test_a_table_that_fails_leaves_what_readers_see(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shop, "load", "group:sales") == 0
    deliver(shop, "orders", 2)
    broken = deliver(shop, "items", 2, "id\nmany\n")
    capsys.readouterr()
    assert run(shop, "load", "group:sales") == 1
    said = "group sales is not published, because b.items was not loaded; its readers still see version 1\n"
    assert said in capsys.readouterr().err
    assert seen(shop) == (1, 1)
    assert shop.table("a.orders").scan().count() == 2
    assert run(shop, "check", "a.orders") == 1
    assert "group sales: loaded later and not in it: a.orders (snapshot 2); `paimon-lake load group:sales`" in (
        capsys.readouterr().out
    )
    broken.write_text("id\n2\n")
    assert run(shop, "load", "group:sales") == 0
    assert seen(shop) == (2, 2)
    assert run(shop, "check", "a.orders") == 0


def test_a_load_of_some_tables_publishes_nothing_and_says_so(
    shop: SmallLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shop, "load", "a.orders") == 0
    assert (
        "group sales is not published, because this run did not load b.items; `paimon-lake load group:sales` loads all "
        "its tables; it has no version yet" in capsys.readouterr().err
    )
    assert run(shop, "load", "c.other") == 0
    assert "group" not in capsys.readouterr().err
    assert run(shop, "show") == 0
    assert "group sales: no version yet; `paimon-lake load group:sales`" in capsys.readouterr().out
    deliver(shop, "items", 1, "id\nmany\n")
    assert run(shop, "load", "b.items") == 1
    assert "group sales is not published, because b.items was not loaded" in capsys.readouterr().err


def test_versions_never_go_back_when_runs_end_in_another_order(shop: SmallLake) -> None:
    list(load_group(shop.spark, shop.settings, "sales"))
    deliver(shop, "orders", 2)
    shop.load("a.orders")
    deliver(shop, "items", 2)
    shop.load("b.items")
    late = publish_group(shop.settings, "sales", {"a.orders": 2, "b.items": 1})
    early = publish_group(shop.settings, "sales", {"a.orders": 1, "b.items": 2})
    assert (late.snapshots, early.snapshots) == ({"a.orders": 2, "b.items": 1}, {"a.orders": 2, "b.items": 2})
    assert not publish_group(shop.settings, "sales", {"a.orders": 1, "b.items": 1}).is_new


def test_two_runs_that_publish_at_once_never_go_back(shop: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that decided on its snapshots first publishes after the other one: it must not show older loads."""
    list(load_group(shop.spark, shop.settings, "sales"))
    for number in (2, 3):
        deliver(shop, "orders", number)
        shop.load("a.orders")
    real = Group.publish_snapshots
    other: list[GroupVersion] = []

    def overtaken(group: Group, snapshots: dict[str, int], **how: Any) -> GroupVersion:
        if not other:
            other.append(real(group, {"a.orders": 3, "b.items": 1}))
        return real(group, snapshots, **how)

    monkeypatch.setattr(Group, "publish_snapshots", overtaken)
    early = publish_group(shop.settings, "sales", {"a.orders": 2, "b.items": 1})
    assert (early.version, early.is_new, early.snapshots["a.orders"]) == (other[0].number, False, 3)
    assert seen(shop) == (3, 1)


def test_a_publish_that_another_run_abandoned_is_told(shop: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    list(load_group(shop.spark, shop.settings, "sales"))
    deliver(shop, "orders", 2)
    shop.load("a.orders")

    def abandoned(store: GroupStore, version: GroupVersion) -> bool:
        nothing = GroupVersion(version.number, store.version(1).tables, 0, {ABANDONED: "true"})
        return not store._create(f"version-{version.number}", nothing.to_bytes())

    monkeypatch.setattr(GroupStore, "create_version", abandoned)
    with pytest.raises(PipelineError, match="another run abandoned version 2: load it again"):
        publish_group(shop.settings, "sales")


def test_a_group_with_one_loaded_table_that_is_not_published_is_an_exit_code(
    shop: SmallLake, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.declare("b.items", "columns: {id: INT}\nprimary_key: id\n")
    assert run(shop, "load", "a.orders") == 1
    assert "group sales is not published, because b.items has no snapshot yet" in (capsys.readouterr().err)


def test_tables_that_were_loaded_beside_one_that_failed_are_published(shop: SmallLake) -> None:
    orders, items = shop.load("a.orders"), shop.load("b.items")
    of_run = GroupRun(shop.settings, list(shop.settings.tables))
    of_run.add(NotLoaded("c.other", PipelineError("is broken"), (replace(orders, others=(items,)),)))
    (published,) = of_run.published()
    assert isinstance(published, Published)


def test_a_publish_that_fails_is_an_exit_code_and_is_done_by_the_next_run(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def down(*_: object) -> None:
        raise PaimonError("the store is down")

    with monkeypatch.context() as patched:
        patched.setattr("paimon_core.group.store.GroupStore.create_version", down)
        assert run(shop, "load", "group:sales") == 1
    said = capsys.readouterr().err
    assert "group sales is not published, because the store is down; it has no version yet" in said
    assert "the tables were loaded, but a group was not published: sales" in said
    assert run(shop, "check") == 1
    assert "group sales: a publish was interrupted: `paimon-lake load group:sales` completes it" in (
        capsys.readouterr().out
    )
    assert run(shop, "load", "group:sales") == 0
    assert seen(shop) == (1, 1)


def test_old_versions_that_are_not_deleted_do_not_look_as_if_nothing_was_published(
    shop: SmallLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base(shop, GROUPS.replace("[a.orders, b.items]", "{tables: [a.orders, b.items], keep_versions: 1}"))
    assert run(shop, "load", "group:sales") == 0
    deliver(shop, "orders", 2)
    capsys.readouterr()

    def down(*_: object) -> None:
        raise StorageError("the store is down")

    problem = "its old versions were not deleted: the store is down; the next publish of the group tries it again"
    with monkeypatch.context() as patched:
        patched.setattr(GroupStore, "delete", down)
        assert run(shop, "load", "group:sales") == 1
        told = capsys.readouterr()
        shows = "publish group sales: version 2 shows a.orders (snapshot 2), b.items (snapshot 1)"
        assert f"{shows}; published, but {problem}" in told.out
        assert f"group sales: {problem}" in told.err
        assert "the group was published, but its old versions were not deleted: sales" in told.err
        assert "not published" not in told.err
        assert seen(shop) == (2, 1)
        deliver(shop, "items", 2)
        *_, done = load_group(shop.spark, shop.settings, "sales")
        assert isinstance(done, Published)
        assert (done.version, done.is_new, done.not_deleted) == (3, True, "the store is down")
        deliver(shop, "orders", 3)
        capsys.readouterr()
        assert run(shop, "load", "--all", "--json") == 1
        out = capsys.readouterr().out
        assert json.loads(out[out.rindex("\n{") :])["not_deleted"] == "the store is down"
    deliver(shop, "orders", 4)
    assert run(shop, "load", "group:sales") == 0
    assert [one.number for one in open_lake(shop.settings).group("sales").versions()] == [5]


def test_a_damaged_table_of_a_group_hides_no_other_line(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shop, "load", "--all") == 0
    root = Path(shop.table("a.orders").context.paths.root.removeprefix("file:"))
    (root / "schema" / "schema-0").write_text("{")
    shop.declare("c.other", OTHER.replace("columns: {id: INT}", "columns: {id: INT, more: INT}"))
    capsys.readouterr()
    for command in ("check", "show"):
        assert run(shop, command) == 1
        told = "".join(capsys.readouterr())
        assert "group sales: whether its version is up to date is not known: " in told
        assert "c.other" in told


def test_versions_beyond_the_kept_ones_are_deleted(shop: SmallLake) -> None:
    base(shop, GROUPS.replace("[a.orders, b.items]", "{tables: [a.orders, b.items], keep_versions: 2}"))
    for number in (2, 3, 4):
        deliver(shop, "orders", number)
        list(load_group(shop.spark, shop.settings, "sales"))
    group = open_lake(shop.settings).group("sales")
    assert [one.number for one in group.versions()] == [2, 3]
    assert [one.name for one in shop.table("a.orders").tags.list()] == ["group-sales-2", "group-sales-3"]


def test_a_rollback_is_told_and_published_over(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    list(load_group(shop.spark, shop.settings, "sales"))
    deliver(shop, "orders", 2)
    list(load_group(shop.spark, shop.settings, "sales"))
    shop.table("a.orders").rollback(snapshot=1)
    assert run(shop, "check", "a.orders") == 1
    assert "the snapshots of a.orders in it are gone: `paimon-lake load group:sales`" in capsys.readouterr().out
    *_, published = load_group(shop.spark, shop.settings, "sales")
    assert isinstance(published, Published)
    assert published.is_new
    assert seen(shop) == (2, 1)


def test_a_group_of_a_table_that_was_never_loaded(shop: SmallLake) -> None:
    shop.declare("b.items", "columns: {id: INT}\nprimary_key: id\n")
    *_, last = load_group(shop.spark, shop.settings, "sales")
    assert isinstance(last, NotPublished)
    assert "b.items has no snapshot yet" in last.sentence()
    shop.create("b.items").write([{"id": 1}])
    *_, last = load_group(shop.spark, shop.settings, "sales")
    assert seen(shop) == (1, 1)


def test_versions_of_a_group_that_is_not_declared_any_more(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shop, "load", "--all") == 0
    assert run(shop, "release", "--group", "sales") == 2
    assert "groups.sales is declared: its loads publish versions" in capsys.readouterr().err
    base(shop, "warehouse: warehouse\n")
    assert run(shop, "check") == 1
    said = "groups.sales is not declared any more, and 1 version of its group is left, whose tags keep snapshots"
    assert said in capsys.readouterr().out
    assert run(shop, "release", "--group", "sales") == 0
    assert capsys.readouterr().out == "deleted 1 version of the group sales, and 2 tags of its tables\n"
    assert run(shop, "check") == 0


def test_versions_are_left_also_when_the_newest_one_was_abandoned(shop: SmallLake) -> None:
    list(load_group(shop.spark, shop.settings, "sales"))
    group = open_lake(shop.settings).group("sales")
    group.store.create_intent(Intent(2, "t", {"a.orders": Part(Mode.SNAPSHOT, shown=(9, ""))}))
    list(load_group(shop.spark, shop.settings, "sales"))
    assert ABANDONED in group.store.version(2).properties
    assert [one.number for one in group.versions()] == [1, 2]
    base(shop, "warehouse: warehouse\n")
    assert run(shop, "check") == 1
    assert run(shop, "release", "--group", "sales") == 0
    assert shop.table("a.orders").tags.list() == []


def test_a_group_that_a_program_publishes_is_left_alone(shop: SmallLake) -> None:
    assert run(shop, "load", "--all") == 0
    group: Group = open_lake(shop.settings).group("mine")
    group.publish_snapshots({"a.orders": 1})
    assert run(shop, "check") == 0
    assert run(shop, "release", "--group", "mine") == 2


def test_compile_and_selectors_know_groups(shop: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shop, "compile", "--json") == 0
    found = {one["name"]: one["groups"] for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found == {"a.orders": ["sales"], "b.items": ["sales"], "c.other": []}
    assert run(shop, "compile", "group:sale") == 2
    assert "no group 'sale' is declared below groups in " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("{sales: [a.orders, b.item]}", "groups.sales names b.item, which is not declared; did you mean b.items?"),
        ("{sales: [a.orders]}", "groups.sales"),
        ("{sales: [a.orders, a.orders]}", "names a.orders twice"),
        ("{sales: {tables: [a.orders, b.items], keep_versions: 0}}", "groups.sales.keep_versions"),
        ("{sales: {tables: [a.orders, b.items], schedule: {on: files}}}", "a group is loaded by cron only"),
        ("{sales: {tables: [a.orders, b.items], every: day}}", "unknown key groups.sales.every"),
        ("{'the sales': [a.orders, b.items]}", "the name of a group must be at most 60 letters"),
        ("[a.orders]", "groups"),
        (
            "{sales: a.orders}",
            "groups.sales: must be a list of tables, or a mapping with the key tables, not 'a.orders'",
        ),
    ],
)
def test_wrong_groups_are_refused_with_the_place(shop: SmallLake, groups: str, message: str) -> None:
    base(shop, f"warehouse: warehouse\ngroups: {groups}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings("local", configs=shop.folder)
    assert "base.yaml:2: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("postgres: {sales: {url: 'postgresql://u@h/d'}}\n", "postgres.sales has this name"),
        ("catalog: {type: rest, uri: 'http://localhost:1'}\n", "a catalog of type rest has no groups of tables"),
    ],
)
def test_a_group_that_cannot_have_versions_is_refused(shop: SmallLake, more: str, message: str) -> None:
    base(shop, GROUPS + more)
    with pytest.raises(SettingsError, match=re.escape(message)):
        load_settings("local", configs=shop.folder)
