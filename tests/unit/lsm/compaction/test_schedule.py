import pytest

from paimon_core.lsm.compaction.schedule import EarlyFull, Moment, OffPeak
from paimon_core.lsm.levels import Levels
from paimon_core.options import TableOptions
from tests.support.lsm_files import data_file

TWO = Levels.of([data_file("a", size=60), data_file("b", size=40, level=5)], 6)
ONE = Levels.of([data_file("a", size=60)], 6)
NONE = Levels.of([], 6)


@pytest.mark.parametrize(
    ("early", "levels", "moment", "expected"),
    [
        (EarlyFull(), TWO, Moment(1000, 0), False),
        (EarlyFull(interval_millis=10), TWO, Moment(1000, 0), True),  # never compacted
        (EarlyFull(interval_millis=10), TWO, Moment(1000, 0, 990), False),  # the interval has not passed
        (EarlyFull(interval_millis=10), TWO, Moment(1000, 0, 989), True),
        (EarlyFull(interval_millis=10), ONE, Moment(1000, 0), False),  # one run, wherever it is
        (EarlyFull(interval_millis=10), NONE, Moment(1000, 0), False),
        (EarlyFull(total_bytes=100), TWO, Moment(0, 0), False),
        (EarlyFull(total_bytes=101), TWO, Moment(0, 0), True),
        (EarlyFull(incremental_bytes=60), TWO, Moment(0, 0), False),  # the last level does not count
        (EarlyFull(incremental_bytes=59), TWO, Moment(0, 0), True),
        (EarlyFull(10, 100, 59), TWO, Moment(1000, 0, 1000), True),  # each by itself
    ],
)
def test_early_full_compactions(early, levels, moment, expected):
    assert early.calls_for(levels, moment) is expected


@pytest.mark.parametrize(
    ("off_peak", "hours"),
    [
        (OffPeak(2, 5, 9), {2, 3, 4}),
        (OffPeak(22, 2, 9), {22, 23, 0, 1}),
        (OffPeak(0, 23, 9), set(range(23))),
        (OffPeak(3, 3, 9), set()),
        (OffPeak(-1, 3, 9), set()),
        (OffPeak(3, -1, 9), set()),
    ],
)
def test_off_peak_hours(off_peak, hours):
    assert {hour for hour in range(24) if off_peak.ratio_at(hour)} == hours
    assert {off_peak.ratio_at(hour) for hour in hours} <= {9}


def test_of_options():
    assert EarlyFull.of(TableOptions.parse({})) == EarlyFull()
    assert OffPeak.of(TableOptions.parse({})) == OffPeak()
    given = {
        "compaction.optimization-interval": "1 min",
        "compaction.total-size-threshold": "1 kb",
        "compaction.incremental-size-threshold": "2 kb",
        "compaction.offpeak.start.hour": "1",
        "compaction.offpeak.end.hour": "4",
        "compaction.offpeak-ratio": "30",
    }
    assert EarlyFull.of(TableOptions.parse(given)) == EarlyFull(60_000, 1024, 2048)
    assert OffPeak.of(TableOptions.parse(given)) == OffPeak(1, 4, 30)
