"""benchmarks.lake_year: the model agrees with the library on small cases, and a small run writes its reports."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from benchmarks import lake_year
from benchmarks.lake_policies import full, tier, usual
from benchmarks.lake_state import NUM_LEVELS, TARGET_BYTES, Run, State, pick
from benchmarks.lake_workload import MIB, Workload
from paimon_core.compact.append import pick_append
from paimon_core.health.cost import needed_cost, scan_cost
from paimon_core.health.file_requests import file_requests
from paimon_core.health.layout import Layout
from paimon_core.lsm.compaction.universal import UniversalCompaction
from paimon_core.options import TableOptions
from tests.support.lsm_files import bucket, data_file


def lake(commits, *, keyed=True, initial=0.0, new=1.0):
    sizes = np.array([commits], np.float32)
    return State(Workload(np.array([keyed]), np.array([initial]), np.array([new]), np.ones(1), sizes))


def committed(state):
    for _ in range(state.lake.hours):
        state.commit()
    return state


@pytest.mark.parametrize("seed", range(40))
def test_the_picks_are_those_of_the_library(seed):
    rng = np.random.default_rng(seed)
    runs = [(0, int(size)) for size in rng.integers(1, 50, rng.integers(0, 9))]
    runs += [(level, int(rng.integers(1, 200))) for level in range(1, NUM_LEVELS) if rng.random() < 0.5]
    unit = UniversalCompaction().pick(bucket(*runs, num_levels=NUM_LEVELS))
    expected = None if unit is None else (len(runs) - unit.runs_left, unit.output_level)
    if unit is not None and len(unit.files) == 1 and unit.files[0].level == unit.output_level:
        expected = None
    assert pick([Run.of(*run) for run in runs]) == expected


def one_bucket(state):
    size, files, runs = int(state.size[0]), int(state.files[0]), int(state.runs[0])
    requests = file_requests(np.array([100 * MIB] * 3 + [3 * MIB, 5000, 2 * MIB]), "parquet").sum()
    values = [0, 0, 1, files, size, 0, 0, runs, size if runs > 1 else 0, -(-int(state.live[0]) // TARGET_BYTES)]
    values += [0, 0, int(state.tail[0]), size, requests, 0]
    return Layout([b""], *(np.array([value]) for value in values), file_format="parquet")


def test_costs_are_those_of_the_library():
    state = committed(lake([3 * MIB, 0, 5000, 2 * MIB], initial=300.0 * MIB))
    layout = one_bucket(state)
    assert (state.files[0], state.runs[0]) == (6, 4)
    assert state.cost()[0] == scan_cost(layout, []).weight
    assert state.needed()[0] == needed_cost(layout, 0).weight
    work = full(state, 0)
    before = state.cost()[0]
    state.merge(0, 0, 4, NUM_LEVELS - 1)
    assert state.cost()[0] == pytest.approx(state.needed()[0], rel=1e-9)
    # The candidate leaves out the ends of files, 64 KiB each, which are read twice.
    assert before - state.cost()[0] == pytest.approx(work.saved, abs=6 * 65536)


def test_replaced_rows_leave_a_table_when_runs_are_merged():
    state = committed(lake([8 * MIB] * 6, initial=16.0 * MIB, new=0.0))
    work = usual(state, 0)
    assert (work.count, work.moved) == (-1, 80 * MIB)  # the new runs exceed 200 % of the oldest
    state.merge(0, 0, 3, 1)
    assert 8 * MIB < state.run_list(0)[0].size < 16 * MIB
    assert state.size[0] == pytest.approx(sum(run.size for run in state.run_list(0)))
    state.merge(0, 0, 5, 5)
    assert (state.size[0], state.files[0], state.runs[0]) == (16 * MIB, 1, 1)


@pytest.mark.parametrize(("commits", "size"), [(5, MIB), (12, 30 * MIB), (40, 20 * MIB), (3, 60 * MIB)])
def test_packing_leaves_as_many_files_as_the_library_but_one_a_group(commits, size):
    state = committed(lake([size] * commits, keyed=False))
    files = [data_file(f"f{n}", size=size, sequences=(n, n)) for n in range(commits)]
    options = TableOptions.parse({"target-file-size": "128 mb", "source.split.open-file-cost": "0 b"})
    # The library rewrites groups of twice the target size, the model all small files together.
    groups = pick_append(files, options, full=True, ordered=False).groups
    packed = [sum(f.file_size for f in group) for group in groups]
    expected = sum(-(-size // TARGET_BYTES) for size in packed) + commits - sum(map(len, groups))
    work = full(state, 0)
    before, cost = state.files[0], state.cost()[0] - state.tail[0]
    state.pack(0)
    assert before - state.files[0] == work.files
    assert cost - (state.cost()[0] - state.tail[0]) == pytest.approx(work.saved)
    left = state.files[0] - 1  # one file from the beginning
    assert left <= expected <= left + len(groups)


def test_a_size_tier_is_adjacent_runs_of_similar_size():
    state = committed(lake([100 * MIB, 4 * MIB, 5 * MIB, 4 * MIB, 5 * MIB, 40 * MIB], initial=9.0))
    work = tier(state, 0)
    assert (work.first, work.count) == (1, 4)
    state.merge(0, work.first, work.count, work.level)
    assert tier(state, 0) is None


def test_a_small_run_writes_its_reports(tmp_path, capsys):
    small = ["--tables", "12", "--days", "8", "--sweep-tables", "5", "--sweep-days", "3", "--sweep-budgets", "1", "4"]
    assert lake_year.main([*small, "--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "lake-year.json").read_text())
    by_name = {result["policy"]: result for result in report["policies"]}
    assert tuple(by_name) == lake_year.COMPARED
    assert by_name["none"]["works"] == 0 < by_name["by cost"]["works"]
    assert by_name["by cost"]["mean"] < by_name["none"]["mean"]
    assert all(result["moved_per_byte"] <= 2.0 for result in report["policies"])
    assert [row["budget"] for row in report["budgets"]] == [1.0] * 4 + [4.0] * 4
    assert ET.fromstring((tmp_path / "lake-year.svg").read_text()).tag.endswith("svg")
    assert (tmp_path / "lake-year.md").read_text() in capsys.readouterr().out


def test_an_unknown_policy_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="there is no policy 'best'; there are by cost"):
        lake_year.main(["--tables", "2", "--days", "1", "--only", "best", "--output", str(tmp_path)])
