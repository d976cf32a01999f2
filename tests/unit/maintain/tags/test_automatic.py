"""Automatic tags: which snapshot gets which tag, and how many tags are kept."""

import datetime
import time

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.maintain.tags.automatic import create_and_expire_tags, create_due_tags
from paimon_core.maintain.tags.operations import create_tag, delete_tag
from tests.support.fake_tables import append, check_whole, expire_all, fake_table, reopened
from tests.support.faulty_storage import Died, FaultyStorage

BY_TIME = {"tag.automatic-creation": "process-time", "sink.process-time-zone": "UTC"}
HOURLY = {**BY_TIME, "tag.creation-period": "hourly"}


def millis(text):
    return int(datetime.datetime.fromisoformat(f"{text}+00:00").timestamp() * 1000)


def table(options, *times):
    """A table with a snapshot at each of these times, in UTC."""
    context = fake_table(keyed=False, **options)
    for text in times:
        append(context, now_millis=millis(text))
    return context


def tags(context):
    return {t.name: t.snapshot.id for t in context.tags.list()}


def test_the_first_snapshot_after_a_period_is_tagged_with_its_name():
    context = table(HOURLY, "2024-01-15T10:10", "2024-01-15T10:50", "2024-01-15T11:00", "2024-01-15T11:20")
    assert [t.name for t in create_due_tags(context)] == ["2024-01-15 09", "2024-01-15 10"]
    assert tags(context) == {"2024-01-15 09": 1, "2024-01-15 10": 3}
    assert create_due_tags(context) == []
    append(context, now_millis=millis("2024-01-15T14:30"))
    create_due_tags(context)
    assert tags(context) == {"2024-01-15 09": 1, "2024-01-15 10": 3, "2024-01-15 13": 5}


def test_3457_missed_periods_are_tagged_one_for_each_snapshot():
    options = {**HOURLY, "tag.automatic-completion": "true"}
    times = ["2024-01-15T10:10", "2024-01-15T14:30", "2024-01-15T14:31", "2024-01-15T14:32", "2024-01-15T14:33"]
    context = table(options, *times)
    create_due_tags(context)
    assert tags(context) == {f"2024-01-15 {9 + n:02d}": n + 1 for n in range(5)}


def test_a_snapshot_within_the_creation_delay_still_belongs_to_its_period():
    options = {**HOURLY, "tag.creation-delay": "10 min"}
    context = table(options, "2024-01-15T10:10", "2024-01-15T11:09:59.999", "2024-01-15T11:10")
    create_due_tags(context)
    assert tags(context) == {"2024-01-15 09": 1, "2024-01-15 10": 3}


def test_a_delay_as_long_as_the_period_is_refused():
    context = table({**HOURLY, "tag.creation-delay": "1 h"}, "2024-01-15T10:10")
    with pytest.raises(InvalidRequest, match=r"tag\.creation-delay \(3600000 ms\) must be less than the period"):
        create_due_tags(context)


def test_watermark_tags_are_named_in_the_configured_time_zone():
    options = {"tag.automatic-creation": "watermark", "sink.watermark-time-zone": "Asia/Shanghai"}
    context = fake_table(**options)
    append(context)
    append(context, watermark=-(2**63))
    append(context, watermark=millis("2024-01-15T15:59"))
    append(context, watermark=millis("2024-01-15T16:01"))
    create_due_tags(context)
    assert tags(context) == {"2024-01-14": 3, "2024-01-15": 4}


def test_the_time_zone_of_this_process_is_the_default(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        context = table({"tag.automatic-creation": "process-time"}, "2024-01-16T04:59", "2024-01-16T05:00")
        create_due_tags(context)
        assert tags(context) == {"2024-01-14": 1, "2024-01-15": 2}
    finally:
        monkeypatch.undo()
        time.tzset()


def test_expired_snapshots_are_skipped():
    """Known bug 2262: the next snapshot to check had expired, and no more tags were created."""
    context = table(HOURLY, "2024-01-15T10:10")
    create_due_tags(context)
    for text in ("2024-01-15T10:20", "2024-01-15T10:30", "2024-01-15T11:30"):
        append(context, now_millis=millis(text))
    context.snapshots.delete([1, 2, 3])
    create_due_tags(context)
    assert tags(context) == {"2024-01-15 09": 1, "2024-01-15 10": 4}


def test_3398_a_tag_created_by_hand_does_not_count_as_automatic():
    context = table(HOURLY, "2024-01-15T10:10")
    create_tag(context, "2024-01-15", context.snapshots.read(1))
    create_tag(context, "release", context.snapshots.read(1))
    create_due_tags(context)
    assert tags(context) == {"2024-01-15": 1, "release": 1, "2024-01-15 09": 1}


def test_4869_only_the_oldest_automatic_tags_are_deleted():
    options = {**HOURLY, "tag.num-retained-max": "2"}
    context = table(options, "2024-01-15T10:10")
    create_tag(context, "mine", context.snapshots.read(1))
    create_due_tags(context)
    for hour in (11, 12, 13):
        append(context, now_millis=millis(f"2024-01-15T{hour}:10"))
    create_due_tags(context)
    assert tags(context) == {"mine": 1, "2024-01-15 11": 3, "2024-01-15 12": 4}


def test_a_deleted_tag_is_not_created_again():
    context = table(HOURLY, "2024-01-15T10:10", "2024-01-15T11:10", "2024-01-15T12:10")
    create_due_tags(context)
    delete_tag(context, "2024-01-15 10")
    assert create_due_tags(context) == []
    assert tags(context) == {"2024-01-15 09": 1, "2024-01-15 11": 3}


def test_the_files_that_only_a_deleted_automatic_tag_used_are_deleted():
    options = {**HOURLY, "tag.num-retained-max": "1"}
    context = table(options, "2024-01-15T10:10")
    create_due_tags(context)
    expire_all(context)
    append(context, now_millis=millis("2024-01-15T11:10"))
    expire_all(context)
    create_due_tags(context)
    assert tags(context) == {"2024-01-15 10": 2}
    check_whole(context)


def test_automatic_tags_get_a_retention_and_expired_tags_are_deleted_at_a_later_commit():
    options = {**HOURLY, "tag.default-time-retained": "1 ms"}
    context = table(options, "2024-01-15T10:10")
    (made,) = create_due_tags(context)
    assert made.retained_millis == 1
    create_tag(context, "old", made.snapshot, 1, now_millis=1000)
    create_and_expire_tags(context, made.snapshot)
    assert "old" not in tags(context)


def test_commits_do_not_expire_tags_when_the_option_says_so():
    context = table({"tag.time-expire-enabled": "false"}, "2024-01-15T10:10")
    create_tag(context, "old", context.snapshots.read(1), 1, now_millis=1000)
    create_and_expire_tags(context, context.snapshots.read(1))
    assert tags(context) == {"old": 1}


def test_a_batch_tag_follows_the_writes_of_its_day():
    options = {"tag.automatic-creation": "batch", "sink.process-time-zone": "GMT+02:00"}
    context = table(options, "2024-01-15T21:30", "2024-01-15T22:30", "2024-01-15T23:30")
    for snapshot in (1, 2, 3):
        create_due_tags(context, context.snapshots.read(snapshot))
    assert tags(context) == {"batch-write-2024-01-15": 1, "batch-write-2024-01-16": 3}
    create_due_tags(context, context.snapshots.read(2))  # a repeated commit
    assert tags(context)["batch-write-2024-01-16"] == 3


def test_a_repeated_batch_write_leaves_its_tag_unchanged():
    context = table({**BY_TIME, "tag.automatic-creation": "batch"}, "2024-01-15T10:10")
    made = create_tag(context, "batch-write-2024-01-15", context.snapshots.read(1), 1000, now_millis=5)
    assert create_due_tags(context) == [made]
    assert context.tags.read(made.name).create_time_millis == 5


def test_a_batch_tag_may_have_a_name_of_its_own():
    options = {"tag.automatic-creation": "batch", "tag.batch.customized-name": "nightly", "tag.num-retained-max": "1"}
    context = table(options, "2024-01-15T10:10", "2024-01-16T10:10")
    create_tag(context, "mine", context.snapshots.read(1))
    assert [t.snapshot.id for t in create_due_tags(context)] == [2]
    append(context)
    create_due_tags(context)
    assert tags(context) == {"mine": 1, "nightly": 3}


def test_batch_tags_beyond_the_maximum_number_are_deleted():
    options = {**BY_TIME, "tag.automatic-creation": "batch", "tag.num-retained-max": "2"}
    context = table(options, *(f"2024-01-1{day}T10:10" for day in range(5)))
    create_tag(context, "mine", context.snapshots.read(1))
    for snapshot in context.snapshots.ids():
        create_due_tags(context, context.snapshots.read(snapshot))
    assert tags(context) == {"mine": 1, "batch-write-2024-01-13": 4, "batch-write-2024-01-14": 5}


def test_no_tag_is_created_without_the_option_or_without_snapshots():
    assert create_due_tags(table({}, "2024-01-15T10:10")) == []
    assert create_due_tags(table(HOURLY)) == []
    assert create_due_tags(table({"tag.automatic-creation": "batch"})) == []


@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_crashed_at_any_call_is_completed_by_the_next_one(after):
    times = ["2024-01-15T10:10", "2024-01-15T11:10", "2024-01-15T12:10"]
    for die_at in range(20):
        context = table({**HOURLY, "tag.num-retained-max": "2"}, *times)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            create_due_tags(reopened(context, storage))
        except Died:
            create_due_tags(context)
        assert tags(context) == {"2024-01-15 10": 2, "2024-01-15 11": 3} or storage.dead
        assert {"2024-01-15 10", "2024-01-15 11"} <= tags(context).keys()
        if not storage.dead:
            break
    assert die_at > 2
