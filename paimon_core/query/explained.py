"""explained: the explanation of a scan, with the bytes of its columns and, if requested, the counts of a real read."""

from __future__ import annotations

import time
from dataclasses import replace

from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.lsm.key_windows import WINDOW_BYTES
from paimon_core.plan.explanation import Analysis, ScanExplanation, explain_plan
from paimon_core.plan.split import Split
from paimon_core.plan.units import enough_splits
from paimon_core.query.counting import counted
from paimon_core.query.description import ScanDescription
from paimon_core.read.columns import result_fields
from paimon_core.read.damaged_files import DamagedFiles
from paimon_core.read.pushdown import pushdown
from paimon_core.read.row_reader import read_rows
from paimon_core.read.section_merge import merge_fields
from paimon_core.types import STRING_ROOTS, DataType

_TEXT_BYTES = 16
_OTHER_BYTES = 32
"""Assumed bytes of a text and of a nested value, because the type does not state the size."""


def explained(scan: ScanDescription, *, analyze: bool = False) -> ScanExplanation:
    """Return the explanation of a scan; see ``Scan.explain``."""
    found = explain_plan(scan.plan)
    whole = scan
    scan = _of_table(scan)
    decoded: dict[str, None] = {}
    size = 0.0
    for split in scan.plan.splits:
        names, share = _columns(scan, split)
        decoded.update(dict.fromkeys(names))
        size += split.size_bytes * share
    limited = scan.plan.splits if scan.where is not None else enough_splits(scan.plan.splits, scan.limit)
    return replace(
        found,
        columns=tuple(decoded),
        bytes_to_read=int(size),
        merge_bytes=WINDOW_BYTES if found.merged.splits else 0,
        limit=scan.limit,
        splits_for_limit=len(limited),
        files_to_count=sum(len(unit.files) for unit in counted(scan)[1]),
        analysis=_analysis(whole) if analyze else None,
    )


def _of_table(scan: ScanDescription) -> ScanDescription:
    """Return the scan with the same plan, with only whole columns of the table in columns and filter."""
    schema = scan.context.schema
    where = None if scan.where is None else scan.where.only(schema.by_name)
    names = [f.name for f in result_fields(schema, scan.columns) if f.name in schema.by_name]
    return replace(scan, columns=tuple(names), where=where).with_plan_of(scan)


def _columns(scan: ScanDescription, split: Split) -> tuple[list[str], float]:
    """Return the columns to decode, and their share of the bytes of a file as estimated from their types."""
    pushed = pushdown(scan.context, split, scan.columns, scan.where)
    if not pushed.matches:
        return [], 0
    schema = scan.context.schema
    fields = pushed.fields if split.raw or scan.context.evolves else merge_fields(scan.context, split, pushed.fields)
    stored = list(schema.fields) if not schema.primary_keys else list(schema.file_fields)
    whole = sum(_bytes_of(f.type) for f in stored)
    return [f.name for f in fields], min(1.0, sum(_bytes_of(f.type) for f in fields) / max(1, whole))


def _bytes_of(dtype: DataType) -> int:
    arrow = dtype.to_arrow()
    if dtype.root in STRING_ROOTS:
        return _TEXT_BYTES
    try:
        return max(1, int(arrow.bit_width) // 8)
    except ValueError:
        return _OTHER_BYTES


def _analysis(scan: ScanDescription) -> Analysis:
    counts = ReadCounts()
    before = time.process_time()
    damaged = DamagedFiles.of(scan.context.options)
    request = replace(scan.request, threads=False, counts=counts, damaged=damaged)
    for split in scan.plan.splits:
        for _ in read_rows(scan.context, split, request):
            pass
    return Analysis(
        seconds=time.process_time() - before,
        files_opened=counts.files_opened,
        files_skipped=counts.files_skipped,
        sections_skipped=counts.sections_skipped,
        row_groups=counts.row_groups,
        row_groups_read=counts.row_groups_read,
        rows_decoded=counts.rows_decoded,
        bytes_decoded=counts.bytes_decoded,
        rows_returned=counts.rows_returned,
        columns=tuple(counts.columns.items()),
        ignored_files=() if damaged is None else tuple(sorted(damaged.found)),
    )
