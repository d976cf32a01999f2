import time

import pytest

from paimon_core.metadata.times.local_time import epoch_millis, local_millis


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_creation_times_are_local_wall_time(berlin):
    hour = 3_600_000
    winter, summer = 1_704_110_400_000, 1_719_828_000_000  # 2024-01-01 12:00 and 2024-07-01 10:00, UTC
    assert epoch_millis(winter + hour + 7) == winter + 7
    assert epoch_millis(summer + 2 * hour) == summer
    assert [local_millis(winter + 7), local_millis(summer)] == [winter + hour + 7, summer + 2 * hour]


def test_a_time_outside_of_the_calendar_is_unknown():
    assert epoch_millis(2**80) is None
    assert local_millis(-(2**63)) < 0 < local_millis(2**63 - 1)
