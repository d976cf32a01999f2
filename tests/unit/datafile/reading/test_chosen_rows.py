"""The rows that a read returns, compared with a model: the numbered rows of the file, one by one."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.datafile.reading.chosen_rows import ChosenRows
from paimon_core.datafile.reading.file_request import FileRequest


@st.composite
def reads(draw):
    sizes = draw(st.lists(st.integers(0, 4), max_size=4))
    count = sum(sizes)
    groups = draw(st.none() | st.sets(st.sampled_from(range(len(sizes))))) if sizes else None
    masked = draw(st.booleans())
    rows = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool) if masked else None
    deleted = draw(st.none() | st.sets(st.sampled_from(range(count)))) if count else None
    return sizes, None if masked or groups is None else sorted(groups), rows, deleted


@settings(deadline=None)
@given(reads(), st.integers(1, 5))
def test_rows_of_groups_masks_and_vectors_are_those_of_the_model(read, step):
    sizes, groups, rows, deleted = read
    positions = None if deleted is None else np.array(sorted(deleted), dtype=np.int64)
    chosen = ChosenRows.of(FileRequest(row_groups=groups, rows=rows, deleted=positions, position="position"), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    decoded = [
        int(at)
        for group in (range(len(sizes)) if chosen.groups is None else chosen.groups)
        for at in range(starts[group], starts[group + 1])
    ]
    assert chosen.row_count == len(decoded)
    found = []
    for start in range(0, len(decoded), step):
        batch = pa.record_batch({"value": decoded[start : start + step]})
        found += chosen.select(batch, start).to_pylist()
    wanted = groups if groups is not None else range(len(sizes))
    expected = [
        at
        for group in wanted
        for at in range(starts[group], starts[group + 1])
        if (rows is None or rows[at]) and at not in (deleted or ())
    ]
    assert found == [{"value": at, "position": at} for at in expected]
