"""Random histories: no commit is lost or repeated, and no needed file is deleted, with any faults (tests/simulator).

``SIMULATOR_TIMES`` multiplies the histories of the long tests.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulator import indexed, metadata, real
from tests.simulator.campaign import Tally, many, some
from tests.support.long_cases import long_cases

ROOT = Path(__file__).resolve().parents[2]
TIMES = int(os.environ.get("SIMULATOR_TIMES", "1"))
METADATA_HISTORIES = 300 * TIMES
REAL_HISTORIES = 50 * TIMES
FAULTS = ("lose create", "repeat create", "late create", "die_after create", "torn write", "freeze")
"""The faults that the histories must contain."""


def check(kind: str, count: int, run: Callable[[str, int, int], Tally] = many) -> Tally:
    tally = run(kind, 0, count)
    print(tally.sentence())
    assert not tally.failures, "\n".join(tally.failures)
    assert tally.histories == count
    return tally


@pytest.mark.parametrize(("kind", "count"), [("metadata", 20), ("real", 3), ("indexed", 2)])
def test_some_histories(kind, count):
    check(kind, count, some)


@pytest.mark.long
def test_histories_of_metadata():
    tally = check("metadata", METADATA_HISTORIES)
    for fault in FAULTS:
        assert tally.faults[fault] > 0, fault


@pytest.mark.long
def test_histories_with_real_files():
    check("real", REAL_HISTORIES)


@pytest.mark.long
def test_histories_with_table_indexes():
    check("indexed", REAL_HISTORIES // 2)


@pytest.mark.parametrize("play", [metadata.play, *long_cases([real.play, indexed.play])])
def test_a_seed_gives_the_same_history_again(play):
    for seed in range(2):
        first, second = play(seed).world, play(seed).world
        assert (first.trace_hash, first.ops) == (second.trace_hash, second.ops)
        assert play(seed + 1000).world.trace_hash != first.trace_hash


@pytest.mark.long
def test_one_line_replays_a_seed_in_another_process():
    command = [sys.executable, "-m", "tests.simulator", "--seed", "3", "--mode", "metadata"]
    texts = [
        subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "7")
    ]
    hashes = [re.findall("trace ([0-9a-f]{16})", text) for text in texts]
    assert hashes[0] == hashes[1]
    assert len(texts[0].splitlines()) > 100
    assert hashes[0] == [metadata.play(3).world.trace_hash]


def test_a_failing_seed_is_told_with_its_replay(monkeypatch):
    from tests.simulator.oracle import Oracle

    monkeypatch.setattr(Oracle, "_check_once", lambda self, call, *_: self.fail(call, "I4: planted"))
    tally = some("metadata", 0, 1)
    assert tally.failures[0].startswith("python -m tests.simulator --seed 0 --mode metadata   # I4: planted")
