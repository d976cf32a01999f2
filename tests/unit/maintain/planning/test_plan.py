"""Plans: they are serializable, describe their effect, and are refused for a table that they were not created for."""

from __future__ import annotations

import contextlib
import dataclasses
import json

import pytest

from paimon_core.errors import (
    CorruptTable,
    InvalidRequest,
    PaimonError,
    PlanOutdated,
    SnapshotNotFound,
    UnsupportedFeature,
)
from paimon_core.maintain.planning.plan import Plan, PlannedFile, Protected
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.repair import missing_files
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.roots import Holder, all_roots
from paimon_core.maintain.tags.operations import create_tag
from paimon_core.table.upkeep.maintenance import APPLY
from tests.support.fake_tables import append, expire_all, fake_table, reopened
from tests.support.faulty_storage import FaultyStorage
from tests.support.orphan_tables import make_branch


def table():
    context = fake_table()
    for _ in range(3):
        append(context)
    create_tag(context, "t", context.snapshots.read(1))
    return context


def plan_of(context, **kwargs):
    return Plan("do-it", context.name, context.branch, TableState.of(context), **kwargs)


def test_a_plan_is_the_same_after_serialization():
    plan = plan_of(
        table(),
        subjects=("snapshot 1",),
        files=(PlannedFile("/x", 3), PlannedFile("/y")),
        protected=(Protected("snapshot 2", "tag t"),),
        arguments={"keep": [1, "a"]},
    )
    assert Plan.from_bytes(plan.to_bytes()) == plan
    with pytest.raises(InvalidRequest):
        Plan.from_bytes(b"{}")
    with pytest.raises(UnsupportedFeature, match="version 9"):
        Plan.from_bytes(b'{"version": 9}')


NONSENSE = [None, 5, "x", [], {}, [[1]], {"a": 1}, [None], 1e400]


@pytest.mark.parametrize(
    "member", ["operation", "table", "branch", "state", "subjects", "files", "protected", "arguments"]
)
def test_a_serialized_plan_with_a_member_of_a_wrong_type_is_refused(member):
    context = table()
    plain = json.loads(plan_of(context, subjects=("a",), arguments={"to": 1}).to_bytes())
    for value in NONSENSE:
        with contextlib.suppress(PaimonError):
            plan = Plan.from_bytes(json.dumps({**plain, member: value}).encode())
            plan.check(context, "do-it")
            assert type(getattr(plan, member)) is type(getattr(plan_of(context), member))
    with pytest.raises(InvalidRequest, match="not a plan"):
        Plan.from_bytes(b"[" * 100_000)


@pytest.mark.parametrize("operation", sorted(APPLY))
def test_a_plan_with_an_argument_of_a_wrong_type_is_refused(operation):
    context = table()
    for value in NONSENSE:
        arguments = dict.fromkeys(("id", "ids", "mode", "tag", "branch", "to", "latest", "snapshots"), value)
        plan = dataclasses.replace(plan_of(context, subjects=("a",), arguments=arguments), operation=operation)
        with contextlib.suppress(PaimonError):
            APPLY[operation](context, plan)
            assert operation == missing_files.OPERATION or value == []  # it needs no such argument
    assert context.snapshots.ids() == [1, 2, 3]


def test_the_sentence_of_a_plan_names_subjects_files_and_bytes():
    context = table()
    assert plan_of(context).sentence() == "do-it db.t: nothing to do"
    plan = plan_of(context, subjects=tuple(f"tag {n}" for n in "abcde"), files=(PlannedFile("/x", 1234),))
    assert plan.sentence() == "do-it db.t: tag a, tag b, tag c and 2 more; 1 files, 1,234 bytes"
    kept = dataclasses.replace(plan_of(context), protected=(Protected("a", "b"),))
    assert kept.sentence() == "do-it db.t: nothing to do; 1 protected"


def test_a_plan_of_another_operation_table_or_branch_is_refused():
    context = table()
    plan = plan_of(context)
    plan.check(context, "do-it")
    for wrong in ({"operation": "other"}, {"table": "db.u"}, {"branch": "b"}):
        with pytest.raises(InvalidRequest, match="cannot be applied as a plan to do-it"):
            dataclasses.replace(plan, **wrong).check(context, "do-it")


CHANGES = {
    "expiry": lambda c: expire_all(c, limit=1),
    "rollback": lambda c: rollback(c, c.snapshots.read(2)),
    "rollback and commit": lambda c: (rollback(c, c.snapshots.read(2)), append(c)),
    "tag": lambda c: create_tag(c, "u", c.snapshots.read(2)),
    "no tag": lambda c: c.tags.delete("t"),
    "consumer": lambda c: c.storage.write(c.paths.consumer("x"), b'{"nextSnapshot": 1}'),
    "branch": lambda c: make_branch(c, "b", 1),
    "changelog": lambda c: c.changelogs.create(c.snapshots.read(1)),
}
HARMLESS_WHEN_EXPIRY_IS = {"expiry", "consumer", "changelog"}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("expiry_harms", [True, False])
def test_a_plan_is_refused_after_a_harmful_change_and_accepted_after_a_commit(change, expiry_harms):
    context = table()
    plan = plan_of(context)
    append(context)
    plan.check(context, "do-it")  # new commits are allowed
    CHANGES[change](context)
    if not expiry_harms and change in HARMLESS_WHEN_EXPIRY_IS:
        plan.check(context, "do-it", expiry_harms=False)
        return
    with pytest.raises(PlanOutdated, match="changed since the plan was created"):
        plan.check(context, "do-it", expiry_harms=expiry_harms)


def test_a_plan_whose_latest_snapshot_expired_is_accepted_only_where_expiry_is_harmless():
    context = table()
    plan = plan_of(context)
    append(context)
    expire_all(context)
    assert context.snapshots.ids() == [4]
    plan.check(context, "do-it", expiry_harms=False)
    with pytest.raises(PlanOutdated):
        plan.check(context, "do-it")


# -- roots


def test_all_roots_of_a_table_and_its_branches_are_listed():
    context = table()
    context.changelogs.create(context.snapshots.read(1))
    expire_all(context, retain_min=2)
    make_branch(context, "b", 3)
    assert [str(r) for r in all_roots(context)] == [
        "snapshot 2",
        "snapshot 3",
        "tag t",
        "changelog 1",
        "snapshot 3 of branch b",
    ]
    assert [r.holder for r in all_roots(context)][2] is Holder.TAG


def test_an_incomplete_branch_is_a_corrupt_table():
    context = table()
    context.storage.write(f"{context.paths.branch_directory}/branch-half/tag/tag-x", b"{}")
    for look in (lambda: list(all_roots(context)), lambda: TableState.of(context)):
        with pytest.raises(CorruptTable, match="half"):
            look()


@pytest.mark.parametrize(
    ("verb", "part", "change"),
    [
        ("read", "snapshot-1", lambda c: c.snapshots.delete([2])),
        ("read", "/tag/tag-t", lambda c: (c.tags.create("u", c.tags.read("t").snapshot), c.tags.delete("t"))),
        ("list", "/changelog", lambda c: c.tags.create("u", c.snapshots.read(2))),
        ("read", "snapshot-3", lambda c: make_branch(c, "b")),
    ],
)
def test_a_root_that_changes_while_roots_are_read_is_an_error(verb, part, change):
    context = table()
    storage = FaultyStorage(context.storage)
    storage.before(verb, part, lambda: change(context))
    with pytest.raises(SnapshotNotFound):
        list(all_roots(reopened(context, storage)))


def test_a_directory_named_as_a_snapshot_is_ignored():
    context = table()
    for number in (4, 9):
        context.storage.write(f"{context.paths.snapshot(number)}/x", b"")
    assert [r.name for r in all_roots(context)] == ["1", "2", "3", "t"]


def test_a_snapshot_that_is_restored_while_roots_are_read_is_an_error():
    context = table()
    first = context.snapshots.read(1)
    context.snapshots.delete([1])
    storage = FaultyStorage(context.storage)
    storage.before("list", "/tag", lambda: (context.snapshots.publish(first), context.tags.delete("t")))
    with pytest.raises(SnapshotNotFound, match="was restored"):
        list(all_roots(reopened(context, storage)))
