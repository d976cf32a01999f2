import numpy as np
import pytest

from paimon_core.lsm import key_groups
from paimon_core.lsm.key_groups import group, newest_rows
from paimon_core.lsm.key_words import KeyWords


def arranged(keys, ranks=None):
    found = group(np.array(keys), None if ranks is None else [np.array(ranks)])
    return [found.order[a:b].tolist() for a, b in zip(found.starts, found.ends, strict=True)]


def test_rows_of_a_key_keep_the_order_given():
    assert arranged([5, 3, 5, 3, 4]) == [[1, 3], [4], [0, 2]]


def test_only_groups_whose_ranks_fall_are_sorted_again():
    assert arranged([2, 1, 2, 1, 1], [1, 9, 2, 8, 8]) == [[3, 4, 1], [0, 2]]


def test_equal_ranks_keep_the_order_given():
    assert arranged([1, 1, 1], [5, 4, 5]) == [[1, 0, 2]]


def test_ranks_that_fall_across_keys_do_not_matter():
    assert arranged([1, 2], [9, 0]) == [[0], [1]]


def test_ranks_may_be_bytes():
    assert arranged([1, 1], np.array([b"b\1", b"a\1"])) == [[1, 0]]


def test_last_and_keep():
    found = group(np.array([5, 3, 5]), None)
    assert found.last.tolist() == [1, 2]
    assert found.keep(np.array([False, True])).last.tolist() == [2]


def test_no_rows():
    found = group(np.zeros(0, np.int64), None)
    assert (found.order.size, found.starts.size, found.ends.size, found.last.size) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "low"),
    [(np.int64, -(2**63)), (np.int64, 2**63 - 9), (np.uint64, 2**64 - 9), (np.int8, -128), (np.int32, 7)],
)
def test_the_last_row_of_close_keys_is_found_without_a_sort(monkeypatch, kind, low):
    monkeypatch.setattr(key_groups, "group", None)
    keys = np.array([low + k for k in (0, 2, 5, 2, 3, 8, 0, 8)], kind)
    assert newest_rows(KeyWords(keys), [3, 3, 2], None).tolist() == [6, 3, 4, 2, 7]


@pytest.mark.parametrize("keys", [[-128, 127, -128], [-(2**63), 2**63 - 1, -(2**63)], [b"a", b"b", b"a"]])
def test_the_last_row_of_keys_far_apart(keys):
    assert newest_rows(KeyWords(np.array(keys)), [2, 1], None).tolist() == [2, 1]


def test_the_last_row_of_more_rows_than_a_block(monkeypatch):
    monkeypatch.setattr(key_groups, "_BLOCK_ROWS", 2)
    assert newest_rows(KeyWords(np.array([1, 2, 3, 1, 3, 2])), [3, 2, 1], None).tolist() == [3, 5, 4]
