"""Partition keys: which keys a load accepts, and the times that they stand for."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from pipelines.lake.partitions import Partitions
from pipelines.load.partition_keys import check_key, window
from pipelines.protocol import PipelineError

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
