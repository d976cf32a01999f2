"""The metadata of a table of 100,000,000 files: three years of a commit each minute, with maintenance, simulated.

Each commit adds files to ``TOUCHED`` of 10,000 partitions; each tenth commit is a compaction that replaces some of
them. The manifests are simulated by their numbers of entries, by the rules of ``ManifestMerge``; their costs are unit
costs that ``benchmarks.huge_unit_costs`` measured on real manifests. Nothing is random. Two workloads:

spread   each commit changes partitions all over the table, so a full merge of manifests opens all of them
recent   partitions are times: commits change those of the last ``RECENT_DAYS`` days

``python -m benchmarks.huge_table --costs FILE --output FOLDER`` writes tables and pictures; without ``--costs``, the
unit costs are measured first, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.huge_unit_costs import measured
from benchmarks.lake_report import table
from benchmarks.report.charts import lines
from paimon_core.commit.manifest_merge import MOST_ENTRIES

MINUTES_A_DAY = 1440
DAYS = 1096
MONTH_DAYS = 30.44
ADDED = 96
"""Files that a commit adds."""
EVERY, REMOVED, MADE = 10, 480, 160
"""Each tenth commit also removes and makes files: 64 more files a minute, 101 million in three years."""
RECENT_DAYS = 30
WORKLOADS = ("spread", "recent")
MINUTE = 60.0


@dataclass(frozen=True)
class Costs:
    """Processor seconds and bytes; commits and expiries are a constant and a part for each manifest in the list."""

    entry_bytes: float
    merge_seconds: float
    entry_memory: float
    plan_seconds: float
    plan_memory: float
    partition_seconds: float
    commit: tuple[float, float]
    expiry: tuple[float, float]

    @staticmethod
    def of(found: Sequence[dict[str, float]]) -> Costs:
        """Return the costs of the largest measured table, and lines through two measured lengths of lists."""
        small, large = found[0], found[-1]

        def line(name: str) -> tuple[float, float]:
            step = (large[name] - small[name]) / (large["list_manifests"] - small["list_manifests"])
            return max(0.0, small[name] - step * small["list_manifests"]), step

        return Costs(
            large["manifest_bytes"], large["full_merge_seconds"], large["entry_memory"], large["plan_seconds"],
            large["plan_memory"], large["partition_plan_seconds"], line("commit_seconds"), line("expiry_seconds"),
        )  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options of the table: bytes of full manifests, counts and bytes that start merges, days of snapshots."""

    target: int = 8 << 20
    min_count: int = 30
    full: int = 16 << 20
    most: int | None = MOST_ENTRIES
    """The largest number of entries that a full merge opens; None: no limit, as before portions."""


@dataclass
class Small:
    """A manifest that is not full or has DELETE entries."""

    added: int
    deleted: int

    def __post_init__(self) -> None:
        self.entries = self.added + self.deleted


@dataclass
class Month:
    """What the commits of a month cost; seconds of a commit, entries that the largest merge rewrote."""

    month: int
    files: int
    manifests: int
    commit_mean: float
    commit_worst: float
    most_entries: int
    full_merges: int
    written_bytes: float


@dataclass
class Table:
    """The manifests of the latest snapshot: ``base`` entries in full manifests, then the small ones, oldest first."""

    costs: Costs
    options: Options
    workload: str
    base: int = 0
    small: list[Small] = field(default_factory=list)
    small_entries: int = 0
    rewritten: int = 0
    """The entries that the last commit rewrote."""
    full_merge: bool = False
    settled: int = 0
    """The number of the first small manifests that have the target size; only a full merge changes them."""
    arrived: int = 0
    """The entries of all commits."""
    segments: deque[tuple[int, int]] = field(default_factory=deque)
    """The full manifests that hold changed partitions, in the order of the list: their files, and ``arrived`` when a
    portion merged them last."""

    @property
    def files(self) -> int:
        return self.base + sum(s.added - s.deleted for s in self.small)

    @property
    def manifests(self) -> int:
        return len(self.small) + round(self.base * self.costs.entry_bytes / self.options.target)

    def commit(self, minute: int) -> float:
        """Merge manifests as a commit does, add its own, and return its processor seconds."""
        self.rewritten, self.full_merge = 0, False
        size = self.costs.entry_bytes
        if len(self.small) > 1 and self.small_entries * size >= self.options.full:
            self._full()
        else:
            self._minor()
        compaction = minute % EVERY == 0
        own = Small(ADDED + (MADE if compaction else 0), REMOVED if compaction else 0)
        self.arrived += own.entries
        self.small.append(own)
        self.small_entries += own.entries
        constant, of_manifest = self.costs.commit
        return constant + of_manifest * self.manifests + self.rewritten * self.costs.merge_seconds

    def _full(self) -> None:
        """Merge all small manifests with the full ones that contain their partitions, or a portion."""
        self.full_merge, self.settled = True, 0
        most, held = self.options.most, self._held()
        if most is not None and held + self.small_entries > most:
            self._portion(most, held)
            return
        net = sum(s.added - s.deleted for s in self.small)
        self.rewritten = held + sum(s.entries for s in self.small)
        self.base += net
        self.segments = deque([(self.base, self.arrived)])
        full = self.options.target / self.costs.entry_bytes
        rest = int(self.base % full)  # the last manifest is not full
        self.base -= rest
        self.small, self.small_entries = [Small(rest, 0)] if rest else [], rest

    def _held(self) -> int:
        """Return the files of the full manifests that contain partitions of the small ones."""
        if self.workload == "spread":
            return self.base
        return min(self.base, int(RECENT_DAYS * MINUTES_A_DAY * (ADDED + (MADE - REMOVED) / EVERY)))

    def _portion(self, most: int, held: int) -> None:
        """Merge the oldest small manifests with the first full ones; the entries of other partitions stay small."""
        block: list[Small] = []
        entries = 0
        while len(block) < len(self.small) and (
            len(block) < 2 or entries + self.small[len(block)].entries <= most // 2
        ):
            entries += self.small[len(block)].entries
            block.append(self.small[len(block)])
        self._take(sum(files for files, _ in self.segments) - held)  # partitions that no commit changes any more
        merged = min(held, max(most - entries, int(self.options.target / self.costs.entry_bytes)))
        weight = sum(files * (self.arrived - at) for files, at in self.segments)
        taken = sum(files * (self.arrived - at) for files, at in self._take(merged))
        share = taken / weight if merged < held else 1.0
        self.rewritten = merged + entries
        added, deleted = (round(share * sum(getattr(s, of) for s in block)) for of in ("added", "deleted"))
        self.base += added - deleted
        self.segments.append((merged + added - deleted, self.arrived))
        # What is left is written as full manifests and one with the last entries.
        rest = Small(sum(s.added for s in block) - added, sum(s.deleted for s in block) - deleted)
        full = int(self.options.target / self.costs.entry_bytes)
        sizes = [*[full] * (rest.entries // full), rest.entries % full]
        pieces = [
            Small(size - size * rest.deleted // max(1, rest.entries), size * rest.deleted // max(1, rest.entries))
            for size in sizes
        ]
        pieces[-1].added += rest.added - sum(p.added for p in pieces)
        pieces[-1].deleted += rest.deleted - sum(p.deleted for p in pieces)
        self.small = [*pieces, *self.small[len(block) :]]
        self.small_entries = sum(s.entries for s in self.small)

    def _take(self, count: int) -> list[tuple[int, int]]:
        """Remove the first files from the segments and return them."""
        out = []
        while count > 0 and self.segments:
            files, at = self.segments.popleft()
            if files > count:
                self.segments.appendleft((files - count, at))
            out.append((min(files, count), at))
            count -= files
        return out

    def _minor(self) -> None:
        """Merge small manifests that reach the target size together, or the newest ones if there are many."""
        full = self.options.target / self.costs.entry_bytes
        out: list[Small] = []
        group: list[Small] = []
        left = 0
        while self.settled < len(self.small) and self.small[self.settled].entries >= full:
            self.settled += 1
        for small in self.small[self.settled :]:
            group.append(small)
            left += small.entries
            if left >= full:
                out.append(self._merged(group))
                group, left = [], 0
        if len(group) >= self.options.min_count:
            first = len(group) - 2
            for number, small in enumerate(group[:-2]):
                left -= small.entries
                if small.entries <= left:
                    first = number
                    break
            group = [*group[:first], self._merged(group[first:])]
        self.small[self.settled :] = [*out, *group]

    def _merged(self, group: Sequence[Small]) -> Small:
        """Return one manifest; files that are added and deleted in the group are rare and stay."""
        if len(group) == 1:
            return group[0]
        merged = Small(sum(s.added for s in group), sum(s.deleted for s in group))
        self.rewritten += merged.entries
        return merged


def simulate(costs: Costs, options: Options, workload: str, days: int = DAYS) -> Iterator[Month]:
    """Yield the months of the table."""
    found = Table(costs, options, workload)
    seconds: list[float] = []
    most, merges, written = 0, 0, 0.0
    for minute in range(1, days * MINUTES_A_DAY + 1):
        seconds.append(found.commit(minute))
        most, merges = max(most, found.rewritten), merges + found.full_merge
        written += (found.rewritten + ADDED) * costs.entry_bytes
        if minute % round(MONTH_DAYS * MINUTES_A_DAY) == 0:
            month = minute // round(MONTH_DAYS * MINUTES_A_DAY)
            mean = sum(seconds) / len(seconds)
            yield Month(month, found.files, found.manifests, mean, max(seconds), most, merges, written)
            seconds, most, merges, written = [], 0, 0, 0.0


def first(months: Sequence[Month], breaks: Any) -> str:
    """Return the first month for which a condition holds, as text."""
    found = next((m for m in months if breaks(m)), None)
    return "never" if found is None else f"month {found.month} ({found.files / 1e6:.1f} million files)"


BEFORE = "defaults, full merges as a whole (before)"
NEVER = "the same, 1 TB"
TRIED = {
    BEFORE: Options(most=None),
    "defaults": Options(),
    "manifest.target-file-size = 32 MB": Options(target=32 << 20, full=64 << 20),
    "manifest.full-compaction-threshold-size = 64 MB": Options(full=64 << 20),
    "the same, 1 GB": Options(full=1 << 30),
    NEVER: Options(full=1 << 40),
}


def rows_of(costs: Costs, days: int) -> tuple[list[dict[str, object]], dict[tuple[str, str], list[Month]]]:
    """Return the row of each workload and options, and the months."""
    rows: list[dict[str, object]] = []
    found: dict[tuple[str, str], list[Month]] = {}
    for workload in WORKLOADS:
        for name, options in TRIED.items():
            months = found[workload, name] = list(simulate(costs, options, workload, days))
            last = months[-1]
            rows.append(
                {
                    "workload": workload,
                    "options": name,
                    "mean": last.commit_mean,
                    "worst": last.commit_worst,
                    "merges": last.full_merges,
                    "written": last.written_bytes / MONTH_DAYS / 1e9,
                    "manifests": last.manifests,
                    "minute": first(months, lambda m: m.commit_worst > MINUTE),
                    "memory": max(m.most_entries for m in months) * costs.entry_memory / 1e9,
                }
            )
    return rows, found


COLUMNS = {
    "workload": "workload", "options": "options", "mean": "commit, mean s", "worst": "commit, worst s",
    "merges": "full merges a month", "written": "manifests written, GB a day", "manifests": "manifests in the list",
    "minute": "a commit takes over a minute from", "memory": "largest merge, GB",
}  # fmt: skip


def report(costs: Costs, days: int, folder: Path) -> str:
    """Write the pictures and return the tables in Markdown."""
    rows, found = rows_of(costs, days)
    folder.mkdir(parents=True, exist_ok=True)
    worst = {
        f"{workload}, {name}": [(m.files, m.commit_worst) for m in months]
        for (workload, name), months in found.items()
        if name in (BEFORE, "defaults", NEVER)
    }
    title = "A commit each minute for three years: the slowest commit of each month (simulated)"
    picture = lines(title, "processor seconds, lower is better; a commit must take less than 60 s", worst, "files", "s")
    (folder / "huge-table-commits.svg").write_text(picture)
    months = found["spread", "defaults"]
    plans = {
        "whole table": [(m.files, m.files * costs.plan_seconds) for m in months],
        "one partition": [(m.files, costs.partition_seconds) for m in months],
        "mean commit": [(m.files, m.commit_mean) for m in months],
        "a day of expiry": [(m.files, MINUTES_A_DAY * _expiry(costs, m)) for m in months],
    }
    title = "A table that grows to 100 million files: plans, commits, expiry (simulated, spread)"
    picture = lines(title, "processor seconds, lower is better", plans, "files", "s")
    (folder / "huge-table-plans.svg").write_text(picture)
    ages = [
        {
            "month": m.month, "files": m.files, "manifests": m.manifests, "plan": m.files * costs.plan_seconds,
            "memory": m.files * costs.plan_memory / 1e9, "expiry": MINUTES_A_DAY * _expiry(costs, m),
            "merge": m.most_entries * costs.merge_seconds, "held": m.most_entries * costs.entry_memory / 1e9,
        }
        for m in months if m.month in (1, 6, 12, 24, len(months))
    ]  # fmt: skip
    heads = {
        "month": "month", "files": "files", "manifests": "manifests", "plan": "whole plan, s",
        "memory": "whole plan, GB", "expiry": "expiry of a day, s", "merge": "full merge, s",
        "held": "its memory, GB",
    }  # fmt: skip
    return f"{table(ages, heads)}\n{table(rows, COLUMNS)}"


def _expiry(costs: Costs, month: Month) -> float:
    constant, of_manifest = costs.expiry
    return constant + of_manifest * month.manifests


def main() -> None:
    """Measure or read the unit costs, simulate, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--costs", type=Path, help="costs.json of an earlier run, instead of measuring")
    parser.add_argument("--files", type=int, nargs=2, default=[100_000, 1_000_000], help="files of the measured tables")
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--output", type=Path, default=Path("build/bench"))
    args = parser.parse_args()
    found = json.loads(args.costs.read_text()) if args.costs else [measured(files) for files in args.files]
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "costs.json").write_text(json.dumps(found, indent=1) + "\n")
    print(report(Costs.of(found), args.days, args.output))


if __name__ == "__main__":
    main()
