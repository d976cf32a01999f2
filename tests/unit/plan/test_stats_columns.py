"""Statistics of many files as columns."""

from paimon_core.plan.stats_columns import _triples
from paimon_core.types import parse_type


def test_a_negative_number_of_nulls_is_unknown():
    assert _triples([1, 3], [2, 4], [-1, 0], parse_type("INT")) == [(1, 2, None), (3, 4, 0)]
