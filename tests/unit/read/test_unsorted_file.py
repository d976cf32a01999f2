"""A file whose keys are not sorted: reads and compactions raise an error that names the file, the row and the rule."""

from __future__ import annotations

import dataclasses
import io

import pyarrow.parquet as pq
import pytest

from paimon_core.errors import CorruptTable
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.read.unsorted_file import naming_unsorted_file
from paimon_core.table.table import Table
from tests.support import broken_tables as broken


def path_of(context, entry):
    return context.paths.data_file("", entry.bucket, entry.file.file_name)


def table_of_two_files(producer="none"):
    """Return a table with two files of overlapping keys, 0 to 9 and 5 to 14, and their entries."""
    table = broken.real_table(10, **{"bucket": "1", "changelog-producer": producer})
    table.write(broken.some_rows(range(5, 15), "w"))
    context = table.context
    entries = context.manifests.entries_of(context.snapshots.latest())
    context.snapshots.delete([2])
    return context, entries


def recorded(context, *entries):
    context.storage.delete([context.paths.hint("LATEST")])
    context = broken.fresh(broken.record(context, *entries))
    return Table(context)


def reversed_rows(context, entry):
    """Write the file of the entry again with its rows in reverse order, and return its entry."""
    rows = pq.read_table(io.BytesIO(context.storage.read(path_of(context, entry))))
    data = io.BytesIO()
    pq.write_table(rows.take(list(range(len(rows)))[::-1]), data)
    context.storage.overwrite(path_of(context, entry), data.getvalue())
    return dataclasses.replace(entry, file=dataclasses.replace(entry.file, file_size=len(data.getvalue())))


def test_a_read_names_the_file_whose_rows_are_not_sorted():
    context, (first, second) = table_of_two_files()
    table = recorded(context, first, reversed_rows(context, second))
    with pytest.raises(CorruptTable, match="is not sorted by k: the key of row 2 is not above") as caught:
        table.scan().to_arrow()
    assert caught.value.facts["path"] == path_of(context, second)
    assert path_of(context, second) in str(caught.value)


@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
def test_a_compaction_names_the_file_whose_rows_are_not_sorted(producer):
    context, (first, second) = table_of_two_files(producer)
    table = recorded(context, first, reversed_rows(context, second))
    with pytest.raises(CorruptTable, match="is not sorted by _KEY_k: the key of row 2 is not above") as caught:
        table.compact(full=True)
    assert caught.value.facts["path"] == path_of(context, second)


def test_a_read_names_the_file_that_starts_below_the_end_of_the_file_before_it():
    table = broken.real_table(10, bucket="1")
    for keys in (range(10, 20), range(20)):
        table.write(broken.some_rows(keys))
    context = table.context
    low, high, both = context.manifests.entries_of(context.snapshots.latest())
    context.snapshots.delete([2, 3])
    keys = {name: getattr(low.file, name) for name in ("min_key", "max_key")}
    keys_of_high = {name: getattr(high.file, name) for name in ("min_key", "max_key")}
    swapped = [broken.of_file(level=5, **keys_of_high)(low), broken.of_file(level=5, **keys)(high)]
    with pytest.raises(CorruptTable, match="its first key is not above the last key of") as caught:
        recorded(context, swapped[1], swapped[0], both).scan().to_arrow()
    assert caught.value.facts["path"] == path_of(context, low)
    assert path_of(context, high) in str(caught.value)


def test_when_no_unsorted_file_is_found_the_error_names_all_files():
    _, (first, second) = table_of_two_files()
    runs = [SortedRun(0, (first.file, second.file))]
    with (
        pytest.raises(CorruptTable, match=r"it is one of a/data-.*, a/data-") as caught,
        naming_unsorted_file(runs, lambda file: iter(()), lambda file: f"a/{file.file_name}"),
    ):
        raise CorruptTable("not ascending", key=("k",))
    assert caught.value.facts["path"] == f"a/{first.file.file_name}"
