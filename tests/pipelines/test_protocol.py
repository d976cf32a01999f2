import json
from datetime import date

import pytest

from pipelines.protocol import (
    LevelSize,
    PipelineError,
    StepResult,
    day_range,
    days_label,
    label,
    level_changes,
    months_of,
)

RESULT = StepResult(
    step="ingest-flights",
    table="ods.flights",
    snapshot_id=3,
    row_count=10,
    rows_written=25,
    commits=(1, 2, 3),
    levels_before={},
    levels_after={0: LevelSize(3, 25, 900)},
    seconds=1.5,
    rows_per_partition={"2013-01-31": 4, "2013-02-01": 5, "2013-02-02": 1},
)


def test_a_result_is_json() -> None:
    value = json.loads(RESULT.to_json())
    assert value["table"] == "ods.flights"
    assert value["files"] == 3
    assert value["levels_after"] == {"0": {"files": 3, "rows": 25, "size_bytes": 900}}


def test_a_result_is_a_sentence() -> None:
    assert RESULT.sentence() == ("ingest-flights ods.flights: 25 rows written; 10 rows, snapshot 3, 3 files, 1.5 s")


def test_days_sum_to_months() -> None:
    assert RESULT.per_month().rows_per_partition == {"2013-01": 4, "2013-02": 6}


def test_level_changes_name_every_level_once() -> None:
    empty, one = LevelSize(0, 0, 0), LevelSize(1, 10, 500)
    after = StepResult(**{**vars(RESULT), "levels_before": RESULT.levels_after, "levels_after": {5: one}})
    assert level_changes(after) == [(0, LevelSize(3, 25, 900), empty), (5, empty, one)]


def test_a_range_of_days_holds_both_ends() -> None:
    assert day_range(date(2013, 2, 27), date(2013, 3, 1)) == (date(2013, 2, 27), date(2013, 2, 28), date(2013, 3, 1))
    with pytest.raises(PipelineError, match="2013-01-01 lies before the first day 2013-01-02"):
        day_range(date(2013, 1, 2), date(2013, 1, 1))


def test_months_of_days() -> None:
    assert months_of([date(2013, 2, 1), date(2013, 1, 31), date(2013, 2, 2)]) == ("2013-01", "2013-02")


def test_labels_tell_ranges_with_gaps_apart() -> None:
    first, second, third, fourth = (date(2013, 1, day) for day in (1, 2, 3, 4))
    assert days_label([first]) == "2013-01-01"
    assert days_label([first, second, third]) == "2013-01-01..2013-01-03"
    gaps = {days_label([first, second, fourth]), days_label([first, third, fourth])}
    assert len(gaps) == 2
    assert "2013-01-01..2013-01-04" not in gaps
    assert label(["2013-01", "2013-02"], unbroken=True) == "2013-01..2013-02"
