import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.lsm.key_groups import group
from paimon_core.lsm.lookup import (
    LEVEL,
    GroupLevels,
    holds_states,
    keys_of,
    places,
    with_level,
    without_older_states,
)
from paimon_core.options import TableOptions
from tests.support.examples import examples

KEYS = [5, 5, 5, 3, 3, 7]
ROWS = pa.table({"_KEY_k": KEYS, LEVEL: pa.array([4, 2, 0, 0, 0, 5], pa.int8())})
GROUPS = group(np.array(KEYS), None)


def rows_of(groups):
    return [groups.order[a:b].tolist() for a, b in zip(groups.starts, groups.ends, strict=True)]


def test_the_state_of_a_key_is_its_row_of_the_lowest_level_above_0():
    levels = GroupLevels.of(ROWS, GROUPS)
    assert levels.states.tolist() == [-1, 1, 5]
    assert levels.at(4).tolist() == [-1, 0, -1]
    assert rows_of(without_older_states(ROWS, GROUPS)) == [[3, 4], [1, 2], [5]]


def test_groups_need_not_be_compact():
    some = GROUPS.keep(np.array([False, True, False]))
    levels = GroupLevels.of(ROWS, some)
    assert levels.states.tolist() == [1]
    assert levels.at(0).tolist() == [2]
    assert keys_of(ROWS, GROUPS, np.array([True, False, True]), ["_KEY_k"]).to_pydict() == {"_KEY_k": [3, 7]}


def test_no_rows():
    empty = group(np.zeros(0, np.int64), None)
    levels = GroupLevels.of(ROWS.slice(0, 0), empty)
    assert levels.states.tolist() == []
    assert levels.at(0).tolist() == []


@pytest.mark.parametrize(
    ("keys", "rows", "found"), [([], [1], [-1]), ([1, 3, 5], [], []), ([1, 3], [3, 4, 0], [1, -1, -1])]
)
def test_places_of_keys(keys, rows, found):
    tables = [
        pa.table({"a": pa.array(["x"] * len(k), pa.string()), "b": pa.array(k, pa.int32())}) for k in (keys, rows)
    ]
    assert places(*tables, ["a", "b"]).tolist() == found


def test_every_row_of_a_file_has_its_level():
    assert with_level(pa.record_batch({"v": [1, 2]}), 3)[LEVEL].to_pylist() == [3, 3]


@pytest.mark.parametrize(
    ("engine", "producer", "expected"),
    [
        ("deduplicate", "lookup", False),
        ("aggregation", "lookup", True),
        ("partial-update", "lookup", True),
        ("partial-update", "full-compaction", False),
        ("first-row", "lookup", False),
    ],
)
def test_older_states_are_left_out_where_merging_them_again_would_differ(engine, producer, expected):
    assert holds_states(TableOptions.parse({"merge-engine": engine, "changelog-producer": producer})) is expected


TEXTS = st.text("ab\0", max_size=20)


@given(known=st.sets(TEXTS, max_size=12), asked=st.lists(TEXTS, max_size=30), ordered=st.booleans(), few=st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_places_are_the_positions_of_equal_keys(known, asked, ordered, few):
    keys = sorted(known, key=str.encode)
    rows = sorted(set(asked), key=str.encode) if ordered else asked
    # Texts of one width have no word for their length.
    keys, rows = ([[f"{text:~<20}" for text in texts] for texts in (keys, rows)]) if few else (keys, rows)
    keys = sorted(set(keys), key=str.encode)
    tables = [pa.table({"k": pa.array(texts, pa.string())}) for texts in (keys, rows)]
    expected = [keys.index(text) if text in keys else -1 for text in rows]
    assert places(*tables, ["k"]).tolist() == expected
