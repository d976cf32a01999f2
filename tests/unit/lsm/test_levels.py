from paimon_core.lsm.levels import Levels, num_levels
from paimon_core.options import TableOptions
from tests.support.lsm_files import data_file


def names(levels):
    return [(run.level, [f.file_name for f in run.files]) for run in levels.runs]


def test_level_0_newest_first_then_one_run_for_each_level():
    levels = Levels.of(
        [
            data_file("deep", level=5),
            data_file("old", sequences=(0, 3)),
            data_file("one", level=1),
            data_file("new", sequences=(4, 9)),
            data_file("two", level=1),
        ],
        6,
    )
    assert names(levels) == [(0, ["new"]), (0, ["old"]), (1, ["one", "two"]), (5, ["deep"])]
    assert [f.file_name for f in levels.files] == ["new", "old", "one", "two", "deep"]
    assert (len(levels.runs), levels.max_level, levels.highest_level) == (4, 5, 5)


def test_ties_of_level_0():
    levels = Levels.of(
        [
            data_file("d", sequences=(1, 9), created=5),
            data_file("c", sequences=(1, 9), created=5),
            data_file("b", sequences=(1, 9), created=4),
            data_file("a", sequences=(2, 9), created=1),
            data_file("unknown", sequences=(1, 9), created=None),
        ],
        6,
    )
    assert [f.file_name for f in levels.files] == ["unknown", "b", "c", "d", "a"]


def test_a_deeper_file_raises_the_number_of_levels():
    assert Levels.of([data_file("a", level=7)], 6).max_level == 7


def test_an_empty_bucket():
    levels = Levels.of([], 6)
    assert (len(levels.runs), levels.max_level, levels.highest_level) == (0, 5, -1)


def test_the_number_of_levels_from_options():
    assert num_levels(TableOptions.parse({})) == 6
    assert num_levels(TableOptions.parse({"num-sorted-run.compaction-trigger": "3"})) == 4
    assert num_levels(TableOptions.parse({"num-sorted-run.compaction-trigger": "3", "num-levels": "9"})) == 9
