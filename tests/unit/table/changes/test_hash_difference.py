"""Surplus hashes: a multiset difference, in memory and in bins on local disk."""

import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from paimon_core.options import TableOptions
from paimon_core.table.changes import hash_difference
from paimon_core.table.changes.hash_difference import HashedRows, surplus


def pairs(numbers):
    """Hashes of which few first halves are equal, and some of these have other second halves."""
    return np.array([[(n // 2) << 60 for n in numbers], [n % 2 for n in numbers]], np.uint64).reshape(2, -1)


@pytest.mark.parametrize("options", [{}, {"write-buffer-spillable": "false"}])
@pytest.mark.parametrize("bin_rows", [7, 1 << 20])
def test_surplus_is_the_difference_of_multisets(monkeypatch, options, bin_rows):
    monkeypatch.setattr(hash_difference, "BIN_ROWS", bin_rows)
    source = random.Random(3)
    for _ in range(40):
        sides = [[source.randrange(source.choice([2, 24])) for _ in range(source.randrange(40))] for _ in range(2)]
        with HashedRows(TableOptions.parse(options), sum(map(len, sides))) as rows:
            for number, side in enumerate(sides):
                for start in range(0, len(side), 9):
                    rows.add(number, pairs(side[start : start + 9]))
            found = surplus(rows)
        chosen = [Counter(n for n, flag in zip(*pair, strict=True) if flag) for pair in zip(sides, found, strict=True)]
        before, after = map(Counter, sides)
        assert chosen == [before - after, after - before]


def test_no_file_is_left(monkeypatch, tmp_path):
    monkeypatch.setattr(hash_difference, "BIN_ROWS", 2)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with HashedRows(TableOptions.parse({}), 9) as rows:
        rows.add(0, pairs([1, 2, 3]))
        assert list(Path(tmp_path).rglob("*.arrow"))
    assert not list(Path(tmp_path).iterdir())
