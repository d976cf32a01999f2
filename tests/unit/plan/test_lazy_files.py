import numpy as np
import pytest

from paimon_core.plan import lazy_files
from paimon_core.plan.lazy_files import FilesAhead


@pytest.fixture
def ahead(monkeypatch):
    """Splits of 1, 2, 3, 1, 2, 3, ... files, whose files are their positions; ``calls`` has the size of each call."""
    monkeypatch.setattr(lazy_files, "_MOST_AHEAD", 20)
    sizes = [1 + n % 3 for n in range(60)]
    ends = np.cumsum(sizes)
    splits = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    calls = []
    found = FilesAhead(lambda at: calls.append(len(at)) or tuple(at.tolist()), splits)
    return found, [tuple(split.tolist()) for split in splits], calls


def test_splits_that_are_read_in_order_are_created_together(ahead):
    found, splits, calls = ahead
    assert [found.files(n) for n in range(60)] == splits
    assert calls[:3] == [1, 5, 7]
    assert max(calls) <= 20
    assert sum(calls) == 120


@pytest.mark.parametrize("order", [range(59, -1, -1), np.random.default_rng(2).permutation(60).tolist(), [5, 5, 5]])
def test_splits_in_any_order_have_their_files_and_few_files_wait(ahead, order):
    found, splits, _ = ahead
    for number in order:
        assert found.files(number) == splits[number]
        assert sum(map(len, found._waiting.values())) <= 40
