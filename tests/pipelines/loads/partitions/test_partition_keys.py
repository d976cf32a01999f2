"""Partition keys: which keys a load accepts, and the times that they stand for."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from paimon_core.types import parse_type
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.tables.partitions import Partitions
from paimon_lake.loads.partitions.partition_keys import check_key, keys_of_values, window
from paimon_lake.protocol import PipelineError

NOW = datetime(2024, 2, 1, 4, 30, tzinfo=UTC)  # a Thursday; 5:30 in Berlin, 23:30 of the day before in New York


def by(kind: str, **more: object) -> Partitions:
    return Partitions.model_validate({"by": kind, "start": date(2023, 12, 1), **more})


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("day", "2024-1-5"),
        ("day", "2024-01-05 "),
        ("day", "2024-02-30"),
        ("hour", "2024-01-01-05:30"),
        ("hour", "2024-01-01-5:00"),
        ("week", "2024-01-03"),
        ("week", "2024-01-08"),
        ("week", "9999-12-26"),
        ("month", "2024-1"),
        ("month", "9999-12"),
        ("month", "1-01"),
    ],
)
def test_only_the_canonical_key_of_a_window_is_accepted(kind: str, key: str) -> None:
    with pytest.raises(PipelineError, match=rf"^ods\.t: {key!r} is no partition by {kind}; keys are like 2024-01"):
        window(by(kind), key, "ods.t")


@pytest.mark.parametrize(
    ("kind", "newest", "next_one"),
    [
        ("hour", "2024-02-01-03:00", "2024-02-01-04:00"),
        ("day", "2024-01-31", "2024-02-01"),
        ("week", "2024-01-21", "2024-01-28"),
        ("month", "2024-01", "2024-02"),
    ],
)
def test_a_partition_exists_when_it_has_ended_and_an_offset_adds_the_next(
    kind: str, newest: str, next_one: str
) -> None:
    check_key(by(kind), newest, "ods.t", NOW)
    with pytest.raises(PipelineError, match=rf"^ods\.t has no partition {next_one} yet: the {kind} ends at 2024-0"):
        check_key(by(kind), next_one, "ods.t", NOW)
    check_key(by(kind, end_offset=1), next_one, "ods.t", NOW)
    with pytest.raises(PipelineError, match="yet"):
        check_key(by(kind, end_offset=-1), newest, "ods.t", NOW)


def test_a_day_ends_in_its_time_zone() -> None:
    check_key(by("day", timezone="Europe/Berlin"), "2024-01-31", "ods.t", NOW)
    with pytest.raises(PipelineError, match="ends at 2024-02-01 00:00:00 in America/New_York"):
        check_key(by("day", timezone="America/New_York"), "2024-01-31", "ods.t", NOW)


def test_windows_have_their_begin_and_end() -> None:
    assert window(by("month"), "2023-12", "t") == (datetime(2023, 12, 1), datetime(2024, 1, 1))
    assert window(by("week"), "2024-01-07", "t") == (datetime(2024, 1, 7), datetime(2024, 1, 14))
    assert window(by("hour"), "2024-01-31-23:00", "t") == (datetime(2024, 1, 31, 23), datetime(2024, 2, 1))


def time_parts(by: str, column: str = "at", zone: str = "UTC") -> Partitions:
    return Partitions.model_validate({"by": by, "start": date(2023, 12, 1), "column": column, "timezone": zone})


@pytest.mark.parametrize(
    ("kind", "values", "given", "wanted", "expected"),
    [
        ("DATE", [date(2024, 1, 31), None, date(2024, 2, 1)], "day", "day", {"2024-01-31", "2024-02-01"}),
        ("DATE", [date(2024, 2, 29)], "day", "month", {"2024-02"}),
        ("DATE", [date(2024, 1, 6), date(2024, 1, 7)], "day", "week", {"2023-12-31", "2024-01-07"}),
        ("TIMESTAMP(3)", [datetime(2024, 1, 31, 5, 59, 59)], "hour", "hour", {"2024-01-31-05:00"}),
        ("TIMESTAMP(9)", [datetime(2024, 1, 31, 5, 59, 59)], "hour", "day", {"2024-01-31"}),
        ("STRING", ["2024-01-31", "unknown", "", "2024-01-31x"], "day", "month", {"2024-01"}),
        ("STRING", ["2024-01-31-05:00"], "hour", "day", {"2024-01-31"}),
        ("STRING", ["eu", None, "us"], "dynamic", "dynamic", {"eu", "us"}),
        ("INT", [1, 12], "dynamic", "dynamic", {"1", "12"}),
    ],
)
def test_the_keys_of_values_are_those_of_the_partitions_that_read_the_rows(
    kind: str, values: list[object], given: str, wanted: str, expected: set[str]
) -> None:
    parts = Partitions(by=given, column="at") if given == "dynamic" else time_parts(given)
    table = spec_with(kind, parts)
    field = parse_type(kind)
    array = pa.array(values, field.to_arrow())
    asked = Partitions(by=wanted, column="at") if wanted == "dynamic" else time_parts(wanted)
    assert keys_of_values(array, field.root, table, asked, None) == expected
    among = sorted(expected)[:1]
    assert keys_of_values(array, field.root, table, asked, among) == set(among)


def test_the_keys_of_times_with_zone_are_those_of_the_zone_of_the_partitions() -> None:
    parts = time_parts("day", zone="Europe/Berlin")
    kind = parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE")
    values = pa.array([datetime(2024, 1, 31, 23, 30)], kind.to_arrow())
    assert keys_of_values(values, kind.root, spec_with(str(kind), parts), parts, None) == {"2024-02-01"}


def test_a_key_that_is_written_in_another_way_is_compared_as_a_value() -> None:
    parts = Partitions(by="static", values=("01", "02"), column="at")
    kind = parse_type("INT")
    assert keys_of_values(pa.array([1]), kind.root, spec_with("INT", parts), parts, ["01", "02"]) == {"01"}


def spec_with(kind: str, parts: Partitions) -> TableSpec:
    return TableSpec(name="shop.t", columns={"at": kind}, natural_key=("at",), partitions=parts)
