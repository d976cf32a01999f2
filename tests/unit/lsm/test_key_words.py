from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.lsm.key_groups import group, group_runs, newest_rows
from paimon_core.lsm.key_words import KeyWords, before, stable_order

UUID = "6f1c3e5a-0b1d-4c2f-9a8b-7c6d5e4f3a2{}"


def words(*columns):
    return KeyWords.of(
        pa.table({str(at): column for at, column in enumerate(columns)}), list(map(str, range(len(columns))))
    )


def in_order(keys):
    order, opens = keys.in_order()
    return order.tolist(), opens.tolist()


def test_rows_that_are_equal_in_the_leading_word_are_ordered_by_the_rest():
    # The first 8 bytes vary, so that the last byte is not in the leading word.
    keys = words(pa.array([UUID.format(c) for c in "bab"] + ["7" * 36, UUID.format("a")]))
    assert keys.rest
    assert in_order(keys) == ([1, 4, 0, 2, 3], [False, True, False, True])


def test_a_leading_word_has_bits_of_the_array_that_does_not_fit():
    numbers = np.array([-(2**62), 2**62, 5, 6], np.int64)
    keys = KeyWords.of_parts([np.array([0, 1, 1, 1]), numbers], 4)
    assert in_order(keys) == ([0, 2, 3, 1], [True] * 3)
    assert len(np.unique(keys.leading)) > 2


@pytest.mark.parametrize(
    "texts", [["a" * 36, "b" * 36], [UUID.format("a"), UUID.format("b")], ["a" * 8, "a" * 7 + "b"]]
)
def test_runs_that_do_not_ascend_are_found(texts):
    assert words(pa.array(["0" * 36, *texts])).is_ascending(1, 3)
    assert not words(pa.array(["0" * 36, *reversed(texts)])).is_ascending(1, 3)
    assert not words(pa.array([texts[0], texts[0], "x" * 40])).is_ascending(0, 2)


def test_a_slice_of_texts_of_one_width():
    texts = pa.array([None, "x", *(UUID.format(c) for c in "cab")]).slice(2)
    assert in_order(words(texts))[0] == [1, 2, 0]
    assert in_order(words(pa.array(["", "0123456789", "0123456788"]).slice(1)))[0] == [1, 0]


def test_before_compares_the_first_columns_first():
    columns = [np.array([1, 1, 2]), np.array([5, 6, 0])]
    assert before(columns, np.array([0, 1, 0, 2]), np.array([1, 0, 2, 2])).tolist() == [True, False, True, False]


@given(st.lists(st.integers(-5, 5), max_size=60))
def test_the_stable_order(values):
    for kind in (np.int64, np.int8, "S8"):
        found = stable_order(np.array(values, np.int64).astype(kind))
        key = values if kind != "S8" else [str(value).encode() for value in values]
        assert found.tolist() == sorted(range(len(values)), key=key.__getitem__)


@given(st.lists(st.tuples(st.integers(-8, 7), st.integers(0, 3)), min_size=1, max_size=60), st.integers(56, 60))
def test_the_stable_order_of_values_whose_high_bits_are_equal(pairs, bits):
    # There is no room for all bits of a value and for its row in one number.
    values = [(high << bits) + low for high, low in pairs]
    assert stable_order(np.array(values, np.int64)).tolist() == sorted(range(len(values)), key=values.__getitem__)


def test_few_values_whose_high_bits_are_equal_are_sorted_again():
    spread = [at << 57 for at in range(40, 0, -1)]
    values = [*spread[:20], spread[20] + 1, *spread[20:], spread[20] + 1]
    assert stable_order(np.array(values, np.uint64)).tolist() == sorted(range(42), key=values.__getitem__)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 1)), max_size=40))
def test_texts_of_one_width_that_are_equal_in_their_first_bytes(keys):
    texts = [f"{a * 8}{'m' * 8}{b}" for a, b, _ in keys]
    numbers = [number for _, _, number in keys]
    found = words(pa.array(texts, pa.string()), pa.array(numbers, pa.int64()))
    order, opens = in_order(found)
    assert order == sorted(range(len(keys)), key=lambda row: (texts[row], numbers[row]))
    assert opens == [keys[one] != keys[other] for one, other in pairwise(order)]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "a\0", "b" * 9, "b" * 8 + "c"])), max_size=40))
def test_key_words_sort_as_the_keys(keys):
    found = words(pa.array([n for n, _ in keys], pa.int64()), pa.array([t for _, t in keys], pa.string()))
    order, opens = in_order(found)
    assert order == sorted(range(len(keys)), key=lambda row: (keys[row][0], keys[row][1].encode()))
    assert opens == [keys[a] != keys[b] for a, b in pairwise(order)]


runs = st.lists(
    st.dictionaries(st.integers(0, 9), st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1),
    min_size=2,
    max_size=5,
)


@given(runs, st.sampled_from([1, 2**50]))
def test_the_newest_rows_are_the_last_rows_of_the_groups(runs, apart):
    pairs = [pair for run in runs for pair in sorted(run.items())]
    keys = KeyWords(np.array([key * apart for key, _ in pairs], np.int64))
    ranks = [np.array([rank[at] for _, rank in pairs]) for at in (0, 1)]
    lengths = [len(run) for run in runs]
    assert newest_rows(keys, lengths, ranks).tolist() == group(keys, ranks).last.tolist()
    plain = group(keys, None)
    assert newest_rows(keys, lengths, None).tolist() == plain.last.tolist()
    for found, expected in (
        (group_runs(keys, lengths, None), plain),
        (group_runs(keys, lengths, ranks), group(keys, ranks)),
    ):
        assert (found.order.tolist(), found.starts.tolist(), found.ends.tolist()) == (
            expected.order.tolist(),
            expected.starts.tolist(),
            expected.ends.tolist(),
        )
    previous = np.empty(len(keys), np.uint32)
    newest_rows(keys, lengths, None, previous)
    versions = [plain.order[a:b].tolist() for a, b in zip(plain.starts, plain.ends, strict=True)]
    assert previous.tolist() == [
        next((one + 1 for group_ in versions for one, other in pairwise(group_) if other == row), 0)
        for row in range(len(keys))
    ]
