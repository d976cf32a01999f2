from paimon_core.lsm.compaction.rewrite_plan import Rewrite, plan_rewrite, small_file_bytes
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.options import TableOptions
from tests.support.lsm_files import byte_order, data_file, is_clean

SMALL = 10


def plan(*files, output_level=5, each_alone=False, runs_left=0, **named):
    unit = CompactionUnit(output_level, files, drop_delete=True, each_alone=each_alone, runs_left=runs_left)
    steps = plan_rewrite(unit, key_order=byte_order, small_file_bytes=SMALL, is_clean=is_clean, **named)
    return [
        [[[f.file_name for f in run.files] for run in section.runs] for section in step.sections]
        if isinstance(step, Rewrite)
        else step.file.file_name
        for step in steps
    ]


def test_large_files_that_overlap_nothing_are_upgraded():
    assert plan(data_file("b", size=10, keys=(3, 4)), data_file("a", size=10, keys=(1, 2))) == ["a", "b"]


def test_a_file_that_is_there_already_stays():
    assert plan(data_file("a", size=99, level=5, keys=(1, 2)), data_file("b", size=99, keys=(3, 4))) == ["b"]


def test_overlapping_files_are_merged():
    assert plan(data_file("a", size=99, level=5, keys=(1, 5)), data_file("b", size=99, keys=(3, 4))) == [
        [[["a"], ["b"]]]
    ]


def test_small_neighbours_are_merged_between_large_files():
    assert plan(
        data_file("a", size=9, keys=(1, 1)),
        data_file("b", size=9, keys=(2, 2)),
        data_file("c", size=99, keys=(3, 3)),
        data_file("d", size=9, keys=(4, 4)),
        data_file("e", size=99, keys=(5, 6)),
        data_file("f", size=99, keys=(6, 7)),
        data_file("g", size=99, keys=(8, 8)),
    ) == [[[["a"]], [["b"]]], "c", [[["d"]], [["e"], ["f"]]], "g"]


def test_a_small_file_alone_is_upgraded():
    assert plan(data_file("a", size=1, keys=(1, 1)), data_file("b", size=99, keys=(3, 4))) == ["a", "b"]


def test_files_that_may_hold_deletes_are_rewritten_at_the_last_level():
    for deletes in (1, None):
        file = data_file("a", size=99, deletes=deletes)
        assert plan(file) == [[[["a"]]]]
        assert plan(file, output_level=4, runs_left=1) == ["a"]


def test_a_forced_rewrite():
    there = data_file("a", size=99, level=5, keys=(1, 1))
    assert plan(there, data_file("b", size=99, keys=(2, 2)), force_rewrite=True) == [[[["a"]]], [[["b"]]]]
    assert plan(data_file("b", size=1, keys=(2, 2)), there, each_alone=True) == [[[["a"]]], [[["b"]]]]


def test_the_files_of_a_rewrite():
    unit = CompactionUnit(5, (data_file("a", keys=(1, 5)), data_file("b", keys=(2, 3))), drop_delete=True)
    (step,) = plan_rewrite(unit, key_order=byte_order, small_file_bytes=SMALL, is_clean=is_clean)
    assert isinstance(step, Rewrite)
    assert {f.file_name for f in step.files} == {"a", "b"}


def test_the_bound_of_small_files():
    assert small_file_bytes(TableOptions.parse({})) == int(128 * 1024 * 1024 * 0.7)
    given = {"target-file-size": "100 b", "compaction.small-file-ratio": "0.5"}
    assert small_file_bytes(TableOptions.parse(given)) == 50
