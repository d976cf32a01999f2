import pytest

from paimon_core.lsm.compaction.read_bound import ReadBound
from paimon_core.lsm.compaction.schedule import Moment
from paimon_core.lsm.compaction.strategy import Strategy
from paimon_core.lsm.levels import Levels
from paimon_core.options import TableOptions
from tests.support.lsm_files import bucket, byte_order, data_file

BOUND = ReadBound(25)


def levels(*files):
    """Return the levels of files of (level, size, first key, last key), newest first."""
    return Levels.of(
        [
            data_file(f"f{n}", level=level, size=size, keys=(low, high), sequences=(0, 100 - n))
            for n, (level, size, low, high) in enumerate(files)
        ],
        6,
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([(0, 1, 0, 9), (4, 50, 0, 9), (5, 100, 0, 9)], True),  # 51 of 100
        ([(0, 1, 0, 9), (4, 49, 0, 9), (5, 100, 0, 9)], False),  # 50 of 100
        ([(0, 3, 0, 9), (4, 60, 0, 9), (5, 100, 0, 9)], False),  # a commit of 3 %: fewer than 25 of them
        ([(0, 1, 0, 9), (3, 60, 0, 9), (4, 100, 0, 9)], False),  # nothing in the last level
        ([(0, 1, 2, 3), (4, 30, 2, 3), (5, 50, 0, 4), (5, 950, 5, 9)], True),  # only these keys are merged
        ([(0, 1, 2, 3), (4, 30, 2, 3), (4, 20, 20, 29), (5, 50, 0, 4)], False),  # rows without older rows cost bytes
        ([(0, 1, 20, 29), (4, 400, 20, 29), (5, 50, 0, 4)], False),  # and save nothing
        ([(5, 50, 0, 4)], False),
        ([], False),
    ],
)
def test_when_newer_runs_cost_too_much(files, expected):
    assert BOUND.calls_for(levels(*files), byte_order) is expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ReadBound(25)),
        ({"num-sorted-run.compaction-trigger": "3"}, ReadBound(9)),
        ({"compaction.max-size-amplification-percent": "200"}, None),  # said by the table: the picks of Java
        ({"deletion-vectors.enabled": "true"}, None),
        ({"merge-engine": "first-row"}, None),
    ],
)
def test_where_reads_are_bounded(options, expected):
    assert ReadBound.of(TableOptions.parse(options)) == expected
    assert Strategy.of(TableOptions.parse(options)).read_bound == expected


def test_a_full_compaction_takes_the_place_of_a_picked_one():
    full, small = bucket((0, 1), (0, 1), (0, 1), (3, 50), (5, 99)), bucket((0, 1), (3, 50), (5, 99))
    bounded = Strategy(read_bound=BOUND)
    found = bounded.pick(full, Moment(0, 0), key_order=byte_order)
    assert found is not None
    assert (found.runs_left, found.output_level, found.drop_delete) == (0, 5, True)
    picked = Strategy().pick(full, Moment(0, 0), key_order=byte_order)
    assert picked is not None
    assert picked.runs_left == 2
    assert bounded.pick(small, Moment(0, 0), key_order=byte_order) is None  # only where a compaction is due


def runs_over_time(strategy, rounds):
    """Return the bytes written by those flushed, and the most bytes of all runs by those of the last level, for
    commits of 1 % of the keys.
    """
    runs, written, most = [(5, 10_000.0)], 0.0, 0.0
    for _ in range(rounds):
        runs = [(0, 100.0), *runs]
        written += 100
        now = bucket(*((level, round(size)) for level, size in runs))
        unit = strategy.pick(now, Moment(0, 0), key_order=byte_order)
        if unit is not None:
            taken, left = runs[: len(runs) - unit.runs_left], runs[len(runs) - unit.runs_left :]
            absent = 1.0
            for _, size in taken:
                absent *= 1 - size / 10_000
            merged = 10_000 * (1 - absent)
            written += merged
            runs = [(unit.output_level, merged), *left]
        most = max(most, sum(size for _, size in runs) / 10_000)
    return written / (100 * rounds), most


def test_reads_are_bounded_with_fewer_bytes_written():
    wrote, most = runs_over_time(Strategy(read_bound=BOUND), 400)
    wrote_before, most_before = runs_over_time(Strategy(), 400)
    assert most < 1.55 < 1.9 < most_before
    assert wrote < wrote_before
