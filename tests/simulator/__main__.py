"""Replay one history: ``python -m tests.simulator --seed 17 --mode metadata`` prints it call by call."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.simulator import dropping
from tests.simulator.campaign import PLAY

MODES = PLAY | {"drop": dropping.play}


def main() -> int:
    """Run one history; return exit status 1 when a guarantee was violated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="how many seeds, from --seed on; only failures are shown")
    parser.add_argument("--mode", choices=sorted(MODES), default="metadata")
    parser.add_argument("--quiet", action="store_true", help="do not print the calls")
    arguments = parser.parse_args()
    start, failed, ops = time.perf_counter(), 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        history = MODES[arguments.mode](seed, keep=arguments.count == 1)
        ops += history.world.ops
        if arguments.count == 1 and not arguments.quiet:
            print("\n".join(history.world.trace))
        if history.world.violation is not None:
            failed += 1
            print(f"seed {seed}: {history.world.violation}")
    seconds = time.perf_counter() - start
    print(
        f"trace {history.world.trace_hash}, {failed} failed, {ops} calls, {arguments.count / seconds:.0f} histories/s"
    )
    return int(failed > 0)


if __name__ == "__main__":
    # Otherwise sets of text have another order in every process.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulator", *sys.argv[1:]],
            os.environ | {"PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
