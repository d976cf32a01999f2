"""Expiry, rollback, tags and branches at the same time: in every order, the table keeps the files that it needs."""

import contextlib
import random

import pytest

from paimon_core.errors import PaimonError, TableNotFound
from paimon_core.maintain.branches.fast_forward import fast_forward
from paimon_core.maintain.branches.operations import create_branch
from paimon_core.maintain.rollback.rollback import rollback
from paimon_core.maintain.tags.operations import create_tag, delete_tag, rename_tag, replace_tag
from tests.support.clones import clone
from tests.support.fake_tables import append, check_whole, compacted, expire_all, live, reopened, replaced
from tests.support.faulty_storage import MUTATIONS, Died, FaultyStorage
from tests.support.long_cases import long_cases


class Meanwhile(FaultyStorage):
    """Runs ``action`` just before the mutating call number ``at``."""

    at = -1
    action = None

    def _call(self, verb, path, call):
        if verb in MUTATIONS and self.mutations == self.at and self.action is not None:
            action, self.action = self.action, None
            action()
        return super()._call(verb, path, call)


@pytest.fixture(scope="module")
def history():
    """The table of ``compacted``."""
    return compacted()[0]


@pytest.fixture(scope="module")
def expired(history):
    """The same with a tag on snapshot 1, which has expired; 5 to 7 are live."""
    context = clone(history)
    create_tag(context, "one", context.snapshots.read(1))
    expire_all(context)
    append(context)
    append(context)
    return context


def at_every_call(table, first, second, check, *, most=60):
    """``first`` with all of ``second`` before its call 0, 1, ... until it has no more calls."""
    for at in range(most):
        context = clone(table)
        storage = Meanwhile(context.storage)
        storage.at, storage.action = at, lambda context=context: quietly(second, context)
        quietly(first, reopened(context, storage))
        check(context)
        if storage.action is not None:
            return at
    raise AssertionError(f"more than {most} calls")


def quietly(operation, context):
    with contextlib.suppress(PaimonError):
        operation(context)


def back_to(number):
    return lambda context: rollback(context, context.snapshots.read(number))


def stands(context):
    assert context.snapshots.latest() is not None, "no snapshot is left"
    check_whole(context)
    for name in context.branches.names():
        if not context.branches.is_hidden(name):
            check_whole(context.on_branch(name))


def goes_on(context):
    stands(context)
    append(context)
    check_whole(context)


TARGETS = [1, 4, *long_cases((2, 3))]


@pytest.mark.parametrize("target", TARGETS)
def test_a_rollback_at_any_call_of_an_expiry_leaves_a_complete_table(history, target):
    assert at_every_call(history, expire_all, back_to(target), goes_on) > 8


@pytest.mark.parametrize("target", TARGETS)
def test_an_expiry_at_any_call_of_a_rollback_leaves_a_complete_table(history, target):
    assert at_every_call(history, back_to(target), expire_all, goes_on) > 3


def test_an_expiry_does_not_undo_a_concurrent_rollback(history):
    for at in range(10):
        context = clone(history)
        target = context.snapshots.read(2)
        went = []
        storage = Meanwhile(context.storage)
        storage.at = at
        storage.action = lambda c=context, t=target, w=went: quietly(lambda _: w.append(rollback(c, t)), c)
        report = expire_all(reopened(context, storage))
        assert (context.snapshots.latest() == target) == bool(went)
        assert not (went and report.expired)
    assert at > 3


def test_two_concurrent_rollbacks_leave_a_complete_table(history):
    for first, second in ((2, 3), (3, 2), (2, 2)):
        assert at_every_call(history, back_to(first), back_to(second), goes_on) > 3


OPERATIONS = {
    "delete": lambda c: delete_tag(c, "one"),
    "rename": lambda c: rename_tag(c, "one", "uno"),
    "copy": lambda c: create_tag(c, "two", c.tags.read("one").snapshot),
    "replace": lambda c: replace_tag(c, "one", c.snapshots.latest()),
    "move": lambda c: replace_tag(create_and(c), "other", c.tags.read("one").snapshot),
    "branch": lambda c: create_branch(c, "b", "one"),
    "rollback": lambda c: rollback(c, c.tags.read("one").snapshot),
    "expire": expire_all,
}


def create_and(context):
    create_tag(context, "other", context.snapshots.latest())
    return context


PAIRS = {
    "delete": OPERATIONS,
    "rollback": OPERATIONS,
    "expire": ("delete", "rename", "copy", "branch", "rollback"),
    "branch": ("delete", "replace", "expire", "rollback"),
    "rename": ("delete", "replace", "expire"),
    "replace": ("delete", "expire", "rollback", "branch"),
}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(first, second, marks=() if {first, second} & {"expire", "rollback"} else pytest.mark.long)
        for first, all_ in PAIRS.items()
        for second in all_
    ],
)
def test_two_concurrent_operations_on_the_tag_of_an_expired_snapshot_leave_a_complete_table(expired, first, second):
    assert at_every_call(expired, OPERATIONS[first], OPERATIONS[second], stands) > 0


def test_a_fast_forward_and_a_concurrent_expiry_leave_a_complete_table(history):
    context = clone(history)
    create_tag(context, "base", context.snapshots.latest())
    append(create_branch(context, "b", "base"))
    want = {name for _, _, name in live(context.on_branch("b"))}

    def forward(context):
        fast_forward(context, "b")

    def went(context):
        forward(context)
        assert {name for _, _, name in live(context)} == want
        stands(context)

    assert at_every_call(context, expire_all, forward, went) > 8
    assert at_every_call(context, forward, expire_all, went) > 1


@pytest.mark.parametrize("seed", [*range(4), *long_cases(range(4, 14))])
def test_operations_that_crash_one_after_the_other_leave_a_complete_table(history, seed):
    """Each crashes at some call and the next one continues; at the end the table is complete and can be used."""
    rng = random.Random(seed)
    context = clone(history)
    create_tag(context, "one", context.snapshots.read(1))
    operations = [*OPERATIONS.values(), back_to(2), back_to(4), lambda c: append(c), expire_all]
    for _ in range(12):
        storage = FaultyStorage(context.storage, die_at=rng.randrange(12), die_after=rng.random() < 0.5)
        with contextlib.suppress(PaimonError, Died):
            rng.choice(operations)(reopened(context, storage))
        assert context.snapshots.latest() is not None
        check_whole(context, contiguous=False)
    if "b" in context.branches.names() and context.branches.is_hidden("b"):
        context.branches.remove("b")
    append(context)
    expire_all(context)
    check_whole(context)


@pytest.mark.parametrize("call", [("delete", "snapshot/snapshot-1"), ("create_exclusive", "snapshot/snapshot-")])
def test_an_expiry_creates_no_snapshot_in_a_table_that_took_the_name(history, call):
    context = clone(history)
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot/snapshot-1", lambda: context.snapshots.delete(range(2, 6)))
    storage.before(*call, lambda: replaced(context))
    with pytest.raises(TableNotFound):
        expire_all(reopened(context, storage))
    assert (storage.hooks, context.snapshots.ids(), context.snapshots.latest_hint()) == ([], [], None)


@pytest.mark.parametrize("at", ["delete", "create_exclusive"])
def test_a_rollback_creates_no_snapshot_in_a_table_that_took_the_name(history, at):
    context = clone(history)
    storage = FaultyStorage(context.storage)
    storage.before("delete", "snapshot/snapshot-5", lambda: context.snapshots.delete([4]))
    storage.before(at, "snapshot/snapshot-", lambda: replaced(context))
    with pytest.raises(TableNotFound):
        rollback(reopened(context, storage), context.snapshots.read(4))
    assert (storage.hooks, context.snapshots.ids()) == ([], [])
