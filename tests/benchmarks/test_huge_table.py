"""benchmarks.huge_table: the simulated manifests are those of ManifestMerge, and a small run writes its report."""

import itertools
import json
import random
from collections import deque
from dataclasses import replace

import pytest

from benchmarks import huge_table
from benchmarks.huge_table import ADDED, EVERY, MADE, REMOVED, Costs, Options, Table, report
from benchmarks.huge_unit_costs import of_files, of_manifests, of_merge
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit import manifest_merge
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.column_stats import EMPTY_STATS, ColumnStats
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.types import parse_type

COSTS = Costs(1.0, 2e-5, 1500.0, 3e-6, 800.0, 0.03, (0.01, 3e-5), (0.001, 1e-5))


class Manifests:
    """Real merges of manifests in a dictionary, in which each entry counts as one byte."""

    def __init__(self, options, types=None):
        self.types = types
        self.options, self.held, self.numbers, self.rewritten = options, {}, itertools.count(), 0

    def new(self, entries):
        name = f"m{next(self.numbers)}"
        self.held[name] = list(entries)
        deleted = sum(e.kind is FileKind.DELETE for e in entries)
        stats = EMPTY_STATS
        if self.types:
            rows = [e.partition for e in entries]
            number = key_order(self.types)
            stats = ColumnStats(min(rows, key=number), max(rows, key=number), (0,))
        return ManifestFile(name, len(entries), len(entries) - deleted, deleted, stats)

    def write(self, entries, spread=False):
        step = self.options.target
        if spread:
            step = -(-len(entries) // max(1, len(entries) // step))
        return [self.new(entries[at : at + step]) for at in range(0, len(entries), step)]

    def read(self, manifest):
        self.rewritten += len(self.held[manifest.file_name])
        return self.held[manifest.file_name]

    def may_hold(self, manifest, partitions):
        return bool(self.held_in(manifest) & partitions)

    def held_in(self, manifest):
        return {e.partition for e in self.held[manifest.file_name]}

    def merge(self, manifests):
        self.rewritten = 0
        merge = ManifestMerge(
            self.read, self.write, self.may_hold, self.options.target,
            self.options.min_count, self.options.full, self.types,
        )  # fmt: skip
        return merge.merge(manifests)


def test_the_simulated_manifests_are_those_of_real_merges():
    options = Options(target=8_000, min_count=6, full=16_000)
    simulated, real = Table(COSTS, options, "spread"), Manifests(options)
    names = itertools.count()
    live = [f"f{next(names)}" for _ in range(7 * options.target)]
    added = [ManifestEntry(FileKind.ADD, b"p", 0, 1, DataFile(name, 1, 1, 0)) for name in live]
    listed = real.write(added)
    simulated.base = len(live)
    full = 0
    for minute in range(1, 301):
        simulated.commit(minute)
        listed = real.merge(listed)
        compaction = minute % EVERY == 0
        gone = [live.pop(0) for _ in range(REMOVED)] if compaction else []
        made = [f"f{next(names)}" for _ in range(ADDED + (MADE if compaction else 0))]
        live += made
        entries = [(FileKind.ADD, name) for name in made] + [(FileKind.DELETE, name) for name in gone]
        listed.append(real.new([ManifestEntry(kind, b"p", 0, 1, DataFile(name, 1, 1, 0)) for kind, name in entries]))
        assert simulated.files == len(live)
        if simulated.full_merge:
            full += 1
            assert sum(len(real.held[m.file_name]) for m in listed[:-1]) == simulated.files - ADDED - (
                MADE - REMOVED if compaction else 0
            )
    assert full >= 3
    assert abs(simulated.manifests - len(listed)) <= 6


@pytest.mark.long
def test_the_simulated_portions_are_those_of_real_merges(monkeypatch):
    """Files come and go in all partitions; the real table merges as many portions, of as many entries."""
    monkeypatch.setattr(manifest_merge, "MOST_ENTRIES", 12_000)
    options, types = Options(target=2_000, min_count=6, full=4_000, most=12_000), [parse_type("INT NOT NULL")]
    simulated, real = Table(COSTS, options, "spread"), Manifests(options, types)
    rows = [encode_row([p], types) for p in range(500)]
    numbers, names = random.Random(1), itertools.count()

    def made(count):
        places = sorted(numbers.choices(range(len(rows)), k=count))
        return [ManifestEntry(FileKind.ADD, rows[p], 0, 1, DataFile(f"f{next(names)}", 1, 1, 0)) for p in places]

    live = made(12 * options.target)
    listed = real.write(live)
    simulated.base, simulated.segments = len(live), deque([(len(live), 0)])
    portions, rewritten = 0, [0, 0]
    for minute in range(1, 221):
        simulated.commit(minute)
        listed = real.merge(listed)
        compaction = minute % EVERY == 0
        gone = [live.pop(numbers.randrange(len(live))) for _ in range(REMOVED)] if compaction else []
        new = made(ADDED + (MADE if compaction else 0))
        live += new
        listed.append(real.new([*new, *(replace(e, kind=FileKind.DELETE) for e in gone)]))
        if simulated.full_merge:
            portions += 1
            assert simulated.rewritten <= 12_000 + options.target
        rewritten[0] += simulated.rewritten
        rewritten[1] += real.rewritten
        assert simulated.files == len(live)
    assert portions > 10
    assert max(rewritten) < 1.3 * min(rewritten)
    assert abs(simulated.manifests - len(listed)) <= 8


def test_a_short_run_writes_its_tables_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(huge_table, "TRIED", {"defaults": Options(), huge_table.NEVER: Options(full=1 << 40)})
    text = report(COSTS, 31, tmp_path)
    assert text.count("| spread |") == text.count("| recent |") == 2
    assert (tmp_path / "huge-table-commits.svg").exists()
    assert (tmp_path / "huge-table-plans.svg").exists()


def test_unit_costs_are_measured_on_real_manifests(tmp_path):
    found = {}
    for part in (of_files, of_manifests, of_merge):
        folder = tmp_path / part.__name__
        folder.mkdir()
        found |= part(3000, str(folder))
    assert json.loads(json.dumps(found)) == found
    assert 20 < found["manifest_bytes"] < 200
    assert found["full_merge_seconds"] > 0
    costs = Costs.of([found, found | {"list_manifests": found["list_manifests"] + 10}])
    assert costs.commit[1] == 0
