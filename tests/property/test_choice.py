"""Any candidates, budgets and histories: what a choice keeps to, and that nothing waits longer than the bound."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.health.plan.candidates import ACTIONS, Budget, Candidate
from paimon_core.health.plan.choice import Reason, choose
from paimon_core.health.plan.history import History, Place
from paimon_core.health.plan.policy import OffPeak, Policy, TagLimit
from tests.support.examples import examples

HOUR = 3_600_000
START = int(time.mktime((2024, 1, 31, 0, 0, 0, 0, 0, -1))) * 1000
NUMBERS = st.integers(0, 10) | st.integers(0, 10**12)
PLACES = st.tuples(
    st.sampled_from("abcd"),
    st.sampled_from(["main", "x"]),
    st.sampled_from(ACTIONS),
    st.none() | st.sampled_from(["p=1", "p=2"]),
    st.none() | st.integers(0, 2),
)
HISTORIES = st.builds(History, st.booleans(), st.integers(0, 9), st.integers(0, 3), st.none() | st.integers(0, 10**7))
LIMITS = st.builds(Budget, st.none() | NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
TAGS = {"a": ("t",), "b": ("t", "u")}
POLICIES = st.builds(
    Policy,
    overhead_bytes=st.integers(1, 100),
    patience=st.integers(1, 5),
    overdue_share=st.floats(0, 1),
    off_peak=st.none() | st.builds(OffPeak, st.just(22), st.just(6), st.floats(0, 1)),
    scans=st.dictionaries(st.sampled_from("abcd"), st.floats(0, 100)),
    tags=st.just(TAGS),
    limits=st.dictionaries(st.sampled_from("tu"), st.builds(TagLimit, st.none() | st.integers(0, 3), LIMITS)),
)


@st.composite
def candidates(draw, most=12):
    places = draw(st.lists(PLACES, max_size=most))
    saved = st.floats(-10, 1e12, allow_nan=False)
    return [Candidate(*p, draw(saved), *(draw(NUMBERS) for _ in range(4)), "") for p in places]


def moved(work):
    return sum(c.bytes_read + c.bytes_written for c in work)


@settings(max_examples=examples(300))
@given(candidates(), LIMITS, st.dictionaries(PLACES.map(lambda p: Place(*p)), HISTORIES), POLICIES, NUMBERS)
def test_a_choice_is_a_division_of_the_candidates_within_the_budget(work, budget, histories, policy, now):
    choice = choose(work, budget, histories, policy, now)
    chosen = choice.chosen
    assert sorted(map(repr, [*chosen, *(left.candidate for left in choice.left_out)])) == sorted(map(repr, work))
    limits = [(chosen, budget, None)]
    limits += [([c for c in chosen if t in TAGS.get(c.table, ())], m.budget, m.tasks) for t, m in policy.limits.items()]
    for part, limit, tasks in limits:
        assert limit.bytes is None or moved(part) <= limit.bytes
        assert limit.seconds is None or sum(c.seconds for c in part) <= limit.seconds
        assert limit.memory is None or all(c.peak_memory <= limit.memory for c in part)
        assert tasks is None or len(part) <= tasks
    assert choose(reversed(work), budget, histories, policy, now) == choice
    assert all(left.detail for left in choice.left_out)
    assert len({Place.of(c) for c in chosen}) == len(chosen)
    if budget == Budget() and not policy.limits and policy.off_peak is None:
        assert {left.reason for left in choice.left_out} <= {Reason.SAVES_LITTLE, Reason.BACKS_OFF, Reason.OVERLAPS}


@settings(max_examples=examples(500))
@given(
    st.randoms(use_true_random=False),
    st.integers(1, 6),
    st.floats(0, 1),
    st.none() | st.builds(OffPeak, st.just(22), st.just(6), st.floats(0, 1)),
    st.integers(1, 8),
    st.sampled_from([0.3, 0.9, 1.0]),
)
def test_nothing_that_fits_waits_longer_than_the_bound(random, patience, share, off_peak, others, busy):
    """An adversary offers more valuable work in each round, at places that return and at places that never do."""
    budget = Budget(bytes=100, seconds=10.0, memory=5)
    limits = {"t": TagLimit(tasks=random.randint(1, 3), budget=Budget(bytes=random.randint(100, 200)))}
    policy = Policy(
        patience=patience, overdue_share=share, off_peak=off_peak, overhead_bytes=1, tags=TAGS, limits=limits
    )
    victim = Place("a", "main", "compact", None, 0)
    histories = {
        Place("b", "main", "compact", None, n): History(wanted=True, waited=random.randint(0, 9)) for n in range(others)
    }
    full_rounds, hour = 0, 0
    while True:
        now = START + hour * HOUR
        work = [Candidate(*victim, random.uniform(20, 30), 100, 0, 10, 5, "")]
        for n in range(others):
            if random.random() < busy:
                name = random.choice(["b", "b", "c", "d", f"new-{hour}"])
                size = random.choice([1, 60, 100])
                work.append(Candidate(name, "main", "compact", None, n, 10 ** random.randint(2, 9), size, 0, 1, 5, ""))
        choice = choose(work, budget, histories, policy, now)
        full_rounds += policy.share_at(now) == 1
        if victim in map(Place.of, choice.chosen):
            break
        done = set(map(Place.of, choice.chosen))
        histories = {
            place: history.failed(now) if place in done and random.random() < 0.3 else history
            for place, history in choice.histories.items()
        }
        hour += 1
        assert full_rounds <= policy.patience + others
    assert full_rounds <= policy.patience + others
