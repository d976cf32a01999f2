"""Files whose partition is not declared: a load of all partitions leaves them out and tells them."""

from __future__ import annotations

import pytest

from paimon_lake.checks import load_records
from tests.support.lakes import SmallLake

DAYS = """
    columns: {id: BIGINT}
    primary_key: [id]
    source: {type: files, path: "in/{date}.csv"}
    partitions: {by: day, start: 2024-01-02, end: 9999-01-31}
"""


def test_files_before_the_first_day_and_of_days_to_come_are_left_out(quick: SmallLake) -> None:
    quick.declare("log.days", DAYS)
    early, _ = (quick.file(f"in/2024-01-0{day}.csv", f"id\n{day}\n") for day in (1, 2))
    later = quick.file("in/9000-01-01.csv", "id\n9\n")
    found = quick.load("log.days")
    assert quick.rows("log.days") == [(2,)]
    assert [load.partitions for load in load_records(quick.table("log.days"))] == [1]
    assert found.details["files_outside_of_partitions"] == f"1: {early}"
    assert found.details["files_of_later_partitions"] == f"1: {later}"
    (why,) = quick.load("log.days").skipped
    assert why == (
        f"1 files loaded before, 1 left out, because their partitions are not declared ({early}), "
        f"1 left out, because their partitions do not exist yet ({later})"
    )


@pytest.mark.parametrize(
    ("said", "rows"), [("{by: static, values: [a]}", [(1,)]), ("dynamic", [(1,), (2,)]), ("none", [(1,), (2,)])]
)
def test_only_static_partitions_have_others(quick: SmallLake, said: str, rows: list[tuple[int]]) -> None:
    text = DAYS.replace("{by: day, start: 2024-01-02, end: 9999-01-31}", said)
    quick.declare("log.shops", text.replace("{date}", "*" if said == "none" else "{s}"))
    quick.file("in/a.csv", "id\n1\n")
    quick.file("in/b.csv", "id\n2\n")
    quick.load("log.shops")
    assert quick.rows("log.shops") == rows
