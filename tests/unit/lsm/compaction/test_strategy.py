import pytest

from paimon_core.lsm.compaction.schedule import EarlyFull, Moment, OffPeak
from paimon_core.lsm.compaction.strategy import Level0, Strategy, gentle_interval, needs_lookup, stop_trigger
from paimon_core.lsm.compaction.universal import UniversalCompaction
from paimon_core.options import TableOptions
from tests.support.lsm_files import bucket

NOON = Moment(0, 12)


def picked(strategy, levels, moment=NOON, **named):
    unit = strategy.pick(levels, moment, **named)
    return None if unit is None else ([f.file_size for f in unit.files], unit.output_level)


def of(**options):
    return Strategy.of(TableOptions.parse({k.replace("_", "-"): v for k, v in options.items()}))


def test_the_universal_rule_alone():
    assert picked(Strategy(), bucket((0, 1), (0, 1), (0, 1), (0, 1))) is None
    assert picked(Strategy(), bucket((0, 1), (0, 1), (0, 1), (0, 1), (5, 1))) == ([1] * 5, 5)


def test_an_early_full_compaction_comes_first():
    strategy = Strategy(early=EarlyFull(incremental_bytes=1))
    assert picked(strategy, bucket((0, 1), (0, 1), (5, 99))) == ([1, 1, 99], 5)
    assert picked(strategy, bucket((0, 1), (5, 99))) is None
    assert picked(strategy, bucket((0, 9))) is None


def test_off_peak_hours_widen_the_ratio():
    strategy = Strategy(UniversalCompaction(3, 1000), off_peak=OffPeak(12, 13, 50))
    levels = bucket((0, 100), (2, 140), (3, 9999))
    assert picked(strategy, levels) == ([100, 140], 2)
    assert picked(strategy, levels, Moment(0, 13)) is None


def test_level_0_always_goes_up_when_forced():
    forced = Strategy(level_0=Level0.ALWAYS)
    assert picked(forced, bucket((0, 7))) == ([7], 5)
    assert picked(forced, bucket((0, 1), (5, 7))) == ([1], 4)
    assert picked(forced, bucket((0, 1), (0, 9), (1, 99), (2, 999))) == ([1, 9, 99], 1)
    assert picked(forced, bucket((0, 5), (3, 5), (5, 99))) == ([5, 5], 4)  # of similar size: it joins
    assert picked(forced, bucket((5, 7))) is None
    assert picked(forced, bucket()) is None


def test_with_gentle_compaction_level_0_waits_until_it_is_overdue():
    gentle = Strategy(level_0=Level0.WHEN_OVERDUE)
    assert picked(gentle, bucket((0, 1), (5, 7))) is None
    assert picked(gentle, bucket((0, 1), (5, 7)), overdue=True) == ([1], 4)
    assert picked(Strategy(), bucket((0, 1), (5, 7)), overdue=True) is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Level0.WHEN_PICKED),
        ({"compaction.force-up-level-0": "true"}, Level0.ALWAYS),
        ({"merge_engine": "first-row"}, Level0.ALWAYS),
        ({"changelog_producer": "lookup"}, Level0.ALWAYS),
        ({"changelog_producer": "full-compaction"}, Level0.WHEN_PICKED),
        ({"force_lookup": "true"}, Level0.ALWAYS),
        ({"force_lookup": "true", "lookup_compact": "gentle"}, Level0.WHEN_OVERDUE),
        ({"lookup_compact": "gentle"}, Level0.WHEN_PICKED),
        ({"lookup_compact": "gentle", "compaction.force-up-level-0": "true"}, Level0.ALWAYS),
    ],
)
def test_which_tables_force_level_0(options, expected):
    strategy = of(**options)
    assert strategy.level_0 is expected
    assert needs_lookup(TableOptions.parse({k.replace("_", "-"): v for k, v in options.items()})) == bool(
        {"merge_engine", "force_lookup"} & options.keys() or options.get("changelog_producer") == "lookup"
    )


def test_bounds_that_follow_the_trigger():
    assert [f(TableOptions.parse({})) for f in (gentle_interval, stop_trigger)] == [10, 8]
    given = {
        "num-sorted-run.compaction-trigger": "4",
        "lookup-compact.max-interval": "6",
        "num-sorted-run.stop-trigger": "5",
    }
    assert [f(TableOptions.parse(given)) for f in (gentle_interval, stop_trigger)] == [6, 5]
    given |= {"lookup-compact.max-interval": "2", "num-sorted-run.stop-trigger": "1"}
    assert [f(TableOptions.parse(given)) for f in (gentle_interval, stop_trigger)] == [4, 4]
