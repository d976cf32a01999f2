"""Change one token of the core at a time, and run the quick tests: ``python -m tests.mutation --count 150``.

A mutant that no test kills is printed with its line. Each mutant runs in a copy of the sources: first the tests that
mirror the module, then those of its package, then those of packages that use it. A test run that takes longer than the
limit kills the mutant too, because a mutant may loop for ever.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("lsm", "commit", "scan", "maintain", "codec")
EXTRA = {
    "lsm": ("tests/property/test_merge.py", "tests/unit/read", "tests/unit/compact"),
    "commit": ("tests/unit/table",),
    "scan": ("tests/unit/read", "tests/unit/table"),
    "maintain": ("tests/unit/table",),
    "codec": ("tests/unit/write", "tests/unit/datafile"),
}
"""Further quick tests that use a package, run when its own do not notice."""


def drawn(count: int, seed: int) -> list[Mutant]:
    """So many mutants, spread over the packages, the same for the same seed."""
    chance = random.Random(seed)
    found = []
    for number, package in enumerate(PACKAGES):
        share = count // len(PACKAGES) + (number < count % len(PACKAGES))
        paths = sorted((ROOT / "paimon_core" / package).rglob("*.py"))
        possible = [m for path in paths for m in mutants_of(path.relative_to(ROOT), path.read_text())]
        found += chance.sample(possible, share)
    return found


def test_paths(mutant: Mutant) -> list[list[str]]:
    """The tests to run one after the other: those of the module, of the package, and those of users of the package."""
    parts = mutant.path.with_suffix("").parts[1:]
    mirrored = ROOT / "tests" / "unit" / Path(*parts[:-1]) / f"test_{parts[-1]}.py"
    steps = [[str(mirrored.relative_to(ROOT))]] if mirrored.exists() else []
    steps.append([f"tests/unit/{parts[0]}"])
    return [*steps, [path for path in EXTRA[parts[0]] if (ROOT / path).exists()]]


def survives(mutant: Mutant, tree: Path, limit: float) -> bool:
    """Whether all tests pass with the mutant in place of the module."""
    target = tree / mutant.path
    original = target.read_text()
    target.write_text(mutant.text)
    words = [
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-m",
        "not java and not spark and not long",
    ]
    try:
        for paths in test_paths(mutant):
            if not paths:
                continue
            try:
                done = subprocess.run(
                    [sys.executable, *words, *paths],
                    cwd=tree,
                    env=os.environ
                    | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE": "none"},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=limit,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return False
            if done.returncode not in (0, 5):
                return False
        return True
    finally:
        target.write_text(original)


def main() -> int:
    """Exit status 1 when fewer than ``--least`` percent were killed."""
    parser = argparse.ArgumentParser(prog="tests.mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300, help="seconds of one test run")
    parser.add_argument("--least", type=float, default=95, help="percent of mutants that must be killed")
    given = parser.parse_args()
    mutants = drawn(given.count, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        trees = []
        for number in range(given.jobs):
            tree = Path(folder) / str(number)
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "lake", "__pycache__"))
            trees.append(tree)

        def work(number: int) -> list[Mutant]:
            left = []
            for mutant in mutants[number :: given.jobs]:
                if survives(mutant, trees[number], given.limit):
                    left.append(mutant)
                    sys.stdout.write(f"survived: {mutant}\n")
                    sys.stdout.flush()
            return left

        with ThreadPoolExecutor(given.jobs) as threads:
            left = [mutant for part in threads.map(work, range(given.jobs)) for mutant in part]
    killed = 100 * (1 - len(left) / len(mutants))
    sys.stdout.write(f"{len(mutants)} mutants, {len(left)} survived, {killed:.1f} % killed\n")
    return int(killed < given.least)


if __name__ == "__main__":
    sys.exit(main())
