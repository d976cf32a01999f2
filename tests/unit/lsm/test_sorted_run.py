from paimon_core.lsm.sorted_run import SortedRun, in_sequence
from tests.support.lsm_files import data_file


def runs(*ranges):
    return [SortedRun(0, (data_file(str(at), sequences=found),)) for at, found in enumerate(ranges)]


def test_runs_with_disjoint_sequence_numbers_are_returned_oldest_first():
    old, new, middle = runs((0, 3), (9, 9), (4, 8))
    assert in_sequence([new, old, middle]) == (old, middle, new)


def test_one_pair_of_runs_that_overlap_is_enough():
    assert in_sequence(runs((0, 3), (4, 8), (8, 9))) is None
    assert in_sequence(runs((0, 4), (4, 8), (9, 9))) is None


def test_every_file_of_a_run_counts():
    files = [data_file("a", sequences=(0, 9)), data_file("b", sequences=(1, 2))]
    assert in_sequence([SortedRun(1, tuple(files)), *runs((5, 12))]) is None
    assert in_sequence([SortedRun(1, tuple(reversed(files))), *runs((5, 12))]) is None
