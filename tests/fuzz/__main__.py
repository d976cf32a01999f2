"""Fuzz the parsers: ``python -m tests.fuzz --target manifest --seconds 600 --seed 1``.

Without ``--target`` all targets are fuzzed in turn, each for ``--seconds``, in a process with an address space of
``--address-space-mb``: an allocation that fails is a finding. The executions and findings are printed; each
finding is stored, shortened, in ``tests/fuzz/corpus/<target>``. ``--replay`` runs the stored inputs only.
"""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.runs import corpus, explore, kept, replay
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import ADDRESS_SPACE_MB


def main() -> int:
    """Return 1 when there are findings."""
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", choices=sorted(TARGETS), action="append", help="several are possible")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--address-space-mb", type=int, default=ADDRESS_SPACE_MB, help="of the process of a target")
    parser.add_argument("--replay", action="store_true", help="only run the inputs of the corpus")
    parser.add_argument("--dry", action="store_true", help="store nothing")
    asked = parser.parse_args()
    names = asked.target or sorted(TARGETS)
    if asked.replay:
        inputs = [(name, path) for name in names for path in corpus(name)]
        found = replay(inputs, asked.address_space_mb)
        for name, path, finding in found:
            sys.stdout.write(f"{name}: {path.name}: {finding.kind} {finding.place}\n{finding.detail}\n")
        sys.stdout.write(f"{len(inputs)} inputs, {len(found)} findings\n")
        return int(bool(found))
    total = 0
    for name in names:
        report = explore(name, asked.seconds, asked.seed, address_space_mb=asked.address_space_mb)
        total += len(report.findings)
        sys.stdout.write(f"{name}: {report.count} executions, {report.lines} lines, {len(report.findings)} findings\n")
        for finding in report.findings:
            where = "" if asked.dry else f" {kept(name, finding).name}"
            sys.stdout.write(f"  {finding.kind} {finding.place}{where} ({len(finding.data)} bytes)\n")
            sys.stdout.write("".join(f"    {line}\n" for line in finding.detail.splitlines()[-12:]))
        sys.stdout.flush()
    return int(bool(total))


raise SystemExit(main())
