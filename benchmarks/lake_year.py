"""A year of a simulated lake under one budget of maintenance: what scans cost under each policy.

1,000 tables have hourly commits (``lake_workload``). Each night (``--round-hours``), each policy may read and write the
same number of bytes: ``--budget`` times the mean bytes of the commits of a day. Metadata only: no file is written. The
ranking is ``choose`` of the library, the picks are those of its compaction, the costs those of ``health.cost``.

``python -m benchmarks.lake_year --output FOLDER`` writes ``lake-year.json``, ``lake-year.md`` and ``lake-year.svg``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.lake_policies import ALL, ByCost, Done, InOrder, Work, by_files, nothing, tier, usual
from benchmarks.lake_report import line_chart, table
from benchmarks.lake_state import State
from benchmarks.lake_workload import Floats, Workload, workload
from paimon_core.health.plan.policy import Policy

CONFLICTS = 0.02
"""The share of compactions that meet a conflict."""
BINS = np.geomspace(1, 1e4, 2001)
"""Bounds of the histogram of read amplification, 0.46 % apart."""
SLOW = 3.0
"""A table whose scans cost more than three times what they need to counts as waiting."""

BOUND = 5.0
"""``by cost`` keeps the read amplification of 99 % of tables and hours below this, in each week."""


@dataclass
class Result:
    """What one policy did in the simulated time. Read amplification: cost of a scan, divided by the needed cost."""

    policy: str
    mean: float
    """Over tables and hours."""
    p99: float
    """Of tables and hours."""
    weighted: float
    """Cost of all scans, divided by their needed cost."""
    p99_table: float
    """Of the tables' means."""
    worst_week_p99: float
    """The highest p99 of a week."""
    slow_days: float
    """The longest time that one table was above ``SLOW`` without a break, in days."""
    slow_share: float
    """The share of tables and hours above ``SLOW``."""
    moved_bytes: float
    moved_per_byte: float
    """Bytes that maintenance read and wrote, divided by the bytes of the commits."""
    works: int
    files: float
    """Mean number of files of the lake."""
    files_end: float
    longest_wait: int
    """Rounds that wanted work was left out in a row; -1 for policies that do not count it."""
    seconds: float
    """Processor time of the simulation."""
    weeks: list[float]
    """The p99 of each week."""


COMPARED = ("by cost", "files 0.7, cost 0.3", "fixed marks", "size-tiered", "none")
"""The policies of the whole year; ``by cost, scans known`` is compared on the smaller lake only."""


def policies(lake: Workload) -> dict[str, Callable[[State, float, Done], None]]:
    """Return the policies by name; each has its own state."""
    scans = {f"t{table}": float(count) for table, count in enumerate(lake.scans / lake.scans.mean())}
    return {
        "by cost": ByCost(),
        "by cost, scans known": ByCost(Policy(scans=scans)),
        "files 0.7, cost 0.3": by_files,
        "fixed marks": InOrder(usual),
        "size-tiered": InOrder(tier),
        "none": nothing,
    }


def simulate(
    name: str, policy: Callable[[State, float, Done], None], lake: Workload, args: argparse.Namespace
) -> Result:
    """Run one policy over all hours of the workload."""
    started = time.process_time()
    state, rng = State(lake), np.random.default_rng(args.seed + 1)
    budget = args.budget * float(lake.commits.mean(dtype=float)) * len(lake) * args.round_hours
    total = np.zeros(len(lake))
    slow = np.zeros(len(lake))
    longest = slow_hours = 0.0
    counts: list[Floats] = []
    week = np.zeros(len(BINS) + 1)
    cost_sum = needed_sum = files = moved = 0.0
    works = 0

    def done(work: Work) -> bool:
        nonlocal moved, works
        moved += work.moved
        works += 1
        if rng.random() < CONFLICTS:
            return False
        if not lake.keyed[work.table]:
            state.pack(work.table)
        else:
            count = len(state.run_list(work.table)) if work.count == ALL else work.count
            state.merge(work.table, work.first, count, work.level)
        return True

    for hour in range(lake.hours):
        state.commit()
        cost, needed = state.cost(), state.needed()
        ratio = cost / needed
        total += ratio
        cost_sum += float((cost * lake.scans).sum())
        needed_sum += float((needed * lake.scans).sum())
        files += float(state.files.sum())
        week += np.bincount(np.searchsorted(BINS, ratio), minlength=len(week))
        is_slow = ratio > SLOW
        slow = np.where(is_slow, slow + 1, 0)
        longest, slow_hours = max(longest, float(slow.max())), slow_hours + float(is_slow.sum())
        if hour % args.round_hours == args.round_hours - 1:
            policy(state, budget, done)
        if hour % 168 == 167 or hour == lake.hours - 1:
            counts.append(week)
            week = np.zeros(len(BINS) + 1)
    weeks = [_quantile(one, 0.99) for one in counts]
    return Result(
        policy=name,
        mean=float(total.mean() / lake.hours),
        p99=_quantile(np.sum(counts, axis=0), 0.99),
        weighted=cost_sum / needed_sum,
        p99_table=float(np.quantile(total / lake.hours, 0.99)),
        worst_week_p99=max(weeks),
        slow_days=longest / 24,
        slow_share=slow_hours / len(lake) / lake.hours,
        moved_bytes=moved,
        moved_per_byte=moved / float(lake.commits.sum(dtype=float)),
        works=works,
        files=files / lake.hours,
        files_end=float(state.files.sum()),
        longest_wait=policy.longest_wait if isinstance(policy, ByCost) else -1,
        seconds=time.process_time() - started,
        weeks=weeks,
    )


def _quantile(counts: Floats, share: float) -> float:
    """Return the upper bound of the bin of a histogram in which the quantile is."""
    index = int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
    return float(BINS[min(index, len(BINS) - 1)])


COLUMNS = {
    "policy": "policy",
    "mean": "mean",
    "p99": "p99",
    "worst_week_p99": "p99 of the worst week",
    "weighted": "weighted by scans",
    "slow_share": "share above 3",
    "slow_days": "longest above 3, days",
    "moved_per_byte": "bytes moved per byte of commits",
    "works": "compactions",
    "files": "files, mean",
    "files_end": "files, end",
}


def sweep(args: argparse.Namespace) -> list[dict[str, object]]:
    """Return what four policies cost and keep on a smaller lake under several budgets."""
    lake = workload(args.sweep_tables, args.sweep_days, args.seed)
    rows: list[dict[str, object]] = []
    for budget in args.sweep_budgets:
        given = argparse.Namespace(**{**vars(args), "budget": budget})
        for name, policy in policies(lake).items():
            if name not in ("size-tiered", "none"):
                rows.append({"budget": float(budget), **asdict(simulate(name, policy, lake, given))})
    return rows


def arguments(args: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.lake_year", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--round-hours", type=int, default=24, help="hours between two rounds of maintenance")
    parser.add_argument("--budget", type=float, default=2.0, help="bytes read and written a byte of commits")
    parser.add_argument("--sweep-budgets", type=float, nargs="*", default=[0.5, 1.0, 2.0, 4.0, 8.0])
    parser.add_argument("--sweep-tables", type=int, default=250, help="tables of the lake for the other budgets")
    parser.add_argument("--sweep-days", type=int, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of policies")
    parser.add_argument("--output", type=Path, required=True, help="folder for the reports")
    return parser.parse_args(args)


def main(given: list[str] | None = None) -> int:
    args = arguments(given)
    lake = workload(args.tables, args.days, args.seed)
    known = policies(lake)
    wanted = COMPARED if args.only is None else args.only
    if unknown := sorted(set(wanted) - set(known)):
        raise SystemExit(f"there is no policy {unknown[0]!r}; there are {', '.join(known)}")
    results = []
    for name, policy in known.items():
        if name in wanted:
            results.append(simulate(name, policy, lake, args))
            sys.stdout.write(f"{name:22}{results[-1].seconds:6.1f} seconds\n")
            sys.stdout.flush()
    rows = [asdict(result) for result in results]
    budgets = sweep(args)
    text = f"{args.tables:,} tables, {args.days} days, budget {args.budget:g}\n\n" + table(rows, COLUMNS)
    if budgets:
        text += f"\n{args.sweep_tables} tables, {args.sweep_days} days, several budgets\n\n"
        text += table(budgets, {"budget": "budget", **COLUMNS})
    chart = line_chart(
        f"{args.tables:,} tables, {args.budget:g} bytes of maintenance for each byte of commits",
        {result.policy: result.weeks for result in results},
        "week",
        "read amplification: 99 % of tables and hours are below",
        BOUND,
    )
    args.output.mkdir(parents=True, exist_ok=True)
    report = {"tables": args.tables, "days": args.days, "budget": args.budget, "policies": rows, "budgets": budgets}
    (args.output / "lake-year.json").write_text(json.dumps(report, indent=1) + "\n")
    (args.output / "lake-year.md").write_text(text)
    (args.output / "lake-year.svg").write_text(chart)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
