import dataclasses
import json

from paimon_lake.protocol import LevelSize, StepResult, level_changes

RESULT = StepResult(
    step="load",
    table="shop.orders",
    snapshot_id=3,
    row_count=10,
    rows_written=25,
    commits=(1, 2, 3),
    levels_before={},
    levels_after={0: LevelSize(3, 25, 900)},
    seconds=1.5,
)


def test_a_result_is_json() -> None:
    value = json.loads(RESULT.to_json())
    assert value["table"] == "shop.orders"
    assert value["files"] == 3
    assert value["levels_after"] == {"0": {"files": 3, "rows": 25, "size_bytes": 900}}


def test_a_result_is_a_sentence() -> None:
    assert RESULT.sentence() == "load shop.orders: 25 rows written; 10 rows visible, snapshot 3, 3 files, 1.5 s"
    rejected = dataclasses.replace(RESULT, details={"rows_rejected": 1200})
    assert rejected.sentence().startswith("load shop.orders: 25 rows written, 1,200 rejected; ")
    skipped = dataclasses.replace(RESULT, commits=(), skipped=("2 files loaded before",))
    assert skipped.sentence().startswith("load shop.orders: 2 files loaded before, nothing written; ")


def test_rows_that_were_not_counted_are_not_in_the_sentence() -> None:
    uncounted = dataclasses.replace(RESULT, row_count=None)
    assert uncounted.sentence() == "load shop.orders: 25 rows written; snapshot 3, 3 files, 1.5 s"
    assert json.loads(uncounted.to_json())["row_count"] is None


def test_level_changes_name_every_level_once() -> None:
    empty, one = LevelSize(0, 0, 0), LevelSize(1, 10, 500)
    after = dataclasses.replace(RESULT, levels_before=RESULT.levels_after, levels_after={5: one})
    assert level_changes(after) == [(0, LevelSize(3, 25, 900), empty), (5, empty, one)]
