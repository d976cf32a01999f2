"""Every fault at every call of every operation, and the operation repeated (tests/simulator/exhaustive.py)."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from tests.simulator.exhaustive import OPERATIONS, every_fault, second_deaths

SECOND_DEATHS = 40


def faults_of(number: int, seed: int) -> tuple[int, list[str]]:
    operation = OPERATIONS[number]
    found = list(every_fault(operation, seed))
    problems = [f"{operation.name}, store {seed}, {f}: {problem}" for f, problem in found if problem is not None]
    return len(found), problems


def test_every_fault_at_every_call():
    places = [(number, number % 2) for number in range(len(OPERATIONS))]  # the stores in turn: both take twice as long
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(faults_of, *zip(*places, strict=True)))
    print(f"{sum(count for count, _ in found):,} faults in {len(OPERATIONS)} operations on two kinds of store")
    assert [problem for _, problems in found for problem in problems] == []
    assert sum(count for count, _ in found) > 2_000


def test_a_second_death_while_it_is_done_again():
    problems = [(op.name, fault, problem) for op, fault, problem in second_deaths(SECOND_DEATHS) if problem is not None]
    assert problems == []
