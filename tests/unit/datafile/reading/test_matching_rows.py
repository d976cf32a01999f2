"""Rows that a filter selects: how many rows of the other columns are decoded at once."""

from types import SimpleNamespace

import numpy as np
import pytest

from paimon_core.datafile.reading.chosen_rows import ChosenRows
from paimon_core.datafile.reading.matching_rows import _Cursor

ROWS = 500_000


class Recorded:
    """A decoding that returns no columns and records the most rows of a batch; no pages can be copied."""

    path = "file"

    def __init__(self, batch_rows):
        self.request = SimpleNamespace(batch_rows=batch_rows)
        self.most = []

    def near(self, *_):
        return None

    def arrays(self, sources, groups, most=None):
        self.most.append(most)
        rows = most or self.request.batch_rows
        return ((min(rows, ROWS - start), []) for start in range(0, ROWS, rows))


def most_rows(hits, batch_rows=1 << 17):
    decoding = Recorded(batch_rows)
    chosen = ChosenRows(None, [ROWS], None, None, None)
    pieces = list(_Cursor(decoding, ["column"], chosen).pieces(np.array(hits)))
    assert [hit for hit in hits if not any(start <= hit < end for start, end, _ in pieces)] == []
    (most,) = decoding.most
    return most


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ([100_000, 100_099], 8_192),  # a few thousand rows after the last hit are decoded in vain
        ([100_000, 139_999], 20_000),
        (range(0, 131_072, 1_000), 65_500),
        (range(0, 200_000, 1_000), 65_536),
        ([0, 400_000], None),  # most of the row group: as many rows as the request wants
    ],
)
def test_batches_are_large_where_the_rows_are_spread(hits, expected):
    assert most_rows(list(hits)) == expected


def test_batches_have_no_more_rows_than_requested():
    assert most_rows([0, 131_071], batch_rows=4_096) == 4_096
