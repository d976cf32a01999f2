"""Cases: all cases of the benchmark, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.spark.case import Case
from benchmarks.spark.cluster import cluster_cases
from benchmarks.spark.first_write import first_cases
from benchmarks.spark.lake import KEYS
from benchmarks.spark.partitions import partition_cases
from benchmarks.spark.reads import read_cases
from benchmarks.spark.row_changes import merge_cases
from benchmarks.spark.writes import write_cases

CASES = [
    *(case for name in KEYS for case in write_cases(name)),
    *first_cases(),
    *(case for name in KEYS for case in read_cases(name)),
    *partition_cases(),
    *merge_cases(),
    *cluster_cases(),
]


def chosen(beginnings: Sequence[str] | None) -> list[Case]:
    """Return the cases whose names have one of the beginnings, and their peers; None: all cases."""
    if beginnings is None:
        return CASES
    by_name = {case.name: case for case in CASES}
    names = {name for name in by_name if name.startswith(tuple(beginnings))}
    while peers := {by_name[name].peer for name in names} - names - {None}:
        names |= {peer for peer in peers if peer is not None}
    return [case for case in CASES if case.name in names]
