"""Loads that replace partitions."""

from __future__ import annotations

import pytest

from paimon_lake.protocol import PipelineError
from tests.support.lakes import SmallLake

DAYS = """
    columns: {day: DATE, id: BIGINT}
    natural_key: id
    partition_by: day
    mode: overwrite-partitions
    source: {type: files, path: "in/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-31, column: day}
"""


def test_rows_of_another_partition_than_that_of_their_file_are_refused_by_table_and_rule(quick: SmallLake) -> None:
    quick.declare("shop.days", DAYS)
    quick.file("in/2024-01-01.csv", "day,id\n2024-01-01,1\n2024-01-02,2\n")
    with pytest.raises(PipelineError, match=r"^shop\.days: .*'day=19724', which it does not replace; a load replaces"):
        quick.load("shop.days")
    assert quick.rows("shop.days") == []
