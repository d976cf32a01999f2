from paimon_core.lsm.sections import intervals
from tests.support.lsm_files import byte_order, data_file


def cut(*files):
    return [[[f.file_name for f in run.files] for run in s.runs] for s in intervals(files, byte_order)]


def test_files_that_do_not_overlap_are_sections_of_their_own():
    assert cut(data_file("b", keys=(4, 6)), data_file("a", keys=(1, 3))) == [[["a"]], [["b"]]]


def test_a_shared_bound_overlaps():
    assert cut(data_file("a", keys=(1, 3)), data_file("b", keys=(3, 6))) == [[["a"], ["b"]]]


def test_a_long_file_holds_a_section_together():
    files = [data_file("long", keys=(1, 9)), data_file("a", keys=(1, 3)), data_file("b", keys=(5, 6))]
    assert cut(*files, data_file("after", keys=(10, 11))) == [[["a", "b"], ["long"]], [["after"]]]


def test_the_fewest_runs_by_the_earliest_end():
    files = [
        data_file("a", keys=(1, 5)),
        data_file("b", keys=(2, 3)),
        data_file("c", keys=(4, 8)),
        data_file("d", keys=(6, 7)),
    ]
    assert cut(*files) == [[["a", "d"], ["b", "c"]]]


def test_runs_come_oldest_first():
    section = intervals(
        [
            data_file("new", keys=(1, 9), sequences=(8, 9)),
            data_file("mid", keys=(1, 9), sequences=(5, 7)),
            data_file("deep", keys=(1, 9), level=5, sequences=(0, 99)),
        ],
        byte_order,
    )[0]
    assert [run.files[0].file_name for run in section.runs] == ["deep", "mid", "new"]
    assert [f.file_name for f in section.files] == ["deep", "mid", "new"]


def test_a_mixed_run_has_the_level_of_its_deepest_file():
    section = intervals(
        [data_file("a", keys=(1, 2), level=4), data_file("b", keys=(2, 9)), data_file("c", keys=(3, 4), level=1)],
        byte_order,
    )[0]
    assert [(run.level, [f.file_name for f in run.files]) for run in section.runs] == [(4, ["a", "c"]), (0, ["b"])]


def test_no_files():
    assert intervals([], byte_order) == []
