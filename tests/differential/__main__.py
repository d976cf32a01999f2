"""Any number of histories: ``python -m tests.differential --seeds 0:1000 [--engine NAME] [--producer NAME]``."""

from __future__ import annotations

import argparse
import tempfile
import time

from tests.differential.histories import ENGINES, history
from tests.differential.play import differences
from tests.support.oracle import Oracle

CHUNK = 25


def main() -> int:
    """Plays the histories; the number of those that differ is the exit status, up to 1."""
    parser = argparse.ArgumentParser(description="Random histories here and in Java Paimon must leave the same rows.")
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--engine", choices=list(ENGINES), help="only this merge engine")
    parser.add_argument("--producer", choices=["none", "input", "lookup", "full-compaction"], help="with a changelog")
    parser.add_argument("--stop", type=int, default=3, help="stop after this many differences")
    asked = parser.parse_args()
    first, end = map(int, asked.seeds.split(":"))
    oracle = Oracle()
    found = played = 0
    start = time.monotonic()
    try:
        for low in range(first, end, CHUNK):
            some = [history(seed, asked.engine, asked.producer) for seed in range(low, min(low + CHUNK, end))]
            with tempfile.TemporaryDirectory() as warehouse:
                for text in differences(some, oracle, warehouse):
                    found += 1
                    print(text, flush=True)
            played += len(some)
            if found >= asked.stop:
                break
    finally:
        oracle.close()
    print(f"{played} histories, {found} differ, {time.monotonic() - start:.0f} s")
    return min(found, 1)


raise SystemExit(main())
