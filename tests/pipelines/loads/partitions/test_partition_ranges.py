"""The keys of ranges of partitions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from paimon_lake.declarations import TableSpec
from paimon_lake.loads.partitions.partition_ranges import Asked, asked_keys
from paimon_lake.protocol import PipelineError

NOW = datetime(2024, 3, 3, 12, tzinfo=UTC)


def spec(**partitions: Any) -> TableSpec:
    values = {"columns": {"id": "INT", "of_day": "STRING"}, "primary_key": "id"}
    source = {"type": "files", "path": "{date}.csv"}
    divided = {"partitions": {"start": "2024-01-01", "column": "of_day", **partitions}} if partitions else {}
    return TableSpec.model_validate({"name": "shop.orders", **values, "source": source, **divided})


def keys(by: str, *texts: str, since: str | None = None, until: str | None = None, **more: Any) -> list[str] | None:
    return asked_keys(spec(by=by, **more), Asked(texts, since, until), NOW)


def test_days() -> None:
    assert keys("day", "2024-01-30..2024-02-01") == ["2024-01-30", "2024-01-31", "2024-02-01"]
    assert keys("day", "day=2024-01-03", "of_day=2024-01-01..2024-01-02") == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert keys("day", "2024-01-02..2024-01-02", "2024-01-02") == ["2024-01-02"]
    assert keys("day", since="2024-03-01") == ["2024-03-01", "2024-03-02"]
    assert keys("day", until="2024-01-02") == ["2024-01-01", "2024-01-02"]
    assert keys("day", "2024-01-03..", end="2024-01-04") == ["2024-01-03", "2024-01-04"]
    assert keys("day", "2024-03-02..", end_offset=1) == ["2024-03-02", "2024-03-03"]
    assert len(keys("day", "..") or ()) == 62
    assert keys("day") is None


def test_other_partitions_by_time() -> None:
    assert keys("month", "..") == ["2024-01", "2024-02"]
    assert keys("month", "..2024-02", start="2023-12-02") == ["2024-01", "2024-02"]
    assert keys("week", "..2024-01-14") == ["2024-01-07", "2024-01-14"]
    assert keys("week", "2024-02-18..") == ["2024-02-18", "2024-02-25"]
    assert keys("hour", since="2024-01-01-23:00", until="2024-01-02-01:00") == [
        "2024-01-01-23:00",
        "2024-01-02-00:00",
        "2024-01-02-01:00",
    ]


@pytest.mark.parametrize(
    ("by", "texts", "since", "message"),
    [
        ("day", ["2024-01-05..2024-01-02"], None, "the range 2024-01-05..2024-01-02 is empty: it ends before"),
        ("day", ["2023-12-31..2024-01-02"], None, "has no partition 2023-12-31: its partitions run from 2024-01-01"),
        ("day", ["2024-03-01..2024-03-03"], None, "has no partition 2024-03-03 yet"),
        ("day", ["2024-01..2024-02"], None, "'2024-01' is no partition by day"),
        ("month", ["2024-01-01..2024-02"], None, "'2024-01-01' is no partition by month; keys are like 2024-01"),
        ("day", ["month=2024-01-01"], None, "names 'month': its partitions are of_day or day"),
        ("day", [], "2024-02-30", "'2024-02-30' is no partition by day"),
        ("day", ["2024-01-01...2024-01-02"], None, "'.2024-01-02' is no partition by day"),
    ],
)
def test_wrong_ranges_are_refused(by: str, texts: list[str], since: str | None, message: str) -> None:
    with pytest.raises(PipelineError, match=f"shop.orders.*{message}"):
        keys(by, *texts, since=since)


def test_no_partition_exists_yet() -> None:
    with pytest.raises(PipelineError, match=r"shop.orders has no partition yet: the first begins at 2024-04-01"):
        keys("day", "..", start="2024-04-01")


def test_partitions_that_are_not_times_are_taken_as_they_are() -> None:
    values = {"columns": {"id": "INT"}, "primary_key": "id", "source": {"type": "files", "path": "{name}.csv"}}
    one = TableSpec.model_validate(
        {"name": "shop.orders", **values, "partitions": {"by": "static", "values": ["a..b", "x=1"]}}
    )
    assert asked_keys(one, Asked(("x=1", "a..b"))) == ["a..b", "x=1"]
    with pytest.raises(PipelineError, match=r"--from and --to need partitions by time, and these are static"):
        asked_keys(one, Asked(since="a..b"))
    with pytest.raises(PipelineError, match=r"shop.orders has no partitions"):
        asked_keys(spec(), Asked(("x",)))
