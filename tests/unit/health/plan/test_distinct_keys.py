"""The estimate of distinct keys against counted ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.health.plan.distinct_keys import distinct_keys, distinct_of, domain_of, rows_of_runs
from paimon_core.metadata.data_file import DataFile
from paimon_core.schema import DataField
from paimon_core.types import parse_columns

BIGINT, TEXT = (DataField(at, c.name, c.type) for at, c in enumerate(parse_columns("id BIGINT, name STRING")))


def file_of(keys):
    low, high = (encode_row((int(key),), (BIGINT.type,)) for key in (min(keys), max(keys)))
    return DataFile("f", 1, len(keys), 0, min_key=low, max_key=high)


@pytest.mark.parametrize("seed", range(5))
def test_random_keys_of_one_range(seed):
    rng = np.random.default_rng(seed)
    runs = [rng.choice(10_000, rng.integers(100, 8000), replace=False) for _ in range(rng.integers(2, 8))]
    real = len(np.unique(np.concatenate(runs)))
    assert distinct_keys([file_of(run) for run in runs], [BIGINT]) == pytest.approx(real, rel=0.03)


def test_ranges_that_overlap_in_part_or_not_at_all():
    runs = [range(1000), range(500, 1500), range(5000, 6000)]
    assert distinct_keys([file_of(run) for run in runs], [BIGINT]) == pytest.approx(2500)
    assert distinct_keys([file_of(range(9)), file_of(range(9))], [BIGINT]) == pytest.approx(9)


def test_the_keys_of_one_of_several_buckets():
    rng = np.random.default_rng(1)
    of_bucket = rng.choice(10_000, 2500, replace=False)
    runs = [rng.choice(of_bucket, 1200, replace=False) for _ in range(4)]
    real = len(np.unique(np.concatenate(runs)))
    assert distinct_keys([file_of(run) for run in runs], [BIGINT], buckets=4) == pytest.approx(real, rel=0.03)


def test_texts_of_digits_are_numbers():
    def texts(first, last, width=6):
        low, high = (encode_row((f"{n:0{width}}",), (TEXT.type,)) for n in (first, last))
        return DataFile("f", 1, last - first + 1, 0, min_key=low, max_key=high)

    assert distinct_keys([texts(0, 99), texts(50, 149)], [TEXT]) == pytest.approx(150)
    assert distinct_keys([texts(0, 99, 1), texts(50, 149, 1)], [TEXT]) == 200  # "9" comes after "149"


def test_nothing_is_known_of_other_keys():
    files = [file_of(range(10)), file_of(range(10))]
    assert distinct_keys(files, [BIGINT, TEXT]) == 20
    assert distinct_keys(files[:1], [BIGINT]) == 10


@pytest.mark.parametrize("seed", range(3))
def test_the_domain_of_any_keys_is_found_again(seed):
    rng = np.random.default_rng(seed)
    runs = [rng.choice(20_000, rng.integers(1000, 15_000), replace=False) for _ in range(4)]
    sizes = [len(run) for run in runs]
    domain = domain_of(sizes, len(np.unique(np.concatenate(runs))))
    assert domain == pytest.approx(20_000, rel=0.05)
    assert distinct_of([*sizes, 5000], domain) == pytest.approx(
        20_000 * (1 - np.prod([1 - n / 20_000 for n in [*sizes, 5000]])), rel=0.05
    )


def test_domains_at_the_ends():
    assert domain_of([10, 10], 20) == float("inf")
    assert distinct_of([10, 10], float("inf")) == 20
    assert domain_of([10, 10], 10) == pytest.approx(10)
    assert distinct_of([10, 10], 5) == pytest.approx(10), "a run has at most all keys"
    assert domain_of([10, 10], 9) is None
    assert domain_of([10], 10) is None


def test_runs_are_files_of_level_0_and_higher_levels():
    files = [replace(file_of(range(n)), level=level) for n, level in ((3, 0), (4, 0), (5, 4), (6, 4), (7, 5))]
    assert rows_of_runs(files) == [3, 4, 11, 7]
