"""What is compacted when, against what Java answered for the same buckets (java-picks/README.md)."""

import json

import pytest

from paimon_core.lsm.compaction.schedule import OffPeak
from tests.support.java_picks import CASES, our_answer, unordered

RECORDED = json.loads(CASES.read_text())


def test_every_pick_and_every_step_is_as_in_java_2_1():
    wrong = [n for n, c in enumerate(RECORDED) if unordered(our_answer(c["bucket"])) != unordered(c["java"])]
    assert wrong == []


def pick_of_1_4(bucket, runs, count):
    """By size ratio as in 1.4.2: the first run that is too large ends it, and an output at level 0 moves on to the
    first level above. (output level, file numbers)"""
    sizes = [sum(bucket["files"][n][1] for n in files) for _, *files in runs]
    options = bucket["options"]
    percent = 100 + options["ratio"] + OffPeak(*options.get("offPeak", (-1, -1, 0))).ratio_at(bucket["hour"])
    while count < len(runs) and sum(sizes[:count]) * percent / 100 >= sizes[count]:
        count += 1
    output = runs[count][0] - 1 if count < len(runs) else 0
    while output < 1 and count < len(runs):
        count, output = count + 1, runs[count][0]
    output = output if count < len(runs) else max(bucket["options"]["numLevels"] - 1, runs[-1][0])
    return output, {n for _, *files in runs[:count] for n in files}


def test_java_1_4_differs_only_by_its_rule_of_the_size_ratio():
    others = [c for c in RECORDED if "java-1.4.2" in c]
    assert others
    for case in others:
        older, runs, trigger = case["java-1.4.2"], case["java"]["runs"], case["bucket"]["options"]["trigger"]
        assert older.keys() <= {"unit", "steps"}
        counts = {1, len(runs) - trigger + 1, sum(level == 0 for level, *_ in runs)}
        picks = [pick_of_1_4(case["bucket"], runs, count) for count in counts]
        assert (older["unit"][0], set(older["unit"][2:])) in picks


@pytest.mark.parametrize("what", ["interval", "total", "increment", "offPeak", "level0", "forceRewrite"])
def test_every_option_is_among_the_buckets(what):
    picked = {"unit" in c["java"] for c in RECORDED if what in c["bucket"]["options"]}
    assert picked == {True, False}
