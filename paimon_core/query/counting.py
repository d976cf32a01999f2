"""Counts of rows: from metadata where metadata is exact, otherwise by reading a column.

The number of rows of a file is exact in metadata if the file is not merged with other files, and if its deletion vector
(if any) states how many rows are marked. For a scan with a filter, the number is exact only if the file has no deletion
vector and the bounds of its columns show that every row passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row, to_array
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.data_file import DataFile
from paimon_core.parallel_work import run_parallel
from paimon_core.plan.prune import ValuePruner
from paimon_core.plan.split import Split
from paimon_core.plan.units import with_files
from paimon_core.predicate import BoundPredicate
from paimon_core.query.description import ScanDescription
from paimon_core.read.pushdown import pushdown
from paimon_core.read.split_reader import read_split

COUNT_COLUMN = "record_count"


def count_rows(scan: ScanDescription) -> int:
    """Return the number of rows of a scan."""
    known, unknown = counted(scan)
    rows = sum(known.values())
    if scan.limit is not None:
        for unit in unknown:
            if rows >= scan.limit:
                break
            rows += _read_count(scan, unit, threads=True)
        return min(rows, scan.limit)
    return rows + sum(_read_counts(scan, unknown))


def count_partitions(scan: ScanDescription) -> pa.Table:
    """Return the partition columns and the number of rows, one row per partition that has rows.

    Raises InvalidRequest for a table without partitions and for a scan with a limit.
    """
    fields = scan.context.schema.partition_fields
    if scan.filters_metadata:
        raise InvalidRequest("count_by_partition takes no filter on metadata columns", columns=scan.where)
    if not fields:
        raise InvalidRequest(f"table {scan.context.name} has no partitions to count by")
    if scan.limit is not None:
        raise InvalidRequest(f"count_by_partition counts all rows: the scan has a limit of {scan.limit}")
    totals, unknown = counted(scan)
    for unit, rows in zip(unknown, _read_counts(scan, unknown), strict=True):
        totals[unit.partition] = totals.get(unit.partition, 0) + rows
    found = [(decode_row(partition, [f.type for f in fields]), rows) for partition, rows in totals.items() if rows]
    columns = [to_array([values[at] for values, _ in found], f.type) for at, f in enumerate(fields)]
    counts = pa.array([rows for _, rows in found], pa.int64())
    return pa.table([*columns, counts], schema=pa.schema([*(f.arrow for f in fields), (COUNT_COLUMN, pa.int64())]))


def counted(scan: ScanDescription) -> tuple[dict[bytes, int], list[Split]]:
    """Return the number of rows that metadata counts, by partition, and the splits whose rows must be counted."""
    known: dict[bytes, int] = {}
    unknown: list[Split] = []
    if scan.damaged is not None:  # only a read finds which files are damaged
        return {}, list(scan.plan.splits)
    test = _AllRows.of(scan)
    for split in scan.plan.splits:
        pushed = pushdown(scan.context, split, (), scan.where)
        if not pushed.matches:
            continue
        if pushed.tested is None and split.is_counted:
            known[split.partition] = known.get(split.partition, 0) + split.row_count
            continue
        rest = []
        for at, file in enumerate(split.files):
            if split.raw and test is not None and file.file_name not in split.vectors and test.passes(split, file):
                known[split.partition] = known.get(split.partition, 0) + file.row_count
            else:
                rest.append(at)
        if rest:
            unknown.append(with_files(split, rest))
    return known, unknown


class _AllRows:
    """Tests whether every row of a file passes the filter, by the bounds of its columns.

    When the columns have no nulls, a filter is true or false for each row. So all rows pass if no row passes the
    negated filter.
    """

    def __init__(self, negated: BoundPredicate, pruner: ValuePruner) -> None:
        self._negated = negated
        self._pruner = pruner

    @staticmethod
    def of(scan: ScanDescription) -> _AllRows | None:
        where, schema = scan.where, scan.context.schema
        if where is None or scan.context.evolves:
            return None
        bound = where.bind(schema.fields)
        return _AllRows((~where).bind(schema.fields), ValuePruner.of(bound, schema, scan.context.schemas.read))

    def passes(self, split: Split, file: DataFile) -> bool:
        bounds = self._pruner.bounds(split.partition, file)
        if any(bounds.get(name, (None, None, None))[2] != 0 for name in self._negated.columns):
            return False
        return not self._negated.may_match(bounds, file.row_count)


def _read_counts(scan: ScanDescription, units: Iterable[Split]) -> list[int]:
    return run_parallel(lambda unit: _read_count(scan, unit, threads=False), units)


def _read_count(scan: ScanDescription, unit: Split, *, threads: bool) -> int:
    # Rows whose columns are in several files are counted by reading one column.
    any_column = scan.context.schema.names[:1] if scan.context.evolves else ()
    columns = any_column if scan.where is None else sorted(scan.where.columns)[:1]
    request = replace(scan.request, columns=columns, threads=threads)
    return sum(map(len, read_split(scan.context, unit, request)))
