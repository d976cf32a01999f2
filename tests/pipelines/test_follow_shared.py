"""Follow tables that share a slot: one load for all of them, without a server and Spark."""

from __future__ import annotations

import pytest

from paimon_lake.protocol import LevelSize, PipelineError, StepResult, TablesFailed
from paimon_lake.steps import follow
from paimon_lake.steps.follow import Failure, Follow

TABLE = "columns: {id: BIGINT}\nprimary_key: id\nsource: {type: postgres_changes, database: shop, table: s.o}\n"
URL = "url: postgresql://lake@db.example/shop"


def result(name, *commits, others=()):
    return StepResult("load", name, 1, 1, len(commits), commits, {}, {0: LevelSize(1, 1, 1)}, 0.1, others=others)


@pytest.fixture
def lake(dry_lake, monkeypatch):
    (dry_lake.folder / "base.yaml").write_text(f"warehouse: warehouse\npostgres: {{shop: {{{URL}}}}}\n")
    for name in ("shop.a", "shop.b"):
        dry_lake.declare(name, TABLE)
    monkeypatch.setattr(Follow, "_wait_for_compaction", lambda *_: iter(()))
    monkeypatch.setattr(follow, "compact", lambda spark, settings, name, **more: result(name))
    return dry_lake


def followed(lake, monkeypatch, *answers):
    """Follow ``shop.b`` until there is no answer left; return the loaded tables and what was told."""
    calls, left = [], list(answers)

    def load(spark, settings, name, **more):
        calls.append(name)
        answer = left.pop(0)
        if not left:
            follows.stop.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(follow, "load_table", load)
    follows = Follow(lambda: None, lake.settings, ["shop.b"], every=0.01, seconds=30.0)
    return calls, list(follows.run()), follows


def test_one_load_brings_all_tables_of_the_slot(lake, monkeypatch):
    quiet = result("shop.a", others=(result("shop.b"),))
    calls, told, follows = followed(lake, monkeypatch, result("shop.a", 1, others=(result("shop.b", 2),)), quiet, quiet)
    assert [(one.table, one.commits) for one in told] == [("shop.a", (1,)), ("shop.b", (2,))]
    assert (set(calls), follows.failing) == ({"shop.a"}, {})
    assert all(one.others == () for one in told)


def test_a_table_that_is_left_out_is_loaded_in_its_turn_and_its_failure_is_told(lake, monkeypatch):
    whole = result("shop.a", others=(result("shop.b"),))
    alone = result("shop.a", 1)
    calls, told, follows = followed(lake, monkeypatch, whole, alone, PipelineError("shop.b: refused"))
    assert calls[-1] == "shop.b"
    assert [one.table for one in told if isinstance(one, Failure)] == ["shop.b"]
    assert follows.failing == {"shop.b": "load"}


def test_the_first_load_of_a_table_that_was_not_named_does_not_end_it(lake, monkeypatch):
    refused = PipelineError("shop.a: refused")
    calls, told, follows = followed(lake, monkeypatch, refused, result("shop.b", 1), result("shop.b"))
    assert calls[:2] == ["shop.a", "shop.b"]
    assert [one.table for one in told if isinstance(one, Failure)] == ["shop.a"]
    assert follows.failing == {"shop.a": "load"}


@pytest.mark.parametrize("asked", ["shop.a", "shop.b"])
def test_what_a_load_committed_before_it_failed_is_told(lake, monkeypatch, asked):
    whole = result("shop.a", others=(result("shop.b"),))
    other = "shop.b" if asked == "shop.a" else "shop.a"
    failed = TablesFailed("refused", [result(other, 5)], {asked: PipelineError(f"{asked}: refused")})
    answers = [whole, failed] if asked == "shop.a" else [whole, result("shop.a", 4), failed]
    calls, told, follows = followed(lake, monkeypatch, *answers)
    assert calls[-1] == asked
    assert [(type(one).__name__, one.table) for one in told[-2:]] == [("StepResult", other), ("Failure", asked)]
    assert follows.failing == {asked: "load"}


def test_a_table_that_failed_beside_the_asked_one_is_told_once_for_each_wait(lake, monkeypatch):
    whole = result("shop.a", others=(result("shop.b"),))
    failed = [TablesFailed("refused", [result("shop.a", n)], {"shop.b": PipelineError("refused")}) for n in range(1, 9)]
    monkeypatch.setattr(Follow, "_pause", lambda *_: 60.0)
    calls, told, follows = followed(lake, monkeypatch, whole, *failed)
    assert set(calls) == {"shop.a"}, "the table that failed waits"
    assert [one.table for one in told] == ["shop.a", "shop.b", *["shop.a"] * 7]
    assert follows.failing == {"shop.b": "load"}


def test_the_first_load_of_a_named_table_ends_it_also_beside_the_asked_one(lake, monkeypatch):
    failed = TablesFailed("refused", [result("shop.a", 5)], {"shop.b": PipelineError("shop.b: refused")})
    with pytest.raises(PipelineError, match=r"^shop\.b: refused$"):
        followed(lake, monkeypatch, failed, result("shop.a"))


def test_a_table_that_a_failure_of_another_one_stops_waits_too(lake, monkeypatch):
    whole = result("shop.a", others=(result("shop.b"),))
    failed = TablesFailed("shop.b: refused", [], {"shop.b": PipelineError("shop.b: refused")})
    calls, told, follows = followed(lake, monkeypatch, whole, failed, whole)
    assert [(type(one).__name__, one.table) for one in told] == [("Failure", "shop.a")]
    assert (calls, follows.failing) == (["shop.a", "shop.a", "shop.b"], {})


def test_the_first_load_of_a_named_table_tells_what_it_committed_and_ends(lake, monkeypatch):
    failed = TablesFailed("refused", [result("shop.a", 5)], {"shop.b": PipelineError("shop.b: refused")})
    monkeypatch.setattr(follow, "load_table", lambda *_, **more: (_ for _ in ()).throw(failed))
    told = []
    with pytest.raises(PipelineError, match=r"^shop\.b: refused$"):
        told.extend(Follow(lambda: None, lake.settings, ["shop.b"], every=0.01, seconds=30.0).run())


def test_of_the_tables_of_a_slot_those_that_were_not_named_are_repeated(lake, monkeypatch):
    failed = TablesFailed("refused", [result("shop.b", 5)], {"shop.a": PipelineError("shop.a: refused")})
    _, told, follows = followed(lake, monkeypatch, failed, result("shop.b"))
    assert [one.table for one in told] == ["shop.b", "shop.a"]
    assert follows.failing == {"shop.a": "load"}
