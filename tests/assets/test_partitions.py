from typing import Any

import dagster as dg
import pytest

from paimon_dagster.partitions import mapping, partitions_def
from paimon_lake.declarations import SettingsError, TableSpec
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.loads.partitions.partition_keys import check_key

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")


def spec(name: str = "ods.t", read: str | None = None, **partitions: Any) -> TableSpec:
    return TableSpec.model_validate(
        {
            "name": name,
            "columns": {"id": "BIGINT"},
            "primary_key": ["id"],
            "source": SqlSource.model_validate({"type": "sql", "query": "select", "inputs": ["ods.in"], "read": read}),
            "partitions": partitions or None,
        }
    )


DAY, MONTH = {"by": "day", "start": "2024-01-01"}, {"by": "month", "start": "2024-01-01"}


def of(**partitions: Any) -> TableSpec:
    from datetime import date

    dates = {key: date.fromisoformat(value) for key, value in partitions.items() if key in ("start", "end")}
    return spec(**{**partitions, **dates})


@pytest.mark.parametrize(
    ("by", "timezone", "first", "last", "count"),
    [
        ("hour", "Asia/Kolkata", "2024-01-15-00:00", "2024-02-14-23:00", 31 * 24),
        ("day", "Europe/Berlin", "2024-01-15", "2024-02-14", 31),
        ("week", "Europe/Berlin", "2024-01-21", "2024-02-11", 4),
        ("month", "Europe/Berlin", "2024-02", "2024-02", 1),
    ],
)
def test_partitions_by_time_begin_between_the_first_and_the_last_day(
    by: str, timezone: str, first: str, last: str, count: int
) -> None:
    declared = of(by=by, start="2024-01-15", end="2024-02-14", timezone=timezone)
    made = partitions_def(declared)
    assert isinstance(made, dg.TimeWindowPartitionsDefinition)
    keys = made.get_partition_keys()
    assert (keys[0], keys[-1], len(keys)) == (first, last, count)
    assert made.timezone == timezone
    assert declared.partitions is not None
    for key in (keys[0], keys[-1]):
        check_key(declared.partitions, key, "ods.t")  # a load accepts them


def test_an_end_offset_adds_the_current_partition() -> None:
    from datetime import datetime

    now = datetime(2024, 1, 3, 12)
    keys = [
        partitions_def(of(by="day", start="2024-01-01", end_offset=offset)).get_partition_keys(current_time=now)  # type: ignore[union-attr]
        for offset in (0, 1)
    ]
    assert keys == [["2024-01-01", "2024-01-02"], ["2024-01-01", "2024-01-02", "2024-01-03"]]


def test_static_and_dynamic_partitions_and_none() -> None:
    static = partitions_def(spec(by="static", values=["de", "fr"]))
    assert static is not None
    assert static.get_partition_keys() == ["de", "fr"]
    dynamic = partitions_def(spec(by="dynamic"))
    assert isinstance(dynamic, dg.DynamicPartitionsDefinition)
    assert dynamic.name == "ods_t"
    assert partitions_def(spec()) is None


def test_a_month_needs_its_days() -> None:
    days, months = of(**DAY), of(**MONTH)
    found = mapping(days, months)
    assert isinstance(found, dg.TimeWindowPartitionMapping)
    upstream, downstream = partitions_def(days), partitions_def(months)
    assert upstream is not None
    assert downstream is not None
    needed = found.get_upstream_mapped_partitions_result_for_partitions(
        downstream.subset_with_partition_keys(["2024-02"]), downstream, upstream
    )
    keys = sorted(needed.partitions_subset.get_partition_keys())
    assert (keys[0], keys[-1], len(keys)) == ("2024-02-01", "2024-02-29", 29)


@pytest.mark.parametrize(
    ("of_input", "of_table", "expected"),
    [
        ({}, DAY, None),
        ({}, {}, None),
        (DAY, {}, dg.AllPartitionMapping),
        (DAY, DAY, dg.IdentityPartitionMapping),
        ({"by": "hour", "start": "2024-01-01"}, MONTH, dg.TimeWindowPartitionMapping),
        (DAY, {"by": "day", "start": "2024-03-01"}, dg.TimeWindowPartitionMapping),
        ({"by": "static", "values": ["a", "b"]}, {"by": "static", "values": ["a"]}, dg.IdentityPartitionMapping),
        ({"by": "dynamic"}, {"by": "dynamic"}, dg.IdentityPartitionMapping),
    ],
)
def test_mappings(of_input: dict[str, Any], of_table: dict[str, Any], expected: type | None) -> None:
    found = mapping(of(**of_input), of(**of_table))
    assert found is None if expected is None else type(found) is expected


def test_a_query_over_whole_inputs_needs_all_partitions() -> None:
    table = spec(read="whole", by="static", values=["a"])
    assert isinstance(mapping(of(**DAY), table), dg.AllPartitionMapping)


@pytest.mark.parametrize(
    ("of_input", "of_table", "why"),
    [
        (DAY, {"by": "dynamic"}, "they are dynamic and day"),
        (MONTH, DAY, "a day is not made of whole months"),
        ({"by": "static", "values": ["a"]}, {"by": "static", "values": ["a", "b"]}, "has no partition 'b'"),
        (DAY, {**DAY, "timezone": "Europe/Berlin"}, "their time zones are Europe/Berlin and UTC"),
    ],
)
def test_partitions_that_have_nothing_to_do_with_each_other_are_refused(
    of_input: dict[str, Any], of_table: dict[str, Any], why: str
) -> None:
    with pytest.raises(SettingsError, match=why):
        mapping(of(**of_input), of(**of_table))
