"""Any number of histories: ``python -m tests.differential --seeds 0:1000 [--engine NAME] [--producer NAME]``.

With ``--alterations`` each history alters its table (20 steps), and both sides write and read the same files. With
``--layouts`` the tables have dynamic buckets, deletion vectors, file indexes or appends.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.differential.evolution import evolution
from tests.differential.histories import ENGINES, history
from tests.differential.layouts import LAYOUTS, layout_history
from tests.differential.play import differences
from tests.differential.play_evolution import evolution_differences
from tests.differential.play_layouts import layout_differences
from tests.support.oracle import Oracle

CHUNK = 25
MEMORY = Path("/dev/shm")


def main() -> int:
    """Plays the histories; the number of those that differ is the exit status, up to 1."""
    parser = argparse.ArgumentParser(description="Random histories here and in Java Paimon must leave the same rows.")
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--engine", choices=list(ENGINES), help="only this merge engine")
    parser.add_argument("--producer", choices=["none", "input", "lookup", "full-compaction"], help="with a changelog")
    parser.add_argument("--alterations", action="store_true", help="histories of alterations")
    parser.add_argument("--layouts", action="store_true", help="histories of bucket modes, vectors and indexes")
    parser.add_argument("--layout", choices=list(LAYOUTS), help="only this kind of table")
    parser.add_argument("--stop", type=int, default=3, help="stop after this many differences")
    asked = parser.parse_args()
    first, end = map(int, asked.seeds.split(":"))
    oracle = Oracle()
    found = played = 0
    start = time.monotonic()
    try:
        for low in range(first, end, CHUNK):
            seeds = range(low, min(low + CHUNK, end))
            with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as warehouse:
                for text in (
                    _each(_play_of(asked), seeds, oracle, warehouse)
                    if asked.alterations or asked.layouts or asked.layout
                    else differences([history(seed, asked.engine, asked.producer) for seed in seeds], oracle, warehouse)
                ):
                    found += 1
                    print(text, flush=True)
            played += len(seeds)
            print(f"up to seed {seeds[-1]}: {found} differ, {time.monotonic() - start:.0f} s", flush=True)
            if found >= asked.stop:
                break
    finally:
        oracle.close()
    print(f"{played} histories, {found} differ, {time.monotonic() - start:.0f} s")
    return min(found, 1)


Play = Callable[[int, Oracle, str], str | None]


def _play_of(asked: argparse.Namespace) -> Play:
    if asked.alterations:
        return lambda seed, oracle, warehouse: evolution_differences(evolution(seed), oracle, warehouse)
    return lambda seed, oracle, warehouse: layout_differences(layout_history(seed, asked.layout), oracle, warehouse)


def _each(play: Play, seeds: range, oracle: Oracle, warehouse: str) -> Iterator[str]:
    """Two histories at a time: one is played here while Java plays the other."""

    def difference(seed: int) -> str | None:
        try:
            return play(seed, oracle, warehouse)
        except Exception as error:
            return f"seed {seed} failed: {error!r}"

    with ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(difference, seeds))


raise SystemExit(main())
