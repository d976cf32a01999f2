"""benchmarks.planning: the tables have the files that they state, and plans of one partition and one key find them."""

import pytest

import paimon_core
from benchmarks.planning import create, partitions_of
from benchmarks.planning_side import main
from benchmarks.report.cells import exponent


@pytest.mark.parametrize("kind", ["keyed", "level-0", "append"])
def test_plans_of_a_created_table(tmp_path, kind):
    create(str(tmp_path), "t", kind, 30)
    table = paimon_core.open_catalog(str(tmp_path)).table("db.t")
    middle = partitions_of(30) // 2
    whole, one = (table.scan(where=where).plan for where in (None, paimon_core.col("p") == middle))
    assert (len(whole.files), whole.row_count, len(one.files)) == (30, 30_000, 6)
    assert set(main(str(tmp_path), "t", "whole", 5)) == {"cold", "warm", "memory", "imports"}
    assert set(main(str(tmp_path), "t", "key", 5)) == {"key", "imports"}


def test_the_exponent_of_a_quadratic_measure_is_two():
    assert exponent([(10, 0.1), (100, 10.0), (1000, 1000.0)]) == pytest.approx(2)
