"""Row checks of a data file: every broken rule is a finding of its own, reported once per file."""

from __future__ import annotations

import pyarrow as pa

import paimon_core as paimon
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.fsck.check import check
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.types import parse_type
from tests.support import broken_tables as broken


def table_of(name, rows, **keys):
    catalog = paimon.open_catalog(f"memory://fsck-rows-{name}")
    catalog.create_database("db")
    table = catalog.create_table("db.t", rows.schema, **keys)
    table.write(rows)
    return table.context


def findings(context):
    """Return the errors without their paths."""
    errors = check(broken.fresh(context), deep=True).errors
    return [(f.invariant, f.message.partition(": ")[2]) for f in errors]


def test_each_of_two_columns_with_equal_first_words_is_a_finding():
    context = table_of("columns", pa.table({"v 1": pa.array(range(9)), "v 2": pa.array(range(9))}))
    (entry,) = context.manifests.entries_of(context.snapshots.read(1))
    most = entry.file.value_stats.max_values
    broken.record(context, broken.of_file(value_stats=ColumnStats(most, most, (0, 2)))(entry))
    assert findings(context) == [
        ("I19", "column v 1 has 0, below the recorded 8"),
        ("I19", "column v 2 has 0, below the recorded 8"),
        ("I19", "column v 2 has 0 nulls, but 2 are recorded"),
    ]


def test_each_of_two_wrong_partition_columns_is_a_finding():
    rows = pa.table({"p": ["a", "b"], "q": ["c", "d"], "v": [1, 2]})
    context = table_of("partitions", rows, partition_by=["p", "q"])
    first, second = context.manifests.entries_of(context.snapshots.read(1))
    paths = [
        context.paths.data_file(context.partition_path(e.partition), 0, first.file.file_name) for e in (first, second)
    ]
    context.storage.write(paths[1], context.storage.read(paths[0]))
    broken.record(context, broken.replace(first, partition=second.partition))
    found = findings(context)
    assert [(invariant, text.split(" has ")[0]) for invariant, text in found] == [
        ("I15", "partition column p"),
        ("I15", "partition column q"),
    ]


def test_statistics_that_only_java_writes_are_no_findings():
    """A padded CHAR, a maximum that ends with a surrogate, and an unknown null count (metadata.recorded_bounds)."""
    catalog = paimon.open_catalog("memory://fsck-rows-java")
    catalog.create_database("db")
    columns = {"c": "CHAR(5)", "s": "STRING", "n": "INT"}
    table = catalog.create_table("db.t", columns, options={"file.format": "orc"})
    table.write(pa.table({"c": ["ab", "ab\t"], "s": ["\ud7ff", "a"], "n": pa.array([None, 1], pa.int32())}))
    (entry,) = table.context.manifests.entries_of(table.context.snapshots.read(1))
    types = [parse_type(t) for t in columns.values()]
    low, high = encode_row(["ab\t  ", "a", 1], types), encode_row(["ab   ", "?", 1], types)
    broken.record(table.context, broken.of_file(value_stats=ColumnStats(low, high, (0, 0, -1)))(entry))
    assert findings(table.context) == []
