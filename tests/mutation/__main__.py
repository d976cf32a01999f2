"""Change one token of the core at a time, and run the quick tests: ``python -m tests.mutation --count 150``.

Each mutant is printed with its number, its line and what became of it. Each runs in a copy of the sources, in one
process: first the tests that mirror the module, then the tests of its package, then the tests of packages that use it.
A test run that takes longer than the limit kills the mutant too, because a mutant may loop for ever. The draw for a
seed changes only where the sources change. ``--first`` goes on after an interruption. Mutants of ``equivalent.toml``
behave as the original does: they are drawn, but neither played nor counted.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
PACKAGES = ("lsm", "commit", "plan", "maintain", "codec")
EXTRA = {
    "lsm": ("tests/property/test_merge.py", "tests/unit/read", "tests/unit/compact"),
    "commit": ("tests/unit/table",),
    "plan": ("tests/unit/read", "tests/unit/table"),
    "maintain": ("tests/unit/table",),
    "codec": ("tests/unit/write", "tests/unit/datafile"),
}
"""Further quick tests that use a package, run when its own do not notice."""
PYTEST = (
    "-m",
    "pytest",
    "-x",
    "-q",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "--hypothesis-profile=quick",
    "-m",
    "not java and not spark and not long",
)
MEMORY_BYTES = 12 << 30
"""Address space of a test run: a mutant that loops may fill the memory of the machine."""
WAITS = 5
"""How many times the limit a test run may take by the clock: a mutant may wait for ever."""


def possible() -> dict[str, list[Mutant]]:
    """All mutants of each package."""
    paths = {package: sorted((ROOT / "paimon_core" / package).rglob("*.py")) for package in PACKAGES}
    return {
        package: [m for path in found for m in mutants_of(path.relative_to(ROOT), path.read_text())]
        for package, found in paths.items()
    }


def drawn(mutants: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """So many mutants, spread over the packages, the same for the same seed."""
    found: list[Mutant] = []
    for number, package in enumerate(PACKAGES):
        share = count // len(PACKAGES) + (number < count % len(PACKAGES))
        found += sorted(mutants[package], key=lambda m: m.rank(seed))[:share]
    return found


def equivalents(mutants: Iterable[Mutant]) -> set[Mutant]:
    """The mutants of ``equivalent.toml``; each entry must be exactly one."""
    found = set()
    listed = tomllib.loads(EQUIVALENT.read_text())["mutant"]
    every = list(mutants)
    for entry in listed:
        same = [
            m for m in every if (str(m.path), m.source, m.changed) == (entry["path"], entry["line"], entry["changed"])
        ]
        if len(same) != 1:
            raise ValueError(f"equivalent.toml: {len(same)} mutants, not one, are {entry['path']}: {entry['changed']}")
        found.add(same[0])
    return found


def quick_tests(mutant: Mutant) -> list[str]:
    """The tests to run, in this order: of the module, of the package, of packages that use the package."""
    parts = mutant.path.with_suffix("").parts[1:]
    mirrored = f"tests/unit/{'/'.join(parts[:-1])}/test_{parts[-1]}.py"
    return [path for path in (mirrored, f"tests/unit/{parts[0]}", *EXTRA[parts[0]]) if (ROOT / path).exists()]


def passes(tree: Path, paths: Iterable[str], limit: int, **environment: str) -> bool:
    """Whether the tests pass in the tree within so many processor seconds, which a busy machine does not change."""
    process = subprocess.Popen(
        [sys.executable, *PYTEST, *paths],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "HYPOTHESIS_STORAGE": "none"} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit))
    try:
        return process.wait(WAITS * limit) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def survives(mutant: Mutant, tree: Path, limit: int) -> bool:
    """Whether all tests pass with the mutant in place of the module."""
    target = tree / mutant.path
    original = target.read_text()
    target.write_text(mutant.text)
    try:
        return passes(tree, quick_tests(mutant), limit, PYTHONDONTWRITEBYTECODE="1")
    finally:
        target.write_text(original)


def play(mutants: list[Mutant], tree: Path, limit: int, numbers: dict[Mutant, int]) -> list[Mutant]:
    """The mutants that survive; each outcome is printed as it is known."""
    left = []
    for mutant in mutants:
        start = time.monotonic()
        if lives := survives(mutant, tree, limit):
            left.append(mutant)
        outcome = "SURVIVED" if lives else "killed"
        sys.stdout.write(f"{numbers[mutant]:3} {outcome} in {time.monotonic() - start:.0f} s: {mutant}\n")
        sys.stdout.flush()
    return left


def main() -> int:
    """Exit status 1 when fewer than ``--least`` percent were killed, 2 when the tests fail without a mutant."""
    parser = argparse.ArgumentParser(prog="tests.mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant to play")
    parser.add_argument("--only", default="", help="play the mutants whose printed line contains this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=120, help="processor seconds of one test run")
    parser.add_argument("--least", type=float, default=95, help="percent of mutants that must be killed")
    given = parser.parse_args()
    every = possible()
    same = equivalents(m for found in every.values() for m in found)
    numbers = {mutant: number for number, mutant in enumerate(drawn(every, given.count, given.seed))}
    wanted = [m for m, number in numbers.items() if number >= given.first and given.only in str(m)]
    mutants = [m for m in wanted if m not in same]
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder) / str(number) for number in range(given.jobs)]
        for tree in trees:
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "lake", "__pycache__"))
            paths = dict.fromkeys(path for mutant in mutants for path in quick_tests(mutant))
            if not passes(tree, paths, given.limit * len(PACKAGES)):  # compiles the modules for the runs that follow
                sys.stdout.write("the tests fail without a mutant\n")
                return 2

        def share(number: int) -> list[Mutant]:
            return play(mutants[number :: given.jobs], trees[number], given.limit, numbers)

        with ThreadPoolExecutor(given.jobs) as threads:
            left = [mutant for part in threads.map(share, range(given.jobs)) for mutant in part]
    killed = len(mutants) - len(left)
    percent = 100 * killed / max(len(mutants), 1)
    equal = len(wanted) - len(mutants)
    sys.stdout.write(f"{len(wanted)} mutants, {equal} equivalent, {killed} killed of {len(mutants)}: {percent:.1f} %\n")
    for mutant in left:
        sys.stdout.write(f"{numbers[mutant]:3} left: {mutant}\n")
    return int(percent < given.least)


if __name__ == "__main__":
    sys.exit(main())
