import pytest

from paimon_core.lsm.compaction.universal import CompactionUnit, UniversalCompaction, full_unit
from paimon_core.options import TableOptions
from tests.support.lsm_files import bucket


def picked(unit):
    return None if unit is None else ([f.file_size for f in unit.files], unit.output_level, unit.drop_delete)


def flush_and_compact(flushes, merged_size):
    """Return the bucket as (level, size) after each flush of size 1; ``merged_size`` computes a compaction's output."""
    runs: list[tuple[int, int]] = []
    history = []
    for _ in range(flushes):
        runs = [(0, 1), *runs]
        unit = UniversalCompaction().pick(bucket(*runs))
        if unit is not None:
            rest = runs[len(unit.files) :]
            runs = [(unit.output_level, merged_size([f.file_size for f in unit.files])), *rest]
        history.append(runs)
    return history


def test_equal_flushes_of_the_same_keys():
    history = flush_and_compact(13, max)
    assert history[3] == [(0, 1)] * 4
    assert history[4] == [(5, 1)]
    assert history[7] == [(0, 1)] * 3 + [(5, 1)]
    assert history[8] == [(5, 1)]
    assert history[12] == [(5, 1)]


def test_equal_flushes_of_new_keys():
    history = flush_and_compact(14, sum)
    assert history[4] == [(5, 5)]
    assert history[8] == [(4, 4), (5, 5)]
    assert history[10] == [(0, 1), (0, 1), (4, 4), (5, 5)]
    assert history[11] == [(3, 3), (4, 4), (5, 5)]
    assert history[13] == [(2, 2), (3, 3), (4, 4), (5, 5)]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(0, 9), (0, 1)], None),  # fewer than the trigger
        ([], None),
        ([(0, 1), (0, 2), (0, 3), (0, 3)], ([1, 2, 3, 3], 5, True)),  # amplification over 25 percent
        ([(0, 1), (1, 1), (2, 1), (3, 50)], ([1, 1, 1], 2, False)),  # similar sizes
        ([(0, 1), (1, 2), (2, 3), (3, 50)], ([1, 2, 3], 2, False)),  # one run too many
        ([(0, 1), (0, 1), (1, 1), (2, 50)], ([1, 1, 1], 1, False)),  # level 0 is no output
        ([(0, 1), (0, 2), (1, 3), (2, 50)], ([1, 2, 3], 1, False)),
        ([(0, 1), (0, 1), (0, 9), (5, 100)], ([1, 1, 9], 4, False)),  # once two joined, level 0 joins whatever its size
        ([(0, 1), (0, 1), (1, 9), (5, 100)], ([1, 1, 9], 4, False)),  # and so does level 1
        ([(0, 1), (0, 1), (2, 9), (5, 100)], ([1, 1], 1, False)),  # but no deeper one
        ([(0, 10), (3, 20), (4, 30), (5, 900)], ([10, 20, 30], 4, False)),
    ],
)
def test_picks(runs, expected):
    assert picked(UniversalCompaction(3, 25, 1).pick(bucket(*runs))) == expected


def test_a_run_joins_up_to_the_ratio():
    runs = [(0, 100), (2, 101), (3, 9999)]
    assert picked(UniversalCompaction(3, 200, 1).pick(bucket(*runs))) == ([100, 101], 2, False)
    assert picked(UniversalCompaction(3, 200, 0).pick(bucket(*runs))) is None
    assert picked(UniversalCompaction(3, 200, 10).pick(bucket((0, 100), (2, 110), (3, 9999)))) == (
        [100, 110],
        2,
        False,
    )


def test_amplification_at_its_bound_is_allowed():
    assert UniversalCompaction(3, 200, 1).pick(bucket((0, 1), (2, 199), (5, 100))) is None
    assert picked(UniversalCompaction(3, 200, 1).pick(bucket((0, 1), (2, 200), (5, 100))))[1] == 5


def test_level_0_is_never_an_output():
    runs = [(0, 1), (0, 1), (1, 1000), (2, 900), (5, 99999)]
    assert picked(UniversalCompaction(5, 200, 1).pick(bucket(*runs)))[1] == 4
    alone = [(0, 1), (0, 1), (0, 1), (0, 1024), (0, 1024 * 1024)]
    assert picked(UniversalCompaction(5, 200, 1).pick(bucket(*alone))) == ([1, 1, 1, 1024, 1024 * 1024], 5, True)


def test_deletes_are_dropped_only_where_nothing_is_older():
    unit = UniversalCompaction(3, 200, 1).pick(bucket((0, 1), (0, 1), (3, 50)))
    assert (unit.output_level, unit.drop_delete) == (2, False)
    assert full_unit(bucket((0, 1), (3, 50))).drop_delete


def test_level_0_goes_up_with_the_runs_of_similar_size():
    assert UniversalCompaction().pick_level_0(bucket((2, 1))) is None
    unit = UniversalCompaction().pick_level_0(bucket((0, 1), (1, 9), (3, 11), (5, 99)))
    assert (picked(unit), unit.runs_left, unit.is_bottom) == (([1, 9], 2, False), 2, False)
    assert UniversalCompaction().pick_level_0(bucket((0, 1))).is_bottom


def test_full_compaction():
    assert picked(full_unit(bucket((0, 1), (0, 2), (5, 9)))) == ([1, 2, 9], 5, True)
    assert picked(full_unit(bucket((0, 1)))) == ([1], 5, True)
    assert full_unit(bucket()) is None
    assert full_unit(bucket((5, 9))) is None


def test_a_forced_rewrite_takes_each_file_alone():
    levels = bucket((5, 9))
    assert full_unit(levels, force_rewrite=True) == CompactionUnit(5, levels.files, drop_delete=True, each_alone=True)
    assert not full_unit(bucket((0, 1), (5, 9)), force_rewrite=True).each_alone


def test_of_options():
    assert UniversalCompaction.of(TableOptions.parse({})) == UniversalCompaction(5, 200, 1)
    given = {
        "num-sorted-run.compaction-trigger": "3",
        "compaction.max-size-amplification-percent": "50",
        "compaction.size-ratio": "7",
    }
    assert UniversalCompaction.of(TableOptions.parse(given)) == UniversalCompaction(3, 50, 7)
