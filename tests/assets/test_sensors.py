import pytest

from assets.sensors import Decision, decide
from pipelines.lake import Compaction, TableSpec


@pytest.fixture
def spec() -> TableSpec:
    marks = Compaction(start_at_runs=4, stop_at_runs=2)
    return TableSpec(name="ods.orders", columns={"id": "BIGINT"}, primary_key=("id",), compaction=marks)


@pytest.mark.parametrize(
    ("runs", "pressed", "in_flight", "expected"),
    [
        (3, False, False, (False, None)),  # below the upper mark: nothing yet
        (4, False, False, (True, False)),  # at it: a minor compaction
        (12, False, False, (True, True)),  # far above it: a full one
        (3, True, False, (True, True)),  # the minor one left it above the lower mark: a full one
        (2, True, False, (False, None)),  # down to the lower mark: released
        (9, False, True, (False, None)),  # one is under way
        (9, True, True, (True, None)),
    ],
)
def test_the_rule(spec: TableSpec, runs: int, pressed: bool, in_flight: bool, expected: tuple[bool, bool]) -> None:
    decision = decide(spec, runs, pressed=pressed, in_flight=in_flight)
    assert (decision.pressed, decision.full) == expected


def test_a_compaction_that_readers_wait_for_comes_below_the_marks(spec: TableSpec) -> None:
    decision = decide(spec, 1, pressed=False, in_flight=False, awaited=True)
    assert (decision.pressed, decision.full) == (False, False)
    assert decide(spec, 1, pressed=False, in_flight=True, awaited=True).full is None
    assert decide(spec, 12, pressed=False, in_flight=False, awaited=True).full is True


def test_the_reason_names_table_and_runs(spec: TableSpec) -> None:
    assert decide(spec, 1, pressed=False, in_flight=False) == Decision(False, None, "ods.orders: 1 runs (from 4 on)")
