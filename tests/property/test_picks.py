"""Any bucket and any options: what a pick must never do, and that repeated picks end."""

from hypothesis import given
from hypothesis import strategies as st

from paimon_core.lsm.compaction.read_bound import ReadBound
from paimon_core.lsm.compaction.schedule import EarlyFull, Moment, OffPeak
from paimon_core.lsm.compaction.strategy import Level0, Strategy
from paimon_core.lsm.compaction.universal import UniversalCompaction
from tests.support.lsm_files import bucket, byte_order

SIZES = st.one_of(st.integers(1, 9), st.integers(1, 10**12))
STRATEGIES = st.builds(
    Strategy,
    st.builds(UniversalCompaction, st.integers(1, 7), st.integers(0, 400), st.integers(0, 200)),
    st.builds(EarlyFull, *[st.none() | st.integers(0, 10**6)] * 3),
    st.builds(OffPeak, st.integers(-1, 23), st.integers(-1, 23), st.integers(0, 100)),
    st.sampled_from(Level0),
    st.none() | st.builds(ReadBound, st.integers(0, 30)),
)
MOMENTS = st.builds(Moment, st.integers(0, 10**6), st.integers(0, 23), st.none() | st.integers(0, 10**6))


@st.composite
def buckets(draw):
    runs = [(0, size) for size in draw(st.lists(SIZES, max_size=9))]
    num_levels = draw(st.integers(2, 9))
    runs += [(level, draw(SIZES)) for level in sorted(draw(st.sets(st.integers(1, num_levels - 1))))]
    return bucket(*runs, num_levels=num_levels)


@given(STRATEGIES, buckets(), MOMENTS, st.booleans())
def test_a_pick_takes_the_newest_runs_to_where_nothing_older_is_passed(strategy, levels, moment, overdue):
    unit = strategy.pick(levels, moment, overdue=overdue, key_order=byte_order)
    if unit is None:
        assert len(levels.runs) <= strategy.universal.compaction_trigger
        return
    taken = len(levels.runs) - unit.runs_left
    left = levels.runs[taken:]
    assert unit.files == tuple(file for run in levels.runs[:taken] for file in run.files)
    assert 1 <= unit.output_level <= levels.max_level
    assert all(run.level > unit.output_level for run in left)
    assert unit.is_bottom == (unit.output_level == levels.max_level) == unit.drop_delete
    assert taken > 1 or unit.files[0].level != unit.output_level


@given(STRATEGIES, buckets(), MOMENTS)
def test_picks_come_to_an_end(strategy, levels, moment):
    for _ in range(20):
        unit = strategy.pick(levels, moment, key_order=byte_order)
        if unit is None:
            break
        left = [(run.level, run.size) for run in levels.runs[len(levels.runs) - unit.runs_left :]]
        merged = (unit.output_level, sum(f.file_size for f in unit.files))
        levels = bucket(merged, *left, num_levels=levels.num_levels)
    assert strategy.pick(levels, moment, key_order=byte_order) is None
