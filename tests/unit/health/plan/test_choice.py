"""choose: rank, budget, marks, back-off, hours, tags and overlaps, each with literal values."""

import time
from dataclasses import replace

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.health.plan.candidates import COMPACT_MANIFESTS, EXPIRE, RESCALE, Budget, Candidate
from paimon_core.health.plan.choice import Reason, choose
from paimon_core.health.plan.history import History, Place
from paimon_core.health.plan.policy import OffPeak, Policy, TagLimit

POLICY = Policy(overhead_bytes=1, start_mark=0.1, stop_mark=0.05, patience=10)
NOON = int(time.mktime((2024, 1, 31, 12, 0, 0, 0, 0, -1))) * 1000
NIGHT = int(time.mktime((2024, 1, 31, 23, 0, 0, 0, 0, -1))) * 1000


def work(table, saved, moved=100, *, action="compact", bucket=0, partition=None, seconds=1.0, memory=1, branch="main"):
    read = moved // 2
    return Candidate(table, branch, action, partition, bucket, saved, read, moved - read, seconds, memory, "")


def names(choice):
    return [c.table for c in choice.chosen]


def reasons(choice):
    return {left.candidate.table: left.reason for left in choice.left_out}


def test_the_rank_is_cost_saved_per_byte_moved():
    choice = choose([work("a", 50), work("b", 90), work("c", 80, 50)], Budget(), {}, POLICY, NOON)
    assert names(choice) == ["c", "b", "a"]
    assert choice.left_out == ()


def test_scans_weigh_what_is_saved_but_not_what_is_freed():
    policy = replace(POLICY, scans={"a": 10.0, "c": 100.0})
    choice = choose([work("a", 50), work("b", 90), work("c", 60, action=EXPIRE)], Budget(), {}, policy, NOON)
    assert names(choice) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("budget", "chosen"),
    [
        (Budget(bytes=250), ["a", "c"]),
        (Budget(seconds=2.0), ["a", "b"]),
        (Budget(memory=1), ["b", "c"]),
        (Budget(bytes=0), []),
    ],
)
def test_a_candidate_that_does_not_fit_leaves_room_for_later_ones(budget, chosen):
    of_all = [work("a", 90, 100, memory=2), work("b", 120, 160), work("c", 50, 100)]
    assert names(choose(of_all, budget, {}, POLICY, NOON)) == chosen


def test_each_left_out_candidate_has_its_reason_with_numbers():
    of_all = [work("a", 90), work("b", 80), work("large", 9000, 1000), work("little", 5)]
    choice = choose(of_all, Budget(bytes=150), {}, POLICY, NOON)
    assert reasons(choice) == {"b": Reason.BUDGET, "large": Reason.TOO_LARGE, "little": Reason.SAVES_LITTLE}
    details = {left.candidate.table: left.detail for left in choice.left_out}
    assert details["b"] == "100 bytes are more than the 50 that are left of the budget"
    assert details["large"] == "even alone, 1,000 bytes are more than the 150 that are left of the budget"
    assert details["little"] == "a scan saves 0.0495 of what the work costs; the start mark is 0.1"


def test_work_begins_at_the_start_mark_and_ends_below_the_stop_mark():
    histories, seen = {}, []
    for saved in (8, 11, 8, 4, 8, 11):
        choice = choose([work("a", saved)], Budget(), histories, POLICY, NOON)
        histories = choice.histories
        seen.append(len(choice.chosen))
    assert seen == [0, 1, 1, 0, 0, 1]


def test_failures_double_the_pause_and_a_success_ends_it():
    policy = replace(POLICY, backoff_seconds=10.0, backoff_most_seconds=35.0)
    place = Place("a", "main", "compact", None, 0)
    history = History()
    for failures, pause in enumerate((10_000, 20_000, 35_000, 35_000), 1):
        history = history.failed(NOON)
        assert history.failures == failures
        early = choose([work("a", 50)], Budget(), {place: history}, policy, NOON + pause - 1)
        assert reasons(early) == {"a": Reason.BACKS_OFF}
        assert (early.histories[place].failures, early.histories[place].waited) == (failures, 0)
        assert names(choose([work("a", 50)], Budget(), {place: history}, policy, NOON + pause)) == ["a"]
    assert history.succeeded() == History()
    assert policy.pause_millis(10**6) == 35_000


def test_failures_are_kept_while_there_is_no_candidate_and_waiting_is_not():
    place = Place("a", "main", "compact", None, 0)
    failed, waited = History(True, 5, 2, NOON), History(True, 5)
    assert choose([], Budget(), {place: failed}, POLICY, NOON).histories == {place: failed}
    assert choose([], Budget(), {place: waited}, POLICY, NOON).histories == {}


def test_in_peak_hours_only_a_part_of_the_budget_is_used():
    policy = replace(POLICY, off_peak=OffPeak(22, 6, 0.5))
    of_all = [work("a", 90), work("b", 150, 200)]
    assert names(choose(of_all, Budget(bytes=300), {}, policy, NIGHT)) == ["a", "b"]
    choice = choose(of_all, Budget(bytes=300), {}, policy, NOON)
    assert (names(choice), reasons(choice)) == (["a"], {"b": Reason.PEAK_HOURS})
    closed = replace(POLICY, off_peak=OffPeak(22, 6))
    assert set(reasons(choose(of_all, Budget(), {}, closed, NOON)).values()) == {Reason.PEAK_HOURS}


def test_a_tag_limits_the_work_of_its_tables():
    tags = {"a": ["eu", "gold"], "b": ["eu"], "c": ["eu"]}
    of_all = [work("a", 90), work("b", 80), work("c", 70, 30), work("d", 60)]
    policy = replace(POLICY, tags=tags, limits={"eu": TagLimit(tasks=2)})
    choice = choose(of_all, Budget(), {}, policy, NOON)
    assert (names(choice), reasons(choice)) == (["c", "a", "d"], {"b": Reason.BUDGET})
    assert choice.left_out[0].detail == "tag eu allows 2 pieces of work"
    policy = replace(POLICY, tags=tags, limits={"eu": TagLimit(budget=Budget(bytes=140))})
    assert names(choose(of_all, Budget(), {}, policy, NOON)) == ["c", "a", "d"]
    policy = replace(POLICY, tags=tags, limits={"eu": TagLimit(tasks=0)})
    assert reasons(choose(of_all, Budget(), {}, policy, NOON)) == dict.fromkeys("abc", Reason.TOO_LARGE)


def test_two_rewrites_of_the_same_files_are_not_done_in_one_round():
    rescale = work("a", 90, action=RESCALE, bucket=None, partition="p=1")
    buckets = [work("a", 80, partition=p, bucket=b) for p in ("p=1", "p=2") for b in (0, 1)]
    rest = [work("a", 20, action=COMPACT_MANIFESTS, bucket=None), work("a", 70, partition="p=1", branch="x")]
    choice = choose([rescale, *buckets, *rest], Budget(), {}, POLICY, NOON)
    assert choice.chosen == (rescale, *buckets[2:], rest[1], rest[0])
    assert {(left.candidate, left.reason) for left in choice.left_out} == {(c, Reason.OVERLAPS) for c in buckets[:2]}
    assert choice.left_out[0].detail == "the same files are rewritten by rescale a p=1"


def test_of_alternatives_the_best_that_fits_is_chosen():
    full, part = work("a", 700, 1000), work("a", 30, 100)
    place = Place("a", "main", "compact", None, 0)
    choice = choose([part, full], Budget(bytes=1000), {}, POLICY, NOON)
    assert choice.chosen == (full,)
    assert [(one.candidate, one.reason) for one in choice.left_out] == [(part, Reason.OVERLAPS)]
    assert choice.histories == {place: History(wanted=True)}
    choice = choose([part, full], Budget(bytes=999), {place: History(True, 3)}, POLICY, NOON)
    assert choice.chosen == (part,)
    assert [(one.candidate, one.reason) for one in choice.left_out] == [(full, Reason.TOO_LARGE)]
    assert choice.histories == {place: History(wanted=True)}
    # An alternative that saves little does not end the waiting of the other.
    choice = choose([work("a", 1), full], Budget(bytes=999), {place: History(True, 3)}, POLICY, NOON)
    assert choice.histories == {place: History(True, 3)}


def test_the_longest_waiting_comes_first_and_more_of_them_only_within_their_part():
    histories = {Place(t, "main", "compact", None, 0): History(True, n) for t, n in (("a", 12), ("b", 11), ("c", 10))}
    of_all = [work("a", 11), work("b", 11), work("c", 11), *(work(t, 90) for t in "xyz")]
    choice = choose(of_all, Budget(bytes=300), histories, replace(POLICY, overdue_share=0.5), NOON)
    assert names(choice) == ["a", "x", "y"]
    choice = choose(of_all, Budget(bytes=500), histories, replace(POLICY, overdue_share=0.5), NOON)
    assert names(choice) == ["a", "b", "x", "y", "z"]
    # Work that has waited long and is valuable is not limited by the part of the budget.
    choice = choose([*of_all[:2], work("c", 99), *of_all[3:]], Budget(bytes=300), histories, POLICY, NOON)
    assert names(choice) == ["a", "c", "x"]
    assert choice.histories[Place("b", "main", "compact", None, 0)] == History(True, 12)


def test_waiting_raises_the_rank():
    history = {Place("a", "main", "compact", None, 0): History(True, 5)}
    assert names(choose([work("a", 50), work("b", 60)], Budget(), history, POLICY, NOON)) == ["a", "b"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: Policy(start_mark=0.1, stop_mark=0.2), "stop_mark 0.2 of a policy must not exceed start_mark 0.1"),
        (lambda: Policy(patience=0), "patience of a policy must be a number of at least 1, not 0"),
        (lambda: Policy(patience=1.5), "patience of a policy must be a whole number, not 1.5"),
        (lambda: Policy(overdue_share=2.0), "overdue_share of a policy must be a number of at least 0 and at most 1"),
        (lambda: Policy(start_mark=float("nan")), "start_mark of a policy must be a number of at least 0, not nan"),
        (lambda: Policy(backoff_seconds=True), "backoff_seconds of a policy must be a number"),
        (lambda: Policy(scans={"a": -1.0}), "scans of table a in a policy must be a number of at least 0, not -1.0"),
        (lambda: Policy(tags={"a": "eu"}), "tags of table a in a policy must be a list of names, not 'eu'"),
        (lambda: Policy(limits={"eu": TagLimit()}), "tag 'eu' has a limit in a policy, but no table has this tag"),
        (lambda: TagLimit(tasks=-1), "the tasks of a tag must be a whole number of 0 or more, not -1"),
        (lambda: OffPeak(3, 3), "off-peak hours must be two different hours from 0 to 23, not (3, 3)"),
        (lambda: OffPeak(3, 24), "off-peak hours must be two different hours from 0 to 23, not (3, 24)"),
        (lambda: OffPeak(3, 4, 1.5), "peak_share of off-peak hours must be a number of at least 0 and at most 1"),
        (
            lambda: choose([work("a", float("nan"))], Budget(), {}, POLICY, NOON),
            "a number of the candidate for compact a bucket 0 is negative or not finite",
        ),
        (
            lambda: choose([work("a", 1, -2)], Budget(), {}, POLICY, NOON),
            "a number of the candidate for compact a bucket 0 is negative or not finite",
        ),
    ],
)
def test_wrong_input_is_refused(bad, message):
    with pytest.raises(InvalidRequest) as refused:
        bad()
    assert str(refused.value).startswith(message)
