"""Configured expiry: what the options request runs after a write, and on demand as a dry run."""

from __future__ import annotations

import pytest

from paimon_core.errors import CorruptTable, InvalidOption
from paimon_core.maintain.expiry.configured import expire_due
from paimon_core.table.writes.after_commit import maintain
from tests.support.fake_tables import append, fake_table

FAILING = {
    "partition.expiration-time": "1 d",
    "partition.expiration-check-interval": "0 s",
    "partition.timestamp-formatter": "yyyy-MM-dd]",
}
"""The expiry of partitions fails."""


def table_with_bad_consumer(**options):
    """Return a table whose expiry of snapshots fails, because a consumer file cannot be read."""
    context = fake_table(**options)
    append(context, now_millis=1)
    append(context, now_millis=2)
    context.storage.overwrite(context.paths.consumer("torn"), b"{")
    return context


def test_when_two_steps_fail_the_first_error_is_raised_with_the_second_as_note():
    context = table_with_bad_consumer(**FAILING)
    with pytest.raises(InvalidOption, match="has no matching") as caught:
        expire_due(context, now_millis=10**12)
    (note,) = caught.value.__notes__
    assert note.startswith("a later step failed too: ")
    assert context.paths.consumer("torn") in note


def test_when_only_the_last_step_fails_its_error_is_raised():
    with pytest.raises(CorruptTable, match="consumer-torn"):
        expire_due(table_with_bad_consumer(), now_millis=10**12)


def test_the_log_after_a_commit_names_both_errors(caplog):
    context = table_with_bad_consumer(**FAILING)
    maintain(context, context.snapshots.latest(), written=[])
    assert "has no matching" in caplog.text
    assert "a later step failed too" in caplog.text
